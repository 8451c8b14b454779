import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { money } from '../core/money.ts'
import type { DisputeRow } from '../disputes/dispute.ts'
import type { DisputeReport, Outcome } from '../gateways/gateway.ts'
import type { AttemptRow } from '../payments/attempt.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { canMove, PAYMENT_STATUSES, type PaymentStatus } from '../payments/states.ts'
import { decide } from './decide.ts'

const AMOUNT = money(10_000n, 'KES')

/** The next status of the payment for this report, given the recorded disputes. */
function decideOn(
  status: PaymentStatus,
  report: Partial<DisputeReport>,
  recorded: Partial<DisputeRow>[] = [],
) {
  const decision = decideAll(status, [report], recorded)
  return decision.kind === 'dispute' ? decision.to : decision.kind
}

function decideAll(
  status: PaymentStatus,
  reports: Partial<DisputeReport>[],
  recorded: Partial<DisputeRow>[],
) {
  const payment = { status, currency: 'KES', amountMinor: AMOUNT.minor } as PaymentRow
  const attempt = { status: 'succeeded', gatewayKey: 'k' } as AttemptRow
  const base: DisputeReport = { status: 'open', amount: AMOUNT, reference: 'dp-1' }
  const outcome: Outcome = {
    kind: 'succeeded',
    gatewayReference: 'g',
    paid: AMOUNT,
    key: 'k',
    savedMethod: null,
    paidAt: new Date(0),
    disputes: reports.map((report) => ({ ...base, ...report })),
  }
  const disputes = recorded.map((one) => ({ gatewayReference: 'dp-1', ...one }) as DisputeRow)
  return decide(payment, attempt, outcome, { firstCall: false, disputes })
}

const PAID: readonly PaymentStatus[] = ['successful', 'partially_refunded', 'refunded']

describe('a dispute', () => {
  it('opens a dispute of a paid payment, refunded or not, and of no other', () => {
    for (const status of PAYMENT_STATUSES)
      assert.equal(decideOn(status, {}), PAID.includes(status) ? 'disputed' : 'nothing', status)
  })

  it('moves a disputed payment to successful when the dispute is won, and to reversed when it is lost', () => {
    const open = [{ status: 'open' as const }]
    assert.equal(decideOn('disputed', { status: 'open' }, open), 'nothing')
    assert.equal(decideOn('disputed', { status: 'won' }, open), 'successful')
    assert.equal(decideOn('disputed', { status: 'lost' }, open), 'reversed')
  })

  it('only records a won dispute that was never seen open, and reverses the payment for a lost one', () => {
    assert.equal(decideOn('successful', { status: 'won' }), null)
    assert.equal(decideOn('successful', { status: 'lost' }), 'reversed')
    for (const status of ['partially_refunded', 'refunded'] as const)
      assert.equal(
        decideOn(status, { status: 'lost' }),
        'disputed',
        'the state table has no direct transition',
      )
  })

  it('ignores every later report of a dispute that has ended', () => {
    for (const end of ['won', 'lost'] as const)
      for (const reported of ['open', 'won', 'lost'] as const)
        for (const status of PAYMENT_STATUSES)
          assert.equal(decideOn(status, { status: reported }, [{ status: end }]), 'nothing')
  })

  it('defers a dispute while another one is open, and ignores one in another currency', () => {
    const other = [{ status: 'open' as const, gatewayReference: 'dp-2' }]
    for (const reported of ['open', 'lost'] as const)
      assert.equal(decideOn('disputed', { status: reported }, other), 'nothing')
    assert.equal(
      decideOn('disputed', { status: 'won' }, other),
      null,
      'a won dispute holds nothing and is recorded at once',
    )
    assert.equal(decideOn('successful', { amount: money(1n, 'USD') }), 'nothing')
  })

  it('applies an ended dispute before an open one, in whatever order they are reported', () => {
    const open = { reference: 'dp-2', status: 'open' as const }
    for (const [end, to] of [
      ['won', 'successful'],
      ['lost', 'reversed'],
    ] as const)
      for (const reported of [
        [open, { status: end }],
        [{ status: end }, open],
      ]) {
        const decision = decideAll('disputed', reported, [{ status: 'open' }])
        assert.ok(decision.kind === 'dispute')
        assert.deepEqual([decision.to, decision.report.reference], [to, 'dp-1'])
      }
  })

  it('records a second lost dispute of a reversed payment without a move', () => {
    const lost = [{ status: 'lost' as const, gatewayReference: 'dp-0' }]
    assert.equal(decideOn('reversed', { status: 'lost' }, lost), null)
    assert.equal(decideOn('reversed', { status: 'open' }, lost), 'nothing')
  })

  it('moves a payment for a dispute only along the state table', () => {
    const histories = [[], [{ status: 'open' as const }], [{ status: 'won' as const }]]
    for (const status of PAYMENT_STATUSES)
      for (const reported of ['open', 'won', 'lost'] as const)
        for (const recorded of histories) {
          const to = decideOn(status, { status: reported }, recorded)
          if (to !== null && to !== 'nothing')
            assert.ok(canMove(status, to as PaymentStatus), `${status} → ${to}`)
        }
  })
})
