// The stored form of the events of payments. Each charge writes two events of 1.3 kB as jsonb, most of it names of fields;
// packed they have less than 0.2 kB. What the columns of the row say is not stored again. The rest is compressed with a
// dictionary of those names.
//
// The first byte is the format. In the second one the uuid of the customer follows the compressed text, because only the
// statement that records a payment knows it.

import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Mode } from '../core/merchant.ts'
import { DICTIONARY_1 } from './dictionary.ts'
import { jsonbText } from './jsonb-text.ts'

const COMPLETE = 1
const CUSTOMER_FOLLOWS = 2
const UUID_BYTES = 16

// A window that has the dictionary and most events. Larger ones take longer to prepare than to use.
const OPTIONS = { dictionary: DICTIONARY_1, windowBits: 13, memLevel: 5, level: 6 }

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
  return Buffer.concat([Buffer.of(format), deflateRawSync(JSON.stringify(value), OPTIONS)])
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
  if (packed[0] === COMPLETE) return inflate(packed.subarray(1))
  if (packed[0] !== CUSTOMER_FOLLOWS) throw new Error(`an event has the unknown format ${packed[0]}`)
  const { data, ...envelope } = inflate(packed.subarray(1, -UUID_BYTES))
  const uuid = uuidText(packed.subarray(-UUID_BYTES))
  return { ...envelope, data: { ...data, customer: { ...data.customer, uuid } } }
}

function inflate(bytes: Buffer): Envelope & { data: PaymentData } {
  // A boundary: pack wrote it.
  return JSON.parse(inflateRawSync(bytes, OPTIONS).toString()) as Envelope & { data: PaymentData }
}

const uuidText = (bytes: Buffer) =>
  bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
