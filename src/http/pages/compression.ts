// Compresses pages for slow networks. Compression can leak a secret to an attacker who controls other text in the
// same page and observes the length (BREACH). Here the only secret in a page is the access code, and a request for
// that page already has it in the URL; the style nonce is new in each response. The JSON API returns secrets and is
// not compressed.

import { promisify } from 'node:util'
import { brotliCompress, gzip, constants as zlib } from 'node:zlib'
import { digestOf } from './etag.ts'

export type Encoding = 'br' | 'gzip'

/** The body to send. It is unchanged if it is small, not text, or if the client accepts no compression. */
export interface Compressed {
  body: string | Buffer
  encoding: Encoding | undefined
  /** Whether another client could get another encoding, so that Vary is needed. */
  varies: boolean
}

interface Compressible {
  body: string | Buffer
  type: string
  acceptEncoding: string | undefined
  /** The same bytes will be requested again: compress once, if small at the best quality, and cache the result. */
  isRepeated: boolean
}

export type Compress = (content: Compressible) => Promise<Compressed>

/** A smaller response fits one packet anyway. */
const MIN_BYTES = 500

/** The best quality takes about 20 ms for 12 KB (measured), and grows faster than linearly. */
const MAX_BEST_BYTES = 131_072

/** Scripts, styles, logos, and the pages of the documentation in HTML and markdown, in two encodings. */
const MAX_CACHE_ENTRIES = 256

// Image formats other than SVG are compressed already.
const COMPRESSIBLE = /^(?:text\/|application\/(?:json|javascript)\b|image\/svg\+xml\b)/

export function createCompress(): Compress {
  const encodeCached = createEncodingCache()
  return async ({ body, type, acceptEncoding, isRepeated }) => {
    const size = Buffer.byteLength(body)
    if (size < MIN_BYTES || !COMPRESSIBLE.test(type)) return { body, encoding: undefined, varies: false }
    const plain = { body, encoding: undefined, varies: true }
    const encoding = chooseEncoding(acceptEncoding)
    if (!encoding) return plain
    const encoded = isRepeated ? encodeCached(body, encoding, size) : encode(body, encoding, 'fast')
    // If compression fails for lack of memory, the page is sent uncompressed.
    const smaller = await encoded.catch(() => undefined)
    return smaller && smaller.length < size ? { body: smaller, encoding, varies: true } : plain
  }
}

/** A large text that many clients request: each encoding is made at its first use and kept. */
export type EncodedBodies = Record<Encoding, () => Promise<Buffer>>

/** The best quality takes about a second for 355 KB on a thread of the pool; until it is ready, the fast one is sent. */
export function encodeOnce(body: Buffer): EncodedBodies {
  const once = (encoding: Encoding) => {
    let encoded: Promise<Buffer> | undefined
    const replaceWhenReady = async () => {
      const smallest = await encode(body, encoding, 'best')
      encoded = Promise.resolve(smallest)
    }
    return () => {
      if (!encoded) {
        encoded = encode(body, encoding, 'fast')
        // Without memory for it, the fast one stays.
        replaceWhenReady().catch(() => undefined)
      }
      return encoded
    }
  }
  return { br: once('br'), gzip: once('gzip') }
}

/** Keyed by content, not by URL, so that a changed response never gets stale bytes. */
function createEncodingCache() {
  const cache = new Map<string, Promise<Buffer>>()
  return (body: string | Buffer, encoding: Encoding, size: number): Promise<Buffer> => {
    const key = `${encoding} ${digestOf(body)}`
    const encoded = cache.get(key) ?? encode(body, encoding, size <= MAX_BEST_BYTES ? 'best' : 'fast')
    // Least recently used order: a used entry moves to the end, and the first is evicted.
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

/** Fast quality takes 0.5 ms for 12 KB, within a tenth of the best size (measured). zlib runs on its thread pool. */
const QUALITY = {
  // A window of 64 KB covers our pages; the default of 4 MB more than doubles the time under load (measured).
  fast: { br: 5, gzip: 6, windowBits: 16 },
  // Made once for each body. The OpenAPI document is a tenth smaller with a window that covers it (measured).
  best: { br: zlib.BROTLI_MAX_QUALITY, gzip: zlib.Z_BEST_COMPRESSION, windowBits: 22 },
}

function encode(body: string | Buffer, encoding: Encoding, effort: keyof typeof QUALITY): Promise<Buffer> {
  const { [encoding]: quality, windowBits } = QUALITY[effort]
  if (encoding === 'gzip') return zip(body, { level: quality })
  return brotli(body, {
    params: {
      [zlib.BROTLI_PARAM_MODE]: zlib.BROTLI_MODE_TEXT,
      [zlib.BROTLI_PARAM_QUALITY]: quality,
      [zlib.BROTLI_PARAM_LGWIN]: windowBits,
      [zlib.BROTLI_PARAM_SIZE_HINT]: Buffer.byteLength(body),
    },
  })
}

/**
 * The offered encoding with the highest weight in Accept-Encoding, brotli among equals. Undefined means uncompressed, also
 * for a client that accepts nothing, because a page is better than a 406.
 */
export function chooseEncoding(
  acceptEncoding: string | undefined,
  offered: readonly Encoding[] = ['br', 'gzip'],
): Encoding | undefined {
  const weights = readWeights(acceptEncoding ?? '')
  const weightOf = (name: string) => weights.get(name) ?? weights.get('*') ?? 0
  const br = offered.includes('br') ? weightOf('br') : 0
  const gzip = offered.includes('gzip') ? Math.max(weightOf('gzip'), weights.get('x-gzip') ?? 0) : 0
  const best = Math.max(br, gzip)
  // A client that does not list identity gets it only if nothing else is acceptable.
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
