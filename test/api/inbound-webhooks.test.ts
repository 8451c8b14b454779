// The provider sends no webhooks of its own here, so that the test sends every one.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { serveSandbox } from '../../src/gateways/sandbox/provider/serve.ts'
import { sign } from '../../src/gateways/sandbox/webhooks.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { sql } from '../../src/kit/db/db.ts'
import { createLog } from '../../src/kit/observability/log.ts'
import { systemRandom } from '../../src/kit/random.ts'
import { sandboxWebhookSecretOf } from '../../src/secrets/secrets.ts'

import { createApi } from '../support/api.ts'
import { assertApiError } from '../support/assertions.ts'
import { initiateBody } from '../support/builders.ts'
import { eventually, tempFolder } from '../support/process.ts'
import { testService } from '../support/service.ts'

const SECRET = 'the-secret-of-a-provider-without-webhooks'
const WEBHOOK_SECRET = sandboxWebhookSecretOf(SECRET)

const sandbox = await serveSandbox({
  host: '127.0.0.1',
  port: 0,
  dataDir: await tempFolder({ after }, 'sandbox'),
  secret: SECRET,
  webhookSecret: WEBHOOK_SECRET,
  clock: systemClock,
  random: systemRandom(systemClock),
  log: createLog('silent'),
})
const service = await testService(
  { after },
  { env: { COWRY_SANDBOX_URL: sandbox.url, COWRY_SANDBOX_SECRET: SECRET } },
)
after(() => sandbox.close())

const anonymous = service.apiWith(undefined)
const provider = createApi(sandbox.url, { authorization: `Bearer ${SECRET}` })

const postpone = sql<{ key: string }>`
  update attempts set due_at = now() + interval '1 hour' where payment_id = $1 returning gateway_key as key`

/** A payment that the provider has executed without a webhook; its next poll is an hour away. */
async function paidWithoutWebhook() {
  const { data } = (await service.api.post('/api/v1/checkout/initiate-payment', initiateBody())).body
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const page = new URL(data.checkoutUrl).pathname
  assert.equal((await anonymous.postText(`${page}/attempts`, 'channel=card', form)).http, 303)
  const [attempt] = await service.db.query(postpone, [data.uuid])
  const key = attempt?.key ?? ''
  assert.equal(
    (await provider.post(`/v1/payments/${key}/simulate`, { instrument: 'card_success' })).http,
    200,
  )
  return { uuid: data.uuid, key }
}

const webhookBodyFor = (key: string) =>
  JSON.stringify({
    id: randomUUID(),
    type: 'checkout.succeeded',
    key,
    order: 'x',
    createdAt: new Date().toISOString(),
  })

const sendWebhook = (body: string, signature?: string, path = '/hooks/sandbox') =>
  anonymous.postText(path, body, signature === undefined ? {} : { 'cowry-sandbox-signature': signature })

const signed = (body: string, at = new Date(), secret = WEBHOOK_SECRET) => sign(secret, at, body)

async function stored(uuid: string) {
  return (await service.api.get(`/api/v1/checkout/payments/${uuid}`)).body.data
}

const countEffects = sql<{ hooks: number; moves: number; events: number; due: string | null }>`
  select
    (select count(*)::integer from gateway_webhooks where gateway_key = $2) as hooks,
    (select count(*)::integer from moves where payment_id = $1) as moves,
    (select count(*)::integer from events where resource_id = $1) as events,
    (select min(due_at)::text from attempts where payment_id = $1) as due`

async function effectsOf({ uuid, key }: { uuid: string; key: string }) {
  const [row] = await service.db.query(countEffects, [uuid, key])
  assert.ok(row)
  return row
}

