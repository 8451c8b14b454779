// Many requests to a running service, side by side, each made by fast-check from the service's own document. What is
// wrong is shrunk to the smallest request that shows it, told once, and the run goes on.

import fc from 'fast-check'
import type { Api } from '../support/api.ts'
import { findItemPaths, makeOneOfEverything } from '../support/one-of-everything.ts'
import {
  createResponseValidator,
  type Document,
  type DocumentedOperation,
  operationsOf,
} from '../support/openapi.ts'
import { buildRequest, type Client, createClient, type SentRequest, type TimedResponse } from './client.ts'
import type { Kind, Plan } from './plan.ts'
import { createPool, type Pool } from './pool.ts'
import { planOf } from './requests.ts'
import { createResponseChecks, type ResponseChecks } from './response-checks.ts'

export interface Target {
  url: string
  key: string
  /** With that key. */
  api: Api
  /** With the key of another merchant, which has one of everything too. */
  other: Api
  /** What the service has logged about a request. */
  logOf(requestId: string): string
}

export interface FuzzOptions {
  requests: number
  seed: number
  /** Only operations whose name has this in it. */
  only?: string
  /** Told after every request how many are done. */
  onProgress?: (done: number) => void
}

export interface Defect {
  operation: string
  problem: string
  /** In which way the request was mutations. */
  mutations: readonly string[]
  request: string
}

export interface Report {
  requests: number
  seed: number
  kinds: Record<Kind, number>
  statuses: Record<string, number>
  defects: Defect[]
  /** Operations that never answered a success: the requests did not reach them. */
  unreached: string[]
  /** How many took more than a second beside others, and those of them that did so alone. */
  slow: { beside: number; alone: Defect[] }
}

/** Beside each other: enough to keep two cores busy, few enough that a request waits for its own work. */
const WORKERS = 12
const SLOW_MS = 1_000
const FOREIGN = 'Foreigner'

export async function fuzz(document: Document, target: Target, options: FuzzOptions): Promise<Report> {
  const operations = operationsOf(document)
  const client = createClient(target.url, WORKERS)
  try {
    const pool = await seedPool(operations, target)
    const sender = createRequestSender(
      client,
      target,
      pool,
      createResponseChecks(createResponseValidator(document), FOREIGN),
      options,
    )
    const defects = createDefects()
    const wanted = operations.filter(({ name }) => name.includes(options.only ?? ''))
    const plans = fc.oneof(...wanted.map(planOf))
    const share = Math.ceil(options.requests / WORKERS)
    const workerSeeds = Array.from({ length: WORKERS }, (_, worker) => worker + options.seed * WORKERS)
    await Promise.all(
      workerSeeds.map((seed) => runWorker(sender.sendAndCheck, defects, plans, { seed, share })),
    )
    const slow = await sender.retrySlowAlone()
    const unreached = wanted.map(({ name }) => name).filter((name) => !sender.reached.has(name))
    return { ...sender.counts, seed: options.seed, defects: defects.all(), unreached, slow }
  } finally {
    await client.close()
  }
}

async function seedPool(operations: DocumentedOperation[], { api, other, key }: Target): Promise<Pool> {
  // The key that asks must not be revoked by what it asks.
  const pool = createPool(operations, new Set([key.split('_')[2] ?? '']))
  const theirs = await makeOneOfEverything(other, FOREIGN)
  for (const [template, path] of await findItemPaths(other, operations, theirs))
    pool.add(`foreign ${template}`, path)
  pool.add('foreign reference', `/api/v1/sandbox/payments/${encodeURIComponent(theirs.reference)}`)
  const ours = await makeOneOfEverything(api, 'Ours')
  for (const [template, path] of await findItemPaths(api, operations, ours))
    if (!path.endsWith(`/${key.split('_')[2]}`)) pool.add(`item ${template}`, path)
  const verify = operations.find(({ name }) => name === 'GET /api/v1/checkout/verify-payment')
  for (const reference of [ours.reference, ours.openReference]) {
    const address = `/api/v1/checkout/verify-payment?reference=${reference}`
    if (verify) pool.collect(verify, address, (await api.get(address)).body)
  }
  return pool
}

type SendAndCheck = (plan: Plan) => Promise<Defect | undefined>

interface RequestSender {
  counts: Pick<Report, 'requests' | 'kinds' | 'statuses'>
  reached: ReadonlySet<string>
  sendAndCheck: SendAndCheck
  /** What took long beside others may only have waited for them; what takes long alone is slow. */
  retrySlowAlone(): Promise<Report['slow']>
}

