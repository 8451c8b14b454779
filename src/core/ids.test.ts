import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { base62, isUuid, uuidFromBase36, uuidToBase36, uuidV7 } from './ids.ts'

const tenBytes = fc.uint8Array({ minLength: 10, maxLength: 10 })
const anyTime = fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true })

describe('an identifier', () => {
  it('is a UUIDv7 that begins with the millisecond of its creation', () => {
    fc.assert(
      fc.property(anyTime, tenBytes, (now, bytes) => {
        const uuid = uuidV7(now, bytes)
        assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
        assert.ok(isUuid(uuid))
        assert.equal(Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16), now.getTime())
      }),
    )
  })

  it('sorts by the time of its creation', () => {
    fc.assert(
      fc.property(anyTime, anyTime, tenBytes, tenBytes, (a, b, first, second) => {
        fc.pre(a.getTime() < b.getTime())
        assert.ok(uuidV7(a, first) < uuidV7(b, second))
      }),
    )
  })

  it('contains 74 random bits', () => {
    const now = new Date()
    assert.equal(uuidV7(now, new Uint8Array(10).fill(255)).slice(14), '7fff-bfff-ffffffffffff')
    assert.equal(uuidV7(now, new Uint8Array(10)).slice(14), '7000-8000-000000000000')
    assert.throws(() => uuidV7(now, new Uint8Array(9)), /10 random bytes/)
  })

  it('is accepted only in the form that we write, although PostgreSQL accepts more (F-69)', () => {
    const uuid = '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f'
    assert.ok(isUuid(uuid))
    const others = [
      `{${uuid}}`,
      uuid.toUpperCase(),
      uuid.replaceAll('-', ''),
      ` ${uuid}`,
      `${uuid}\n`,
      '',
      '..',
      7,
      null,
    ]
    for (const other of others) assert.equal(isUuid(other), false, String(other))
  })
})

describe('base62 text', () => {
  it('has a fixed length and differs for different bytes', () => {
    const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 })
    fc.assert(
      fc.property(bytes, bytes, (a, b) => {
        assert.match(base62(a, 43), /^[0-9A-Za-z]{43}$/)
        assert.equal(base62(a, 43) === base62(b, 43), Buffer.compare(a, b) === 0)
      }),
    )
  })

  it('is the number of the bytes in base 62', () => {
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
    const readBase62 = (text: string) =>
      [...text].reduce((sum, digit) => sum * 62n + BigInt(digits.indexOf(digit)), 0n)
    const assertNumber = (number: bigint, length = 32) => {
      const bytes = Buffer.from(number.toString(16).padStart(2 * length, '0'), 'hex')
      assert.equal(readBase62(base62(bytes, 43)), number)
    }
    fc.assert(fc.property(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), (number) => assertNumber(number)))
    for (let length = 1; length < 9; length += 1)
      for (const near of [1n, 2n]) assertNumber(256n ** BigInt(length) - near, length)
    for (let power = 1n; power < 43n; power += 1n)
      for (const near of [-1n, 0n, 1n]) assertNumber(62n ** power + near)
  })

  it('throws when the bytes do not fit the length, instead of truncating them', () => {
    assert.equal(base62(new Uint8Array([61]), 1), 'z')
    assert.equal(base62(new Uint8Array(0), 3), '000')
    assert.throws(() => base62(new Uint8Array([62]), 1), /do not fit/)
  })
})

describe('a UUID in base 36', () => {
  it('has 25 digits and lower-case letters, and can be read back', () => {
    const isReadBack = (uuid: string) => {
      assert.match(uuidToBase36(uuid), /^[0-9a-z]{25}$/)
      assert.equal(uuidFromBase36(uuidToBase36(uuid)), uuid)
    }
    for (const digit of ['0', 'f']) isReadBack('00000000-0000-0000-0000-000000000000'.replaceAll('0', digit))
    fc.assert(fc.property(fc.uuid(), isReadBack))
  })

  it('is not read from another text', () => {
    const uuid = '5e2f3a4b-6c7d-4e8f-9a0b-1c2d3e4f5a6b'
    for (const text of ['', 'INV-1042', 'z'.repeat(25), uuid, uuidToBase36(uuid).toUpperCase()])
      assert.equal(uuidFromBase36(text), undefined, text)
    assert.throws(() => uuidToBase36('INV-1042'))
  })
})
