// One record per key: a checkout, a charge or a refund. All state transitions are pure functions of the record and the
// time. Events outside our pages are planned when the record is created and applied when it is next read, so a restart
// loses nothing.

import { createHash } from 'node:crypto'
import type { Currency } from '../../../core/currency.ts'
import type { FailureCode } from '../../../core/failures.ts'
import { addMs } from '../../../kit/clock.ts'
import type { ProviderChannel } from '../../gateway.ts'
import {
  DEFAULT_INSTRUMENTS,
  factsOf,
  type InstrumentEnding,
  type InstrumentName,
  isInstrumentName,
  type SavedCardCharge,
} from '../instruments.ts'
import type { ChargeBody, CheckoutBody } from '../wire.ts'

type Status = 'open' | 'authenticating' | 'pending' | 'on_hold' | 'succeeded' | 'declined'

export interface SandboxRecord {
  uuid: string
  key: string
  kind: 'checkout' | 'charge' | 'refund'
  /** The merchant; null in older records. */
  account?: string | null
  /** The merchant's payment: executions are counted by it, across keys. */
  order: string
  /** Incremented with every change, for compare-and-set. */
  version: number
  /** Minor units as text, because JSON numbers round. */
  amount: string
  currency: Currency
  country: string | null
  /** A hash of the payer's e-mail, enough to recognize the payer. */
  payer: string
  channel: ProviderChannel
  instrument: InstrumentName | null
  /** The saved card that a charge uses. */
  token: string | null
  checkout: CheckoutFacts | null
  plan: { at: string; ending: InstrumentEnding } | null
  status: Status
  paid: string | null
  declineCode: FailureCode | null
  createdAt: string
  endedAt: string | null
  /** Refunds only: the key of the refunded payment. */
  refundOf?: string
  /** Payments only: the amount of each refund by its key. */
  refunds?: Record<string, string>
  /** The current dispute or reversal; absent if there was none. */
  dispute?: SandboxDispute
  /** Disputes won before, latest first. */
  pastDisputes?: SandboxDispute[]
  /** What the payer's bank will do, in the order of time. */
  plannedDisputes?: PlannedDispute[]
}

interface PlannedDispute {
  at: string
  status: SandboxDispute['status']
}

/** `lost` also covers a reversal without a dispute. */
export interface SandboxDispute {
  uuid: string
  status: 'open' | 'won' | 'lost'
  amount: string
  /** Until when the merchant may respond; absent if it was never open. */
  respondBy?: string
}

export interface CheckoutFacts {
  /** Unguessable: it is the only protection of the payer's page. */
  pageToken: string
  returnUrl: string
  merchantName: string
  description: string | null
  /** As submitted; null if none was named, as in tests that only name an instrument. */
  phone: string | null
  /** A code of core/networks.ts; older records contain a name. */
  network: string | null
  closesAt: string
}

interface DraftContext {
  uuid: string
  pageToken: string
  now: Date
}

// Operators give the payer about five minutes to enter the PIN.
const PROMPT_MS = 5 * 60_000
const PAGE_MS = 24 * 60 * 60_000

export function draftCheckout(key: string, body: CheckoutBody, context: DraftContext): SandboxRecord {
  const chosen = isInstrumentName(body.instrument) ? body.instrument : null
  const instrument = chosen ?? (body.channel === 'card' ? null : DEFAULT_INSTRUMENTS[body.channel])
  const expiresAt = body.expiresAt === null ? null : new Date(body.expiresAt)
  const promptEndsAt = addMs(context.now, PROMPT_MS)
  const closesAt = body.channel === 'mobile_money' ? promptEndsAt : (expiresAt ?? addMs(context.now, PAGE_MS))
  return {
    ...draft('checkout', key, body, context),
    channel: body.channel,
    instrument,
    token: null,
    checkout: {
      pageToken: context.pageToken,
      // Normalized by URL to ASCII, so that it can be a header value.
      returnUrl: new URL(body.returnUrl).href,
      merchantName: body.merchantName,
      description: body.description,
      phone: body.phone,
      network: body.network,
      closesAt: closesAt.toISOString(),
    },
    status: body.channel === 'card' ? 'open' : 'pending',
    plan: planOf(instrument, { now: context.now, promptEndsAt, closesAt, expiresAt }),
  }
}

export function draftCharge(key: string, body: ChargeBody, context: DraftContext): SandboxRecord {
  const instrument = instrumentOfToken(body.token)
  const charge: SandboxRecord = {
    ...draft('charge', key, body, context),
    channel: 'card',
    instrument,
    token: body.token,
    checkout: null,
    status: 'pending',
    plan: null,
  }
  return finish(charge, savedCardChargeOf(instrument).ending, context.now.toISOString())
}

