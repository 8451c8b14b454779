// A merchant's logo, stored as a data: URI. Its type is determined by its first bytes, not by the URI. Pages show it only in
// <img>, where scripts do not run; the SVG rules protect a browser that opens the logo's address directly.

import { createHash } from 'node:crypto'

export interface Logo {
  /** A content hash for the logo's address, so that browsers may cache it permanently. */
  readonly digest: string
  readonly type: string
  readonly bytes: Buffer
}

/** Small enough for slow networks, where the page itself has a few kilobytes. */
const LOGO_MAX_BYTES = 3072

const DATA_URI = /^data:(image\/[a-z+]{1,20});base64,([A-Za-z0-9+/]+={0,2})$/
const DIGEST_LENGTH = 16

export const LOGO_MESSAGE = `must be a data: URI in base64 of a PNG, WebP, JPEG or SVG of at most ${LOGO_MAX_BYTES} bytes, such as data:image/png;base64,iVBORw0KGgo….`

const NOT_AN_IMAGE_MESSAGE = 'does not hold a PNG, WebP, JPEG or SVG, by its first bytes.'

/** The logo, or the end of a sentence that says what to change. */
export function readLogo(dataUri: string): Logo | string {
  const [, claimed, base64 = ''] = DATA_URI.exec(dataUri) ?? []
  const bytes = Buffer.from(base64, 'base64')
  // The decoder tolerates errors, so compare with the canonical encoding.
  if (claimed === undefined || bytes.toString('base64') !== base64) return LOGO_MESSAGE
  if (bytes.length > LOGO_MAX_BYTES)
    return `has ${bytes.length} bytes and may have at most ${LOGO_MAX_BYTES}; make the picture smaller.`
  const type = imageTypeOf(bytes)
  if (type === undefined) return NOT_AN_IMAGE_MESSAGE
  if (type !== claimed) return `says ${claimed} and holds ${type}; begin it with data:${type};base64,.`
  const issue = type === SVG ? svgIssue(bytes.toString('utf8')) : undefined
  return issue ?? { digest: digestOf(bytes), type, bytes }
}

/** The data: URI of a picture, or the end of a sentence that says what is wrong with it. */
export function toLogoUri(bytes: Buffer): { dataUri: string } | string {
  const type = imageTypeOf(bytes)
  if (type === undefined) return NOT_AN_IMAGE_MESSAGE
  const dataUri = `data:${type};base64,${bytes.toString('base64')}`
  const logo = readLogo(dataUri)
  return typeof logo === 'string' ? logo : { dataUri }
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, DIGEST_LENGTH)
}

const SVG = 'image/svg+xml'

function imageTypeOf(bytes: Buffer): string | undefined {
  const begins = (hex: string, at = 0) =>
    bytes.subarray(at, at + hex.length / 2).equals(Buffer.from(hex, 'hex'))
  if (begins('89504e470d0a1a0a')) return 'image/png'
  if (begins('ffd8ff')) return 'image/jpeg'
  if (begins('52494646') && begins('57454250', 8)) return 'image/webp'
  // White space may precede <svg>, but not an XML declaration.
  return /^\ufeff?(?:<\?xml\s|\s*<svg[\s>])/.test(bytes.toString('utf8')) ? SVG : undefined
}

/** Forbidden SVG features, each with its message. A logo of a few paths and colours uses none of them. */
const SVG_RULES: readonly [RegExp, string][] = [
  [/<!(?:doctype|entity)/i, 'has a document type; remove the <!DOCTYPE …> line.'],
  [/<\?xml-stylesheet/i, 'has a stylesheet of its own; write the colours into the shapes.'],
  [/<(?:[\w.-]+:)?script/i, 'has a script; remove it.'],
  [
    /<(?:[\w.-]+:)?(?:foreignobject|iframe|embed|object|audio|video)/i,
    'has a foreignObject or another embedded document; remove it.',
  ],
  [/<(?:[\w.-]+:)?(?:animate|set)/i, 'has an animation; a logo stands still, remove it.'],
  [/[\s"'/]on[a-z]+\s*=/i, 'has an event handler, such as onload; remove it.'],
  [/xml:base/i, 'has xml:base; remove it.'],
  [
    /href\s*=(?!\s*["']#)/i,
    'has a link to something outside itself; only links to its own parts (#…) may stay.',
  ],
  [
    /url\((?!\s*["']?#)|@import/i,
    'takes something from outside itself; only its own parts, url(#…), may be named.',
  ],
]

// Nested <use> elements multiply: a few dozen can hang a browser.
const MAX_REPEATS = 8

function svgIssue(text: string): string | undefined {
  if (text.includes('\ufffd') || text.includes('\0')) return 'is an SVG that is not UTF-8; save it as UTF-8.'
  const forbidden = SVG_RULES.find(([pattern]) => pattern.test(text))
  if (forbidden) return forbidden[1]
  if ([...text.matchAll(/<(?:[\w.-]+:)?use[\s/>]/gi)].length > MAX_REPEATS)
    return 'repeats parts of itself with <use> too often; draw them out.'
  if (!/^\ufeff?(?:<\?xml[^>]*\?>)?(?:\s|<!--(?:(?!-->)[\s\S])*-->)*<svg[\s>]/.test(text))
    return 'begins like XML and is no SVG; its first element must be <svg>.'
  if (!text.includes('"http://www.w3.org/2000/svg"') && !text.includes("'http://www.w3.org/2000/svg'"))
    return 'has no xmlns="http://www.w3.org/2000/svg" on its <svg>, without which no browser shows it.'
  return undefined
}
