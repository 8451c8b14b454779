import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import { assertApiError, assertSameApiError, UNKNOWN_UUID } from '../support/assertions.ts'
import { chargeBody, payWith } from '../support/builders.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

const pathOf = (uuid: string) => `/api/v1/payments/${uuid}/timeline`

/** As it was written before migration 0084. */
const insertFirstMove = sql<unknown>`
insert into moves (merchant_id, payment_id, version, to_status, reason, source, attempt_id, at)
select p.merchant_id, p.id, 1, m.from_status, $2, 'api', $3, p.created_at
from payments p
join moves m on m.merchant_id = p.merchant_id and m.payment_id = p.id and m.version = 2
where p.id = $1
returning 1`

describe('GET /api/v1/payments/{uuid}/timeline', () => {
  it('requires a key, and answers the same for an unknown payment and another merchant’s', async () => {
    const { api } = await service.newMerchant()
    const paid = await payWith(api, 'card_success')
    assertApiError(await service.apiWith(undefined).get(pathOf(paid.uuid)), 'missing_api_key')
    const other = await service.newMerchant()
    const unknown = await other.api.get(pathOf(UNKNOWN_UUID))
    assertSameApiError(await other.api.get(pathOf(paid.uuid)), unknown, 'payment_not_found')
  })

  it('tells what happened to a payment and its refund, in order and in words', async () => {
    const { api } = await service.newMerchant()
    const paid = await payWith(api, 'card_success', { amount: 10, currency: 'KES' })
    const refund = await api.post('/api/v1/refunds', { uuid: paid.uuid, reason: 'returned goods' })
    assert.equal(refund.body.data.status, 'successful', refund.text)
    const { data } = (await api.get(pathOf(paid.uuid))).body
    const times = data.map(({ at }: { at: string }) => at)
    assert.deepEqual(times, times.toSorted())
    const messages = data.map(({ message }: { message: string }) => message)
    const wanted = [
      'The payment was created with status pending.',
      'Attempt 1 started at sandbox by card.',
      /^The status changed to processing/,
      'Attempt 1 at sandbox ended: succeeded with KES 10.00.',
      /^The status changed to successful/,
      'A refund of KES 10.00 was requested (returned goods).',
      'The refund of KES 10.00 ended: successful.',
      /^The status changed to refunded/,
    ]
    const found = wanted.map((text) =>
      messages.findIndex((message: string) =>
        typeof text === 'string' ? message === text : text.test(message),
      ),
    )
    assert.ok(!found.includes(-1), `${found} of ${messages.join('\n')}`)
    assert.deepEqual(
      found,
      found.toSorted((a, b) => a - b),
      messages.join('\n'),
    )
    for (const event of ['payment.pending', 'payment.successful', 'refund.successful', 'payment.refunded'])
      assert.ok(messages.includes(`The event ${event} was recorded.`), event)
  })

  it('tells of a case, its event, and how it was resolved', async () => {
    const { api } = await service.newMerchant()
    const { uuid } = await payWith(api, 'transfer_underpaid')
    const [found] = (await api.get('/api/v1/cases')).body.data
    const note = 'The rest comes in cash'
    await api.post(`/api/v1/cases/${found.uuid}/resolve`, { resolution: 'accept', note })
    const { data } = (await api.get(pathOf(uuid))).body
    const messages = data.map(({ message }: { message: string }) => message)
    for (const wanted of [
      'A case was opened: underpaid.',
      'The event payment.needs_review was recorded.',
      `The case was resolved: accept (${note}).`,
      'The status changed to successful; reported by the resolution of a case.',
    ])
      assert.ok(messages.includes(wanted), `${wanted} in ${messages.join('\n')}`)
  })

  it('begins with the first status, also of payments that have a move of it', async () => {
    const { api } = await service.newMerchant()
    const paid = await payWith(api, 'card_success')
    const charged = await api.post('/api/v1/charges/recurring', chargeBody(paid.paymentMethod.recurringToken))
    const charge = charged.body.data
    const read = async () => [
      (await api.get(pathOf(paid.uuid))).body.data,
      (await api.get(pathOf(charge.uuid))).body.data,
    ]
    const timelines = await read()
    const first = timelines.map((entries) =>
      entries.find(({ type }: { type: string }) => type === 'status_changed'),
    )
    const created = { type: 'status_changed', paymentGateway: null, amount: null }
    const [attempt] = timelines[1].filter(({ type }: { type: string }) => type === 'attempt_started')
    assert.deepEqual(first, [
      {
        ...{ at: paid.createdAt, message: 'The payment was created with status pending.' },
        ...{ ...created, uuid: null, status: 'pending' },
      },
      {
        ...{
          at: charge.createdAt,
          message: 'The payment was created with status processing.',
        },
        ...{ ...created, uuid: attempt.uuid, status: 'processing' },
      },
    ])
    for (const [payment, reason, attemptId] of [
      [paid, null, null],
      [charge, 'outcome_unknown', attempt.uuid],
    ])
      await service.db.query(insertFirstMove, [payment.uuid, reason, attemptId])
    assert.deepEqual(await read(), timelines)
  })

  it('tells why an attempt and a charge failed', async () => {
    const { api } = await service.newMerchant()
    const declined = await payWith(api, 'card_declined')
    const { body } = await api.get(pathOf(declined.uuid))
    assert.ok(
      body.data.some(({ message }: { message: string }) => /ended: declined, do_not_honor/.test(message)),
    )
    const saved = await payWith(api, 'card_declined_later')
    const token = saved.paymentMethod.recurringToken
    const charged = await api.post('/api/v1/charges/recurring', chargeBody(token))
    const { data } = (await api.get(pathOf(charged.body.data.uuid))).body
    assert.ok(data.some(({ message }: { message: string }) => /insufficient_funds/.test(message)))
  })
})
