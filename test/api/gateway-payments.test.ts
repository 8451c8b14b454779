// Payments through a real connector, from the merchant's request to the provider and back.

import assert from 'node:assert/strict'
import { after, afterEach, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import { FAKE_SECRET_KEY, startFakePaystack } from '../gateways/paystack/fake.ts'
import { chargeBody, initiateBody } from '../support/builders.ts'
import {
  attemptOf,
  deliver,
  fileContext,
  postponePolls,
  readPayment,
  startPaying,
  UUID_V4,
  watchStatements,
} from '../support/gateways.ts'
import { eventually } from '../support/process.ts'
import { ONE_PROCESS, testService } from '../support/service.ts'

const OTHER_KEY = 'sk_test_ffffffffffffffffffffffffffffffffffffffff'
const NGN = { amount: 1250.5, currency: 'NGN' }

const paystack = await startFakePaystack(fileContext({ after }))
const service = await testService(
  { after },
  {
    env: {
      GATEWAY_PAYSTACK_SECRET_KEY: FAKE_SECRET_KEY,
      GATEWAY_PAYSTACK_BASE_URL: paystack.server.url,
      COWRY_RATE_LIMIT: '0',
    },
  },
)
const { api, admin, db } = service
afterEach(() => paystack.server.clearFaults())

const successful = (uuid: string, by = api) =>
  eventually(
    () => readPayment(by, uuid),
    ({ status }) => status === 'successful',
    15_000,
  )

const endedHoursAgo = sql<unknown>`
with payment as (update payments set expires_at = now() - interval '7 hours' where id = $1)
update attempts
set due_at = now()
where payment_id = $1`
const selectPoll = sql<{ status: string; dueAt: Date | null }>`
select status, due_at as "dueAt"
from attempts
where payment_id = $1`

const accountPath = (merchant: string) => `/admin/v1/merchants/${merchant}/gateways/paystack`

async function putAccount(merchant: string, secretKey: string): Promise<string> {
  const answer = await admin.send('PUT', `${accountPath(merchant)}?probe=false`, {
    body: JSON.stringify({ credentials: { secretKey } }),
    headers: { 'content-type': 'application/json' },
  })
  assert.equal(answer.http, 200, answer.text)
  return answer.body.data.uuid
}

/** The key of the latest requests about this attempt. */
const keysUsedFor = (key: string) =>
  paystack.server.requests
    .filter(({ path, text }) => path.includes(key) || text.includes(key))
    .map(({ headers }) => headers.authorization?.replace('Bearer ', ''))

describe('a checkout through a configured gateway', () => {
  it('redirects to the provider’s page, and a webhook makes the payment successful', async () => {
    const { uuid, gateway, page, pressed } = await startPaying(api, NGN)
    assert.equal(gateway, 'paystack')
    assert.equal(pressed.headers.get('location'), `${page}/continue`)
    const attempt = await attemptOf(db, uuid)
    assert.match(attempt.key, UUID_V4)
    assert.deepEqual([attempt.gateway, attempt.accountId], ['paystack', null])
    const step = await service.apiWith(undefined).get(`${page}/continue`)
    assert.match(step.text, /https:\/\/checkout\.paystack\.com\//)

    await postponePolls(db, uuid)
    await paystack.finish(attempt.key, { kind: 'pays' })
    assert.equal((await readPayment(api, uuid)).status, 'processing')
    assert.equal((await deliver(api, '/hooks/paystack', await paystack.webhook(attempt.key))).http, 200)
    const paid = await successful(uuid)
    assert.deepEqual([paid.amountPaid, paid.paymentGateway], ['1250.50', 'paystack'])
    assert.match(paid.paymentMethod.recurringToken, /^rtk_/)
    assert.equal(await paystack.executions(attempt.key), 1)
  })

  it('resolves a payment by polling when every webhook is lost', async () => {
    const payments = await Promise.all(Array.from({ length: 10 }, () => startPaying(api, NGN)))
    const attempts = await Promise.all(payments.map(({ uuid }) => attemptOf(db, uuid)))
    for (const [index, { key }] of attempts.entries())
      await paystack.finish(key, index % 5 === 4 ? { kind: 'declines', how: 'Declined' } : { kind: 'pays' })
    const ended = await Promise.all(
      payments.map(({ uuid }) =>
        eventually(
          () => readPayment(api, uuid),
          ({ status }) => status !== 'processing',
          20_000,
        ),
      ),
    )
    assert.deepEqual(
      ended.map(({ status }) => status),
      ended.map((_, index) => (index % 5 === 4 ? 'pending' : 'successful')),
    )
    for (const [index, { key }] of attempts.entries())
      assert.equal(await paystack.executions(key), index % 5 === 4 ? 0 : 1)
  })

  it('stops polling a page that the payer has left, and a webhook still reports a later payment', async () => {
    const { uuid } = await startPaying(api, NGN)
    const { key } = await attemptOf(db, uuid)
    await db.query(endedHoursAgo, [uuid])
    const polled = () => db.query(selectPoll, [uuid])
    const [left] = await eventually(polled, ([row]) => row?.status === 'declined', 15_000)
    assert.equal(left?.dueAt, null)
    await paystack.finish(key, { kind: 'pays' })
    assert.equal((await deliver(api, '/hooks/paystack', await paystack.webhook(key))).http, 200)
    assert.equal((await successful(uuid)).amountPaid, '1250.50')
  })

  it('does not credit a payment when the provider collected another amount (F-34)', async () => {
    const { uuid } = await startPaying(api, NGN)
    const { key } = await attemptOf(db, uuid)
    await paystack.finish(key, { kind: 'pays', minor: 125_049n })
    const payment = await eventually(
      () => readPayment(api, uuid),
      ({ statusReason }) => statusReason === 'amount_mismatch',
      15_000,
    )
    assert.equal(payment.status, 'processing')
  })

  it('runs no additional statements per initiate through a configured gateway', ONE_PROCESS, async (t) => {
    const { api: fresh } = await service.newMerchant()
    const initiate = () => fresh.post('/api/v1/checkout/initiate-payment', initiateBody(NGN))
    await initiate()
    // The sandbox stores its own data; those statements do not count.
    const statements = watchStatements(t, db, /^(?!.*sandbox\.records)/s)
    for (let made = 0; made < 30; made += 1) assert.equal((await initiate()).http, 201)
    const records = statements.filter((text) => text.includes('insert into payment_references'))
    assert.equal(records.length, 30)
    // Besides the insert: cache refreshes of some seconds, and status checks that other tests left.
    const others = statements.filter((text) => /gateway_accounts|from merchants|from api_keys/.test(text))
    assert.ok(others.length <= 6, `30 initiates ran ${others.length} more statements`)
  })
})

describe('a recurring charge through a configured gateway', () => {
  async function savedToken() {
    const { uuid } = await startPaying(api, NGN)
    const { key } = await attemptOf(db, uuid)
    await paystack.finish(key, { kind: 'pays' })
    return String((await successful(uuid)).paymentMethod.recurringToken)
  }

  it('sends a recurring charge to the gateway of its token', async () => {
    const charged = await api.post('/api/v1/charges/recurring', chargeBody(await savedToken(), NGN))
    assert.equal(charged.body.data.status, 'successful', charged.text)
    const attempt = await attemptOf(db, charged.body.data.uuid)
    assert.deepEqual([attempt.gateway, attempt.accountId], ['paystack', null])
    assert.match(attempt.key, UUID_V4)
    assert.equal(await paystack.executions(attempt.key), 1)
  })
})

describe('a merchant’s own gateway account', () => {
  async function merchantWithAccount() {
    const merchant = await service.newMerchant()
    return { ...merchant, accountId: await putAccount(merchant.uuid, FAKE_SECRET_KEY) }
  }

  it('uses a merchant’s own account for its payments, and keeps it for them after it was replaced', async () => {
    const merchant = await merchantWithAccount()
    const { uuid } = await startPaying(merchant.api, NGN)
    const attempt = await attemptOf(db, uuid)
    assert.equal(attempt.accountId, merchant.accountId)
    await admin.send('DELETE', accountPath(merchant.uuid))
    const next = await putAccount(merchant.uuid, OTHER_KEY)
    await paystack.finish(attempt.key, { kind: 'pays' })
    const { paymentMethod } = await successful(uuid, merchant.api)
    assert.deepEqual(new Set(keysUsedFor(attempt.key)), new Set([FAKE_SECRET_KEY]))

    const charged = await merchant.api.post(
      '/api/v1/charges/recurring',
      chargeBody(paymentMethod.recurringToken, NGN),
    )
    assert.equal(charged.body.data.status, 'successful', 'the token is charged with its own account')
    const charge = await attemptOf(db, charged.body.data.uuid)
    assert.equal(charge.accountId, merchant.accountId)
    assert.deepEqual(new Set(keysUsedFor(charge.key)), new Set([FAKE_SECRET_KEY]))

    // Paystack rejects the other key after we call it first; the sandbox then takes the payment.
    const fresh = await attemptOf(db, (await startPaying(merchant.api, NGN)).uuid, 0)
    assert.equal(fresh.accountId, next, 'new payments use the new account')
    assert.deepEqual(new Set(keysUsedFor(fresh.key)), new Set([OTHER_KEY]))
  })

  it('keeps the payments of an account when only its key changes', async () => {
    const merchant = await merchantWithAccount()
    const { uuid } = await startPaying(merchant.api, NGN)
    const { key } = await attemptOf(db, uuid)
    assert.equal(await putAccount(merchant.uuid, OTHER_KEY), merchant.accountId)
    await postponePolls(db, uuid)
    const before = keysUsedFor(key).length
    await merchant.api.get(`/api/v1/checkout/verify-payment?uuid=${uuid}`)
    assert.deepEqual(keysUsedFor(key).slice(before), [OTHER_KEY])
    await putAccount(merchant.uuid, FAKE_SECRET_KEY)
    await paystack.finish(key, { kind: 'pays' })
    const verified = await eventually(
      () => merchant.api.get(`/api/v1/checkout/verify-payment?uuid=${uuid}`),
      ({ body }) => body.data.status === 'successful',
      15_000,
    )
    assert.equal(verified.http, 200)
  })

  it('falls back to the account of the instance when the merchant’s own is removed', async () => {
    const merchant = await merchantWithAccount()
    await admin.send('DELETE', accountPath(merchant.uuid))
    const { uuid } = await startPaying(merchant.api, NGN)
    assert.equal((await attemptOf(db, uuid)).accountId, null)
  })

  it('uses a merchant’s account for no other merchant', async () => {
    const merchant = await service.newMerchant()
    await putAccount(merchant.uuid, OTHER_KEY)
    const other = await service.newMerchant()
    const { uuid } = await startPaying(other.api, NGN)
    const { accountId, key } = await attemptOf(db, uuid)
    assert.equal(accountId, null)
    assert.deepEqual(new Set(keysUsedFor(key)), new Set([FAKE_SECRET_KEY]))
  })
})
