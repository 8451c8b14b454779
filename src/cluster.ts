// The cluster of `cowry serve --workers N`: a primary and N worker processes that share one port. The primary only keeps
// the port open, starts the embedded PostgreSQL, and replaces workers that exit.

import cluster, { type Worker } from 'node:cluster'
import type { ServiceOptions } from './app.ts'
import { startEmbedded } from './compose/database.ts'
import type { Config } from './config.ts'
import { METRICS } from './core/metric-definitions.ts'
import { type Clock, systemClock } from './kit/clock.ts'
import { createLog, type Log } from './kit/observability/log.ts'
import { createMetrics, type Family, labelFamilies } from './kit/observability/metrics.ts'
import {
  createRecentLines,
  type ProcessLines,
  type ProcessLinesQuery,
  readProcessLines,
  withRecentLines,
} from './kit/observability/recent-lines.ts'
import { systemRandom } from './kit/random.ts'
import type { Collected, ServiceInfo, ToPrimary, Topic, Topics, ToWorker } from './primary-channel.ts'

/** The first worker exited before it was ready. It has logged the reason itself. */
export class WorkerNotStarted extends Error {
  readonly exitCode: number

  constructor(exitCode: number) {
    super(`the first worker exited with code ${exitCode}`)
    this.name = 'WorkerNotStarted'
    this.exitCode = exitCode
  }
}

export interface ServedByCluster extends ServiceInfo {
  stop(): Promise<void>
}

/** Connections of the embedded PostgreSQL that the workers leave free for commands and psql. */
const RESERVED_CONNECTIONS = 10
const EMBEDDED_CONNECTIONS = 100

/** Starts the embedded PostgreSQL if DATABASE_URL is not set, and then the workers. */
export async function startCluster(
  config: Config,
  options: ServiceOptions,
  size: number,
): Promise<ServedByCluster> {
  requireEnoughConnections(config, size)
  const postgres = config.databaseUrl === null ? await startEmbedded(config, options) : null
  const env = postgres ? { DATABASE_URL: postgres.url } : undefined
  const clock = options.clock ?? systemClock
  // Only the primary logs the exit of a worker, so readers of the log need the lines of the primary too.
  const recent = createRecentLines(clock)
  const log = withRecentLines(options.log ?? createLog(config.logLevel), recent, config.logLevel)
  const ownId = systemRandom(clock).uuid()
  const readOwnLines = (query: ProcessLinesQuery) => readProcessLines(recent, ownId, query)
  const workers = createWorkerPool({ size, env, clock, log, readOwnLines })
  const stop = async () => {
    await workers.stop()
    await postgres?.stop()
  }
  const outcome = await workers.start()
  if ('info' in outcome) return { ...outcome.info, stop }
  await stop()
  throw new WorkerNotStarted(outcome.exitCode)
}

function requireEnoughConnections({ databaseUrl, poolSize }: Config, size: number): void {
  const most = Math.floor((EMBEDDED_CONNECTIONS - RESERVED_CONNECTIONS) / size)
  if (databaseUrl !== null || poolSize <= most) return
  throw new Error(
    `the embedded PostgreSQL accepts ${EMBEDDED_CONNECTIONS} connections, and ${size} workers open ${poolSize} each. ` +
      `Set COWRY_POOL_SIZE to ${most} or less, or DATABASE_URL to a server of your own.`,
  )
}

interface WorkerPool {
  /** Resolves when all workers are ready, or with the exit code of the first worker if it could not start. */
  start(): Promise<{ info: ServiceInfo } | { exitCode: number }>
  /** Sends SIGTERM to all workers and waits until they have exited. */
  stop(): Promise<void>
}

interface Needs {
  size: number
  /** Added to the environment of the primary. */
  env: Record<string, string> | undefined
  clock: Clock
  log: Log
  /** Reads the log lines of the primary itself. */
  readOwnLines(query: ProcessLinesQuery): ProcessLines
}

interface WorkerHandle {
  worker: Worker
  ready: Promise<ServiceInfo>
  ended: Promise<{ code: number | null; signal: string | null }>
}

// A worker that exits sooner probably failed to start. Its replacement may fail too, so restarts back off linearly.
const EARLY_EXIT_MS = 10_000
const RESTART_BACKOFF_MS = 1_000
const MAX_RESTART_BACKOFF_MS = 30_000

// A worker that does not answer within this time is left out of the response, and its cowry_worker_up is 0.
const COLLECT_TIMEOUT_MS = 1_000

