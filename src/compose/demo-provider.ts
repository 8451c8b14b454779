// The sandbox provider inside this process, with its records in memory: no call leaves the process. The records are stored at
// the end, so that the service can refund, dispute and poll the payments of the demo like its own.

import { shareOf } from '../core/money.ts'
import type { DemoProvider, ProviderAnswer } from '../demo/app.ts'
import { type Decline, OUTAGE_MESSAGE } from '../demo/declines.ts'
import type { Outcome } from '../gateways/gateway.ts'
import { refused, unknown } from '../gateways/reply.ts'
import type { SandboxGateway } from '../gateways/sandbox/index.ts'
import { createSandboxGateway } from '../gateways/sandbox/index.ts'
import { apiRoutes } from '../gateways/sandbox/provider/api.ts'
import { createFaultInjector } from '../gateways/sandbox/provider/faults.ts'
import { createPostgresStore } from '../gateways/sandbox/provider/postgres-store.ts'
import { dueAt, isFinal, type SandboxRecord } from '../gateways/sandbox/provider/record.ts'
import type { ProviderRoute } from '../gateways/sandbox/provider/router.ts'
import type { SandboxStore } from '../gateways/sandbox/provider/store.ts'
import type { Clock } from '../kit/clock.ts'
import { dbWithin } from '../kit/db/within-transaction.ts'
import type { HttpClient, HttpResult } from '../kit/http/http-client.ts'
import type { Random } from '../kit/random.ts'

interface Needs {
  clock: Clock
  random: Random
  secret: string
  pagesUrl: string
}

export function createDemoProvider({ clock, random, secret, pagesUrl }: Needs): DemoProvider {
  const records = new Map<string, SandboxRecord>()
  const store = createMemoryStore(records)
  const webhookSender = { send: () => undefined, stop: () => undefined }
  const faults = createFaultInjector()
  const routes = apiRoutes({ store, clock, random, webhookSender, faults, secret, pagesUrl })
  const http = connectRoutes(routes)
  const sandbox = createSandboxGateway({
    http,
    clock,
    secret,
    webhookSecret: secret,
    baseUrl: 'http://sandbox',
  })

  const answers = new Map<string, ProviderAnswer>()
  const references = new Map<string, string>()
  const answerOf = (key: string) => answers.get(references.get(key) ?? '') ?? {}

  const declineAttempt = async (key: string, { code }: Decline): Promise<void> => {
    const record = records.get(key)
    if (!record) throw new Error(`the sandbox has no record ${key}`)
    const ended = {
      status: 'declined',
      declineCode: code,
      paid: null,
      endedAt: clock.now().toISOString(),
    } as const
    await store.replace({ ...record, ...ended, plan: null, version: record.version + 1 })
  }

  /** Without a test instrument the sandbox pays after two seconds; here the payer decides, or the time passes. */
  const waitForPayer = async (key: string): Promise<void> => {
    const record = records.get(key)
    if (!record?.checkout || isFinal(record)) return
    const plan = { at: record.checkout.closesAt, ending: { declines: 'customer_timeout' } } as const
    await store.replace({ ...record, plan, version: record.version + 1 })
  }

  const gateway: SandboxGateway = {
    ...sandbox,
    async startCheckout(attempt, choice, returnUrl) {
      references.set(attempt.key, attempt.reference)
      if (answerOf(attempt.key).isDown) return refused('provider_unavailable', OUTAGE_MESSAGE)
      const started = await sandbox.startCheckout(attempt, choice, returnUrl)
      await waitForPayer(attempt.key)
      return started
    },
    async chargeSaved(attempt, credential) {
      references.set(attempt.key, attempt.reference)
      const { decline, isDown } = answerOf(attempt.key)
      const outcome = await sandbox.chargeSaved(attempt, credential)
      if (decline) await declineAttempt(attempt.key, decline)
      // The provider has charged the card; only its response is lost.
      if (isDown) return unknown('no_answer', OUTAGE_MESSAGE)
      return withFacts(decline ? await sandbox.verify(attempt, null) : outcome, { decline })
    },
    async verify(query, reference) {
      const answer = answerOf(query.key)
      if (answer.isDown) return unknown('no_answer', OUTAGE_MESSAGE)
      return withFacts(await sandbox.verify(query, reference), answer, records.get(query.key)?.channel)
    },
  }
  return {
    gateway,
    answer: (reference, answer) => void answers.set(reference, answer),
    declineAttempt,
    async storeRecords(tx) {
      const stored = createPostgresStore(dbWithin(tx))
      await Promise.all([...records.values()].map((record) => stored.insert(record)))
    },
  }
}

// The usual fees of providers, in parts per million of the amount.
const FEES: Readonly<Record<string, bigint>> = {
  card: 29_000n,
  mobile_money: 15_000n,
  bank_transfer: 10_000n,
}

/** Adds the words of a real provider, its fee, and the card of the payer. */
function withFacts(outcome: Outcome, { decline, card }: ProviderAnswer, channel = 'card'): Outcome {
  if (outcome.kind === 'declined') return decline ? { ...outcome, message: decline.message } : outcome
  if (outcome.kind !== 'succeeded') return outcome
  const { savedMethod, paid } = outcome
  const saved =
    savedMethod?.card && card ? { ...savedMethod, card: { ...savedMethod.card, ...card } } : savedMethod
  return { ...outcome, fee: shareOf(paid, FEES[channel] ?? 0n), savedMethod: saved }
}

function createMemoryStore(records: Map<string, SandboxRecord>): SandboxStore {
  const select = (isWanted: (record: SandboxRecord) => boolean) => [...records.values()].filter(isWanted)
  return {
    async insert(draft) {
      const kept = records.get(draft.key)
      if (!kept) records.set(draft.key, draft)
      return { record: kept ?? draft, created: kept === undefined }
    },
    findByKey: async (key) => records.get(key),
    findByPage: async (token) => select(({ checkout }) => checkout?.pageToken === token)[0],
    findByOrder: async (order) => select((record) => record.order === order),
    findDue: async (now, limit) =>
      select((record) => new Date(dueAt(record) ?? Number.NaN) <= now).slice(0, limit),
    findPlanned: async (account) => select((record) => record.account === account && dueAt(record) !== null),
    async replace(next) {
      if (records.get(next.key)?.version !== next.version - 1) return false
      records.set(next.key, next)
      return true
    },
    close: () => Promise.resolve(),
  }
}

/** The connector calls the routes of the provider without a connection. */
function connectRoutes(routes: readonly ProviderRoute[]): HttpClient {
  return {
    async request({ method, url, headers = {}, body = '' }): Promise<HttpResult> {
      const { pathname, searchParams: query } = new URL(url)
      for (const route of routes) {
        const match = route.method === method ? route.path.exec(pathname) : null
        if (!match) continue
        const params = match.slice(1).map(decodeURIComponent)
        const reply = await route.handle({ params, query, headers, text: body.toString() })
        if (reply.kind === 'json')
          return {
            kind: 'answered',
            status: reply.http,
            headers: {},
            body: Buffer.from(JSON.stringify(reply.body)),
          }
        return { kind: 'unknown', code: 'ECONNRESET', error: 'the sandbox has cut the connection' }
      }
      throw new Error(`the sandbox has no route for ${method} ${pathname}`)
    },
    close: () => Promise.resolve(),
  }
}
