// Keys that were created with another key, for a person who revokes that key in the dashboard.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Api } from '../support/api.ts'
import { signInAs, type Visitor } from '../support/dashboard.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

const KEYS = '/api/v1/api-keys'
const PATH = '/app/developers/keys'

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
