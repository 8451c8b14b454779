// Reads the CBOR that authenticators write: RFC 8949 in the canonical form of CTAP2, without floats and tags. Lengths are
// definite and in their shortest form, and a map has each key once. The order of keys is free: nothing depends on it.

import { Refused } from './refusal.ts'

export type CborMap = Map<number | string, CborValue>
export type CborValue = number | string | boolean | null | Buffer | CborValue[] | CborMap

// Attestation statements have three levels, extension outputs at most four.
const MAX_DEPTH = 6

/** The first item from `start` on, and where it ends. The caller bounds the size of the bytes. */
export function readCborItem(bytes: Buffer, start = 0): { value: CborValue; end: number } {
  let at = start

  // The bytes are checked before they are read, so a huge length allocates nothing.
  const take = (count: number): Buffer => {
    if (count > bytes.length - at) throw new Refused('malformed')
    at += count
    return bytes.subarray(at - count, at)
  }

  const readArgument = (info: number): number => {
    if (info < 24) return info
    const width = WIDTHS[info]
    if (width === undefined) throw new Refused('malformed')
    const value = take(width.bytes).readUIntBE(0, width.bytes)
    if (value < width.least) throw new Refused('malformed')
    return value
  }

  const readMap = (size: number, depth: number): CborMap => {
    const map: CborMap = new Map()
    for (let index = 0; index < size; index += 1) {
      const key = readItem(depth)
      if ((typeof key !== 'number' && typeof key !== 'string') || map.has(key)) throw new Refused('malformed')
      map.set(key, readItem(depth))
    }
    return map
  }

  const readArray = (size: number, depth: number): CborValue[] => {
    const items: CborValue[] = []
    for (let index = 0; index < size; index += 1) items.push(readItem(depth))
    return items
  }

  const readItem = (depth: number): CborValue => {
    if (depth > MAX_DEPTH) throw new Refused('malformed')
    const head = take(1).readUInt8()
    const info = head & 0x1f
    switch (head >> 5) {
      case 0:
        return readArgument(info)
      case 1:
        return -1 - readArgument(info)
      case 2:
        return take(readArgument(info))
      case 3:
        return readText(take(readArgument(info)))
      case 4:
        return readArray(readArgument(info), depth + 1)
      case 5:
        return readMap(readArgument(info), depth + 1)
      default: {
        const simple = SIMPLE_VALUES.get(head)
        if (simple === undefined) throw new Refused('malformed')
        return simple
      }
    }
  }

  return { value: readItem(0), end: at }
}

/** The bytes are one map and nothing else. */
export function readCborMap(bytes: Buffer): CborMap {
  const { value, end } = readCborItem(bytes)
  if (!(value instanceof Map) || end !== bytes.length) throw new Refused('malformed')
  return value
}

// The bytes that follow a head, and the least number that needs them. Numbers of eight bytes are beyond every length that
// we accept, and no field that we read has one.
const WIDTHS: Readonly<Record<number, { bytes: number; least: number }>> = {
  24: { bytes: 1, least: 24 },
  25: { bytes: 2, least: 0x100 },
  26: { bytes: 4, least: 0x1_0000 },
}

const SIMPLE_VALUES: ReadonlyMap<number, boolean | null> = new Map([
  [0xf4, false],
  [0xf5, true],
  [0xf6, null],
])

function readText(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new Refused('malformed')
  }
}
