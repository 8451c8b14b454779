// Between two phases all work completes: open requests end, due jobs run, and the model reads the results of concurrent
// requests.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from '../../../src/kit/db/db.ts'
import { SETTLED_AFTER_MS, settle } from './balances.ts'
import { addRecovery } from './charge-commands.ts'
import { type ApiRecord, assertMatchesModel, CHECKOUT_CURRENCIES, recordMethod } from './command-context.ts'
import { expectedOf } from './instruments.ts'
import {
  isCollected,
  isReachable,
  type ModelCurrency,
  modelBalanceOf,
  netOfAll,
  type Payment,
  type Refund,
  readMinor,
  type Shop,
} from './model.ts'
import { type CommandContext, sendRequest, type World } from './world.ts'

const selectUnfinished = sql<{ what: string; count: number }>`
select what, count(*)::integer as count
from (
  select 'a charge without an end' as what
  from payments
  where kind = 'charge' and status = 'processing' and coalesce(status_reason, '') <> 'requires_review'
  union all
  select 'a checkout beyond its time'
  from payments
  where status in ('pending', 'processing')
    and expires_at <= $1
    and coalesce(status_reason, '') not in ('amount_mismatch', 'requires_review')
  union all
  select 'an attempt with an unknown outcome'
  from payments p
  join attempts a on a.merchant_id = p.merchant_id and a.payment_id = p.id
  where p.status = 'processing' and a.status = 'started'
  union all
  select 'a link slot without an active payment'
  from payment_link_slots h
  join payments p on p.merchant_id = h.merchant_id and p.id = h.payment_id
  where h.paid_at is null and p.status = 'pending'
  union all
  select 'a pending refund'
  from refunds
  where status = 'pending'
  union all
  select 'money that came twice'
  from attempts
  where status = 'duplicate_success' and refunded_minor = 0
  union all
  select 'money to be settled'
  from pending_settlements
  where due_at <= $1
  union all
  select 'a transfer beyond its time'
  from p2p_transfers
  where due_at <= $1
) waiting
group by what`

const STEP_MS = 1_000
const MAX_POLLS = 400
const POLL_EVERY_MS = 20

/** Advances the clock until no work is open; returns the time. */
export async function awaitQuiescence({ db, clock }: World): Promise<number> {
  let unfinished: { what: string; count: number }[] = []
  for (let polls = 0; polls < MAX_POLLS; polls += 1) {
    const now = clock.now()
    unfinished = await db.query(selectUnfinished, [now])
    if (unfinished.length === 0) return now.getTime()
    clock.advance(STEP_MS)
    await delay(POLL_EVERY_MS)
  }
  throw new Error(`work does not complete: ${JSON.stringify(unfinished)}`)
}

/** Applies the effects of time on a shop. Uncertain effects are read from the service. */
export function applyElapsedTime(shop: Shop, now: number, jumpedMs: number): void {
  for (const payment of shop.payments) {
    const { expiresAt, status } = payment
    const isWaiting = status === 'pending' || payment.openChannel !== null || isAwaited(payment)
    if (!isWaiting || expiresAt === null || expiresAt > now + NEAR_EXPIRY_MS) continue
    if (expiresAt > now - NEAR_EXPIRY_MS) shop.uncertain.add(payment)
    else expire(payment)
  }
  for (const currency of CHECKOUT_CURRENCIES) settleBalance(shop, currency, now, jumpedMs)
}

const NEAR_EXPIRY_MS = 3_000

const isAwaited = ({ transfer, status }: Payment) => transfer !== null && status === 'processing'

function expire(payment: Payment): void {
  // The provider closes its page with the checkout, which counts as the last decline.
  const isDeclined = payment.openChannel !== null && payment.attempts >= 5
  payment.status = isDeclined ? 'failed' : payment.isCancelled ? 'abandoned' : 'expired'
  payment.openChannel = null
  payment.isCancelled = false
  if (payment.transfer?.status === 'awaiting_payment') payment.transfer.status = 'expired'
}

function settleBalance(shop: Shop, currency: ModelCurrency, now: number, jumpedMs: number): void {
  const modelBalance = modelBalanceOf(shop, currency)
  settle(modelBalance, now)
  if (jumpedMs <= SETTLED_AFTER_MS) return
  // All of it is available now, whatever happened before.
  modelBalance.available = netOfAll(shop, currency)
  modelBalance.pendingSettlements = []
  modelBalance.isExact = true
}

const selectExecuted = sql<{
  orderId: string
  instrument: string | null
  status: string
  dispute: 'open' | 'won' | 'lost' | null
}>`
select
  order_id as "orderId", record ->> 'instrument' as instrument, record ->> 'status' as status,
  record -> 'dispute' ->> 'status' as dispute
from sandbox.records
where order_id = any ($1::text[]) and record ->> 'kind' <> 'refund' and record ->> 'status' = 'succeeded'`

