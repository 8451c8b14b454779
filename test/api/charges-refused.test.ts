import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { ApiErrorCode } from '../../src/core/errors.ts'
import { sql } from '../../src/kit/db/db.ts'
import { assertApiError, assertNothingStored } from '../support/assertions.ts'
import { CUSTOMER, chargeBody, payWith, saveMethod } from '../support/builders.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { api } = service
const PATH = '/api/v1/charges/recurring'

/** A saved method of a new customer, so that tests do not affect each other. */
async function savedMethod(email: string) {
  const customer = { ...CUSTOMER, email }
  const payment = await payWith(api, 'card_success', { customer })
  const { uuid, recurringToken: token } = payment.paymentMethod
  return { customer, customerUuid: payment.customer.uuid, uuid, token }
}

// With another fingerprint: a webhook about the payment may save its card once more, and would overwrite this method.
const setMethod = sql<unknown>`
update payment_methods
set
  fingerprint = fingerprint || '-changed',
  expires_at = coalesce($2::timestamptz, expires_at),
  currencies = coalesce($3::text[], currencies)
where id = $1`

async function refused(body: object, code: ApiErrorCode) {
  let message = ''
  await assertNothingStored(service.db, service.demoKey, async () => {
    const answer = await api.post(PATH, body)
    assertApiError(answer, code)
    message = answer.body.message
  })
  return message
}

describe('rejected recurring charges', () => {
  it('rejects a charge with an unknown token', async () => {
    for (const token of ['rtk_nothing', 'x', `rtk_${'0'.repeat(43)}`, 'tok_1', '𝓉']) {
      await refused(chargeBody(token), 'recurring_token_not_found')
    }
  })

  it('rejects a charge with a token longer than any real one', async () => {
    const answer = await api.post(PATH, chargeBody('x'.repeat(201)))
    assert.deepEqual(assertApiError(answer, 'validation_failed'), ['recurringToken: too_long'])
    const empty = await api.post(PATH, chargeBody(''))
    assert.deepEqual(assertApiError(empty, 'validation_failed'), ['recurringToken: too_short'])
  })

  it('rejects a charge with a revoked token', async () => {
    const { uuid, token, customer, customerUuid } = await savedMethod('revoked@example.com')
    await api.send('DELETE', `/api/v1/customers/${customerUuid}/payment-methods/${uuid}`)
    const message = await refused(chargeBody(token, { customer }), 'recurring_token_inactive')
    assert.match(message, /revoked/)
  })

  it('rejects a charge with an expired card', async () => {
    const byDate = await savedMethod('expired@example.com')
    await service.db.query(setMethod, [byDate.uuid, new Date(Date.now() - 1000), null])
    assert.match(
      await refused(chargeBody(byDate.token, { customer: byDate.customer }), 'recurring_token_inactive'),
      /expired/,
    )
  })

  it('rejects a charge whose customer has another e-mail', async () => {
    const { token } = await savedMethod('owner@example.com')
    for (const email of ['other@example.com', 'owner@example.com.evil.example', 'owner+tag@example.com']) {
      await refused(chargeBody(token, { customer: { ...CUSTOMER, email } }), 'customer_mismatch')
    }
  })

  it('rejects a charge in a currency that the token does not support, and lists the supported ones', async () => {
    const { uuid, token, customer } = await savedMethod('kes-only@example.com')
    await service.db.query(setMethod, [uuid, null, ['KES', 'NGN']])
    const body = chargeBody(token, { customer, currency: 'USD' })
    assert.match(await refused(body, 'currency_not_supported_for_token'), /KES, NGN/)
    const { currency: _, ...bare } = body
    await refused(bare, 'currency_not_supported_for_token')
    const inKes = await api.post(PATH, chargeBody(token, { customer, currency: 'KES' }))
    assert.equal(inKes.body.data.status, 'successful')
  })
})

describe('accepted recurring charges', () => {
  it('accepts the customer’s e-mail in any case', async () => {
    const { token, customer } = await savedMethod('Mixed.Case@Example.com')
    for (const email of ['mixed.case@example.com', 'MIXED.CASE@EXAMPLE.COM']) {
      const answer = await api.post(PATH, chargeBody(token, { customer: { ...customer, email } }))
      assert.equal(answer.http, 201, answer.text)
      assert.equal(answer.body.data.customer.email, email)
    }
  })

  it('accepts a card until the end of its last month', async () => {
    const { uuid, token, customer } = await savedMethod('soon@example.com')
    await service.db.query(setMethod, [uuid, new Date(Date.now() + 60_000), null])
    const answer = await api.post(PATH, chargeBody(token, { customer }))
    assert.equal(answer.body.data.status, 'successful')
  })

  it('keeps the token of a method when the card is saved again', async () => {
    const customer = { ...CUSTOMER, email: 'twice@example.com' }
    const first = await saveMethod(api, 'card_success', { customer })
    const second = await saveMethod(api, 'card_success', { customer })
    const other = await saveMethod(api, 'card_3ds', { customer })
    assert.equal(second, first)
    assert.notEqual(other, first)
    // 43 base62 characters hold 256 random bits.
    assert.match(first, /^rtk_[0-9A-Za-z]{43}$/)
  })
})
