import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Palette, paletteOf } from './accent.ts'

const BACKGROUNDS = {
  light: ['#ffffff', '#f4f6f5', '#eef2f1'],
  dark: ['#18211f', '#101715', '#202b28'],
} as const
const SCHEMES = ['light', 'dark'] as const

const channelsOf = (text: string) => [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16))

/** An independent implementation of the WCAG formula, so that a mistake in the code is not repeated here. */
function contrast(one: string, other: string): number {
  const brightness = (text: string) => {
    const [red = 0, green = 0, blue = 0] = channelsOf(text).map((channel) => {
      const share = channel / 255
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05
  }
  const ratio = brightness(one) / brightness(other)
  return ratio < 1 ? 1 / ratio : ratio
}

function assertReadable(palette: Palette, colour: string): void {
  for (const scheme of SCHEMES) {
    const { accent, onAccent } = palette[scheme]
    assert.match(accent, /^#[0-9a-f]{6}$/)
    for (const other of [...BACKGROUNDS[scheme], onAccent])
      assert.ok(contrast(accent, other) >= 4.5, `${colour} gives ${accent}, unreadable with ${other}`)
  }
}

const anyColour = fc
  .integer({ min: 0, max: 0xffffff })
  .map((number) => `#${number.toString(16).padStart(6, '0')}`)

describe('the palette of a merchant', () => {
  it('is the default if the merchant sets no colour, or one that is not valid', () => {
    const ours = paletteOf(null)
    assert.deepEqual([ours.light.accent, ours.dark.accent], ['#0b6b57', '#5fd0b4'])
    assertReadable(ours, 'null')
    for (const odd of ['', 'red', '#fff', '#12345g', '#123456;}', ' #123456'])
      assert.deepEqual(paletteOf(odd), ours)
  })

  it('is readable in both colour schemes, whatever the colour', () => {
    fc.assert(
      fc.property(anyColour, (colour) => assertReadable(paletteOf(colour), colour)),
      { numRuns: 5_000 },
    )
  })

  it('is readable for every grey and every pure colour', () => {
    for (let level = 0; level < 256; level++) {
      const hex = level.toString(16).padStart(2, '0')
      const forms = ['#xxxxxx', '#xx0000', '#00xx00', '#0000xx', '#xxxx00', '#00xxxx', '#xx00xx']
      for (const form of forms) {
        const colour = form.replaceAll('xx', hex)
        assertReadable(paletteOf(colour), colour)
      }
    }
  })

  it('keeps the hue: the order of the channels does not change', () => {
    fc.assert(
      fc.property(anyColour, (colour) => {
        const before = channelsOf(colour)
        for (const scheme of SCHEMES) {
          const after = channelsOf(paletteOf(colour)[scheme].accent)
          for (const [one, other] of [
            [0, 1],
            [1, 2],
            [2, 0],
          ] as const)
            assert.ok(
              ((before[one] ?? 0) - (before[other] ?? 0)) * ((after[one] ?? 0) - (after[other] ?? 0)) >= 0,
            )
        }
      }),
    )
  })

  it('keeps a colour that is already readable', () => {
    assert.equal(paletteOf('#7A1F5C').light.accent, '#7a1f5c')
    assert.equal(paletteOf('#ffd166').dark.accent, '#ffd166')
  })

  it('changes a colour no more than necessary', () => {
    const { light, dark } = paletteOf('#f7931a')
    assert.ok(contrast(light.accent, '#eef2f1') < 4.8, light.accent)
    assert.equal(dark.accent, '#f7931a')
    assert.ok(contrast(paletteOf('#1a237e').dark.accent, '#202b28') < 4.8)
  })
})
