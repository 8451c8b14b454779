// A worker's line to the process that leads it (src/cluster.ts): the one says when it is ready and answers for itself, the
// other asks all of them on behalf of the one that wants to know.

import cluster from 'node:cluster'
import type { Family } from './kit/observability/metrics.ts'
import {
  type ProcessLines,
  type ProcessLinesQuery,
  type RecentLines,
  readProcessLines,
} from './kit/observability/recent-lines.ts'

/** What a service tells when it is ready. */
export interface ServiceInfo {
  url: string
  publicUrl: string
  demoKey: string | null
}

/** What every worker can be asked. Both sides are sent as JSON. */
export interface Topics {
  metrics: { query: null; answer: Family[] }
  lines: { query: ProcessLinesQuery; answer: ProcessLines }
}

export type Topic = keyof Topics

export type ToPrimary =
  | { kind: 'ready'; info: ServiceInfo }
  | { kind: 'collect'; id: number; topic: Topic; query: unknown }
  | { kind: 'answer'; id: number; answer: unknown }

export type ToWorker =
  | { kind: 'read'; id: number; topic: Topic; query: unknown }
  | { kind: 'collected'; id: number; collected: unknown }

/** What the leader makes of the answers: the metrics are labelled with the workers' numbers, the rest is a list. */
export interface Collected {
  metrics: Family[]
  lines: ProcessLines[]
}

type Readers = { [Name in Topic]?: (query: Topics[Name]['query']) => Topics[Name]['answer'] }

export interface PrimaryChannel {
  ready(info: ServiceInfo): void
  /** Called whenever the leader asks this process. */
  answer<Name extends Topic>(topic: Name, read: Readers[Name]): void
  /** What all workers answer. */
  collect<Name extends Topic>(topic: Name, query: Topics[Name]['query']): Promise<Collected[Name]>
  /** The line does not keep this process any more. */
  release(): void
}

/** Undefined in a process that nobody leads. */
export function openPrimaryChannel(): PrimaryChannel | undefined {
  if (!cluster.isWorker) return undefined
  const readers: Readers = {}
  let lastRequestId = 0
  const pending = new Map<number, (collected: unknown) => void>()
  // A leader that is gone ends us too, and hears nothing any more.
  const send = (message: ToPrimary) => void process.send?.(message, undefined, undefined, () => undefined)
  // A boundary: nobody but our leader holds the other end, and it runs the same program.
  process.on('message', (message: ToWorker) => {
    if (message.kind === 'read') {
      const read = readers[message.topic] as ((query: unknown) => unknown) | undefined
      // Without an answer it counts as one that is not up.
      if (read) send({ kind: 'answer', id: message.id, answer: read(message.query) })
      return
    }
    pending.get(message.id)?.(message.collected)
    pending.delete(message.id)
  })
  return {
    ready: ({ url, publicUrl, demoKey }) => send({ kind: 'ready', info: { url, publicUrl, demoKey } }),
    answer(topic, read) {
      readers[topic] = read
    },
    collect: <Name extends Topic>(topic: Name, query: Topics[Name]['query']) =>
      new Promise<Collected[Name]>((resolve) => {
        lastRequestId += 1
        // A boundary: the leader answers each topic with what it has collected of it.
        pending.set(lastRequestId, resolve as (collected: unknown) => void)
        send({ kind: 'collect', id: lastRequestId, topic, query })
      }),
    release: () => process.channel?.unref(),
  }
}

export type ReadLines = (query: ProcessLinesQuery) => Promise<ProcessLines[]>

/** The log of this process and of those that share its port. */
export function shareLines(
  recent: RecentLines,
  process: string,
  primary: PrimaryChannel | undefined,
): ReadLines {
  const read = (query: ProcessLinesQuery) => readProcessLines(recent, process, query)
  primary?.answer('lines', read)
  return async (query) => (primary ? primary.collect('lines', query) : [read(query)])
}
