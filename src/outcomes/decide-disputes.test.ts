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

/** What decides here: the state, the report, and the disputes that are recorded. */
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
  it('opens about what was paid, refunded or not, and never about anything else', () => {
    for (const status of PAYMENT_STATUSES)
      assert.equal(decideOn(status, {}), PAID.includes(status) ? 'disputed' : 'nothing', status)
  })

  it('that is open leads back when it is won and on when it is lost', () => {
    const open = [{ status: 'open' as const }]
    assert.equal(decideOn('disputed', { status: 'open' }, open), 'nothing')
    assert.equal(decideOn('disputed', { status: 'won' }, open), 'successful')
    assert.equal(decideOn('disputed', { status: 'lost' }, open), 'reversed')
  })

  it('that was never seen open is noted when it was won, and takes the money when it was lost', () => {
    assert.equal(decideOn('successful', { status: 'won' }), null)
    assert.equal(decideOn('successful', { status: 'lost' }), 'reversed')
    for (const status of ['partially_refunded', 'refunded'] as const)
      assert.equal(decideOn(status, { status: 'lost' }), 'disputed', 'the table has no direct way')
  })

  it('that has ended says nothing any more, whatever is told of it later', () => {
    for (const end of ['won', 'lost'] as const)
      for (const reported of ['open', 'won', 'lost'] as const)
        for (const status of PAYMENT_STATUSES)
          assert.equal(decideOn(status, { status: reported }, [{ status: end }]), 'nothing')
  })

  it('waits while another one is open, and counts only in the currency that was paid', () => {
    const other = [{ status: 'open' as const, gatewayReference: 'dp-2' }]
    for (const reported of ['open', 'lost'] as const)
      assert.equal(decideOn('disputed', { status: reported }, other), 'nothing')
    assert.equal(decideOn('disputed', { status: 'won' }, other), null, 'what took nothing need not wait')
    assert.equal(decideOn('successful', { amount: money(1n, 'USD') }), 'nothing')
  })

  it('that has ended goes before one that is open, whatever order they are told in', () => {
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

  it('that is lost after another was takes what that has left', () => {
    const lost = [{ status: 'lost' as const, gatewayReference: 'dp-0' }]
    assert.equal(decideOn('reversed', { status: 'lost' }, lost), null)
    assert.equal(decideOn('reversed', { status: 'open' }, lost), 'nothing')
  })

  it('moves a payment only where the state table leads', () => {
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