function draft(
  kind: SandboxRecord['kind'],
  key: string,
  body: CheckoutBody | ChargeBody,
  context: DraftContext,
) {
  return {
    uuid: context.uuid,
    key,
    kind,
    account: body.account ?? null,
    order: body.order,
    version: 1,
    amount: body.amount,
    currency: body.currency,
    country: body.country,
    payer: hashOf(body.email.toLowerCase()),
    paid: null,
    declineCode: null,
    createdAt: context.now.toISOString(),
    endedAt: null,
  }
}

interface Deadlines {
  now: Date
  promptEndsAt: Date
  closesAt: Date
  expiresAt: Date | null
}

function planOf(instrument: InstrumentName | null, deadlines: Deadlines): SandboxRecord['plan'] {
  const { now, promptEndsAt, closesAt, expiresAt } = deadlines
  const timing = instrument ? factsOf(instrument).timing : ({ on: 'page' } as const)
  const plan = (at: Date, ending: InstrumentEnding) => ({ at: at.toISOString(), ending })
  if (!instrument || timing.on === 'page' || timing.on === 'approval')
    return plan(closesAt, { declines: 'customer_timeout' })
  const { ending } = factsOf(instrument)
  switch (timing.on) {
    case 'start':
      return plan(addMs(now, timing.afterMs), ending)
    case 'prompt_expiry':
      return plan(promptEndsAt, ending)
    case 'checkout_expiry':
      return plan(addMs(expiresAt && expiresAt > now ? expiresAt : promptEndsAt, timing.afterMs), ending)
  }
}

/** Whether a repeated key has the same content as the first request. Names and texts may differ; money may not. */
export function isSameRequest(a: SandboxRecord, b: SandboxRecord): boolean {
  const fields = ['kind', 'order', 'amount', 'currency', 'channel', 'payer', 'token', 'refundOf'] as const
  return fields.every((field) => a[field] === b[field])
}

export function isFinal(record: SandboxRecord): boolean {
  return record.status === 'succeeded' || record.status === 'declined'
}

/** When the record will change by itself. */
export function dueAt(record: SandboxRecord): string | null {
  const disputeAt = record.plannedDisputes?.[0]?.at ?? null
  return isFinal(record) && !isLateFailure(record) ? disputeAt : (record.plan?.at ?? null)
}

/** A successful refund that the payer's bank will reject. */
function isLateFailure({ kind, status, plan }: SandboxRecord): boolean {
  return kind === 'refund' && status === 'succeeded' && plan !== null
}

/** The record at this time: a plan whose time has come is applied as of that time. */
export function applyPlan(record: SandboxRecord, now: Date): SandboxRecord {
  return applyPlannedDisputes(applyPlannedEnding(record, now), now)
}

function applyPlannedEnding(record: SandboxRecord, now: Date): SandboxRecord {
  if (!record.plan || new Date(record.plan.at) > now) return record
  if (isFinal(record) && !isLateFailure(record)) return record
  // Once: a refund that has succeeded late must not look like one that will still fail.
  return { ...finish(record, record.plan.ending, record.plan.at), plan: null }
}

function applyPlannedDisputes(record: SandboxRecord, now: Date): SandboxRecord {
  const [next, ...later] = record.plannedDisputes ?? []
  if (!next || new Date(next.at) > now) return record
  const disputed = disputeRecord(record, next.status, `dispute-${record.uuid}`, new Date(next.at))
  return applyPlannedDisputes({ ...disputed, plannedDisputes: later }, now)
}

/** The record with its planned times earlier by this much, but not in the past: the account's test clock was advanced. */
export function advanceRecord(record: SandboxRecord, ms: number, now: Date): SandboxRecord {
  const earlier = (at: string) => {
    const time = new Date(at)
    return time <= now ? at : new Date(Math.max(time.getTime() - ms, now.getTime())).toISOString()
  }
  const { plan, checkout, plannedDisputes } = record
  return {
    ...record,
    plan: plan && { ...plan, at: earlier(plan.at) },
    checkout: checkout && { ...checkout, closesAt: earlier(checkout.closesAt) },
    ...(plannedDisputes && {
      plannedDisputes: plannedDisputes.map((one) => ({ ...one, at: earlier(one.at) })),
    }),
  }
}

/** The payer presses Pay on the page. */
export function applyPayment(record: SandboxRecord, instrument: InstrumentName, now: Date): SandboxRecord {
  const current = applyPlan(record, now)
  if (current.status !== 'open') return current
  const { timing, ending } = factsOf(instrument)
  if (timing.on === 'approval') return { ...current, instrument, status: 'authenticating' }
  return finish({ ...current, instrument }, ending, now.toISOString())
}

