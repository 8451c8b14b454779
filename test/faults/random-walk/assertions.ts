// The end of the walk: compares every record that the service returns with the model, with the provider's executions,
// and with the invariants.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from '../../../src/kit/db/db.ts'
import { assertInvariants } from '../../support/invariants.ts'
import { type ApiRecord, assertMatchesModel } from './command-context.ts'
import { assertLink } from './comparison.ts'
import { isCollected, type Payment, readMinor, refundedMinor, type Shop } from './model.ts'
import { assertStatement, readAll } from './statement.ts'
import { AWAITED_EVENTS, type CommandContext, sendRequest, type World } from './world.ts'

export async function assertFinalState(context: CommandContext): Promise<{ lines: number }> {
  await assertLists(context)
  await assertCustomers(context)
  await assertExecutions(context)
  return { lines: await assertStatement(context) }
}

/** Every record of the model is listed once with the expected values, and no other record is. */
async function assertLists(context: CommandContext): Promise<void> {
  const { shop } = context
  const isCharge = ({ kind }: Payment) => kind === 'charge'
  const charges = await readAll(context, '/api/v1/charges')
  assertSame(charges, shop.payments.filter(isCharge), assertPayment)
  const checkouts = shop.payments.filter((one) => !isCharge(one))
  assertSame(await readAll(context, '/api/v1/checkout/payments'), checkouts, assertPayment)
  const transfers = checkouts.filter(({ transfer }) => transfer)
  assertSame(await readAll(context, '/api/v1/p2p/payments'), transfers, assertTransfer)
  const refunds = (await readAll(context, '/api/v1/refunds')).filter(({ isDuplicate }) => !isDuplicate)
  assertSame(refunds, shop.refunds, (refund, shown) => {
    const actual = [shown.status, readMinor(shown.amount, refund.payment.currency)]
    assert.deepEqual(actual, [refund.status, refund.minor], `refund ${refund.uuid}`)
  })
  const links = await readAll(context, '/api/v1/payment-links')
  assertSame(links, shop.links, (link, shown) => assertLink(context, link, shown))
}

function assertSame<Modelled extends { uuid: string }>(
  shown: readonly ApiRecord[],
  expected: readonly Modelled[],
  compare: (expected: Modelled, shown: ApiRecord) => void,
): void {
  const byName = new Map(shown.map((one) => [one.uuid, one]))
  const known = new Set(expected.map(({ uuid }) => uuid))
  assert.equal(byName.size, shown.length, 'no record is listed twice')
  const missing = expected.filter(({ uuid }) => !byName.has(uuid))
  assert.deepEqual(
    missing.map(({ uuid }) => uuid),
    [],
    'no record is missing',
  )
  const others = shown.filter(({ uuid }) => !known.has(uuid))
  assert.deepEqual(
    others.map(({ uuid, reference }) => [uuid, reference]),
    [],
    'every record is known to the model',
  )
  for (const one of expected) compare(one, byName.get(one.uuid))
}

function assertPayment(payment: Payment, shown: ApiRecord): void {
  assert.equal(shown.reference, payment.reference, 'one reference, one payment')
  assertMatchesModel(payment, shown)
}

function assertTransfer({ transfer, reference }: Payment, shown: ApiRecord): void {
  const received = shown.amountReceived === null ? null : readMinor(shown.amountReceived, 'SSP')
  assert.deepEqual(
    { status: shown.transferStatus, receivedMinor: received },
    transfer,
    `transfer ${reference}`,
  )
}

async function assertCustomers(context: CommandContext): Promise<void> {
  const { shop } = context
  const shown = await readAll(context, '/api/v1/customers')
  assertSame(shown, [...shop.customers.values()], (customer, record) => {
    const paid = shop.payments.filter((one) => one.customer === customer && isCollected(one))
    const actual = [record.email, record.status, record.totals.successfulPayments]
    const expected = [customer.email, customer.isBlocked ? 'blocked' : 'active', paid.length]
    assert.deepEqual(actual, expected, `customer ${customer.uuid}`)
  })
}

const selectExecutions = sql<{ orderId: string; kind: string; minor: bigint }>`
select
  order_id as "orderId", record ->> 'kind' as kind,
  case when record ->> 'kind' = 'refund' then record ->> 'amount' else record ->> 'paid' end::bigint as minor
from sandbox.records
where record ->> 'status' = 'succeeded'`

