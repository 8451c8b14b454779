// The workers of `cowry serve --workers N`: processes that share one port. The leader holds the port, so that it stays open
// while a worker is replaced, and nothing else that they would need.

import cluster, { type Worker } from 'node:cluster'
import { type ServiceOptions, startPrivatePostgres } from './app.ts'
import type { Config } from './config.ts'
import { type Clock, systemClock } from './kit/clock.ts'
import { createLog, type Log } from './kit/log.ts'
import { createMetrics, type Family, labelFamilies } from './kit/metrics.ts'
import { systemRandom } from './kit/random.ts'
import {
  createRecentLines,
  type ProcessLines,
  type ProcessLinesQuery,
  readProcessLines,
  withRecentLines,
} from './kit/recent-lines.ts'
import type { Collected, ServeFacts, ToLeader, Topic, Topics, ToWorker } from './leader-link.ts'

/** The first worker ended before it was ready. It has said why, in its own words. */
export class WorkerNotStarted extends Error {
  readonly exitCode: number

  constructor(exitCode: number) {
    super(`the first worker ended with ${exitCode}`)
    this.name = 'WorkerNotStarted'
    this.exitCode = exitCode
  }
}

export interface ServedByCrew extends ServeFacts {
  stop(): Promise<void>
}

/** What the private PostgreSQL keeps for whoever looks into it, beside the workers. */
const SPARE_CONNECTIONS = 10
const PRIVATE_CONNECTIONS = 100

/** Starts the database, if it is ours to start, and as many workers. */
export async function startCrew(
  config: Config,
  options: ServiceOptions,
  size: number,
): Promise<ServedByCrew> {
  requireRoom(config, size)
  const postgres = config.databaseUrl === null ? await startPrivatePostgres(config, options) : null
  const env = postgres ? { DATABASE_URL: postgres.url } : undefined
  const clock = options.clock ?? systemClock
  // The death of a worker is told by the leader alone, and whoever watches the log wants to see it.
  const recent = createRecentLines(clock)
  const log = withRecentLines(options.log ?? createLog(config.logLevel), recent, config.logLevel)
  const own = systemRandom(clock).uuid()
  const readOwn = (question: ProcessLinesQuery) => readProcessLines(recent, own, question)
  const crew = createCrew({ size, env, clock, log, readOwn })
  const stop = async () => {
    await crew.stop()
    await postgres?.stop()
  }
  const outcome = await crew.start()
  if ('facts' in outcome) return { ...outcome.facts, stop }
  await stop()
  throw new WorkerNotStarted(outcome.exitCode)
}

function requireRoom({ databaseUrl, poolSize }: Config, size: number): void {
  const most = Math.floor((PRIVATE_CONNECTIONS - SPARE_CONNECTIONS) / size)
  if (databaseUrl !== null || poolSize <= most) return
  throw new Error(
    `the private PostgreSQL takes ${PRIVATE_CONNECTIONS} connections, and ${size} workers want ${poolSize} each. ` +
      `Set COWRY_POOL_SIZE to ${most} or less, or DATABASE_URL to a server of your own.`,
  )
}

interface Crew {
  /** Resolves when all are ready; with the exit code of the first when it could not start. */
  start(): Promise<{ facts: ServeFacts } | { exitCode: number }>
  /** Tells all of them to end, and waits for it. */
  stop(): Promise<void>
}

interface Needs {
  size: number
  /** Beside the environment of the leader. */
  env: Record<string, string> | undefined
  clock: Clock
  log: Log
  /** The lines of the leader itself. */
  readOwn(question: ProcessLinesQuery): ProcessLines
}

interface Member {
  worker: Worker
  ready: Promise<ServeFacts>
  ended: Promise<{ code: number | null; signal: string | null }>
}

// One that dies sooner was not at work yet, and its successor may fare no better: it waits, ever longer.
const QUICK_DEATH_MS = 10_000
const REST_MS = 1_000
const LONGEST_REST_MS = 30_000

// A worker that is busy for longer is left out of this answer, and shown as not up.
const COLLECT_MS = 1_000