function createWorkerPool({ size, env, clock, log, readOwnLines }: Needs): WorkerPool {
  const workers = new Map<number, WorkerHandle>()
  const stopping = new AbortController()
  const supervisors: Promise<void>[] = []
  const collector = createCollector(workers, clock, readOwnLines)
  // Workers accept connections directly. With round-robin scheduling, a connection that the primary hands to a worker
  // that just died would hang.
  cluster.schedulingPolicy = cluster.SCHED_NONE

  const fork = (number: number): WorkerHandle => {
    const worker = cluster.fork(env)
    const ended = new Promise<Awaited<WorkerHandle['ended']>>((resolve) => {
      worker.once('exit', (code, signal) => resolve({ code, signal }))
    })
    const ready = new Promise<ServiceInfo>((resolve) => {
      // A boundary: only our own worker sends on this channel, and it runs the same program.
      worker.on('message', (message: ToPrimary) => {
        if (message.kind === 'ready') resolve(message.info)
        else void collector.handleMessage(worker, message)
      })
    })
    const handle = { worker, ready, ended }
    workers.set(number, handle)
    return handle
  }

  /** Restarts the worker of this number until the cluster stops. */
  const supervise = async (number: number, first: WorkerHandle): Promise<void> => {
    let earlyExits = 0
    for (let handle = first; ; handle = fork(number)) {
      const startedAt = clock.now().getTime()
      const { code, signal } = await handle.ended
      if (stopping.signal.aborted) return
      log.write('cluster.worker_exited', {
        pid: handle.worker.process.pid,
        reason: signal ?? `code ${code}`,
      })
      const isEarly = clock.now().getTime() - startedAt < EARLY_EXIT_MS
      earlyExits = isEarly ? earlyExits + 1 : 0
      await clock.sleep(Math.min(earlyExits * RESTART_BACKOFF_MS, MAX_RESTART_BACKOFF_MS), stopping.signal)
      if (stopping.signal.aborted) return
      collector.countRestart()
    }
  }

  return {
    async start() {
      // The first worker starts alone: it runs the migrations, creates the secrets, and logs a start-up error only once.
      const first = fork(1)
      const outcome = await Promise.race([first.ready, first.ended])
      if (!('url' in outcome)) return { exitCode: outcome.code ?? 1 }
      const others = Array.from({ length: size - 1 }, (_, index) => index + 2)
      const rest = stopping.signal.aborted ? [] : others.map((number) => [number, fork(number)] as const)
      for (const [number, handle] of [[1, first] as const, ...rest])
        supervisors.push(supervise(number, handle))
      await Promise.all(rest.map(([, { ready, ended }]) => Promise.race([ready, ended])))
      return { info: outcome }
    },
    async stop() {
      stopping.abort()
      for (const { worker } of workers.values()) worker.process.kill('SIGTERM')
      await Promise.all([...workers.values()].map(({ ended }) => ended))
      await Promise.all(supervisors)
    },
  }
}

/** Collects the metrics or log lines of all workers for the worker that requests them. */
function createCollector(
  workers: ReadonlyMap<number, WorkerHandle>,
  clock: Clock,
  readOwnLines: Needs['readOwnLines'],
) {
  const metrics = createMetrics()
  const restarts = metrics.counter(METRICS.workerRestarts)
  restarts.add([], 0)
  const pending = new Map<number, (response: unknown) => void>()
  let lastRequestId = 0

  const read = async (worker: Worker, topic: Topic, query: unknown): Promise<unknown> => {
    lastRequestId += 1
    const id = lastRequestId
    const timeout = new AbortController()
    const received = new Promise<unknown>((resolve) => pending.set(id, resolve))
    send(worker, { kind: 'read', id, topic, query })
    const response = await Promise.race([received, clock.sleep(COLLECT_TIMEOUT_MS, timeout.signal)])
    timeout.abort()
    pending.delete(id)
    return response
  }

  const collect = async <Name extends Topic>(
    topic: Name,
    query: unknown,
  ): Promise<Reading<Topics[Name]['response']>[]> =>
    Promise.all(
      [...workers].map(async ([number, { worker }]) => {
        // A boundary: a worker answers in the type of the topic; undefined means that it did not answer in time.
        const response = (await read(worker, topic, query)) as Topics[Name]['response'] | undefined
        return { number, response }
      }),
    )

  const collectAll = async (topic: Topic, query: unknown): Promise<Collected[Topic]> => {
    if (topic === 'lines') {
      const responses = (await collect('lines', query)).flatMap(({ response }) => response ?? [])
      // A boundary: the query of this topic has this type.
      return [readOwnLines(query as ProcessLinesQuery), ...responses]
    }
    return [...(await metrics.families()), ...(await labelReadings(await collect('metrics', query)))]
  }

  return {
    countRestart: () => restarts.add([]),
    async handleMessage(worker: Worker, message: Exclude<ToPrimary, { kind: 'ready' }>): Promise<void> {
      const { id } = message
      if (message.kind === 'response') pending.get(id)?.(message.response)
      else send(worker, { kind: 'collected', id, collected: await collectAll(message.topic, message.query) })
    },
  }
}

interface Reading<Response> {
  number: number
  response: Response | undefined
}

async function labelReadings(readings: readonly Reading<Family[]>[]): Promise<Family[]> {
  const metrics = createMetrics()
  metrics.gauge(METRICS.workerUp, () =>
    readings.map(({ number, response }) => [[String(number)], response ? 1 : 0]),
  )
  return [
    ...(await metrics.families()),
    ...readings.flatMap(({ number, response }) => labelFamilies(response ?? [], 'worker', String(number))),
  ]
}

/** Ignores a worker that has exited in the meantime; the request to it times out. */
function send(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined)
}
