import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { crc32 } from 'node:zlib'
import { sql } from '../../src/kit/db/db.ts'
import { assertErrorCode, withoutRequestId } from '../support/assertions.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

const PATH = '/api/v1/wallet/balance'
const KEY = /^cowry_test_([0-9A-Za-z]{12})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** The checksum as the contract describes it, implemented independently: CRC-32 in six base62 digits. */
function checkOf(body: string): string {
  let rest = crc32(body)
  let text = ''
  for (let n = 0; n < 6; n += 1) {
    text = DIGITS.charAt(rest % 62) + text
    rest = Math.floor(rest / 62)
  }
  return text
}

const withCheck = (body: string) => body + checkOf(body)

const { uuid: merchantUuid, key } = await service.newMerchant()
const [, keyId = '', secret = ''] = KEY.exec(key) ?? []

const requestWith = (apiKey: string) => service.apiWith(undefined).get(PATH, { 'x-api-key': apiKey })

describe('the format of an API key', () => {
  it('issues keys of cowry_test_, an id of 12, a secret of 43 and a checksum of 6 base62 characters', async () => {
    assert.match(key, KEY)
    assert.equal(key, withCheck(key.slice(0, -6)))
    const more = await Promise.all(Array.from({ length: 5 }, () => service.newMerchant()))
    for (const { key: another } of more) assert.equal(another, withCheck(another.slice(0, -6)))
    assert.equal(new Set(more.map((one) => KEY.exec(one.key)?.[2])).size, 5)
    assert.equal((await requestWith(key)).http, 200)
  })

  it('rejects a key with any wrong, missing or added character as mistyped', async () => {
    const wrong = (at: number) => (key[at] === 'a' ? 'b' : 'a')
    const mistyped = Array.from({ length: key.length }, (_, at) => at)
      .filter((at) => at > 10)
      .map((at) => key.slice(0, at) + wrong(at) + key.slice(at + 1))
    const broken = [
      key.slice(0, -1),
      `${key}a`,
      key.slice(1),
      key.toUpperCase(),
      `${key},${key}`,
      'x',
      'null',
    ]
    for (const text of [...mistyped, ...broken]) {
      const answer = await requestWith(text)
      assertErrorCode(answer, 401, 'invalid_api_key')
      assert.match(answer.body.message, /mistyped/)
    }
  })

  it('rejects a wrong secret without revealing whether the id exists', async () => {
    const other = 'Z'.repeat(43)
    const wrongSecret = await requestWith(withCheck(`cowry_test_${keyId}_${other}`))
    const unknownId = await requestWith(withCheck(`cowry_test_${'0'.repeat(12)}_${other}`))
    assertErrorCode(wrongSecret, 401, 'invalid_api_key')
    assert.deepEqual(withoutRequestId(wrongSecret), withoutRequestId(unknownId))
  })

  it('reads the key from the x-api-key header only', async () => {
    const anonymous = service.apiWith(undefined)
    for (const answer of [
      await anonymous.get(PATH),
      await anonymous.get(PATH, { 'x-api-key': '' }),
      await anonymous.get(PATH, { authorization: `Bearer ${key}` }),
      await anonymous.get(PATH, { cookie: `x-api-key=${key}` }),
    ]) {
      assertErrorCode(answer, 401, 'missing_api_key')
    }
    for (const query of [`x-api-key=${key}`, `apiKey=${key}`, `search=${key}`, 'api_key=x'])
      assertErrorCode(await anonymous.get(`${PATH}?${query}`), 400, 'api_key_in_url')
    assert.equal((await anonymous.get(PATH, { 'X-API-KEY': key })).http, 200)
  })

  it('shows the secret once: not in the list, not in the record, not in the database', async () => {
    const rotated = await service.admin.post(`/admin/v1/keys/${keyId}/rotate`, {})
    const [, , freshSecret = ''] = KEY.exec(rotated.body.data.apiKey) ?? []
    const { text } = await service.admin.get(`/admin/v1/merchants/${merchantUuid}/keys`)
    const stored = sql<{ text: string }>`select string_agg(k::text, ' ') as text from api_keys k`
    const [row] = await service.db.query(stored)
    const revoked = await service.admin.send('POST', `/admin/v1/keys/${rotated.body.data.keyId}/revoke`)
    for (const where of [text, row?.text ?? '', revoked.text]) {
      assert.ok(where.includes(rotated.body.data.keyId))
      assert.ok(!where.includes(secret) && !where.includes(freshSecret))
      assert.ok(!where.includes(secret.slice(0, 8)) && !where.includes(freshSecret.slice(0, 8)))
    }
    const everywhere = sql<{ text: string }>`
      select string_agg(query_to_xml('select * from ' || quote_ident(table_name), true, true, '')::text, '') as text
      from information_schema.tables
      where table_schema = 'public' and table_type = 'BASE TABLE'`
    const [dump] = await service.db.query(everywhere)
    const everything = dump?.text ?? ''
    assert.ok(everything.includes(keyId), 'the dump contains the table of keys')
    assert.ok(!everything.includes(secret) && !everything.includes(freshSecret))
  })
})
