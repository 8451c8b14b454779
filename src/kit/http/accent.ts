// Makes a merchant's colour readable and keeps its hue. The colour is darkened for the light scheme and lightened for
// the dark one, until text in it and text on it have a contrast of 4.5 to 1 (WCAG 2.2, 1.4.3).

export interface Accent {
  readonly accent: string
  /** The colour of text on the accent colour. */
  readonly onAccent: string
}

export interface Palette {
  readonly light: Accent
  readonly dark: Accent
}

type Colour = readonly [red: number, green: number, blue: number]

interface Scheme {
  /** The backgrounds of accent text: the card, the page and a notice. */
  backgrounds: readonly Colour[]
  /** The colour that an unreadable accent moves towards; it is readable itself, so the search always ends. */
  towards: Colour
  onAccent: string
}

const MIN_CONTRAST = 4.5

// A colour that is readable on these backgrounds is also a readable background for their colours: white on the light
// scheme's accents, the dark page colour on the dark scheme's.
const LIGHT: Scheme = {
  backgrounds: [parse('#ffffff'), parse('#f4f6f5'), parse('#eef2f1')],
  towards: parse('#000000'),
  onAccent: '#ffffff',
}
const DARK: Scheme = {
  backgrounds: [parse('#18211f'), parse('#101715'), parse('#202b28')],
  towards: parse('#ffffff'),
  onAccent: '#101715',
}

const DEFAULT_PALETTE: Palette = {
  light: { accent: '#0b6b57', onAccent: LIGHT.onAccent },
  dark: { accent: '#5fd0b4', onAccent: DARK.onAccent },
}

/** Null, or a text that is not #rrggbb, gives the default colours, so the result is safe in a style sheet. */
export function paletteOf(accentColor: string | null): Palette {
  if (accentColor === null || !/^#[0-9a-f]{6}$/i.test(accentColor)) return DEFAULT_PALETTE
  const colour = parse(accentColor)
  return { light: accentIn(LIGHT, colour), dark: accentIn(DARK, colour) }
}

function accentIn(scheme: Scheme, colour: Colour): Accent {
  let percent = 0
  let moved = colour
  while (!isReadable(scheme, moved) && percent < 100) {
    percent += 1
    moved = mix(colour, scheme.towards, percent / 100)
  }
  return { accent: format(moved), onAccent: scheme.onAccent }
}

function isReadable({ backgrounds }: Scheme, colour: Colour): boolean {
  return backgrounds.every((background) => contrast(colour, background) >= MIN_CONTRAST)
}

/** Changes each channel by the same fraction, which keeps the hue. */
function mix(from: Colour, to: Colour, share: number): Colour {
  const channel = (index: 0 | 1 | 2) => Math.round(from[index] + (to[index] - from[index]) * share)
  return [channel(0), channel(1), channel(2)]
}

function contrast(one: Colour, other: Colour): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

/** The relative luminance of WCAG for sRGB channels. */
function luminance([red, green, blue]: Colour): number {
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

function linear(channel: number): number {
  const share = channel / 255
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
}

function parse(text: string): Colour {
  const channel = (at: number) => Number.parseInt(text.slice(at, at + 2), 16)
  return [channel(1), channel(3), channel(5)]
}

function format(colour: Colour): string {
  return `#${colour.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`
}
