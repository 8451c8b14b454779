import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { textsFor } from './texts.ts'

// What begins and ends a part with a direction of its own.
const [BEGIN, END] = ['\u2068', '\u2069']

describe('amounts and ratios of the dashboard', () => {
  it('keep their sign and their order in a text that runs to the left', () => {
    const { amount, ratio } = textsFor('ar', 'UTC')
    assert.equal(amount('-788.00', 'KES'), `${BEGIN}−KSh\u00a0788${END}`)
    assert.equal(ratio(4, 5).toString(), '<bdi dir="ltr">4 / 5</bdi>')
  })

  it('need no such marks in a text that runs to the right', () => {
    assert.equal(textsFor('en', 'UTC').amount('-788.00', 'KES'), '−KSh\u00a0788')
  })
})