function createRequestSender(
  client: Client,
  target: Target,
  pool: Pool,
  checks: ResponseChecks,
  options: FuzzOptions,
): RequestSender {
  const { key } = target
  const counts: RequestSender['counts'] = {
    requests: 0,
    kinds: { valid: 0, 'nearly valid': 0, hostile: 0 },
    statuses: {},
  }
  const reached = new Set<string>()
  const slow: Plan[] = []
  const sendPlan = async (plan: Plan) => {
    const sent = buildRequest(plan, pool, key)
    return { sent, answer: await client.send(sent) }
  }
  const countResponse = (plan: Plan, { http, tookMs }: TimedResponse): void => {
    counts.requests += 1
    counts.kinds[plan.kind] += 1
    counts.statuses[http] = (counts.statuses[http] ?? 0) + 1
    if (tookMs > SLOW_MS) slow.push(plan)
    options.onProgress?.(counts.requests)
  }
  return {
    counts,
    reached,
    async sendAndCheck(plan) {
      const sent = buildRequest(plan, pool, key)
      const answer = await client.send(sent).catch((error: Error) => error)
      if (answer instanceof Error) {
        counts.requests += 1
        return defectOf(plan, sent, `no answer: ${answer.message}`)
      }
      countResponse(plan, answer)
      if (answer.http < 300 && plan.kind === 'valid') {
        reached.add(plan.operation.name)
        pool.collect(plan.operation, sent.address, answer.body)
      }
      const problem = checks.findProblem(plan, sent, answer)
      if (problem === undefined) return undefined
      const logged = answer.http >= 500 ? target.logOf(answer.headers.get('x-request-id') ?? '') : ''
      return defectOf(plan, sent, [problem, logged].join(' '))
    },
    async retrySlowAlone() {
      const alone: Defect[] = []
      for (const plan of slow) {
        const { sent, answer } = await sendPlan(plan)
        const again = answer.tookMs > SLOW_MS ? await sendPlan(plan) : { answer }
        const took = Math.round(Math.min(answer.tookMs, again.answer.tookMs))
        if (took > SLOW_MS) alone.push(defectOf(plan, sent, `takes ${took} ms alone`))
      }
      return { beside: slow.length, alone }
    },
  }
}

interface Defects {
  all(): Defect[]
  isKnown(defect: Defect): boolean
  /** A smaller request that shows the same takes the place of the one before. */
  keep(defect: Defect): void
}

function createDefects(): Defects {
  const byName = new Map<string, Defect>()
  return {
    all: () => [...byName.values()],
    isKnown: (defect) => byName.has(signatureOf(defect)),
    keep: (defect) => void byName.set(signatureOf(defect), defect),
  }
}

/** Two answers that are wrong in the same way, whatever ids and numbers they have. */
function signatureOf({ operation, problem }: Defect): string {
  return `${operation} ${problem.replaceAll(/[0-9a-f]{4,}|\d+/g, '#').slice(0, 100)}`
}

function defectOf(
  plan: Plan,
  { method, address, headers, body, bytes }: SentRequest,
  problem: string,
): Defect {
  const { 'x-api-key': _secret, ...shown } = headers
  const request =
    bytes === undefined ? { method, address, headers: shown, body: body?.toString() } : { bytes }
  const { mutations } = plan
  return {
    operation: plan.operation.name,
    problem: cut(problem),
    mutations,
    request: cut(JSON.stringify(request)),
  }
}

const cut = (text: string) => (text.length > 1_500 ? `${text.slice(0, 1_500)}…` : text)

/** One after the other, until the worker has had its share; what is found is shrunk on the spot. */
async function runWorker(
  sendAndCheck: SendAndCheck,
  defects: Defects,
  plans: fc.Arbitrary<Plan>,
  { seed, share }: { seed: number; share: number },
): Promise<void> {
  for (let done = 0; done < share; ) {
    let shrinkingSignature: string | undefined
    const property = fc.asyncProperty(plans, async (plan) => {
      const defect = await sendAndCheck(plan)
      done += 1
      if (!defect) return
      if (shrinkingSignature === undefined && !defects.isKnown(defect))
        shrinkingSignature = signatureOf(defect)
      if (shrinkingSignature !== signatureOf(defect)) return
      defects.keep(defect)
      throw new Error(defect.problem)
    })
    await fc.check(property, { seed: seed + done, numRuns: share - done })
  }
}
