import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { money } from '../core/money.ts'
import type { FileRow } from './formats.ts'
import { flawOf, isMatch, judge, type Ours } from './judge.ts'

const ROW: FileRow = {
  line: 2,
  type: 'payment',
  key: 'k',
  reference: null,
  amountText: '10.00',
  currency: 'KES',
  amount: money(1_000n, 'KES'),
  fee: null,
  status: null,
  isDone: true,
}

const OURS: Ours = {
  merchantId: 'm',
  paymentId: 'p',
  refundId: null,
  key: 'k',
  reference: null,
  status: 'succeeded',
  isDone: true,
  isCredited: true,
  amount: money(1_000n, 'KES'),
  fee: money(25n, 'KES'),
}

const CASES: [says: string, row: Partial<FileRow>, ours: Partial<Ours> | undefined, breaks: string[]][] = [
  ['the same', {}, {}, []],
  ['nothing of it here', {}, undefined, ['missing_here']],
  ['nothing here about what did not move', { isDone: false }, undefined, []],
  ['moved there alone', {}, { isDone: false }, ['status_differs']],
  ['moved here alone', { isDone: false }, {}, ['status_differs']],
  ['moved nowhere', { isDone: false }, { isDone: false }, []],
  ['another currency', { currency: 'USD', amount: money(1_000n, 'USD') }, {}, ['currency_differs']],
  ['a currency that we do not know', { currency: 'JPY', amount: null }, {}, ['currency_differs']],
  ['a minor unit less', { amount: money(999n, 'KES') }, {}, ['amount_differs']],
  ['another fee', { fee: money(24n, 'KES') }, {}, ['fee_differs']],
  ['the same fee', { fee: money(25n, 'KES') }, {}, []],
  ['a fee where we keep none', { fee: money(24n, 'KES') }, { fee: money(0n, 'KES') }, []],
]

describe('a line of a settlement file beside our books', () => {
  for (const [says, row, ours, breaks] of CASES) {
    it(`says ${says}: ${breaks.join() || 'no break'}`, () => {
      const book = ours && { ...OURS, ...ours }
      assert.deepEqual(judge({ ...ROW, ...row }, book), breaks)
    })
  }

  it('is no payment at zero or below, and nothing where its names contradict each other', () => {
    const found = { ours: OURS, namesDiffer: false }
    const flawAt = (minor: bigint, row: Partial<FileRow> = {}) =>
      flawOf({ ...ROW, amount: money(minor, 'KES'), ...row }, found)
    assert.deepEqual([flawAt(1n), flawAt(0n), flawAt(-1n)], [null, 'negative_payment', 'negative_payment'])
    assert.deepEqual(
      [flawAt(0n, { isDone: false }), flawAt(-1n, { isDone: false }), flawAt(-1n, { type: 'refund' })],
      [null, 'negative_payment', null],
    )
    assert.equal(flawOf(ROW, { ...found, namesDiffer: true }), 'names_differ')
  })

  it('is proof only where both say that the money moved, a fee apart', () => {
    assert.equal(isMatch(ROW, OURS, []), true)
    assert.equal(isMatch(ROW, OURS, ['fee_differs']), true)
    assert.equal(isMatch(ROW, OURS, ['amount_differs']), false)
    assert.equal(isMatch(ROW, undefined, []), false)
    assert.equal(isMatch({ ...ROW, isDone: false }, { ...OURS, isDone: false }, []), false)
  })
})
