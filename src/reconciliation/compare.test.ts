import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { money } from '../core/money.ts'
import { compareRow, type InternalRecord, isMatch, rowDefectOf } from './compare.ts'
import type { FileRow } from './formats.ts'

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

const INTERNAL: InternalRecord = {
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

const CASES: [
  says: string,
  row: Partial<FileRow>,
  ours: Partial<InternalRecord> | undefined,
  breaks: string[],
][] = [
  ['the same', {}, {}, []],
  ['nothing of it here', {}, undefined, ['missing_in_ledger']],
  ['nothing here about what did not move', { isDone: false }, undefined, []],
  ['moved there alone', {}, { isDone: false }, ['status_mismatch']],
  ['moved here alone', { isDone: false }, {}, ['status_mismatch']],
  ['moved nowhere', { isDone: false }, { isDone: false }, []],
  ['another currency', { currency: 'USD', amount: money(1_000n, 'USD') }, {}, ['currency_mismatch']],
  ['a currency that we do not know', { currency: 'JPY', amount: null }, {}, ['currency_mismatch']],
  ['a minor unit less', { amount: money(999n, 'KES') }, {}, ['amount_mismatch']],
  ['another fee', { fee: money(24n, 'KES') }, {}, ['fee_mismatch']],
  ['the same fee', { fee: money(25n, 'KES') }, {}, []],
  ['a fee where we keep none', { fee: money(24n, 'KES') }, { fee: money(0n, 'KES') }, []],
]

describe('a line of a settlement file beside our books', () => {
  for (const [says, row, ours, breaks] of CASES) {
    it(`says ${says}: ${breaks.join() || 'no break'}`, () => {
      const internal = ours && { ...INTERNAL, ...ours }
      assert.deepEqual(compareRow({ ...ROW, ...row }, internal), breaks)
    })
  }

  it('is no payment at zero or below, and nothing where its names contradict each other', () => {
    const found = { ours: INTERNAL, referencesConflict: false }
    const defectAt = (minor: bigint, row: Partial<FileRow> = {}) =>
      rowDefectOf({ ...ROW, amount: money(minor, 'KES'), ...row }, found)
    assert.deepEqual(
      [defectAt(1n), defectAt(0n), defectAt(-1n)],
      [null, 'negative_payment', 'negative_payment'],
    )
    assert.deepEqual(
      [defectAt(0n, { isDone: false }), defectAt(-1n, { isDone: false }), defectAt(-1n, { type: 'refund' })],
      [null, 'negative_payment', null],
    )
    assert.equal(rowDefectOf(ROW, { ...found, referencesConflict: true }), 'reference_mismatch')
  })

  it('is proof only where both say that the money moved, a fee apart', () => {
    assert.equal(isMatch(ROW, INTERNAL, []), true)
    assert.equal(isMatch(ROW, INTERNAL, ['fee_mismatch']), true)
    assert.equal(isMatch(ROW, INTERNAL, ['amount_mismatch']), false)
    assert.equal(isMatch(ROW, undefined, []), false)
    assert.equal(isMatch({ ...ROW, isDone: false }, { ...INTERNAL, isDone: false }, []), false)
  })
})
