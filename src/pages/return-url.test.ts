import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { buildReturnUrl } from './return-url.ts'

const back = (address: string) => buildReturnUrl(address, 'order 1', 'successful')

describe('the return URL to the merchant', () => {
  it("appends reference and status, and keeps the merchant's query and fragment unchanged", () => {
    assert.equal(
      back('https://shop.example/done'),
      'https://shop.example/done?reference=order%201&status=successful',
    )
    assert.equal(
      back('https://shop.example/done?cart=%7e7&x=#top?'),
      'https://shop.example/done?cart=%7e7&x=&reference=order%201&status=successful#top?',
    )
    assert.equal(
      back('https://shop.example/?'),
      'https://shop.example/?reference=order%201&status=successful',
    )
  })

  it('does not replace a parameter that the merchant uses', () => {
    assert.equal(
      back('https://shop.example/?status=cart&reference=9'),
      'https://shop.example/?status=cart&reference=9&payment_reference=order%201&payment_status=successful',
    )
    assert.equal(
      back('https://shop.example/?st%61tus=cart'),
      'https://shop.example/?st%61tus=cart&reference=order%201&payment_status=successful',
    )
  })

  it('encodes non-ASCII characters for a header', () => {
    assert.equal(
      back('https://bücher.example/ü'),
      'https://xn--bcher-kva.example/%C3%BC?reference=order%201&status=successful',
    )
  })
})
