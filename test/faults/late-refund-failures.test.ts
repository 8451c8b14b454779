// A refund that fails after its success, or that a person decides, around a dispute or a reversal. In whatever order they
// come, the merchant has exactly what the provider still holds of the payment.

import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { OPERATOR } from '../../src/case-resolutions/request.ts'
import { resolveCase } from '../../src/case-resolutions/resolve.ts'
import type { Resolution } from '../../src/cases/case-kinds.ts'
import { listCases } from '../../src/cases/find.ts'
import { money } from '../../src/core/money.ts'
import type { DisputeReport, ProviderRefund, RefundOutcome } from '../../src/gateways/gateway.ts'
import { sql } from '../../src/kit/db/db.ts'
import { applyOutcome } from '../../src/outcomes/apply.ts'
import { claimRefundLookups, wakeLookup } from '../../src/provider-refunds/lookup.ts'
import { claimRefunds, wakeRefunds } from '../../src/refunds/advance.ts'
import { listRefunds } from '../../src/refunds/find.ts'
import { requestRefund } from '../../src/refunds/request.ts'
import { newReference } from '../support/builders.ts'
import { NAME, paid, paymentsRig } from '../support/payments-rig.ts'
import { FORM, HAS_LARGER_FORM, shareOf } from '../support/scale.ts'

const rig = await paymentsRig({ after })
afterEach(() => rig.endTest())

// The rig collects 100.00 KES for each payment.
const PAID = 10_000n
const PART = 4_000n
const HOUR_MS = 3_600_000

let refundAnswer: RefundOutcome
rig.gateway.refund = async () => refundAnswer
rig.gateway.verifyRefund = async () => refundAnswer

/** How the refund goes wrong, and what a person decides then. */
const ENDINGS = [
  { failure: 'late', resolution: 'accept' },
  { failure: 'late', resolution: 'return' },
  { failure: 'late', resolution: 'write_off' },
  { failure: 'unknown', resolution: 'mark_failed' },
  { failure: 'unknown', resolution: 'return' },
] as const satisfies { failure: 'late' | 'unknown'; resolution: Resolution }[]
type Ending = (typeof ENDINGS)[number]

const DISPUTES = [['open', 'lost'], ['open', 'won'], ['lost']] as const
type Step = 'failure' | 'resolution' | DisputeReport['status']

/** All orders of both lists in which each list keeps its own order. */
function interleavings(first: readonly Step[], second: readonly Step[]): Step[][] {
  const [one, ...ones] = first
  const [other, ...others] = second
  if (one === undefined || other === undefined) return [[...first, ...second]]
  return [
    ...interleavings(ones, second).map((rest) => [one, ...rest]),
    ...interleavings(first, others).map((rest) => [other, ...rest]),
  ]
}

const ORDERS = DISPUTES.flatMap((dispute) => interleavings(['failure', 'resolution'], dispute))

async function pollRefunds(): Promise<void> {
  for (const piece of await claimRefunds(rig.app, 100)) await piece()
}

async function refund(paymentId: string, amountMinor: bigint, failure: Ending['failure']): Promise<void> {
  const gatewayReference = `re-${paymentId}`
  refundAnswer =
    failure === 'late'
      ? { kind: 'succeeded', gatewayReference }
      : { kind: 'unknown', reason: 'no_answer', message: 'no answer' }
  const { reference } = await rig.payment(paymentId)
  const amount = amountMinor === PAID ? null : Number(amountMinor) / 100
  const input = {
    refundReference: newReference(),
    payment: { reference },
    amount,
    reason: null,
    metadata: {},
  }
  await requestRefund(rig.app, rig.merchant, input, undefined)
}

/** The gateway reports the failure, or does not report anything for more than an hour: a case is open afterwards. */
async function fail(paymentId: string, failure: Ending['failure']): Promise<void> {
  if (failure === 'late') {
    const gatewayReference = `re-${paymentId}`
    refundAnswer = { kind: 'failed', message: 'The account is closed.', gatewayReference }
    const { gatewayKey: key } = await rig.attempt(paymentId)
    await wakeRefunds(rig.app, { gateway: NAME, accountId: null, key })
  } else rig.clock.advance(2 * HOUR_MS)
  await pollRefunds()
}

async function resolveOpenCase(paymentId: string, resolution: Resolution): Promise<void> {
  const query = { state: 'open', payment: paymentId, limit: 10 } as const
  const { rows } = await listCases(rig.app, null, query)
  const [found, ...others] = rows
  assert.ok(found && others.length === 0, `${rows.length} cases are open`)
  const proof = resolution === 'return' ? newReference() : null
  await resolveCase(rig.app, OPERATOR, found.id, { resolution, note: 'Decided.', proof })
}

