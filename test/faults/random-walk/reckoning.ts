// The end of the walk: everything that the service shows is held against the model, against what the provider really
// executed, and against the invariants.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from '../../../src/kit/db.ts'
import { assertInvariants } from '../../support/service.ts'
import { requireLink } from './comparison.ts'
import { isCollected, type Payment, readMinor, refundedMinor, type Shop } from './model.ts'
import { readAll, requireStatement } from './statement.ts'
import { requireAsBelieved, type Shown } from './turns.ts'
import { AWAITED_EVENTS, ask, type Turn, type World } from './world.ts'

export async function reckon(turn: Turn): Promise<{ lines: number }> {
  await requireLists(turn)
  await requireCustomers(turn)
  await requireExecutions(turn)
  return { lines: await requireStatement(turn) }
}

/** Every record is listed once, as the model believes it, and nothing else is. */
async function requireLists(turn: Turn): Promise<void> {
  const { shop } = turn
  const isCharge = ({ kind }: Payment) => kind === 'charge'
  const charges = await readAll(turn, '/api/v1/charges')
  requireSame(charges, shop.payments.filter(isCharge), requirePayment)
  const checkouts = shop.payments.filter((one) => !isCharge(one))
  requireSame(await readAll(turn, '/api/v1/checkout/payments'), checkouts, requirePayment)
  const transfers = checkouts.filter(({ transfer }) => transfer)
  requireSame(await readAll(turn, '/api/v1/p2p/payments'), transfers, requireTransfer)
  const refunds = (await readAll(turn, '/api/v1/refunds')).filter(({ isDuplicate }) => !isDuplicate)
  requireSame(refunds, shop.refunds, (refund, shown) => {
    const told = [shown.status, readMinor(shown.amount, refund.payment.currency)]
    assert.deepEqual(told, [refund.status, refund.minor], `refund ${refund.uuid}`)
  })
  const links = await readAll(turn, '/api/v1/payment-links')
  requireSame(links, shop.links, (link, shown) => requireLink(turn, link, shown))
}

function requireSame<Believed extends { uuid: string }>(
  shown: readonly Shown[],
  believed: readonly Believed[],
  compare: (believed: Believed, shown: Shown) => void,
): void {
  const byName = new Map(shown.map((one) => [one.uuid, one]))
  const known = new Set(believed.map(({ uuid }) => uuid))
  assert.equal(byName.size, shown.length, 'no record is listed twice')
  const missing = believed.filter(({ uuid }) => !byName.has(uuid))
  assert.deepEqual(
    missing.map(({ uuid }) => uuid),
    [],
    'no record is missing',
  )
  const others = shown.filter(({ uuid }) => !known.has(uuid))
  assert.deepEqual(
    others.map(({ uuid }) => uuid),
    [],
    'nothing is there that nobody made',
  )
  for (const one of believed) compare(one, byName.get(one.uuid))
}

function requirePayment(payment: Payment, shown: Shown): void {
  assert.equal(shown.reference, payment.reference, 'one reference, one payment')
  requireAsBelieved(payment, shown)
}

function requireTransfer({ transfer, reference }: Payment, shown: Shown): void {
  const received = shown.amountReceived === null ? null : readMinor(shown.amountReceived, 'SSP')
  assert.deepEqual(
    { status: shown.transferStatus, receivedMinor: received },
    transfer,
    `transfer ${reference}`,
  )
}

async function requireCustomers(turn: Turn): Promise<void> {
  const { shop } = turn
  const shown = await readAll(turn, '/api/v1/customers')
  requireSame(shown, [...shop.customers.values()], (customer, record) => {
    const paid = shop.payments.filter((one) => one.customer === customer && isCollected(one))
    const told = [record.email, record.status, record.totals.successfulPayments]
    const believed = [customer.email, customer.isBlocked ? 'blocked' : 'active', paid.length]
    assert.deepEqual(told, believed, `customer ${customer.uuid}`)
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

/** I6: the provider took each payment once at most, and gave back exactly what is refunded. */
async function requireExecutions({ world: { db }, shop }: Turn): Promise<void> {
  const executed = new Map<string, Executed>()
  for (const { orderId, kind, minor } of await db.query(selectExecutions)) {
    const known = executed.get(orderId) ?? { taken: [], given: 0n }
    if (kind === 'refund') known.given += minor
    else known.taken.push(minor)
    executed.set(orderId, known)
  }
  // What came twice was sent back by itself, and is neither a payment nor a refund of one.
  for (const { paymentId, paidMinor } of await db.query(selectDuplicates)) {
    const known = executed.get(paymentId)
    assert.ok(known)
    known.taken.splice(known.taken.indexOf(paidMinor), 1)
    known.given -= paidMinor
  }
  for (const payment of shop.payments) requireExecution(payment, executed.get(payment.uuid))
}

function requireExecution(payment: Payment, executed: Executed = { taken: [], given: 0n }): void {
  const isTaken = isCollected(payment) && !payment.transfer
  const words = `${payment.reference}, which is ${payment.status}`
  const short = payment.isMismatched ? [(payment.minor * 9n) / 10n] : []
  assert.deepEqual(executed.taken, isTaken ? [payment.minor] : short, `the provider took of ${words}`)
  assert.equal(executed.given, refundedMinor(payment), `the provider gave back of ${words}`)
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
const DELIVERY_LOOKS = 1_000

/** I10: every event that somebody listens to arrives, however often the consumer is unwell. */
export async function requireDeliveries({ db, clock, shops, consumer }: World): Promise<number> {
  for (let looks = 0; looks < DELIVERY_LOOKS; looks += 1) {
    const [row] = await db.query(countDeliveries)
    if (row?.waiting === 0) break
    clock.advance(DELIVERY_STEP_MS)
    await delay(20)
  }
  const awaited = await db.query(selectAwaited, [AWAITED_EVENTS, shops.map(({ uuid }: Shop) => uuid)])
  const missing = awaited.filter(({ id }) => !consumer.taken.has(id))
  assert.deepEqual(missing, [], 'every event has arrived')
  return awaited.length
}

const selectSums = sql<{ currency: string; sum: bigint }>`
select currency, sum(amount_minor)::bigint as sum
from postings
group by currency`

/** I1 to I5, I8 to I10 and I12 to I15 stand as views; that the books sum to nothing is said once more. */
export async function requireBooks({ db, services }: World): Promise<void> {
  await assertInvariants(services[0])
  const sums = await db.query(selectSums)
  assert.ok(sums.length > 0, 'there are books')
  assert.deepEqual(
    sums.filter(({ sum }) => sum !== 0n),
    [],
    'the ledger sums to zero',
  )
}

const SAMPLE = 25

/** The provider's own account of it, as integrators read it. */
export async function requireShownExecutions(turn: Turn): Promise<void> {
  for (const payment of turn.shop.payments.filter(({ transfer }) => !transfer).slice(-SAMPLE)) {
    const { body } = await ask(turn, 'GET', `/api/v1/sandbox/executions?reference=${payment.reference}`)
    const taken = body.data.filter(({ kind }: Shown) => kind !== 'refund')
    const most = isCollected(payment) || payment.isMismatched ? 1 : 0
    assert.ok(taken.length >= most, `${payment.reference} was taken ${taken.length} times`)
  }
}
