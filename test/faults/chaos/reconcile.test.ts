// The comparison detects every kind of loss: the test changes one thing at a time in records that agree.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Receipt } from '../../support/consumer.ts'
import type { Acknowledgement } from './acknowledgements.ts'
import { reconcile } from './reconcile.ts'
import type { Execution, PaymentRecord, RefundRecord, RunRecords } from './records.ts'

const PAYMENT: PaymentRecord = {
  id: 'p1',
  reference: 'order-1',
  status: 'partially_refunded',
  reason: null,
  history: ['processing', 'successful', 'partially_refunded'],
  keys: ['k1'],
  refundedMinor: 300n,
}
const REFUND: RefundRecord = { id: 'r1', paymentId: 'p1', status: 'successful', gatewayKey: 'k2' }
const TAKEN: Execution = { key: 'k1', order: 'p1', kind: 'charge', minor: 1000n }
const GIVEN: Execution = { key: 'k2', order: 'p1', kind: 'refund', minor: 300n }
const ACKNOWLEDGED: Acknowledgement = {
  operation: 'charge',
  about: 'payment',
  reference: 'order-1',
  uuid: 'p1',
  status: 'successful',
  at: '',
}
const GIVEN_BACK: Acknowledgement = {
  ...ACKNOWLEDGED,
  operation: 'refund',
  about: 'refund',
  reference: null,
  uuid: 'r1',
}

interface Case {
  acknowledgements: Acknowledgement[]
  records: RunRecords
  received: string[]
  errors: string[]
}

const right = (): Case => ({
  acknowledgements: [ACKNOWLEDGED, { ...ACKNOWLEDGED, status: 'processing' }, GIVEN_BACK],
  records: {
    payments: [PAYMENT],
    refunds: [REFUND],
    events: [{ id: 'e1', deliveries: ['delivered'] }],
    executions: [TAKEN, GIVEN],
  },
  received: ['e1', 'e1'],
  errors: [],
})

/** The checks that failed. */
function failuresIn({ acknowledgements, records, received, errors }: Case): string[] {
  const receipts = received.map((id): Receipt => {
    return { id, resource: 'p1', version: 1, body: '', headers: {}, atMs: 0, isAccepted: true }
  })
  return reconcile(acknowledgements, records, { receipts, errors })
    .filter(({ failures }) => failures.length > 0)
    .map(({ name }) => name)
}

const CASES: [what: string, change: (one: Case) => void, question: RegExp][] = [
  [
    'an acknowledged payment that is missing',
    ({ acknowledgements }) => acknowledgements.push({ ...ACKNOWLEDGED, uuid: 'p2', reference: 'order-2' }),
    /payments lost/,
  ],
  [
    'a payment that never had the acknowledged status',
    ({ acknowledgements }) => acknowledgements.push({ ...ACKNOWLEDGED, status: 'failed' }),
    /payments lost/,
  ],
  [
    'an acknowledged refund that is missing',
    ({ acknowledgements }) => acknowledgements.push({ ...GIVEN_BACK, uuid: 'r2' }),
    /refunds lost/,
  ],
  [
    'a refund that was successful and is no longer',
    ({ records }) => records.refunds.splice(0, 1, { ...REFUND, status: 'failed' }),
    /refunds lost/,
  ],
  [
    'one reference with two payments',
    ({ acknowledgements }) => acknowledgements.push({ ...ACKNOWLEDGED, uuid: 'p2' }),
    /two payments/,
  ],
  [
    'a payment that was executed twice',
    ({ records }) => records.executions.push({ ...TAKEN, key: 'k3' }),
    /double executions/,
  ],
  [
    'an execution under an unknown key',
    ({ records }) => records.executions.push({ ...GIVEN, key: 'k3' }),
    /without a record/,
  ],
  [
    'a refund that was executed twice',
    ({ records }) => records.executions.push({ ...GIVEN, key: 'k3' }),
    /records differ/,
  ],
  [
    'a payment that is paid here and not at the provider',
    ({ records }) => records.executions.shift(),
    /records differ/,
  ],
  [
    'a payment that failed here and was executed',
    ({ records }) => records.payments.splice(0, 1, { ...PAYMENT, status: 'failed' }),
    /records differ/,
  ],
  ['an event that was not received', ({ received }) => received.splice(0), /not delivered/],
  [
    'an event that is pending',
    ({ records }) => records.events.splice(0, 1, { id: 'e1', deliveries: ['pending'] }),
    /not delivered/,
  ],
  [
    'an event without a delivery',
    ({ records }) => records.events.splice(0, 1, { id: 'e1', deliveries: [] }),
    /not delivered/,
  ],
  ['a webhook about no event', ({ received }) => received.push('e2'), /phantom/],
  ['a webhook with a wrong signature', ({ errors }) => errors.push('No matching signature found'), /phantom/],
]

describe('the comparison of the records', () => {
  it('the comparison finds no difference in records that agree', () => {
    assert.deepEqual(failuresIn(right()), [])
  })

  for (const [what, change, failingCheck] of CASES) {
    it(`the comparison detects ${what}`, () => {
      const one = right()
      change(one)
      assert.ok(
        failuresIn(one).some((found) => failingCheck.test(found)),
        failuresIn(one).join(', '),
      )
    })
  }
})
