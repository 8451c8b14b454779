// API keys at /app/developers/keys, over HTTP, with the keys that were created with another key.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import type { Api } from '../support/api.ts'
import { initiateBody } from '../support/builders.ts'
import { hiddenFields, PASSWORD, signInAs, type Visitor } from '../support/dashboard.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

const KEYS = '/api/v1/api-keys'
const PATH = '/app/developers/keys'

/** The person signed in six minutes earlier than before. */
const ageSessions = sql<unknown>`
update sessions
set authenticated_at = authenticated_at - interval '6 minutes'
where user_id = (select id from users where email = $1)`

let merchant: Awaited<ReturnType<typeof service.newMerchant>>
let owner: Visitor

before(async () => {
  merchant = await service.newMerchant()
  owner = await signInAs(service, merchant.uuid)
})

interface Made {
  keyId: string
  api: Api
}

async function makeKey(api: Api, name: string): Promise<Made> {
  const made = await api.post(KEYS, { name, scopes: ['keys:write', 'keys:read'] })
  assert.equal(made.http, 201, made.text)
  return { keyId: made.body.data.keyId, api: service.apiWith(made.body.data.apiKey) }
}

/** A key, one that was created with it, and one that was created with that one. */
async function makeChain(): Promise<[Made, Made, Made]> {
  const first = await makeKey(merchant.api, 'First')
  const second = await makeKey(first.api, 'Second')
  return [first, second, await makeKey(second.api, 'Third')]
}

const statusOf = async ({ keyId }: Made) =>
  (await merchant.api.get(`${KEYS}/${keyId}`)).body.data.status as string
const statusesOf = (keys: readonly Made[]) => Promise.all(keys.map(statusOf))

describe('keys that were created with a key', () => {
  it('stay when the key is revoked, and its page lists them and offers to revoke them', async () => {
    const chain = await makeChain()
    const [first, second, third] = chain
    const page = `${PATH}/${first.keyId}`
    const asked = await owner.get(`${page}/revoke`)
    assert.match(asked.text, /Keys created with this one that still work: 2/)
    assert.doesNotMatch(asked.text, /name="created" checked/)
    assert.equal((await owner.submit(`${page}/revoke`, `${page}/revoke`)).http, 303)
    assert.deepEqual(await statusesOf(chain), ['revoked', 'active', 'active'])
    const { text } = await owner.get(page)
    for (const { keyId } of [second, third]) assert.ok(text.includes(`href="${PATH}/${keyId}"`))
    const later = await owner.submit(`${page}/revoke-created`, `${page}/revoke-created`)
    assert.equal(later.headers.get('location'), `${page}?done=revokedCreated`)
    assert.deepEqual(await statusesOf(chain), ['revoked', 'revoked', 'revoked'])
    assert.doesNotMatch((await owner.get(page)).text, /that still work/)
  })

  it('are revoked with the key on demand, also one that has replaced another, and no others', async () => {
    const chain = await makeChain()
    const [first, second] = chain
    const other = await makeKey(merchant.api, 'Other')
    const rotated = await second.api.post(`${KEYS}/${second.keyId}/rotate`, { overlapHours: 0 })
    const successor = { ...second, keyId: String(rotated.body.data.keyId) }
    const page = `${PATH}/${first.keyId}/revoke`
    assert.equal((await owner.submit(page, page, { created: 'on' })).http, 303)
    assert.deepEqual(await statusesOf([...chain, successor, other]), [
      ...['revoked', 'expired', 'revoked', 'revoked', 'active'],
    ])
    const { data } = (await service.admin.get(`/admin/v1/audit?merchant=${merchant.uuid}`)).body
    const steps = data.map((one: { operation: string }) => one.operation)
    assert.ok(steps.includes('POST /app/developers/keys/{keyId}/created/revoke'), steps.join('\n'))
  })

  it('are not those that have replaced it, which are shown apart and stay', async () => {
    const [first, second] = await makeChain()
    const rotated = await first.api.post(`${KEYS}/${first.keyId}/rotate`, { overlapHours: 1 })
    const { keyId, apiKey } = rotated.body.data
    const successor = { keyId: String(keyId), api: service.apiWith(apiKey) }
    const later = await makeKey(successor.api, 'Later')
    const page = `${PATH}/${first.keyId}/revoke`
    const { text } = await owner.get(page)
    assert.match(text, /that still work: 2.*have replaced a key, or were created with one that has: 2/s)
    assert.equal((await owner.submit(page, page, { created: 'on' })).http, 303)
    assert.deepEqual(await statusesOf([first, second, successor, later]), [
      ...['revoked', 'revoked', 'active', 'active'],
    ])
    const left = (await owner.get(`${PATH}/${first.keyId}`)).text
    assert.ok(left.includes(`href="${PATH}/${successor.keyId}"`))
    assert.doesNotMatch(left, /revoke-created/)
  })

  it('are not of a key that was created beside it, nor of the other merchant', async () => {
    const [, second, third] = await makeChain()
    assert.match((await owner.get(`${PATH}/${second.keyId}/revoke`)).text, /that still work: 1/)
    assert.doesNotMatch((await owner.get(`${PATH}/${third.keyId}/revoke`)).text, /that still work/)
    const stranger = await signInAs(service, (await service.newMerchant()).uuid)
    assert.equal((await stranger.get(`${PATH}/${second.keyId}/revoke-created`)).http, 404)
  })
})

