import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { formatApiKey } from '../../src/api-keys/key-format.ts'

import { assertApiError } from '../support/assertions.ts'
import { newVisitor } from '../support/dashboard.ts'
import { frozenClock } from '../support/fake-clock.ts'
import { testService } from '../support/service.ts'

const env = { COWRY_TRUST_PROXY: 'true' }
const service = await testService({ after }, { clock: frozenClock(), env })

const PATH = '/api/v1/wallet/balance'
const from = (addresses: string) => ({ 'x-forwarded-for': addresses })

it('checks a key against the address that our own proxy saw, whatever the caller forwarded', async () => {
  const { uuid } = await service.newMerchant()
  const made = await service.admin.post(`/admin/v1/merchants/${uuid}/keys`, {
    scopes: ['*'],
    allowedIps: ['203.0.113.0/24', '2001:db8::/32'],
  })
  const api = service.apiWith(made.body.data.apiKey)
  for (const addresses of ['203.0.113.7', '10.0.0.1, 203.0.113.7', '2001:db8::7', '::ffff:203.0.113.7'])
    assert.equal((await api.get(PATH, from(addresses))).http, 200, addresses)
  for (const addresses of ['198.51.100.7', '203.0.113.7, 198.51.100.7', 'nonsense', '203.0.113.7, nonsense'])
    assertApiError(await api.get(PATH, from(addresses)), 'ip_not_allowed')
  assertApiError(await api.get(PATH), 'ip_not_allowed')
})

it('counts wrong secrets by that address, in IPv6 by the network of 64 bits', async () => {
  const wrong = service.apiWith(formatApiKey({ mode: 'test', id: 'A'.repeat(12), secret: 'B'.repeat(43) }))
  for (let n = 0; n < 20; n += 1)
    assertApiError(await wrong.get(PATH, from(`10.0.0.${n}, 198.51.100.7`)), 'invalid_api_key')
  assertApiError(await wrong.get(PATH, from('198.51.100.7')), 'rate_limited')
  assertApiError(await wrong.get(PATH, from('198.51.100.8')), 'invalid_api_key')
  for (let n = 0; n < 20; n += 1)
    assertApiError(await wrong.get(PATH, from(`2001:db8:1:2::${n + 1}`)), 'invalid_api_key')
  assertApiError(await wrong.get(PATH, from('2001:db8:1:2:ffff::9')), 'rate_limited')
  assertApiError(await wrong.get(PATH, from('2001:db8:1:3::1')), 'invalid_api_key')
})

it('counts wrong passwords of the dashboard by that address too', async () => {
  const visitor = newVisitor(service)
  const guess = async (address: string) => {
    const fields = { email: 'owner@example.com', password: 'a wrong password' }
    return (await visitor.post('/app/sign-in', fields, from(address))).http
  }
  for (let n = 0; n < 5; n += 1) assert.equal(await guess(`2001:db8:5:6::${n + 1}`), 401)
  assert.equal(await guess('2001:db8:5:6:ffff::9'), 429)
  assert.equal(await guess('2001:db8:5:7::1'), 401)
})