async function report(paymentId: string, status: DisputeReport['status'], minor: bigint): Promise<void> {
  const known = { payment: await rig.payment(paymentId), attempt: await rig.attempt(paymentId) }
  const amount = money(PAID, 'KES')
  const disputes = [{ status, amount: money(minor, 'KES'), reference: 'dp-1' }]
  const outcome = paid({ disputes })({ key: known.attempt.gatewayKey, amount })
  await applyOutcome(rig.app, rig.gateway, known, outcome, { source: 'webhook' })
}

interface Sums {
  wallet: bigint
  disputed: bigint
  writtenOff: bigint
  provider: bigint
}

const selectSums = sql<Sums>`
select
  coalesce(sum(p.amount_minor) filter (where p.account in ('available', 'pending')), 0)::bigint as wallet,
  coalesce(sum(p.amount_minor) filter (where p.account = 'disputed'), 0)::bigint as disputed,
  coalesce(sum(p.amount_minor) filter (where p.account = 'written_off'), 0)::bigint as "writtenOff",
  coalesce(-sum(p.amount_minor) filter (where p.account like 'gateway:%'), 0)::bigint as provider
from postings p
join ledger_entries e on e.merchant_id = p.merchant_id and e.id = p.entry_id
where e.payment_id = $1`

const larger = (a: bigint, b: bigint) => (a > b ? a : b)

/** Who has the money at the end: what the payer got by the refund and by the dispute is gone. */
function expectedSums({ resolution }: Ending, refundMinor: bigint, lostMinor: bigint): Sums {
  const returnedMinor = resolution === 'return' ? refundMinor : 0n
  const provider = larger(PAID - returnedMinor - lostMinor, 0n)
  const takenMinor = resolution === 'accept' || resolution === 'mark_failed' ? 0n : refundMinor
  const wallet = larger(PAID - takenMinor - lostMinor, 0n)
  return { wallet, disputed: 0n, writtenOff: provider - wallet, provider }
}

/** While a dispute is open, the amount of a refund that has failed is held too. */
async function assertHeld(paymentId: string, steps: readonly Step[], { resolution }: Ending): Promise<void> {
  const isReleased = resolution === 'accept' || resolution === 'mark_failed'
  if (!isReleased || !steps.includes('resolution')) return
  if ((await rig.payment(paymentId)).status !== 'disputed') return
  const [sums] = await rig.db.query(selectSums, [paymentId])
  assert.deepEqual([sums?.wallet, sums?.disputed], [0n, PAID], steps.join(', '))
}

async function play(ending: Ending, refundMinor: bigint, claimMinor: bigint, order: readonly Step[]) {
  rig.gateway.answers('chargeSaved', paid())
  const { id } = await rig.charge()
  await refund(id, refundMinor, ending.failure)
  for (const step of order) {
    if (step === 'failure') await fail(id, ending.failure)
    else if (step === 'resolution') await resolveOpenCase(id, ending.resolution)
    else await report(id, step, claimMinor)
    await assertHeld(id, order.slice(0, order.indexOf(step) + 1), ending)
  }
  const [sums] = await rig.db.query(selectSums, [id])
  const lostMinor = order.includes('lost') ? claimMinor : 0n
  const label = `refund ${refundMinor}, claim ${claimMinor}: ${order.join(', ')}`
  assert.deepEqual(sums, expectedSums(ending, refundMinor, lostMinor), label)
}

const CASES = [PAID, PART].flatMap((refundMinor) => ORDERS.map((order) => ({ refundMinor, order })))
const EVERY_ORDER = CASES.filter(({ refundMinor }) => FORM !== 'quick' || refundMinor === PART)

