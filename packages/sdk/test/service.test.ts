// The client and a whole service: records, replays, errors, files, and webhooks as they are delivered.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { newReference } from '../../../test/support/builders.ts'
import { startConsumer } from '../../../test/support/consumer.ts'
import { eventually } from '../../../test/support/process.ts'
import { testService } from '../../../test/support/service.ts'
import { Cowry, CowryError } from '../src/index.ts'

const service = await testService({ after })
const cowry = new Cowry({ apiKey: service.demoKey ?? '', baseUrl: service.url })

function newPayment(): Parameters<typeof cowry.payments.initiate>[0] {
  const customer = { email: 'amina@example.com', firstname: 'Amina', lastname: 'Odhiambo' }
  return { amount: 100, currency: 'KES', reference: newReference(), customer, metadata: { order: '7' } }
}

describe('the SDK with a service', () => {
  it('collects, charges again, refunds, and finds the records in lists', async () => {
    const body = newPayment()
    const { uuid, reference } = await cowry.payments.initiate(body)
    const paid = await cowry.sandbox.completePayment(reference, { instrument: 'card_success' })
    assert.equal(paid.status, 'successful')
    const charge = await cowry.charges.create({
      reference: newReference(),
      amount: 30,
      currency: 'KES',
      customer: body.customer,
      metadata: {},
      description: 'Second month',
      recurringToken: paid.paymentMethod?.recurringToken ?? '',
    })
    assert.equal(charge.status, 'successful')
    const refund = await cowry.refunds.create({ paymentUuid: charge.uuid, amount: 10 })
    assert.deepEqual(await cowry.refunds.get(refund.uuid), refund)
    const listed: string[] = []
    for await (const one of cowry.payments.listAll({ limit: 1, metadata: { order: '7' } }))
      listed.push(one.uuid)
    assert.deepEqual(listed, [uuid])
    const file = await cowry.charges.export({ currency: 'KES' })
    assert.match(await file.text(), new RegExp(`^uuid,.*\\r?\\n"${charge.uuid}",`))
  })

  it('gets the same record for a repeated request, and says so', async () => {
    const body = newPayment()
    const first = await cowry.payments.initiate(body).withResponse()
    const second = await cowry.payments.initiate(body).withResponse()
    assert.deepEqual([first.isReplayed, second.isReplayed], [false, true])
    assert.equal(second.data.uuid, first.data.uuid)
    assert.match(second.requestId ?? '', /^[0-9a-f-]{36}$/)
  })

  it('rejects with every field of the error', async () => {
    const wrong = { ...newPayment(), amount: 1.005 }
    await assert.rejects(cowry.payments.initiate(wrong), (error) => {
      assert.ok(error instanceof CowryError)
      const { code, type, status, retryable, details, docUrl } = error
      assert.deepEqual([code, type, status, retryable], ['amount_precision', 'validation_error', 400, false])
      assert.deepEqual(
        details.map(({ field }) => field),
        ['amount'],
      )
      assert.match(docUrl ?? '', /amount_precision/)
      return true
    })
  })

  it('verifies webhooks as the service delivers them', async (t) => {
    const consumer = await startConsumer(t)
    const { secret } = await cowry.webhookEndpoints.create({ url: consumer.url, events: ['payment.pending'] })
    assert.ok(secret)
    consumer.setSecret(secret)
    const { uuid } = await cowry.payments.initiate(newPayment())
    const receipt = await eventually(async () => consumer.receipts[0], Boolean, 20_000)
    assert.ok(receipt)
    const event = await cowry.webhooks.unwrap(receipt.body, receipt.headers, secret)
    assert.deepEqual([event.type, event.resource.uuid], ['payment.pending', uuid])
  })
})
