import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { html, trustedHtml } from './html.ts'

describe('html', () => {
  it('F-67 escapes every value', () => {
    const name = `<script>alert('x')</script>`
    const page = html`<p title="${'"&'}">${name}</p>`
    assert.equal(String(page), '<p title="&quot;&amp;">&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;</p>')
  })

  it('passes on nested html, and arrays of it, as they are', () => {
    const items = ['a', '<b>'].map((item) => html`<li>${item}</li>`)
    assert.equal(String(html`<ul>${items}</ul>${html`<hr>`}`), '<ul><li>a</li><li>&lt;b&gt;</li></ul><hr>')
  })

  it('escapes plain text in arrays', () => {
    assert.equal(String(html`${['<', ['>']]}`), '&lt;&gt;')
  })

  it('renders nothing for null, undefined and false, and renders zero', () => {
    assert.equal(String(html`[${null}${undefined}${false}${0}${10n}]`), '[010]')
  })

  it('leaves only text unescaped that is marked as ours', () => {
    assert.equal(
      String(html`<style>${trustedHtml('a > b { color: red }')}</style>`),
      '<style>a > b { color: red }</style>',
    )
  })
})