/** Reads every uncertain record, and asserts that its change was possible. */
export async function syncUncertain(context: CommandContext): Promise<void> {
  const { shop, world } = context
  const uncertain = [...shop.uncertain]
  shop.uncertain.clear()
  const executedRows = await world.db.query(selectExecuted, [uncertain.map(({ uuid }) => uuid)])
  for (const payment of uncertain) {
    const executed = executedRows.find(({ orderId }) => orderId === payment.uuid)
    if (executed && !payment.transfer)
      Object.assign(payment, { instrument: executed.instrument, dispute: executed.dispute })
    await syncPayment(context, payment)
  }
  for (const customer of shop.uncertainCustomers) {
    const { body } = await sendRequest(context, 'GET', `/api/v1/customers/${customer.uuid}`)
    customer.isBlocked = body.data.status === 'blocked'
  }
  shop.uncertainCustomers.clear()
  shop.contested.clear()
}

export function pathOf({ kind, transfer, uuid }: Payment): string {
  if (transfer) return `/api/v1/p2p/payments/${uuid}`
  return kind === 'charge' ? `/api/v1/charges/${uuid}` : `/api/v1/checkout/payments/${uuid}`
}

async function syncPayment(context: CommandContext, payment: Payment): Promise<void> {
  const { body } = await sendRequest(context, 'GET', pathOf(payment))
  const shown: ApiRecord = body.data
  const summary = `${payment.reference} went from ${payment.status} to ${shown.status}`
  assert.ok(isReachable(payment.status, shown.status), summary)
  payment.status = shown.status
  payment.isCancelled = shown.status === 'pending' && shown.statusReason === 'customer_cancelled'
  for (const refund of payment.refunds.filter(({ status }) => status === 'pending')) {
    const { body: read } = await sendRequest(context, 'GET', `/api/v1/refunds/${refund.uuid}`)
    refund.status = read.data.status
  }
  for (const refund of payment.refunds) assertExpectedStatus(refund)
  if (payment.transfer) syncTransfer(payment, shown)
  else if (payment.kind === 'checkout') syncCheckout(context, payment, shown)
  else if (shown.recovery) await addRecovery(context, payment, shown.recovery)
  await syncDispute(context, payment)
  assertMatchesModel(payment, shown)
}

/** A provider with funds cannot reject a refund: its amount was reserved before. */
function assertExpectedStatus({ payment, status, uuid }: Refund): void {
  const expected = expectedOf(payment.instrument).refund === 'declines' ? 'failed' : 'successful'
  assert.equal(status, expected, `refund ${uuid} of ${payment.reference}, paid with ${payment.instrument}`)
}

function syncTransfer(payment: Payment, shown: ApiRecord): void {
  const received = shown.amountReceived
  const receivedMinor = received === null ? null : readMinor(received, payment.currency)
  payment.transfer = { status: shown.transferStatus, receivedMinor }
  payment.expiresAt = Date.parse(shown.expiresAt)
}

function syncCheckout(context: CommandContext, payment: Payment, shown: ApiRecord): void {
  const last = shown.attempts.at(-1)
  const isLeftOpen = shown.status === 'processing' && last?.endedAt === null
  payment.openChannel = isLeftOpen ? last.channel : null
  payment.attempts = shown.attempts.length
  payment.expiresAt = Date.parse(shown.expiresAt)
  payment.isMismatched = shown.statusReason === 'amount_mismatch'
  if (!isCollected(payment) || expectedOf(payment.instrument).recurringCharge === null) return
  recordMethod({ ...context, isSequential: false }, payment, shown.paymentMethod)
}

/** Only the statement shows the amount of a dispute; the model knows its limits. */
async function syncDispute(context: CommandContext, payment: Payment): Promise<void> {
  if (!isCollected(payment) || payment.transfer) return
  const kinds = ['dispute', 'dispute_won', 'reversal']
  const { body } = await sendRequest(
    context,
    'GET',
    `/api/v1/wallet/transactions?payment=${payment.uuid}&limit=100`,
  )
  const taken = body.data
    .filter(({ type }: ApiRecord) => kinds.includes(type))
    .reduce((sum: bigint, { amount }: ApiRecord) => sum - readMinor(amount, payment.currency), 0n)
  const refunded = payment.refunds.filter(({ status }) => status === 'successful')
  const most = payment.minor - refunded.reduce((sum, { minor }) => sum + minor, 0n)
  const { status, reference } = payment
  payment.heldMinor = status === 'disputed' ? taken : 0n
  payment.lostMinor = status === 'reversed' ? taken : 0n
  if (status === 'reversed') assert.equal(taken, most, `${reference}: what was not refunded is lost`)
  else if (status === 'disputed')
    assert.ok(taken >= 0n && taken <= most, `${reference} holds ${taken} of ${most}`)
  else assert.equal(taken, 0n, `${reference}: nothing is held of what is not disputed`)
}
