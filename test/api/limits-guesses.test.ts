import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { formatApiKey } from '../../src/api-keys/key-format.ts'

import { assertApiError } from '../support/assertions.ts'
import { frozenClock } from '../support/fake-clock.ts'
import { testService } from '../support/service.ts'

const clock = frozenClock()
const service = await testService({ after }, { clock })

const PATH = '/api/v1/wallet/balance'
let guesses = 0

/** A well-formed key that does not exist. */
function guess() {
  guesses += 1
  const secret = String(guesses).padStart(43, '0')
  return service.apiWith(formatApiKey({ mode: 'test', id: 'A'.repeat(12), secret })).get(PATH)
}

it('F-77: rate limits wrong secrets from one address, but never a valid key from it', async () => {
  for (let n = 0; n < 20; n += 1) assertApiError(await guess(), 'invalid_api_key')
  const refused = await guess()
  assertApiError(refused, 'rate_limited')
  assert.equal(refused.headers.get('retry-after'), '3')
  assert.equal((await service.api.get(PATH)).http, 200)
  clock.advance(3_000)
  assertApiError(await guess(), 'invalid_api_key')
  assertApiError(await guess(), 'rate_limited')
  clock.advance(60_000)
  for (let n = 0; n < 20; n += 1) assertApiError(await guess(), 'invalid_api_key')
})

it('does not count a missing or mistyped key as a guess', async () => {
  clock.advance(60_000)
  const typo = `${service.demoKey?.slice(0, -1)}${service.demoKey?.endsWith('x') ? 'y' : 'x'}`
  for (let n = 0; n < 40; n += 1) {
    assertApiError(await service.apiWith(undefined).get(PATH), 'missing_api_key')
    assertApiError(await service.apiWith(typo).get(PATH), 'invalid_api_key')
  }
  assertApiError(await guess(), 'invalid_api_key')
})

it('F-77: rate limits wrong operator tokens, but never the valid one', async () => {
  clock.advance(60_000)
  const sendWithToken = (token: string) =>
    service.apiWith(undefined).get('/admin/v1/merchants', { authorization: `Bearer ${token}` })
  for (let n = 0; n < 20; n += 1) assertApiError(await sendWithToken(`wrong-${n}`), 'invalid_admin_token')
  assertApiError(await sendWithToken('wrong-again'), 'rate_limited')
  assert.equal((await service.admin.get('/admin/v1/merchants')).http, 200)
  assertApiError(await service.apiWith(undefined).get('/admin/v1/merchants'), 'invalid_admin_token')
})