function createCrew({ size, env, clock, log, readOwn }: Needs): Crew {
  const members = new Map<number, Member>()
  const stopping = new AbortController()
  const keepers: Promise<void>[] = []
  const collector = createCollector(members, clock, readOwn)
  // Each takes connections by itself. Handed round by the leader, one that goes to a worker which has just died would be
  // heard by nobody, and its caller would wait for ever.
  cluster.schedulingPolicy = cluster.SCHED_NONE

  const fork = (number: number): Member => {
    const worker = cluster.fork(env)
    const ended = new Promise<Awaited<Member['ended']>>((resolve) => {
      worker.once('exit', (code, signal) => resolve({ code, signal }))
    })
    const ready = new Promise<ServeFacts>((resolve) => {
      // A boundary: nobody but our own worker holds the other end, and it runs the same program.
      worker.on('message', (message: ToLeader) => {
        if (message.kind === 'ready') resolve(message.facts)
        else void collector.hear(worker, message)
      })
    })
    const member = { worker, ready, ended }
    members.set(number, member)
    return member
  }

  /** Replaces the one of this number until the crew is stopped. */
  const keep = async (number: number, first: Member): Promise<void> => {
    let quickDeaths = 0
    for (let member = first; ; member = fork(number)) {
      const startedAt = clock.now().getTime()
      const { code, signal } = await member.ended
      if (stopping.signal.aborted) return
      log.error('a worker ended by itself', {
        pid: member.worker.process.pid,
        reason: signal ?? `code ${code}`,
      })
      const isQuick = clock.now().getTime() - startedAt < QUICK_DEATH_MS
      quickDeaths = isQuick ? quickDeaths + 1 : 0
      await clock.sleep(Math.min(quickDeaths * REST_MS, LONGEST_REST_MS), stopping.signal)
      if (stopping.signal.aborted) return
      collector.noteRestart()
    }
  }

  return {
    async start() {
      // The first alone: it brings the schema up to date and makes what is made once, and tells what is wrong but once.
      const first = fork(1)
      const outcome = await Promise.race([first.ready, first.ended])
      if (!('url' in outcome)) return { exitCode: outcome.code ?? 1 }
      const others = Array.from({ length: size - 1 }, (_, index) => index + 2)
      const rest = stopping.signal.aborted ? [] : others.map((number) => [number, fork(number)] as const)
      for (const [number, member] of [[1, first] as const, ...rest]) keepers.push(keep(number, member))
      await Promise.all(rest.map(([, { ready, ended }]) => Promise.race([ready, ended])))
      return { facts: outcome }
    },
    async stop() {
      stopping.abort()
      for (const { worker } of members.values()) worker.process.kill('SIGTERM')
      await Promise.all([...members.values()].map(({ ended }) => ended))
      await Promise.all(keepers)
    },
  }
}

/** Asks every worker on behalf of the one that wants to know. */
function createCollector(members: ReadonlyMap<number, Member>, clock: Clock, readOwn: Needs['readOwn']) {
  const metrics = createMetrics()
  const restarts = metrics.counter('cowry_worker_restarts_total', 'Workers that ended and were replaced.', [])
  restarts.add([], 0)
  const waiting = new Map<number, (answer: unknown) => void>()
  let questions = 0

  const read = async (worker: Worker, topic: Topic, question: unknown): Promise<unknown> => {
    questions += 1
    const id = questions
    const inTime = new AbortController()
    const answered = new Promise<unknown>((resolve) => waiting.set(id, resolve))
    tell(worker, { kind: 'read', id, topic, question })
    const answer = await Promise.race([answered, clock.sleep(COLLECT_MS, inTime.signal)])
    inTime.abort()
    waiting.delete(id)
    return answer
  }

  const collect = async <Name extends Topic>(
    topic: Name,
    question: unknown,
  ): Promise<Reading<Topics[Name]['answer']>[]> =>
    Promise.all(
      [...members].map(async ([number, { worker }]) => {
        // A boundary: a worker answers what it was asked, or nothing in time.
        const answer = (await read(worker, topic, question)) as Topics[Name]['answer'] | undefined
        return { number, answer }
      }),
    )

  const answerTo = async (topic: Topic, question: unknown): Promise<Collected[Topic]> => {
    if (topic === 'lines') {
      const answers = (await collect('lines', question)).flatMap(({ answer }) => answer ?? [])
      // A boundary: a worker asks for lines as every worker is asked.
      return [readOwn(question as ProcessLinesQuery), ...answers]
    }
    return [...metrics.families(), ...labelReadings(await collect('metrics', question))]
  }

  return {
    noteRestart: () => restarts.add([]),
    async hear(worker: Worker, message: Exclude<ToLeader, { kind: 'ready' }>): Promise<void> {
      const { id } = message
      if (message.kind === 'answer') waiting.get(id)?.(message.answer)
      else tell(worker, { kind: 'collected', id, collected: await answerTo(message.topic, message.question) })
    },
  }
}

interface Reading<Answer> {
  number: number
  answer: Answer | undefined
}

function labelReadings(readings: readonly Reading<Family[]>[]): Family[] {
  const up: Family = {
    name: 'cowry_worker_up',
    help: 'Whether a worker answers.',
    kind: 'gauge',
    samples: readings.map(({ number, answer }) => ({
      suffix: '',
      labels: { worker: String(number) },
      value: answer ? 1 : 0,
    })),
  }
  return [
    up,
    ...readings.flatMap(({ number, answer }) => labelFamilies(answer ?? [], 'worker', String(number))),
  ]
}

/** One that has ended in the meantime hears nothing, and nobody waits for it. */
function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined)
}
