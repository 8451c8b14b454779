// The operations of the provider on its store. Each is one insert or one compare-and-set, so any number of processes
// may run it concurrently.

import { base62 } from '../../../core/ids.ts'
import { formatAmount, money } from '../../../core/money.ts'
import type { Clock } from '../../../kit/clock.ts'
import type { Random } from '../../../kit/random.ts'
import type { InstrumentName } from '../instruments.ts'
import type { WebhookSender } from '../webhooks.ts'
import type { ChargeBody, CheckoutBody, ClockReply, ExecutionBody } from '../wire.ts'
import {
  advanceRecord,
  applyApproval,
  applyCancellation,
  applyDispute,
  applyPayment,
  applyPlan,
  applySimulation,
  draftCharge,
  draftCheckout,
  dueAt,
  isFinal,
  isSameRequest,
  type SandboxDispute,
  type SandboxRecord,
} from './record.ts'
import type { SandboxStore } from './store.ts'

export interface ProviderNeeds {
  store: SandboxStore
  clock: Clock
  random: Random
  webhookSender: WebhookSender
}

/** The record under the key; `reused` if the key was used before for another request. */
export type CreateResult = { kind: 'stored'; record: SandboxRecord; created: boolean } | { kind: 'reused' }

export function createCheckout(app: ProviderNeeds, key: string, body: CheckoutBody): Promise<CreateResult> {
  return storeOnce(app, draftCheckout(key, body, draftContext(app)))
}

export function createCharge(app: ProviderNeeds, key: string, body: ChargeBody): Promise<CreateResult> {
  return storeOnce(app, draftCharge(key, body, draftContext(app)))
}

export async function storeOnce(app: ProviderNeeds, draft: SandboxRecord): Promise<CreateResult> {
  const { record, created } = await app.store.insert(draft)
  if (created) return { kind: 'stored', record, created }
  if (!isSameRequest(record, draft)) return { kind: 'reused' }
  return { kind: 'stored', record: (await readByKey(app, draft.key)) ?? record, created }
}

// 128 random bits in 22 characters: a payer's page cannot be guessed.
const PAGE_TOKEN_BYTES = 16
const PAGE_TOKEN_LENGTH = 22

function draftContext({ clock, random }: ProviderNeeds) {
  const pageToken = base62(random.bytes(PAGE_TOKEN_BYTES), PAGE_TOKEN_LENGTH)
  return { uuid: random.uuid(), pageToken, now: clock.now() }
}

type RecordPromise = Promise<SandboxRecord | undefined>
type Move = (record: SandboxRecord, now: Date) => SandboxRecord

const byKey = (app: ProviderNeeds, key: string) => () => app.store.findByKey(key)
const byPage = (app: ProviderNeeds, pageToken: string) => () => app.store.findByPage(pageToken)

export function readByKey(app: ProviderNeeds, key: string): RecordPromise {
  return move(app, byKey(app, key), applyPlan)
}

export function cancelByKey(app: ProviderNeeds, key: string): RecordPromise {
  return move(app, byKey(app, key), applyCancellation)
}

export function simulateByKey(
  app: ProviderNeeds,
  key: string,
  instrument: InstrumentName | null,
): RecordPromise {
  return move(app, byKey(app, key), (record, now) => applySimulation(record, instrument, now))
}

export function disputeByKey(
  app: ProviderNeeds,
  key: string,
  status: SandboxDispute['status'],
): RecordPromise {
  const uuid = app.random.uuid()
  return move(app, byKey(app, key), (record, now) => applyDispute(record, status, uuid, now))
}

export function readByPage(app: ProviderNeeds, pageToken: string): RecordPromise {
  return move(app, byPage(app, pageToken), applyPlan)
}

export function payOnPage(app: ProviderNeeds, pageToken: string, instrument: InstrumentName): RecordPromise {
  return move(app, byPage(app, pageToken), (record, now) => applyPayment(record, instrument, now))
}

export function approveOnPage(app: ProviderNeeds, pageToken: string, approves: boolean): RecordPromise {
  return move(app, byPage(app, pageToken), (record, now) => applyApproval(record, approves, now))
}

export function cancelOnPage(app: ProviderNeeds, pageToken: string): RecordPromise {
  return move(app, byPage(app, pageToken), applyCancellation)
}

/** Reads, changes, and writes back if the version is unchanged; otherwise retries. */
async function move(app: ProviderNeeds, find: () => RecordPromise, change: Move): RecordPromise {
  for (;;) {
    const record = await find()
    if (!record) return undefined
    const changed = change(record, app.clock.now())
    if (changed === record) return record
    const next = { ...changed, version: record.version + 1 }
    if (await app.store.replace(next)) {
      if (isFinal(next) && hasChanged(record, next)) app.webhookSender.send(next)
      return next
    }
  }
}

/** False if only planned times have changed. */
const hasChanged = (before: SandboxRecord, after: SandboxRecord) =>
  before.status !== after.status || before.dispute !== after.dispute

/** Advances the test clock of an account: planned times come nearer by this much, and those that are due are applied. */
export async function advanceAccount(app: ProviderNeeds, account: string, ms: number): Promise<ClockReply> {
  const planned = await app.store.findPlanned(account)
  const moved = await Promise.all(planned.map((record) => advanceByKey(app, record, ms)))
  const times = moved.flatMap(({ record }) => (record && dueAt(record)) ?? [])
  const changed = moved.flatMap(({ record, isChanged }) => (record && isChanged ? keyOfPayment(record) : []))
  return { changed, nextAt: times.toSorted()[0] ?? null }
}

// A refund is known by the payment that it refunds, as in webhooks.
const keyOfPayment = (record: SandboxRecord) => record.refundOf ?? record.key

async function advanceByKey(app: ProviderNeeds, before: SandboxRecord, ms: number) {
  const record = await move(app, byKey(app, before.key), (current, now) =>
    applyPlan(ms === 0 ? current : advanceRecord(current, ms, now), now),
  )
  return { record, isChanged: record !== undefined && hasChanged(before, record) }
}

const SWEEP_LIMIT = 100

/** Applies plans whose time has come, so that their webhooks are sent without a request. */
export async function applyDuePlans(app: ProviderNeeds): Promise<void> {
  const due = await app.store.findDue(app.clock.now(), SWEEP_LIMIT)
  await Promise.all(due.map((record) => readByKey(app, record.key)))
}

/** Every time that money was taken or refunded for an order, under all keys. */
export async function listExecutions(app: ProviderNeeds, order: string): Promise<ExecutionBody[]> {
  const now = app.clock.now()
  const records = (await app.store.findByOrder(order)).map((record) => applyPlan(record, now))
  return records.flatMap((record) => {
    const { uuid, kind, currency, endedAt } = record
    const minor = kind === 'refund' && record.status === 'succeeded' ? record.amount : record.paid
    if (minor === null || endedAt === null) return []
    const amount = formatAmount(money(BigInt(minor), currency))
    return [{ uuid, kind, amount, currency, status: 'successful' as const, executedAt: endedAt }]
  })
}
