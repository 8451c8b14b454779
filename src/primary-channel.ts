// The IPC channel between a worker and the primary of its cluster (src/cluster.ts). The worker reports that it is ready
// and answers requests about itself. The primary collects the responses of all workers for the worker that requests them.

import cluster from 'node:cluster'
import type { Family } from './kit/observability/metrics.ts'
import {
  type ProcessLines,
  type ProcessLinesQuery,
  type RecentLines,
  readProcessLines,
} from './kit/observability/recent-lines.ts'

/** The message of a worker that is ready. */
export interface ServiceInfo {
  url: string
  publicUrl: string
  demoKey: string | null
  signInUrl: string | null
}

/** The requests that every worker answers. Query and response are sent as JSON. */
export interface Topics {
  metrics: { query: null; response: Family[] }
  lines: { query: ProcessLinesQuery; response: ProcessLines }
}

export type Topic = keyof Topics

export type ToPrimary =
  | { kind: 'ready'; info: ServiceInfo }
  | { kind: 'collect'; id: number; topic: Topic; query: unknown }
  | { kind: 'response'; id: number; response: unknown }

export type ToWorker =
  | { kind: 'read'; id: number; topic: Topic; query: unknown }
  | { kind: 'collected'; id: number; collected: unknown }

/** The collected responses: the primary labels metrics with the worker's number, and lists the log lines per process. */
export interface Collected {
  metrics: Family[]
  lines: ProcessLines[]
}

type Reader<Name extends Topic> = (
  query: Topics[Name]['query'],
) => Topics[Name]['response'] | Promise<Topics[Name]['response']>
type Readers = { [Name in Topic]?: Reader<Name> }

export interface PrimaryChannel {
  ready(info: ServiceInfo): void
  /** Registers the function that answers requests of the primary about this topic. */
  respond<Name extends Topic>(topic: Name, read: Readers[Name]): void
  /** Asks the primary for the responses of all workers. */
  collect<Name extends Topic>(topic: Name, query: Topics[Name]['query']): Promise<Collected[Name]>
  /** Lets this process exit although the channel is open. */
  release(): void
}

/** Undefined in a process that is not a worker of a cluster. */
export function openPrimaryChannel(): PrimaryChannel | undefined {
  if (!cluster.isWorker) return undefined
  const readers: Readers = {}
  let lastRequestId = 0
  const pending = new Map<number, (collected: unknown) => void>()
  // Errors are ignored: a worker exits when its primary is gone.
  const send = (message: ToPrimary) => void process.send?.(message, undefined, undefined, () => undefined)
  // A boundary: only our primary sends on this channel, and it runs the same program.
  process.on('message', async (message: ToWorker) => {
    if (message.kind === 'read') {
      const read = readers[message.topic] as ((query: unknown) => unknown) | undefined
      // Without a response the primary counts this worker as not up.
      if (read) send({ kind: 'response', id: message.id, response: await read(message.query) })
      return
    }
    pending.get(message.id)?.(message.collected)
    pending.delete(message.id)
  })
  return {
    ready: ({ url, publicUrl, demoKey, signInUrl }) =>
      send({ kind: 'ready', info: { url, publicUrl, demoKey, signInUrl } }),
    respond(topic, read) {
      readers[topic] = read
    },
    collect: <Name extends Topic>(topic: Name, query: Topics[Name]['query']) =>
      new Promise<Collected[Name]>((resolve) => {
        lastRequestId += 1
        // A boundary: the primary answers each topic in the collected type of that topic.
        pending.set(lastRequestId, resolve as (collected: unknown) => void)
        send({ kind: 'collect', id: lastRequestId, topic, query })
      }),
    release: () => process.channel?.unref(),
  }
}

export type ReadLines = (query: ProcessLinesQuery) => Promise<ProcessLines[]>

/** Reads the recent log lines of this process, and in a cluster those of all its processes. */
export function shareLines(
  recent: RecentLines,
  process: string,
  primary: PrimaryChannel | undefined,
): ReadLines {
  const read = (query: ProcessLinesQuery) => readProcessLines(recent, process, query)
  primary?.respond('lines', read)
  return async (query) => (primary ? primary.collect('lines', query) : [read(query)])
}