const selectDuplicates = sql<{ paymentId: string; paidMinor: bigint }>`
select payment_id as "paymentId", paid_minor as "paidMinor"
from attempts
where status = 'duplicate_success'`

interface Executed {
  taken: bigint[]
  given: bigint
}

/** I6: the provider executed each payment at most once, and refunded exactly the refunded amount. */
async function assertExecutions({ world: { db }, shop }: CommandContext): Promise<void> {
  const executed = new Map<string, Executed>()
  for (const { orderId, kind, minor } of await db.query(selectExecutions)) {
    const known = executed.get(orderId) ?? { taken: [], given: 0n }
    if (kind === 'refund') known.given += minor
    else known.taken.push(minor)
    executed.set(orderId, known)
  }
  // A duplicate payment was refunded automatically, and is neither a payment nor a refund in the model.
  for (const { paymentId, paidMinor } of await db.query(selectDuplicates)) {
    const known = executed.get(paymentId)
    assert.ok(known)
    known.taken.splice(known.taken.indexOf(paidMinor), 1)
    known.given -= paidMinor
  }
  for (const payment of shop.payments) assertExecution(payment, executed.get(payment.uuid))
}

function assertExecution(payment: Payment, executed: Executed = { taken: [], given: 0n }): void {
  const isTaken = isCollected(payment) && !payment.transfer
  const summary = `${payment.reference}, which is ${payment.status}`
  const short = payment.isMismatched ? [(payment.minor * 9n) / 10n] : []
  assert.deepEqual(executed.taken, isTaken ? [payment.minor] : short, `the provider took of ${summary}`)
  assert.equal(executed.given, refundedMinor(payment), `the provider gave back of ${summary}`)
}

const selectAwaited = sql<{ id: string }>`
select id
from events
where type = any ($1::text[]) and merchant_id = any ($2::uuid[])`

const countDeliveries = sql<{ waiting: number }>`
select count(*)::integer as waiting
from deliveries
where status = 'pending'`

const DELIVERY_STEP_MS = 600_000
const MAX_DELIVERY_POLLS = 1_000

/** I10: every event with a subscribed endpoint arrives, however often the consumer fails. */
export async function assertDeliveries({ db, clock, shops, consumer }: World): Promise<number> {
  for (let polls = 0; polls < MAX_DELIVERY_POLLS; polls += 1) {
    const [row] = await db.query(countDeliveries)
    if (row?.waiting === 0) break
    clock.advance(DELIVERY_STEP_MS)
    await delay(20)
  }
  const awaited = await db.query(selectAwaited, [AWAITED_EVENTS, shops.map(({ uuid }: Shop) => uuid)])
  const missing = awaited.filter(({ id }) => !consumer.accepted.has(id))
  assert.deepEqual(missing, [], 'every event has arrived')
  return awaited.length
}

const selectSums = sql<{ currency: string; sum: bigint }>`
select currency, sum(amount_minor)::bigint as sum
from postings
group by currency`

/** I1 to I5, I8 to I10 and I12 to I15 are views; the sum of the ledger is checked here once more. */
export async function assertLedger({ db, services }: World): Promise<void> {
  await assertInvariants(services[0])
  const sums = await db.query(selectSums)
  assert.ok(sums.length > 0, 'the ledger has postings')
  assert.deepEqual(
    sums.filter(({ sum }) => sum !== 0n),
    [],
    'the ledger sums to zero',
  )
}

const SAMPLE = 25

/** The provider's records, read through its API. */
export async function assertReportedExecutions(context: CommandContext): Promise<void> {
  for (const payment of context.shop.payments.filter(({ transfer }) => !transfer).slice(-SAMPLE)) {
    const { body } = await sendRequest(
      context,
      'GET',
      `/api/v1/sandbox/executions?reference=${payment.reference}`,
    )
    const taken = body.data.filter(({ kind }: ApiRecord) => kind !== 'refund')
    const most = isCollected(payment) || payment.isMismatched ? 1 : 0
    assert.ok(taken.length >= most, `${payment.reference} was taken ${taken.length} times`)
  }
}
