import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import { testDatabase } from '../../test/support/database.ts'
import { sql } from '../kit/db/db.ts'
import { FRAGMENTS } from './dictionary.ts'
import { jsonbText } from './jsonb-text.ts'
import { packEvent, packEventWithoutCustomer, unpackEvent } from './packed.ts'
import { toEventBody } from './service.ts'

const db = await testDatabase({ after })
const selectText = sql<{ text: string }>`select $1::jsonb::text as text`

async function textInDatabase(value: unknown): Promise<string | undefined> {
  const [row] = await db.query(selectText, [JSON.stringify(value)])
  return row?.text
}

const RESOURCE = { type: 'charge', uuid: '01a1ec36-f3b7-7bae-ac9c-4556f09fbfad', version: 2 } as const
const CUSTOMER = '01a1ec36-dc15-7662-b038-03a40d3b63c9'
const EVENT = { id: '01a1ec36-f3ea-7606-a360-868ed5bbfeeb', type: 'charge.successful' } as const
const createdAt = new Date('2026-03-14T09:26:53.589Z')
const ENVELOPE = { apiVersion: '1.0', mode: 'live' } as const

const METADATA = JSON.parse(
  '{"10":"a","9":"b","__proto__":"c","é":1,"zz":2,"z":1e21,"y":-1.5e-9,"x":12.5,"🙂":[1,{"b":null,"a":true}],"\\uffe1é":0,"\\"\\\\/\\b\\u0001":"\\u2028\\u007f\\n\\"","":{}}',
)

const data = {
  uuid: RESOURCE.uuid,
  reference: 'order-1',
  amountPaid: null,
  customer: { uuid: CUSTOMER, firstname: 'Zoë', email: 'zoe@example.com' },
  metadata: METADATA,
}

const stored = (packed: Buffer) => ({
  ...EVENT,
  ...{ resourceType: RESOURCE.type, resourceId: RESOURCE.uuid, version: RESOURCE.version, createdAt, packed },
})

describe('a packed event', () => {
  it('has the bytes of the same event as jsonb', async () => {
    const body = toEventBody({ ...EVENT, mode: 'live', createdAt, resource: RESOURCE, data })
    assert.equal(unpackEvent(stored(packEvent(ENVELOPE, data))), await textInDatabase(body))
  })

  it('has the customer whose uuid the statement adds', () => {
    const other = { ...data, customer: { ...data.customer, uuid: 'not known yet' } }
    const incomplete = packEventWithoutCustomer(ENVELOPE, other)
    const packed = Buffer.concat([incomplete, Buffer.from(CUSTOMER.replaceAll('-', ''), 'hex')])
    assert.equal(unpackEvent(stored(packed)), unpackEvent(stored(packEvent(ENVELOPE, data))))
  })

  it('is not read in an unknown format', () => {
    assert.throws(() => unpackEvent(stored(Buffer.of(9, 1, 2))), /unknown format 9/)
  })

  it('has the data of any content', () => {
    const anyText = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.constantFrom(...FRAGMENTS, RESOURCE.uuid),
    )
    const anyMetadata = fc.dictionary(anyText, fc.oneof(anyText, fc.jsonValue()))
    fc.assert(
      fc.property(anyMetadata, anyText, (metadata, reference) => {
        const any = { ...data, reference, metadata }
        const body = toEventBody({ ...EVENT, mode: 'live', createdAt, resource: RESOURCE, data: any })
        assert.equal(
          unpackEvent(stored(packEvent(ENVELOPE, any))),
          jsonbText(JSON.parse(JSON.stringify(body))),
        )
      }),
      { numRuns: 30 },
    )
  })

  it('has more uuids than it counts', () => {
    const any = { ...data, metadata: { all: Array.from({ length: 300 }, () => CUSTOMER) } }
    const body = toEventBody({ ...EVENT, mode: 'live', createdAt, resource: RESOURCE, data: any })
    assert.equal(unpackEvent(stored(packEvent(ENVELOPE, any))), jsonbText(body))
  })

  it('can be read as long as the list of fragments is only appended to', () => {
    const hash = createHash('sha256')
      .update(JSON.stringify(FRAGMENTS.slice(0, 80)))
      .digest('hex')
    assert.equal(hash, '78d4336797fe1d6d22bcbf52fec2ac58283313d019ee6180cc164631400eb616')
    assert.ok(FRAGMENTS.length <= 120, 'each has a sign')
  })
})

describe('the text of jsonb', () => {
  it('is that of PostgreSQL for numbers of any size', async () => {
    const numbers = [
      0, -0, 0.1, 1e20, 1e21, 1.7976931348623157e308, 5e-324, -2.5e-7, 123456789012345680000, 1e-6,
    ]
    assert.equal(jsonbText(numbers), await textInDatabase(numbers))
  })
})