/** The payer answers the bank's approval step. */
export function applyApproval(record: SandboxRecord, approves: boolean, now: Date): SandboxRecord {
  const current = applyPlan(record, now)
  if (current.status !== 'authenticating') return current
  return finish(
    current,
    approves ? { pays: 'all' } : { declines: 'authentication_failed' },
    now.toISOString(),
  )
}

export function applyCancellation(record: SandboxRecord, now: Date): SandboxRecord {
  const current = applyPlan(record, now)
  return isFinal(current) ? current : finish(current, { declines: 'customer_cancelled' }, now.toISOString())
}

/** Simulates the payer and the passing of time to the end, for automated tests. */
export function applySimulation(
  record: SandboxRecord,
  instrument: InstrumentName | null,
  now: Date,
): SandboxRecord {
  const current = applyPlan(record, now)
  if (isFinal(current)) return current
  const used = instrument ?? current.instrument ?? DEFAULT_INSTRUMENTS[current.channel]
  return finish({ ...current, instrument: used }, factsOf(used).ending, now.toISOString())
}

/** The payer's bank opens or decides a dispute; returns the record unchanged if there is none to open or decide. */
export function applyDispute(
  record: SandboxRecord,
  status: SandboxDispute['status'],
  uuid: string,
  now: Date,
): SandboxRecord {
  return disputeRecord(applyPlan(record, now), status, uuid, now)
}

// Card schemes give one to three weeks.
const RESPONSE_MS = 7 * 24 * 3_600_000

function disputeRecord(
  current: SandboxRecord,
  status: SandboxDispute['status'],
  uuid: string,
  now: Date,
): SandboxRecord {
  const { dispute, pastDisputes = [], paid: amount } = current
  if (current.status !== 'succeeded' || amount === null || dispute?.status === 'lost') return current
  if (dispute?.status === 'open')
    return status === 'open' ? current : { ...current, dispute: { ...dispute, status } }
  if (status === 'won') return current
  const past = dispute ? [dispute, ...pastDisputes] : pastDisputes
  const deadline = status === 'open' && { respondBy: addMs(now, RESPONSE_MS).toISOString() }
  return { ...current, dispute: { uuid, status, amount, ...deadline }, pastDisputes: past }
}

function finish(record: SandboxRecord, ending: InstrumentEnding, at: string): SandboxRecord {
  if ('declines' in ending)
    return { ...record, status: 'declined', declineCode: ending.declines, endedAt: at }
  if ('holds' in ending) return { ...record, status: 'on_hold', plan: null }
  if (record.kind === 'refund') return { ...record, status: 'succeeded', endedAt: at }
  const paid = paidAmount(record.amount, ending.pays)
  return { ...record, status: 'succeeded', paid, endedAt: at, ...planDisputes(record.instrument, at) }
}

function planDisputes(
  instrument: InstrumentName | null,
  paidAt: string,
): Pick<SandboxRecord, 'plannedDisputes'> {
  const disputes = (instrument && factsOf(instrument).disputes) ?? []
  if (disputes.length === 0) return {}
  const atOf = (afterMs: number) => addMs(new Date(paidAt), afterMs).toISOString()
  return { plannedDisputes: disputes.map(({ afterMs, status }) => ({ at: atOf(afterMs), status })) }
}

/** A tenth less or more, and always at least one minor unit. */
function paidAmount(amount: string, pays: 'all' | 'less' | 'more'): string {
  const minor = BigInt(amount)
  const less = (minor * 9n) / 10n
  if (pays === 'all') return amount
  return String(pays === 'less' ? less : minor + (minor - less))
}

const TOKEN = /^tok_[0-9a-f]{32}\.(\w+)$/

/** The token of a paid card. It contains the instrument, so that a charge needs no lookup. */
export function tokenOf(record: SandboxRecord): string {
  return `tok_${record.uuid.replaceAll('-', '')}.${record.instrument}`
}

function instrumentOfToken(token: string): InstrumentName | null {
  const name = TOKEN.exec(token)?.[1]
  return isInstrumentName(name) && factsOf(name).savedCardCharge ? name : null
}

/** How a charge with the instrument goes; an unknown token is an invalid card. */
export function savedCardChargeOf(instrument: InstrumentName | null): SavedCardCharge {
  const savedCardCharge = instrument && factsOf(instrument).savedCardCharge
  return savedCardCharge || { ending: { declines: 'invalid_card' }, response: 'normal' }
}

/** The same card of the same payer has the same fingerprint each time it is saved. */
export function fingerprintOf(record: SandboxRecord): string {
  return hashOf(`${record.instrument}|${record.payer}`)
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
