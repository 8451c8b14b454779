// Smaller pages for slow networks. Compression next to a secret can give it away: who makes the payer's browser ask for
// pages with text of their choice in them, and watches how long the answers are, guesses it piece by piece (BREACH).
// Here the only secret in a page is the access code, and nobody can ask for that page without having it in the address
// already; the nonce of the style is a fresh one each time. The JSON API holds secrets of others and is left alone.

import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, gzip, constants as zlib } from 'node:zlib'

export type Encoding = 'br' | 'gzip'

/** What leaves: the body as it came when it is small, of another kind, or when the asker reads nothing else. */
export interface Compressed {
  body: string | Buffer
  encoding: Encoding | undefined
  /** Whether another asker might have got another encoding of the same. */
  varies: boolean
}

interface Compressible {
  body: string | Buffer
  type: string
  acceptEncoding: string | undefined
  /** Worth the best effort, once: the same bytes will be asked for again. */
  isImmutable: boolean
}

export type Compress = (content: Compressible) => Promise<Compressed>

/** Below this an answer fits one packet anyway. */
const MIN_BYTES = 500

/** The best quality takes about 20 ms for 12 KB (measured), and more than in proportion for more. */
const MAX_CACHED_BYTES = 131_072

/** A handful of scripts and styles in two encodings, and logos. At most 8 MB. */
const MAX_CACHE_ENTRIES = 64

// Pictures other than SVG are compressed by themselves.
const COMPRESSIBLE = /^(?:text\/|application\/(?:json|javascript)\b|image\/svg\+xml\b)/

export function createCompress(): Compress {
  const encodeCached = createEncodingCache()
  return async ({ body, type, acceptEncoding, isImmutable }) => {
    const size = Buffer.byteLength(body)
    if (size < MIN_BYTES || !COMPRESSIBLE.test(type)) return { body, encoding: undefined, varies: false }
    const plain = { body, encoding: undefined, varies: true }
    const encoding = chooseEncoding(acceptEncoding)
    if (!encoding) return plain
    const isCacheable = isImmutable && size <= MAX_CACHED_BYTES
    const encoded = isCacheable ? encodeCached(body, encoding) : encode(body, encoding, 'fast')
    // Without the memory for it, the page goes as it is.
    const smaller = await encoded.catch(() => undefined)
    return smaller && smaller.length < size ? { body: smaller, encoding, varies: true } : plain
  }
}

/** By content, not by address: whatever an address answers tomorrow, it never gets yesterday's bytes. */
function createEncodingCache() {
  const cache = new Map<string, Promise<Buffer>>()
  return (body: string | Buffer, encoding: Encoding): Promise<Buffer> => {
    const key = `${encoding} ${createHash('sha256').update(body).digest('base64')}`
    const encoded = cache.get(key) ?? encode(body, encoding, 'best')
    // What was asked for last stands last, so the first is missed least.
    cache.delete(key)
    cache.set(key, encoded)
    encoded.catch(() => cache.delete(key))
    const [oldest] = cache.size > MAX_CACHE_ENTRIES ? cache.keys() : []
    if (oldest !== undefined) cache.delete(oldest)
    return encoded
  }
}

const brotli = promisify(brotliCompress)
const zip = promisify(gzip)

/** Quick: 0.5 ms for 12 KB, within a tenth of the best size (measured). On a thread of its own, never on ours. */
const QUALITY = {
  fast: { br: 5, gzip: 6 },
  best: { br: zlib.BROTLI_MAX_QUALITY, gzip: zlib.Z_BEST_COMPRESSION },
}

/** A window of 64 KB is as large as our pages; the usual 4 MB more than doubles the time of many at once (measured). */
const WINDOW_BITS = 16

function encode(body: string | Buffer, encoding: Encoding, effort: keyof typeof QUALITY): Promise<Buffer> {
  const quality = QUALITY[effort][encoding]
  if (encoding === 'gzip') return zip(body, { level: quality })
  return brotli(body, {
    params: {
      [zlib.BROTLI_PARAM_MODE]: zlib.BROTLI_MODE_TEXT,
      [zlib.BROTLI_PARAM_QUALITY]: quality,
      [zlib.BROTLI_PARAM_LGWIN]: WINDOW_BITS,
      [zlib.BROTLI_PARAM_SIZE_HINT]: Buffer.byteLength(body),
    },
  })
}

/**
 * The encoding that the asker likes best, ours first among equals; undefined is the plain body. That is also what
 * somebody gets who accepts nothing: a page that can perhaps be read is better than a refusal to send one.
 */
export function chooseEncoding(acceptEncoding: string | undefined): Encoding | undefined {
  const weights = readWeights(acceptEncoding ?? '')
  const weightOf = (name: string) => weights.get(name) ?? weights.get('*') ?? 0
  const br = weightOf('br')
  const gzip = Math.max(weightOf('gzip'), weights.get('x-gzip') ?? 0)
  const best = Math.max(br, gzip)
  // Who does not speak of the plain body takes it only when nothing else is left.
  if (best === 0 || best < (weights.get('identity') ?? 0)) return undefined
  return br === best ? 'br' : 'gzip'
}

const WEIGHT = /^\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*$/i

function readWeights(header: string): Map<string, number> {
  const weights = new Map<string, number>()
  for (const piece of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = piece.split(';')
    const [weight] = parameters.map((parameter) => WEIGHT.exec(parameter)?.[1]).filter(Boolean)
    weights.set(name.trim(), Math.min(1, Number(weight ?? 1)))
  }
  return weights
}