describe('a refund that a person marked as failed and that the provider executes later', () => {
  let atProvider: ProviderRefund[] = []
  const providerGateway = { listRefunds: async () => ({ kind: 'refunds', refunds: atProvider }) as const }
  before(() => void Object.assign(rig.gateway, providerGateway))
  after(() => void Object.assign(rig.gateway, { listRefunds: undefined }))

  /** The refund as the provider lists it, under our key. */
  async function executed(paymentId: string, status: ProviderRefund['status']): Promise<ProviderRefund> {
    const { rows } = await listRefunds(rig.app, rig.merchant, { payment: paymentId, status: 'failed' })
    const [failed] = rows
    assert.ok(failed)
    const { gatewayKey: key, attemptKey, amountMinor } = failed
    const reference = `re-${key}`
    return { reference, key, paymentNames: [attemptKey], amount: money(amountMinor, 'KES'), status }
  }

  async function markedFailed(amountMinor: bigint): Promise<string> {
    rig.gateway.answers('chargeSaved', paid())
    const { id } = await rig.charge()
    await refund(id, amountMinor, 'unknown')
    await fail(id, 'unknown')
    atProvider = []
    await resolveOpenCase(id, 'mark_failed')
    return id
  }

  async function lookUp(paymentId?: string): Promise<number> {
    if (paymentId !== undefined) {
      const { gatewayKey: key } = await rig.attempt(paymentId)
      await wakeLookup(rig.app, { gateway: NAME, accountId: null, key })
    }
    const pieces = await claimRefundLookups(rig.app, 100)
    await Promise.all(pieces.map((piece) => piece()))
    return pieces.length
  }

  const refundsOf = async (payment: string) =>
    (await listRefunds(rig.app, rig.merchant, { payment })).rows.map(({ status, source }) => [status, source])

  it('is found and booked, once', async () => {
    const id = await markedFailed(PART)
    atProvider = [await executed(id, 'succeeded')]
    await Promise.all([lookUp(id), lookUp(id)])
    await lookUp(id)
    const refunds = await refundsOf(id)
    assert.deepEqual(refunds.sort(), [
      ['failed', 'api'],
      ['successful', 'provider'],
    ])
    assert.equal((await rig.payment(id)).refundedMinor, PART)
    const [sums] = await rig.db.query(selectSums, [id])
    assert.deepEqual([sums?.wallet, sums?.provider], [PAID - PART, PAID - PART])
  })

  it('is looked for when it is marked, and every hour while it is pending at the provider', async () => {
    const woken: (boolean | undefined)[] = []
    const { wakeRefunds: wake } = rig.app
    rig.app.wakeRefunds = async (about) => void woken.push(about.isRefund)
    const id = await markedFailed(PART)
    rig.app.wakeRefunds = wake
    assert.deepEqual(woken, [true])
    atProvider = [await executed(id, 'pending')]
    await lookUp(id)
    assert.deepEqual(await refundsOf(id), [['failed', 'api']])
    assert.equal(await lookUp(), 0)
    rig.clock.advance(HOUR_MS)
    atProvider = [await executed(id, 'succeeded')]
    assert.equal(await lookUp(), 1)
    assert.equal((await rig.payment(id)).refundedMinor, PART)
    rig.clock.advance(HOUR_MS)
    assert.equal(await lookUp(), 0)
  })

  it('opens a case that can be resolved if the amount was refunded again meanwhile', async () => {
    for (const resolution of ['accept', 'write_off'] as const) {
      const id = await markedFailed(PAID)
      const first = await executed(id, 'succeeded')
      await refund(id, PAID, 'late')
      atProvider = [first]
      await lookUp(id)
      await resolveOpenCase(id, resolution)
      await lookUp(id)
      const [sums] = await rig.db.query(selectSums, [id])
      assert.equal(sums?.provider, -PAID, 'the provider has given the money back twice')
      assert.equal(resolution === 'accept' ? sums?.wallet : sums?.writtenOff, -PAID)
    }
  })

  it('is not booked if the provider lists it as failed too', async () => {
    const id = await markedFailed(PART)
    atProvider = [await executed(id, 'failed')]
    await lookUp(id)
    assert.deepEqual(await refundsOf(id), [['failed', 'api']])
  })
})

describe('a refund that fails late or stays unknown, around a dispute or a reversal', () => {
  for (const [index, ending] of ENDINGS.entries()) {
    const { failure, resolution } = ending
    // The resolution that gives the merchant money back runs in each order; the quick form has a share of the others.
    const cases = resolution === 'accept' ? EVERY_ORDER : shareOf(shareOf(CASES, index), index)
    const title = `a refund with ${failure === 'late' ? 'a late' : 'an unknown'} outcome, resolved with ${resolution}`
    it(`${title}, leaves the merchant what the provider holds in any order`, HAS_LARGER_FORM, async () => {
      for (const { refundMinor, order } of cases) await play(ending, refundMinor, PAID, order)
    })
  }

  it('two refunds that fail late and a lost claim to a part of the payment are booked once each', async () => {
    const claimMinor = 5_000n
    for (const [first, second] of [
      ['write_off', 'write_off'],
      ['write_off', 'accept'],
      ['accept', 'write_off'],
      ['accept', 'accept'],
    ] as const) {
      rig.gateway.answers('chargeSaved', paid())
      const { id } = await rig.charge()
      await refund(id, PART, 'late')
      await fail(id, 'late')
      await refund(id, PAID - PART, 'late')
      await report(id, 'lost', claimMinor)
      await resolveOpenCase(id, first)
      await fail(id, 'late')
      await resolveOpenCase(id, second)
      const [sums] = await rig.db.query(selectSums, [id])
      assert.ok(sums)
      assert.equal(sums.provider, PAID - claimMinor, `${first}, ${second}`)
      assert.equal(sums.wallet + sums.writtenOff, sums.provider, `${first}, ${second}`)
    }
  })
})
