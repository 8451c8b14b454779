import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { html } from '../kit/http/html.ts'
import { translatorFor } from './translator.ts'

describe('a sentence with markup in it', () => {
  it('stays complete around the markup, and everything else is escaped', () => {
    const rendered = translatorFor('en', null).withMarkup(
      'payTitle',
      { merchant: '<b>' },
      'amount',
      html`<i>1</i>`,
    )
    assert.equal(String(rendered), 'Pay <i>1</i> to &lt;b&gt;')
    const odd = translatorFor('am', null).withMarkup(
      'payTitle',
      { merchant: 'A\ue000B' },
      'amount',
      html`<i>1</i>`,
    )
    assert.equal(String(odd), 'ለAB <i>1</i> ይክፈሉ', 'whatever a merchant calls itself')
  })

  it('has no unpaired isolation mark on either side of the markup', () => {
    const rendered = translatorFor('ar', null).withMarkup(
      'payTitle',
      { merchant: 'A' },
      'amount',
      html`<i>1</i>`,
    )
    assert.equal(String(rendered), 'ادفع <i>1</i> إلى \u2068A\u2069')
  })
})