describe('POST /hooks/{gateway}', () => {
  it('rejects a forged signature, and changes nothing', async () => {
    const payment = await paidWithoutWebhook()
    const body = webhookBodyFor(payment.key)
    const before = await effectsOf(payment)
    const right = signed(body)
    const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000)
    for (const signature of [
      undefined,
      '',
      'nonsense',
      signed(body, new Date(), 'another secret'),
      signed(body, new Date(), SECRET),
      signed(webhookBodyFor(payment.key)),
      signed(body, minutesAgo(6)),
      signed(body, minutesAgo(-6)),
      right.replace(/v1=../, 'v1=00'),
      right.replace(/v1=.*/, (text) => text.toUpperCase()),
      right.slice(0, -2),
      `${right},v1=${'0'.repeat(64)}`,
      right.replace(/t=\d+/, 't=0'),
    ]) {
      const answer = await sendWebhook(body, signature)
      assert.equal(answer.http, 401, signature)
    }
    assert.equal((await sendWebhook(`${body} `, right)).http, 401, 'the signature covers every byte')
    assert.deepEqual(await effectsOf(payment), before)
    assert.equal((await stored(payment.uuid)).status, 'processing')
  })

  it('triggers a status check when the signature of a webhook is valid', async () => {
    const payment = await paidWithoutWebhook()
    assert.equal((await stored(payment.uuid)).status, 'processing')
    const body = webhookBodyFor(payment.key)
    const answer = await sendWebhook(body, signed(body))
    assert.deepEqual([answer.http, answer.text], [200, ''])
    const paid = await eventually(
      () => stored(payment.uuid),
      ({ status }) => status !== 'processing',
      10_000,
    )
    assert.equal(paid.status, 'successful')
    assert.equal(paid.amountPaid, '1250.50')
  })

  it('trusts no field of a webhook’s body, and checks the status at the gateway (F-44)', async () => {
    const { data } = (await service.api.post('/api/v1/checkout/initiate-payment', initiateBody())).body
    const page = new URL(data.checkoutUrl).pathname
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    await anonymous.postText(`${page}/attempts`, 'channel=card', form)
    const [attempt] = await service.db.query(postpone, [data.uuid])
    const body = webhookBodyFor(attempt?.key ?? '')
    assert.equal((await sendWebhook(body, signed(body))).http, 200)
    const asked = sql<{ polls: number }>`select polls from attempts where payment_id = $1`
    await eventually(
      () => service.db.query(asked, [data.uuid]),
      ([row]) => (row?.polls ?? 0) > 0,
      10_000,
    )
    assert.equal(
      (await stored(data.uuid)).status,
      'processing',
      'the payer has not paid, whatever the webhook says',
    )
  })

  it('accepts a replayed webhook without effect', async () => {
    const payment = await paidWithoutWebhook()
    const body = webhookBodyFor(payment.key)
    const signature = signed(body)
    await sendWebhook(body, signature)
    await eventually(
      () => stored(payment.uuid),
      ({ status }) => status === 'successful',
      10_000,
    )
    const before = await effectsOf(payment)
    assert.equal(before.hooks, 1)
    for (const answer of await Promise.all(Array.from({ length: 5 }, () => sendWebhook(body, signature))))
      assert.equal(answer.http, 200)
    const again = webhookBodyFor(payment.key)
    assert.equal(
      (await sendWebhook(again, signed(again))).http,
      200,
      'another webhook about a final payment has no effect either',
    )
    assert.deepEqual(await effectsOf(payment), { ...before, hooks: 2 })
  })

  it('accepts unknown webhooks, so that the provider stops sending them', async () => {
    for (const body of [webhookBodyFor(randomUUID()), '{}', 'not JSON', '', '[]', '{"id":1}']) {
      assert.equal((await sendWebhook(body, signed(body))).http, 200, body)
    }
  })

  it('answers 404 to a webhook for an unknown gateway', async () => {
    const body = webhookBodyFor('x')
    for (const path of [
      '/hooks/paystack',
      '/hooks/SANDBOX',
      '/hooks/__proto__',
      '/hooks/%00',
      '/hooks/sandbox%2F',
    ])
      assert.equal((await sendWebhook(body, signed(body), path)).http, 404, path)
    assertApiError(await sendWebhook(body, signed(body), '/hooks'), 'route_not_found')
    assertApiError(await anonymous.get('/hooks/sandbox'), 'method_not_allowed')
  })

  it('accepts a webhook body of 64 KB and no more, of any content type', async () => {
    const large = 'x'.repeat(65_536)
    assert.equal((await sendWebhook(large, signed(large))).http, 200)
    assertApiError(await sendWebhook(`${large}x`, signed(`${large}x`)), 'payload_too_large')
    const body = webhookBodyFor('x')
    const headers = { 'cowry-sandbox-signature': signed(body), 'content-type': 'text/plain' }
    assert.equal((await anonymous.postText('/hooks/sandbox', body, headers)).http, 200)
  })
})
