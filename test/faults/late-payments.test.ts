// F-35 and F-52 on the payer's pages: an attempt that the payer cancelled turns out to be paid after another attempt
// has paid. The wallet is credited once, and the duplicate payment is refunded automatically.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, it } from 'node:test'
import { sign } from '../../src/gateways/sandbox/webhooks.ts'
import { sql } from '../../src/kit/db/db.ts'
import { sandboxWebhookSecretOf } from '../../src/secrets/secrets.ts'

import { createPayer, openCheckout } from '../support/payer.ts'
import { postingsOf } from '../support/payment-records.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const SECRET = 'the-secret-of-a-provider-of-the-tests'
const service = await testService({ after }, { env: { COWRY_SANDBOX_SECRET: SECRET } })
const shop = await service.newMerchant()

const selectKey = sql<{ key: string }>`
select gateway_key as key
from attempts
where payment_id = $1 and number = 1`

// The provider changes its outcome: the payer's bank had approved before the payer cancelled.
const takeBack = sql<unknown>`
update sandbox.records
set
  version = version + 1,
  record = record || jsonb_build_object(
    'status', 'succeeded', 'declineCode', null, 'paid', record ->> 'amount', 'instrument', 'card_success',
    'version', version + 1
  )
where key = $1`

async function sendWebhook(key: string): Promise<void> {
  const createdAt = new Date().toISOString()
  const body = JSON.stringify({ id: randomUUID(), type: 'checkout.succeeded', key, order: 'x', createdAt })
  const signature = sign(sandboxWebhookSecretOf(SECRET), new Date(), body)
  const notified = await service.apiWith(undefined).postText('/hooks/sandbox', body, {
    'cowry-sandbox-signature': signature,
  })
  assert.equal(notified.http, 200, notified.text)
}

const payer = createPayer()

/** A checkout whose first attempt the payer cancelled on our page, while the bank was about to approve it. */
async function cancelledAttempt() {
  const checkout = await openCheckout(shop.api, payer)
  await payer.goToCardPage(checkout.page)
  const open = await payer.submit(await payer.open(checkout.checkoutUrl), '/other')
  const [attempt] = await service.db.query(selectKey, [checkout.uuid])
  assert.ok(attempt)
  return { ...checkout, open, key: attempt.key }
}

const statusesOf = (payment: { attempts: { status: string }[] }) =>
  payment.attempts.map(({ status }) => status)

it('a cancelled attempt that turns out paid pays a checkout that is still open', async () => {
  const { key, read } = await cancelledAttempt()
  await service.db.query(takeBack, [key])
  await sendWebhook(key)
  const payment = await eventually(read, ({ status }) => status === 'successful', 10_000)
  assert.deepEqual(statusesOf(payment), ['succeeded'])
})

it('a late payment after another attempt has paid is a duplicate: one credit, and the duplicate is refunded', async () => {
  const before = (await shop.api.get('/api/v1/wallet/balance?currency=KES')).body.data
  const { uuid, key, open, read } = await cancelledAttempt()
  await payer.payByCard(open, 'card_success')
  assert.equal((await eventually(read, ({ status }) => status === 'successful', 10_000)).attempts.length, 2)

  await service.db.query(takeBack, [key])
  await sendWebhook(key)
  const payment = await eventually(read, (one) => one.attempts[0].refundedAmount === '1250.50', 10_000)
  assert.deepEqual(statusesOf(payment), ['duplicate_success', 'succeeded'])
  assert.equal(payment.status, 'successful')
  assert.deepEqual([payment.amountPaid, payment.refundedAmount], ['1250.50', '0.00'])
  assert.deepEqual((await postingsOf(service.db, uuid)).sort(), [
    'capture gateway:sandbox KES -125050',
    'capture pending KES 125050',
    'duplicate_capture duplicates KES 125050',
    'duplicate_capture gateway:sandbox KES -125050',
    'refund duplicates KES -125050',
    'refund gateway:sandbox KES 125050',
  ])
  const { data } = (await shop.api.get(`/api/v1/refunds?payment=${uuid}`)).body
  assert.deepEqual(
    data.map((one: { status: string; amount: string; isDuplicate: boolean }) => [
      one.status,
      one.amount,
      one.isDuplicate,
    ]),
    [['successful', '1250.50', true]],
  )
  const wallet = (await shop.api.get('/api/v1/wallet/balance?currency=KES')).body.data
  assert.equal(Number(wallet.pendingBalance) - Number(before.pendingBalance), 1250.5)
  assert.equal(wallet.availableBalance, before.availableBalance)
})