describe('API keys in the dashboard', () => {
  const keyOf = (text: string) => /cowry_test_[0-9A-Za-z]+_[0-9A-Za-z]+/.exec(text)?.[0] ?? ''

  it('creates a key with scopes of the person, and shows it once', async () => {
    const fields = { name: 'Reports', 'scope:wallet:read': 'on', days: '30', addresses: '127.0.0.1, ::1' }
    const hidden = hiddenFields((await owner.get(`${PATH}/new`)).text, `${PATH}/new`)
    const made = await owner.post(`${PATH}/new`, { ...hidden, ...fields })
    const api = service.apiWith(keyOf(made.text))
    assert.equal((await api.get('/api/v1/wallet/balance')).http, 200)
    assert.equal((await api.get('/api/v1/refunds')).http, 403)
    const again = await owner.post(`${PATH}/new`, { ...hidden, ...fields })
    assert.deepEqual([again.http, keyOf(again.text)], [200, ''])
    const [, page = ''] = /href="(\/app\/developers\/keys\/[0-9A-Za-z]+)">Continue/.exec(again.text) ?? []
    const { http, text } = await owner.get(page)
    assert.deepEqual([http, keyOf(text)], [200, ''])
    assert.match(text, /wallet:read/)
  })

  it('lets a developer take payments in test mode, by a preset', async () => {
    const developer = await signInAs(service, merchant.uuid, 'developer')
    const { text } = await developer.get(`${PATH}/new?preset=pay`)
    const ticked = [...text.matchAll(/name="scope:([\w:]+)" checked/g)].map(([, scope]) => scope)
    assert.deepEqual(ticked, ['checkout:write', 'charges:write', 'links:write'])
    assert.equal(text.includes('not in your role'), false)
    const fields = { name: 'Shop', 'scope:checkout:write': 'on' }
    const made = await developer.submit(`${PATH}/new`, `${PATH}/new`, fields)
    const api = service.apiWith(keyOf(made.text))
    assert.equal((await api.post('/api/v1/checkout/initiate-payment', initiateBody())).http, 201)
    assert.equal((await api.get('/api/v1/refunds')).http, 403)
  })

  it('says beside each field of a new key why it is refused, by its label', async () => {
    const fields = { name: 'Shop', addresses: '10.0.0.1, nowhere', days: '9e9' }
    const none = await owner.submit(`${PATH}/new`, `${PATH}/new`, { name: 'Shop' })
    assert.equal(none.http, 422)
    assert.match(none.text, /<b>What the key may do:<\/b> Must have at least 1 item/)
    assert.match(none.text, /id="scopes-error">Must have at least 1 item/)
    const wrong = await owner.submit(`${PATH}/new`, `${PATH}/new`, { ...fields, 'scope:keys:read': 'on' })
    assert.deepEqual([wrong.http, keyOf(wrong.text)], [422, ''])
    assert.match(wrong.text, /<b>Ends:<\/b>/)
    assert.match(wrong.text, /id="days-error"/)
    const { days: _days, ...place } = fields
    const elsewhere = await owner.submit(`${PATH}/new`, `${PATH}/new`, { ...place, 'scope:keys:read': 'on' })
    assert.match(elsewhere.text, /id="addresses-error">Must be an address/)
    assert.doesNotMatch(elsewhere.text, /allowedIps/)
  })

  it('asks who the person is before a key is created, replaced or revoked, unless that was confirmed lately', async () => {
    const person = await signInAs(service, merchant.uuid, 'admin')
    const [{ keyId }] = (await merchant.api.get('/api/v1/api-keys')).body.data
    const hidden = hiddenFields((await person.get('/app')).text, '/app/sign-out')
    await service.db.query(ageSessions, [person.email])
    const before = (await merchant.api.get('/api/v1/api-keys')).body.meta.total
    for (const path of [`${PATH}/new`, `${PATH}/${keyId}/rotate`, `${PATH}/${keyId}/revoke`]) {
      assert.match((await person.get(path)).text, /type="password"/, path)
      const asked = await person.post(path, { ...hidden, name: 'Late', 'scope:wallet:read': 'on' })
      assert.deepEqual([asked.http, keyOf(asked.text)], [403, ''], path)
    }
    assert.equal((await merchant.api.get('/api/v1/api-keys')).body.meta.total, before)
    const fields = { ...hidden, name: 'Late', 'scope:wallet:read': 'on', confirmed: 'yes' }
    const made = await person.post(`${PATH}/new`, { ...fields, confirmPassword: PASSWORD })
    assert.notEqual(keyOf(made.text), '', made.text)
  })

  it('replaces and revokes a key', async () => {
    const fields = { name: 'Shop', 'scope:wallet:read': 'on' }
    const made = await owner.submit(`${PATH}/new`, `${PATH}/new`, fields)
    const [first, firstId] = [keyOf(made.text), keyOf(made.text).split('_')[2]]
    const page = `${PATH}/${firstId}`
    const rotated = await owner.submit(`${page}/rotate`, `${page}/rotate`, { overlapHours: '24' })
    const second = keyOf(rotated.text)
    assert.notEqual(second, first)
    for (const key of [first, second])
      assert.equal((await service.apiWith(key).get('/api/v1/wallet/balance')).http, 200)
    const revoked = await owner.submit(`${page}/revoke`, `${page}/revoke`)
    assert.equal(revoked.headers.get('location'), `${page}?done=revoked`)
    const { body } = await merchant.api.get(`/api/v1/api-keys/${firstId}`)
    assert.equal(body.data.status, 'revoked')
  })
})
