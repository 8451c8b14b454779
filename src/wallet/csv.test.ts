import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { csvLine, trustedCell, untrustedCell } from './csv.ts'

describe('a cell', () => {
  it('F-67: never begins like a formula when the text is somebody else’s', () => {
    for (const text of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '＝1', '＋1', '－1', '＠1']) {
      assert.equal(untrustedCell(text), `"'${text}"`)
    }
    for (const text of ['order-1', 'a=1', '', ' =1', "'=1"]) assert.equal(untrustedCell(text), `"${text}"`)
  })

  it('doubles quotes, so that nobody can end it early and begin a formula in the next', () => {
    assert.equal(untrustedCell('a","=1+1'), '"a"",""=1+1"')
    assert.equal(untrustedCell('=1",="'), `"'=1"",="""`)
  })

  it('keeps our own negative numbers numbers', () => {
    assert.equal(trustedCell('-12.50'), '"-12.50"')
  })
})

it('ends lines as RFC 4180 wants', () => {
  assert.equal(csvLine([trustedCell('1'), untrustedCell('b')]), '"1","b"\r\n')
})
