// A worker's line to the process that leads it (src/crew.ts): the one says when it is ready and hands over what it has
// measured, the other collects that of all.

import cluster from 'node:cluster'
import type { Family } from './kit/metrics.ts'

/** What a service tells when it is ready. */
export interface ServeFacts {
  url: string
  publicUrl: string
  demoKey: string | null
}

export type ToLeader =
  | { kind: 'ready'; facts: ServeFacts }
  | { kind: 'collect'; id: number }
  | { kind: 'families'; id: number; families: Family[] }

export type ToWorker = { kind: 'read'; id: number } | { kind: 'collected'; id: number; families: Family[] }

export interface LeaderLink {
  ready(facts: ServeFacts): void
  /** Called whenever the leader wants to know what this process has measured. */
  answer(read: () => Family[]): void
  /** What all workers have measured, each under its number. */
  collect(): Promise<Family[]>
  /** The line does not keep this process any more. */
  release(): void
}

/** Undefined in a process that nobody leads. */
export function openLeaderLink(): LeaderLink | undefined {
  if (!cluster.isWorker) return undefined
  let read = (): Family[] => []
  let questions = 0
  const waiting = new Map<number, (families: Family[]) => void>()
  // A leader that is gone ends us too, and hears nothing any more.
  const send = (message: ToLeader) => void process.send?.(message, undefined, undefined, () => undefined)
  // A boundary: nobody but our leader holds the other end, and it runs the same program.
  process.on('message', (message: ToWorker) => {
    if (message.kind === 'read') send({ kind: 'families', id: message.id, families: read() })
    if (message.kind !== 'collected') return
    waiting.get(message.id)?.(message.families)
    waiting.delete(message.id)
  })
  return {
    ready: ({ url, publicUrl, demoKey }) => send({ kind: 'ready', facts: { url, publicUrl, demoKey } }),
    answer(reader) {
      read = reader
    },
    collect: () =>
      new Promise((resolve) => {
        questions += 1
        waiting.set(questions, resolve)
        send({ kind: 'collect', id: questions })
      }),
    release: () => process.channel?.unref(),
  }
}
