import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Api, ApiResponse } from '../support/api.ts'
import { assertApiError } from '../support/assertions.ts'
import { CUSTOMER, chargeBody, initiateBody, newReference, payWith, saveMethod } from '../support/builders.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { api } = service
const INITIATE = '/api/v1/checkout/initiate-payment'
const CHARGE = '/api/v1/charges/recurring'
const token = await saveMethod(api, 'card_success')

const isReplay = (answer: ApiResponse) => answer.headers.get('idempotent-replayed') === 'true'

async function executions(reference: string, from: Api = api): Promise<unknown[]> {
  return (await from.get(`/api/v1/sandbox/executions?reference=${reference}`)).body.data
}

/** The second request answers 201 with the record of the first. */
async function assertReplays(path: string, first: unknown, second: unknown) {
  const created = await api.post(path, first)
  assert.equal(created.http, 201, created.text)
  assert.equal(isReplay(created), false)
  const replayed = await api.post(path, second)
  assert.equal(replayed.http, 201, replayed.text)
  assert.equal(isReplay(replayed), true, 'the response is marked as a replay')
  assert.deepEqual(replayed.body.data, created.body.data)
  return replayed.body.data
}

describe('the same reference with the same body', () => {
  it('answers the retry of a payment with 201, the same payment and a replay mark', async () => {
    const body = initiateBody({ description: 'once', metadata: { a: [1] } })
    await assertReplays(INITIATE, body, body)
  })

  it('answers the retry of a charge with 201 and the same charge, and charges once', async () => {
    const body = chargeBody(token)
    const charge = await assertReplays(CHARGE, body, body)
    assert.equal(charge.status, 'successful')
    assert.equal((await executions(body.reference)).length, 1)
  })

  it('answers a retry with the current record', async () => {
    const body = initiateBody()
    const created = await api.post(INITIATE, body)
    assert.equal(created.body.data.status, 'pending')
    await api.post(`/api/v1/sandbox/payments/${body.reference}/complete`, { instrument: 'card_success' })
    const replayed = await api.post(INITIATE, body)
    assert.equal(replayed.http, 201)
    assert.equal(isReplay(replayed), true)
    assert.deepEqual(replayed.body.data, { ...created.body.data, status: 'successful' })
  })

  it('answers the retry of a declined charge without charging again', async () => {
    const customer = { ...CUSTOMER, email: 'declined@example.com' }
    const declined = await saveMethod(api, 'card_declined_later', { customer })
    const body = chargeBody(declined, { customer })
    const charge = await assertReplays(CHARGE, body, body)
    assert.equal(charge.status, 'failed')
    assert.equal(charge.failure.code, 'insufficient_funds')
  })

  it('treats bodies with another order of keys as the same', async () => {
    const body = initiateBody({ metadata: { a: 1, b: { c: 2, d: 3 } } })
    const { email, firstname, lastname } = CUSTOMER
    const reordered = {
      metadata: { b: { d: 3, c: 2 }, a: 1 },
      customer: { lastname, firstname, email },
      reference: body.reference,
      currency: body.currency,
      amount: body.amount,
    }
    await assertReplays(INITIATE, body, reordered)
  })

  it('treats explicit defaults and null as the same body', async () => {
    const { reference, customer } = initiateBody()
    const bare = { amount: 10, reference, customer }
    await assertReplays(INITIATE, bare, {
      ...bare,
      amount: 10.0,
      currency: 'USD',
      country: 'us',
      isRecurring: false,
      metadata: {},
      description: null,
      redirectUrl: null,
      customer: { ...customer, email: customer.email.toUpperCase(), country: null },
    })
    const written = initiateBody({ isRecurring: false, metadata: {}, currency: 'USD' })
    await assertReplays(INITIATE, written, {
      ...written,
      isRecurring: null,
      metadata: null,
      currency: null,
    })
    const { currency: _, ...charge } = chargeBody(token)
    await assertReplays(CHARGE, charge, { ...charge, currency: 'USD' })
  })
})

