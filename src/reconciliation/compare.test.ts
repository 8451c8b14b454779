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
  ['the same values', {}, {}, []],
  ['a completed payment without a record', {}, undefined, ['missing_in_ledger']],
  ['an incomplete payment without a record', { isDone: false }, undefined, []],
  ['completion only in the file', {}, { isDone: false }, ['status_mismatch']],
  ['completion only in our record', { isDone: false }, {}, ['status_mismatch']],
  ['completion on neither side', { isDone: false }, { isDone: false }, []],
  ['another currency', { currency: 'USD', amount: money(1_000n, 'USD') }, {}, ['currency_mismatch']],
  ['an unsupported currency', { currency: 'JPY', amount: null }, {}, ['currency_mismatch']],
  ['one minor unit less', { amount: money(999n, 'KES') }, {}, ['amount_mismatch']],
  ['another fee', { fee: money(24n, 'KES') }, {}, ['fee_mismatch']],
  ['the same fee', { fee: money(25n, 'KES') }, {}, []],
  ['a fee although our record has none', { fee: money(24n, 'KES') }, { fee: money(0n, 'KES') }, []],
]

describe('a line of a settlement file compared with our record', () => {
  for (const [says, row, ours, breaks] of CASES) {
    it(`a line of a settlement file with ${says} gives ${breaks.join() || 'no break'}`, () => {
      const internal = ours && { ...INTERNAL, ...ours }
      assert.deepEqual(compareRow({ ...ROW, ...row }, internal), breaks)
    })
  }

  it('is a defect for a payment of zero or less, and for conflicting identifiers', () => {
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

  it('is a match only if both sides say that the money moved, apart from the fee', () => {
    assert.equal(isMatch(ROW, INTERNAL, []), true)
    assert.equal(isMatch(ROW, INTERNAL, ['fee_mismatch']), true)
    assert.equal(isMatch(ROW, INTERNAL, ['amount_mismatch']), false)
    assert.equal(isMatch(ROW, undefined, []), false)
    assert.equal(isMatch({ ...ROW, isDone: false }, { ...INTERNAL, isDone: false }, []), false)
  })
})
