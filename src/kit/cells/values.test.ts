import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cellOfCode, cellOfUuid, markUuid, withCell } from './values.ts'

const UUID = '0b0e7a52-7d51-4cc3-98c4-dc0c0c07398f'

describe('a value of a cell', () => {
  it('names its cell, and in cell 0 looks as if there were none', () => {
    for (const cell of [1, 35, 36, 1_295]) {
      assert.equal(cellOfCode(withCell('abc', cell), 3), cell)
      assert.equal(withCell('abc', cell).length, 5)
      assert.equal(cellOfUuid(markUuid(UUID, cell)), cell)
      assert.match(markUuid(UUID, cell), /^0b0e7a52-7d51-4cc3-98c4-[0-9a-f]{12}$/)
    }
    for (const cell of [0, undefined]) {
      assert.equal(withCell('abc', cell), 'abc')
      assert.equal(markUuid(UUID, cell), UUID)
    }
  })

  it('is of cell 0 if it names none', () => {
    assert.deepEqual([cellOfCode('abc', 3), cellOfCode('?!abc', 3), cellOfCode('', 3)], [0, 0, 0])
    assert.deepEqual([cellOfUuid(UUID), cellOfUuid('not a uuid'), cellOfUuid('')], [0, 0, 0])
  })
})