describe('the same reference with another body', () => {
  /** Asserts a 409 that names the record with this reference and its status. */
  async function assertDuplicate(answer: ApiResponse, uuid: string, status: string) {
    assert.deepEqual(assertApiError(answer, 'duplicate_reference'), ['reference: duplicate_reference'])
    assert.ok(answer.body.message.includes(uuid), answer.body.message)
    assert.ok(answer.body.message.includes(status), answer.body.message)
    assert.equal(isReplay(answer), false)
  }

  it('rejects a change in any field as 409 duplicate_reference, and changes nothing', async () => {
    const body = initiateBody({ description: 'a', metadata: { a: 1 } })
    const { uuid } = (await api.post(INITIATE, body)).body.data
    for (const change of [
      { amount: 1250.51 },
      { currency: 'USD' },
      { description: 'b' },
      { description: null },
      { metadata: { a: '1' } },
      { isRecurring: true },
      { redirectUrl: 'https://shop.example/' },
      { customer: { ...CUSTOMER, lastname: 'Otieno' } },
      { customer: { ...CUSTOMER, email: 'other@example.com' } },
    ]) {
      await assertDuplicate(await api.post(INITIATE, { ...body, ...change }), uuid, 'pending')
    }
    const verified = await api.get(`/api/v1/checkout/verify-payment?reference=${body.reference}`)
    assert.equal(verified.body.data.sourceAmount, '1250.50')
  })

  it('rejects a charge with a used reference with 409, and does not charge again', async () => {
    const body = chargeBody(token)
    const { uuid } = (await api.post(CHARGE, body)).body.data
    for (const change of [{ amount: 101 }, { metadata: { a: 1 } }, { description: 'other' }]) {
      await assertDuplicate(await api.post(CHARGE, { ...body, ...change }), uuid, 'successful')
    }
    assert.equal((await executions(body.reference)).length, 1)
  })

  it('rejects a reference that a payment or charge of the other kind uses with 409', async () => {
    const body = initiateBody()
    const payment = (await api.post(INITIATE, body)).body.data
    const asCharge = await api.post(CHARGE, chargeBody(token, { reference: body.reference }))
    await assertDuplicate(asCharge, payment.uuid, 'pending')
    const charged = chargeBody(token)
    const charge = (await api.post(CHARGE, charged)).body.data
    const asPayment = await api.post(INITIATE, initiateBody({ reference: charged.reference }))
    await assertDuplicate(asPayment, charge.uuid, 'successful')
  })

  it('scopes references to their merchant (F-49)', async () => {
    const other = await service.newMerchant()
    const body = initiateBody()
    const ours = await api.post(INITIATE, body)
    const theirs = await other.api.post(INITIATE, { ...body, amount: 7 })
    assert.equal(theirs.http, 201, theirs.text)
    assert.notEqual(theirs.body.data.uuid, ours.body.data.uuid)
    assert.equal((await api.post(INITIATE, body)).body.data.uuid, ours.body.data.uuid)
  })

  it('compares references exactly: another case or spelling is another payment', async () => {
    const reference = newReference()
    for (const other of [reference, reference.toUpperCase(), `${reference}\u0301`]) {
      const answer = await api.post(INITIATE, initiateBody({ reference: other }))
      assert.equal(isReplay(answer), false)
      assert.equal(answer.http, 201)
    }
  })
})

describe('retries after other changes', () => {
  it('answers a retry also when the token has become inactive', async () => {
    const customer = { ...CUSTOMER, email: 'later-revoked@example.com' }
    const paid = await payWith(api, 'card_success', { customer })
    const saved = paid.paymentMethod.recurringToken
    const body = chargeBody(saved, { customer })
    const first = await api.post(CHARGE, body)
    const method = `/api/v1/customers/${paid.customer.uuid}/payment-methods/${paid.paymentMethod.uuid}`
    await api.send('DELETE', method)
    const again = await api.post(CHARGE, body)
    assert.equal(again.http, 201, again.text)
    assert.equal(isReplay(again), true)
    assert.deepEqual(again.body.data, first.body.data)
    assertApiError(await api.post(CHARGE, { ...body, amount: 7 }), 'duplicate_reference')
    assertApiError(await api.post(CHARGE, chargeBody(saved, { customer })), 'recurring_token_inactive')
  })

  it('treats the same body under another reference as another payment', async () => {
    const first = await api.post(CHARGE, chargeBody(token))
    const second = await api.post(CHARGE, chargeBody(token))
    assert.notEqual(second.body.data.uuid, first.body.data.uuid)
  })
})
