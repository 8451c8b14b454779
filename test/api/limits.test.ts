import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { RateLimit } from '../../src/core/rate-limit.ts'
import { sql } from '../../src/kit/db/db.ts'
import type { Api } from '../support/api.ts'
import { assertApiError } from '../support/assertions.ts'
import { initiateBody } from '../support/builders.ts'
import { signInAs } from '../support/dashboard.ts'
import { frozenClock } from '../support/fake-clock.ts'
import { eventually } from '../support/process.ts'
import { ONE_PROCESS, testService } from '../support/service.ts'

const clock = frozenClock()
const service = await testService({ after }, { clock, env: { COWRY_RATE_LIMIT: '5:5' } })
const unlimited = await testService({ after }, { env: { COWRY_RATE_LIMIT: '0' } })

const PATH = '/api/v1/wallet/balance'

const headersOf = (answer: { headers: Headers }) => [
  answer.headers.get('ratelimit-policy'),
  answer.headers.get('ratelimit'),
  answer.headers.get('retry-after'),
]

async function keyWith(rateLimit: RateLimit, owner = service): Promise<Api> {
  return (await owner.newMerchant(['*'], rateLimit)).api
}

async function spend(api: Api, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) assert.notEqual((await api.get(PATH)).http, 429)
}

const selectTokens = sql<{ tokens: number }>`
select tokens from rate_limit_buckets where owner = $1 and updated_at = $2`

/** Processes sync their token buckets in real time, which a jump of the test clock does not provide. */
async function awaitTokensSynced(key: string): Promise<void> {
  await eventually(
    () => service.db.query(selectTokens, [key.split('_')[2], clock.now()]),
    ([bucket]) => bucket !== undefined && bucket.tokens < 1,
    5_000,
  )
}

describe('the rate limit', () => {
  it('returns the rate limit in the headers of every response', async () => {
    const { api } = await service.newMerchant()
    assert.deepEqual(headersOf(await api.get(PATH)), ['"default";q=5;w=1', '"default";r=4;t=1', null])
    assert.deepEqual(headersOf(await api.get(PATH))[1], '"default";r=3;t=1')
    const created = await api.post('/api/v1/checkout/initiate-payment', initiateBody())
    assert.equal(created.headers.get('ratelimit'), '"default";r=2;t=1')
    const refused = await api.get('/api/v1/customers/nonsense')
    assert.equal(refused.headers.get('ratelimit'), '"default";r=1;t=1')
  })

  it('rejects requests above the rate limit, with Retry-After', async () => {
    const { api, key } = await service.newMerchant()
    await spend(api, 5)
    const answer = await api.get(PATH)
    assertApiError(answer, 'rate_limited')
    assert.equal(answer.body.error.retryable, true)
    assert.deepEqual(headersOf(answer), ['"default";q=5;w=1', '"default";r=0;t=1', '1'])
    await awaitTokensSynced(key)
    clock.advance(1_000)
    await spend(api, 5)
    assertApiError(await api.get(PATH), 'rate_limited')
    await awaitTokensSynced(key)
    clock.advance(200)
    await spend(api, 1)
    assertApiError(await api.get(PATH), 'rate_limited')
  })

  it('takes one token for every 20 rows of a list', async () => {
    const { api } = await service.newMerchant()
    const remaining = async (path: string) => headersOf(await api.get(path))[1]
    assert.match(String(await remaining('/api/v1/payment-links')), /;r=4;/)
    assert.match(String(await remaining('/api/v1/payment-links?limit=20')), /;r=3;/)
    assert.match(String(await remaining('/api/v1/charges?status=failed&limit=60')), /;r=0;/)
    assertApiError(await api.get(PATH), 'rate_limited')
  })

  it('takes 10 tokens for a file', async () => {
    const api = await keyWith({ perSecond: 5, burst: 50 })
    assert.match(String(headersOf(await api.get('/api/v1/wallet/transactions/export'))[1]), /;r=40;/)
  })

  it('executes nothing of a rate-limited request', async () => {
    const { api } = await service.newMerchant()
    await spend(api, 5)
    const body = initiateBody()
    assertApiError(await api.post('/api/v1/checkout/initiate-payment', body), 'rate_limited')
    clock.advance(1_000)
    const reading = await api.get(`/api/v1/checkout/verify-payment?reference=${body.reference}`)
    assertApiError(reading, 'payment_not_found')
  })

  it('shares one rate limit between all operations of a key, and none between keys', async () => {
    const [one, two] = [await service.newMerchant(), await service.newMerchant()]
    await spend(one.api, 4)
    assert.equal((await one.api.get('/api/v1/customers')).http, 200)
    assertApiError(await one.api.get(PATH), 'rate_limited')
    await spend(two.api, 5)
  })

  it('applies the rate limit of a key instead of the default', async () => {
    const api = await keyWith({ perSecond: 2, burst: 8 })
    assert.deepEqual(headersOf(await api.get(PATH)), ['"default";q=8;w=4', '"default";r=7;t=1', null])
    await spend(api, 7)
    assert.deepEqual(headersOf(await api.get(PATH)), ['"default";q=8;w=4', '"default";r=0;t=4', '1'])
    clock.advance(500)
    await spend(api, 1)
  })

  it('does not rate limit pages, health or the document', async () => {
    for (let n = 0; n < 10; n += 1)
      for (const path of ['/', '/healthz', '/openapi.json']) {
        const answer = await service.apiWith(undefined).get(path)
        assert.deepEqual([answer.http, answer.headers.get('ratelimit')], [200, null])
      }
  })

  it('disables the rate limit with 0, except for a key with its own', ONE_PROCESS, async () => {
    const answers = await Promise.all(Array.from({ length: 60 }, () => unlimited.api.get(PATH)))
    assert.ok(answers.every(({ http }) => http === 200))
    assert.deepEqual(answers[0] && headersOf(answers[0]), [null, null, null])
    const slow = await keyWith({ perSecond: 1, burst: 1 }, unlimited)
    assert.equal((await slow.get(PATH)).http, 200)
    assertApiError(await slow.get(PATH), 'rate_limited')
  })

  it('limits to 100 requests a second with a burst of 500 by default', async (t) => {
    const usual = await testService(t)
    assert.equal((await usual.api.get(PATH)).headers.get('ratelimit-policy'), '"default";q=500;w=5')
  })
})

describe('the rate limit of people', () => {
  it('refuses the screens of a person who asks for too many, and not those of another person', async () => {
    const { uuid } = await service.newMerchant()
    const [busy, quiet] = [await signInAs(service, uuid), await signInAs(service, uuid)]
    let answer = await busy.get('/app/payments')
    assert.equal(answer.http, 200)
    for (let n = 0; answer.http === 200 && n < 20; n += 1) answer = await busy.get('/app/payments')
    assert.equal(answer.http, 429)
    assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    assert.equal((await quiet.get('/app/payments')).http, 200)
  })
})
