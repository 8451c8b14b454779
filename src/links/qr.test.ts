import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encode } from 'uqr'
import { qrOf } from './qr.ts'

const ADDRESS = 'https://pay.example.com/l/7Gk2WmQ9sT1xXb4L'

/** The dark modules of the picture, as its path draws them. */
function drawn(svg: string): { size: number; dark: Set<string> } {
  const [, size = ''] = /viewBox="0 0 (\d+) \1"/.exec(svg) ?? []
  const [, path = ''] = /<path d="([^"]+)"/.exec(svg) ?? []
  const dark = new Set<string>()
  for (const [, x = '', y = '', width = ''] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\3z/g))
    for (let step = 0; step < Number(width); step += 1) dark.add(`${Number(x) + step} ${y}`)
  return { size: Number(size), dark }
}

describe('the QR code of a link', () => {
  it('has the modules of the encoded address and a quiet zone of four', () => {
    const { size, dark } = drawn(qrOf(ADDRESS))
    const { data } = encode(ADDRESS, { ecc: 'Q', border: 0 })
    assert.equal(size, data.length + 8)
    const wanted = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`${x + 4} ${y + 4}`] : [])))
    assert.deepEqual([...dark].toSorted(), wanted.toSorted())
  })

  it('is a small SVG in black on white', () => {
    const svg = qrOf(ADDRESS)
    assert.match(svg, /<path fill="#fff" d="M0 0h(\d+)v\1H0z"\/>/)
    assert.doesNotMatch(svg, /stroke|style|script|href/)
    assert.ok(svg.length < 6_000, `${svg.length}`)
  })
})
