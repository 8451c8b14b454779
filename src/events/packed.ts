// The stored form of the events of payments. Each charge writes two events of 1.3 kB as jsonb, most of it names of fields;
// packed they have a fifth. What the columns of the row say is not stored again. Of the rest, as JSON, the frequent parts are
// replaced by control characters, which JSON never has, and uuids by their bytes. Deflate with a dictionary makes it a tenth
// smaller and takes twice as long.
//
// A packed event is a byte for the format, one for the number of uuids, their bytes, and the text. In the second format the
// uuid of the customer follows, because only the statement that records a payment knows it.

import type { Mode } from '../core/merchant.ts'
import { FRAGMENTS } from './dictionary.ts'
import { jsonbText } from './jsonb-text.ts'

// 1 and 2 were deflated, in no release.
const COMPLETE = 3
const CUSTOMER_FOLLOWS = 4
const UUID_BYTES = 16

const UUID_SIGN = '\u0001'
const ONE_BYTE_SIGNS = 28
const TWO_BYTES = '\u001f'

const signOf = (place: number) =>
  place < ONE_BYTE_SIGNS
    ? String.fromCharCode(2 + place)
    : TWO_BYTES + String.fromCharCode(place - ONE_BYTE_SIGNS + 33)

const FRAGMENTS_BY_SIGN = new Map(FRAGMENTS.map((fragment, place) => [signOf(place), fragment]))

// Candidates by their first characters, the longest first. One expression of all fragments is as fast in a loop, and
// takes a third longer between other work: it is compiled to so much code that it does not stay in the processor's
// cache.
const PREFIX = Math.min(...FRAGMENTS.map(({ length }) => length))
const CANDIDATES = Map.groupBy(
  FRAGMENTS.map((fragment, place) => ({ fragment, sign: signOf(place) })).toSorted(
    (one, other) => other.fragment.length - one.fragment.length,
  ),
  ({ fragment }) => fragment.slice(0, PREFIX),
)
const FIRST_CODES: ReadonlySet<number> = new Set(FRAGMENTS.map((fragment) => fragment.charCodeAt(0)))

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/y
const UUID_LENGTH = 36
const DASH = 0x2d
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const SIGN = /[\u0002-\u001e]|\u001f./g
const MOST_UUIDS = 255

/** The record of a payment or charge, as events have it. */
export interface PaymentData {
  uuid: string
  customer: { uuid: string }
}

interface Envelope {
  apiVersion: string
  mode: Mode
}

export function packEvent({ apiVersion, mode }: Envelope, data: PaymentData): Buffer {
  return pack(COMPLETE, { apiVersion, mode, data: { ...data, uuid: undefined } })
}

/** To be completed with the 16 bytes of the customer's uuid. */
export function packEventWithoutCustomer({ apiVersion, mode }: Envelope, data: PaymentData): Buffer {
  const customer = { ...data.customer, uuid: undefined }
  return pack(CUSTOMER_FOLLOWS, { apiVersion, mode, data: { ...data, uuid: undefined, customer } })
}

function pack(format: number, value: unknown): Buffer {
  const { text, uuids } = shorten(JSON.stringify(value))
  const hex = uuids.join('').replaceAll('-', '')
  const textAt = 2 + uuids.length * UUID_BYTES
  const packed = Buffer.allocUnsafe(textAt + Buffer.byteLength(text))
  packed[0] = format
  packed[1] = uuids.length
  packed.write(hex, 2, 'hex')
  packed.write(text, textAt)
  return packed
}

/** The text with signs for fragments and uuids. No fragment has a part of a uuid at its ends, so one pass finds both. */
function shorten(text: string): { text: string; uuids: string[] } {
  const uuids: string[] = []
  let short = ''
  let copiedTo = 0
  const replace = (start: number, length: number, sign: string) => {
    short += text.slice(copiedTo, start) + sign
    copiedTo = start + length
  }
  let at = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (FIRST_CODES.has(code)) {
      const found = fragmentAt(text, at)
      if (found) replace(at, found.fragment.length, found.sign)
    } else if (code === DASH && text.charCodeAt(at + 5) === DASH && uuids.length < MOST_UUIDS) {
      // Dates have dashes too, but not these two.
      const start = at - 8
      if (start >= copiedTo && isUuidAt(text, start)) {
        uuids.push(text.slice(start, start + UUID_LENGTH))
        replace(start, UUID_LENGTH, UUID_SIGN)
      }
    }
    at = Math.max(at + 1, copiedTo)
  }
  return { text: short + text.slice(copiedTo), uuids }
}

function fragmentAt(text: string, at: number) {
  return CANDIDATES.get(text.slice(at, at + PREFIX))?.find(({ fragment }) => text.startsWith(fragment, at))
}

function isUuidAt(text: string, start: number): boolean {
  UUID.lastIndex = start
  return UUID.test(text)
}

export interface PackedEvent {
  id: string
  type: string
  resourceType: string
  resourceId: string
  version: number
  createdAt: Date
  packed: Buffer
}

/** The body as the text of jsonb. */
export function unpackEvent(event: PackedEvent): string {
  const { apiVersion, mode, data } = unpack(event.packed)
  return jsonbText({
    id: event.id,
    type: event.type,
    apiVersion,
    mode,
    createdAt: event.createdAt.toISOString(),
    resource: { type: event.resourceType, uuid: event.resourceId, version: event.version },
    data: { ...data, uuid: event.resourceId },
  })
}

function unpack(packed: Buffer): Envelope & { data: object } {
  if (packed[0] === COMPLETE) return expand(packed)
  if (packed[0] !== CUSTOMER_FOLLOWS) throw new Error(`an event has the unknown format ${packed[0]}`)
  const { data, ...envelope } = expand(packed.subarray(0, -UUID_BYTES))
  const uuid = uuidAt(packed, packed.length - UUID_BYTES)
  return { ...envelope, data: { ...data, customer: { ...data.customer, uuid } } }
}

function expand(packed: Buffer): Envelope & { data: PaymentData } {
  let at = 2
  const textAt = at + (packed[1] ?? 0) * UUID_BYTES
  const text = packed
    .toString('utf8', textAt)
    .replaceAll(UUID_SIGN, () => {
      at += UUID_BYTES
      return uuidAt(packed, at - UUID_BYTES)
    })
    .replaceAll(SIGN, (sign) => FRAGMENTS_BY_SIGN.get(sign) ?? sign)
  // A boundary: pack wrote it.
  return JSON.parse(text) as Envelope & { data: PaymentData }
}

const uuidAt = (bytes: Buffer, at: number) =>
  bytes.toString('hex', at, at + UUID_BYTES).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
