import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import type { Api } from '../support/api.ts'
import { chargeBody, initiateBody, payWith, saveMethod } from '../support/builders.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

async function initiate(api: Api, customer: Record<string, unknown>, changes: Record<string, unknown> = {}) {
  const answer = await api.post('/api/v1/checkout/initiate-payment', initiateBody({ customer, ...changes }))
  assert.equal(answer.http, 201, answer.text)
  return answer.body.data
}

async function customerOf(api: Api, uuid: string) {
  const answer = await api.get(`/api/v1/customers/${uuid}`)
  assert.equal(answer.http, 200, answer.text)
  return answer.body.data
}

async function customersOf(api: Api) {
  return (await api.get('/api/v1/customers?limit=100')).body
}

const selectRowVersion = sql<{ version: string }>`select xmin::text as version from customers where id = $1`

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

describe('the customer record', () => {
  it('returns a customer with exactly the fields of the contract and the block reason, alone and in the list', async () => {
    const { api } = await service.newMerchant()
    const person = { email: 'zuri@example.com', firstname: 'Zuri', lastname: 'Mwangi', country: 'ke' }
    const { customer } = await initiate(api, person)
    const answer = await api.get(`/api/v1/customers/${customer.uuid}`)
    const { uuid, createdAt, updatedAt } = answer.body.data
    assert.deepEqual(answer.body, {
      status: 'success',
      message: 'Customer retrieved.',
      data: {
        uuid,
        firstname: 'Zuri',
        lastname: 'Mwangi',
        email: 'zuri@example.com',
        country: 'KE',
        phone: null,
        metadata: {},
        status: 'active',
        statusReason: null,
        totals: { successfulPayments: 0, lastPaymentAt: null },
        createdAt,
        updatedAt,
      },
    })
    assert.equal(uuid, customer.uuid)
    assert.match(uuid, UUID_V7)
    assert.match(createdAt, TIMESTAMP)
    assert.equal(updatedAt, createdAt)
    assert.deepEqual((await customersOf(api)).data, [answer.body.data])
  })

  it('is written by a payment only if the payment changes it', async () => {
    const { api } = await service.newMerchant()
    const person = { email: 'imani@example.com', firstname: 'Imani', lastname: 'Otieno', country: 'KE' }
    const { customer } = await initiate(api, person)
    const versionAfter = async (changes: Record<string, unknown>) => {
      await initiate(api, { ...person, ...changes })
      const [row] = await service.db.query(selectRowVersion, [customer.uuid])
      return row?.version
    }
    const first = await versionAfter({})
    assert.equal(await versionAfter({}), first)
    assert.equal(await versionAfter({ country: undefined }), first)
    const renamed = await versionAfter({ lastname: 'Mwangi' })
    assert.notEqual(renamed, first)
    assert.notEqual(await versionAfter({ lastname: 'Mwangi', country: 'UG' }), renamed)
    const { lastname, country } = await customerOf(api, customer.uuid)
    assert.deepEqual([lastname, country], ['Mwangi', 'UG'])
  })

  it('keeps one customer per merchant and e-mail, regardless of case', async () => {
    const { api } = await service.newMerchant()
    const first = await initiate(api, { email: 'Kofi@Example.com', firstname: 'Kofi', lastname: 'Mensah' })
    const again = await initiate(api, { email: 'kofi@example.COM', firstname: 'Kofi', lastname: 'Mensah' })
    const another = await initiate(api, {
      email: 'kofi.m@example.com',
      firstname: 'Kofi',
      lastname: 'Mensah',
    })
    assert.equal(again.customer.uuid, first.customer.uuid)
    assert.notEqual(another.customer.uuid, first.customer.uuid)
    assert.equal((await customersOf(api)).meta.total, 2)
  })

  it('keeps different customers of different merchants with the same e-mail', async () => {
    const person = { email: 'shared@example.com', firstname: 'Ama', lastname: 'Owusu' }
    const [one, two] = [await service.newMerchant(), await service.newMerchant()]
    const mine = await initiate(one.api, person)
    const theirs = await initiate(two.api, { ...person, firstname: 'Efua' })
    assert.notEqual(mine.customer.uuid, theirs.customer.uuid)
    assert.equal((await customerOf(one.api, mine.customer.uuid)).firstname, 'Ama')
  })

  it('shows the customer’s latest names, and keeps those of each payment with the payment', async () => {
    const { api } = await service.newMerchant()
    const email = 'latest@example.com'
    const first = await initiate(api, { email, firstname: 'Wanjiru', lastname: 'Kamau' })
    const before = await customerOf(api, first.customer.uuid)
    await initiate(api, { email, firstname: 'Wanjiru', lastname: 'Otieno' })
    const now = await customerOf(api, first.customer.uuid)
    assert.equal(now.lastname, 'Otieno')
    assert.equal(now.createdAt, before.createdAt)
    assert.ok(now.updatedAt >= before.updatedAt)
    const payment = await api.get(`/api/v1/checkout/payments/${first.uuid}`)
    assert.equal(payment.body.data.customer.lastname, 'Kamau')
  })

  it('updates the names from a recurring charge too', async () => {
    const { api } = await service.newMerchant()
    const customer = { email: 'charged@example.com', firstname: 'Old', lastname: 'Name' }
    const token = await saveMethod(api, 'card_success', { customer })
    const renamed = { ...customer, firstname: 'New' }
    const charge = await api.post('/api/v1/charges/recurring', chargeBody(token, { customer: renamed }))
    assert.equal(charge.http, 201, charge.text)
    assert.equal((await customerOf(api, charge.body.data.customer.uuid)).firstname, 'New')
  })

  it('keeps the customer’s country when a later payment has none, and replaces it otherwise', async () => {
    const { api } = await service.newMerchant()
    const person = { email: 'moved@example.com', firstname: 'Sena', lastname: 'Addo' }
    const { customer } = await initiate(api, { ...person, country: 'GH' })
    await initiate(api, person)
    await initiate(api, { ...person, country: null })
    assert.equal((await customerOf(api, customer.uuid)).country, 'GH')
    await initiate(api, { ...person, country: 'ng' })
    assert.equal((await customerOf(api, customer.uuid)).country, 'NG')
  })

  it('does not copy the payment’s country, which selects the route, to the customer', async () => {
    const { api } = await service.newMerchant()
    const person = { email: 'rails@example.com', firstname: 'Awa', lastname: 'Diop' }
    const { customer } = await initiate(api, person, { currency: 'XOF', country: 'SN', amount: 5000 })
    assert.equal((await customerOf(api, customer.uuid)).country, null)
  })

  it('counts only successful payments and charges of a customer', async () => {
    const { api } = await service.newMerchant()
    const customer = { email: 'totals@example.com', firstname: 'Nia', lastname: 'Banda' }
    await initiate(api, customer)
    await payWith(api, 'card_declined', { customer })
    const paid = await payWith(api, 'card_success', { customer })
    const totals = (await customerOf(api, paid.customer.uuid)).totals
    assert.deepEqual(totals, { successfulPayments: 1, lastPaymentAt: paid.paidAt })
    const body = chargeBody(paid.paymentMethod.recurringToken, { customer })
    const charge = await api.post('/api/v1/charges/recurring', body)
    assert.equal(charge.body.data.status, 'successful')
    assert.deepEqual((await customerOf(api, paid.customer.uuid)).totals, {
      successfulPayments: 2,
      lastPaymentAt: charge.body.data.paidAt,
    })
  })

  it('creates one customer for thirty parallel first payments', async () => {
    const { api } = await service.newMerchant()
    const people = Array.from({ length: 30 }, (_, index) => ({
      email: index % 2 ? 'RUSH@example.com' : 'rush@example.com',
      firstname: `First${index}`,
      lastname: 'Rush',
    }))
    const payments = await Promise.all(people.map((person) => initiate(api, person)))
    assert.equal(new Set(payments.map(({ uuid }) => uuid)).size, 30)
    assert.equal(new Set(payments.map(({ customer }) => customer.uuid)).size, 1)
    const { data, meta } = await customersOf(api)
    assert.equal(meta.total, 1)
    assert.ok(people.some(({ firstname }) => firstname === data[0].firstname))
  })
})
