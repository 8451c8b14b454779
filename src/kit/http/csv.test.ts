import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { csvLine, trustedCell, untrustedCell } from './csv.ts'

describe('a CSV cell', () => {
  it('F-67: a CSV cell with untrusted text never begins like a formula', () => {
    for (const text of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '＝1', '＋1', '－1', '＠1']) {
      assert.equal(untrustedCell(text), `"'${text}"`)
    }
    for (const text of ['order-1', 'a=1', '', ' =1', "'=1"]) assert.equal(untrustedCell(text), `"${text}"`)
  })

  it('doubles quotes, so that its text cannot end it and begin a formula in the next cell', () => {
    assert.equal(untrustedCell('a","=1+1'), '"a"",""=1+1"')
    assert.equal(untrustedCell('=1",="'), `"'=1"",="""`)
  })

  it('keeps a trusted negative number a number', () => {
    assert.equal(trustedCell('-12.50'), '"-12.50"')
  })
})

it('a CSV line ends in CRLF, as RFC 4180 requires', () => {
  assert.equal(csvLine([trustedCell('1'), untrustedCell('b')]), '"1","b"\r\n')
})
