import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { expireMethods } from '../../src/customers/methods.ts'
import { sql } from '../../src/kit/db/db.ts'
import { systemRandom } from '../../src/kit/random.ts'
import type { Api } from '../support/api.ts'
import { assertApiError, assertSameApiError, UNKNOWN_UUID } from '../support/assertions.ts'
import { CUSTOMER, chargeBody, payWith } from '../support/builders.ts'
import { ONE_DATABASE } from '../support/cells.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { eventsOf } from '../support/payment-records.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const clock = tickingClock()
const service = await testService({ after }, { env: { COWRY_RATE_LIMIT: '0' } })
const { db } = service

interface Method {
  uuid: string
  status: string
  isDefault: boolean
  recurringToken: string
}

const pathOf = (customer: string, method = '') =>
  `/api/v1/customers/${customer}/payment-methods${method === '' ? '' : `/${method}`}`

async function methodsOf(api: Api, customer: string): Promise<Method[]> {
  return (await api.get(pathOf(customer))).body.data
}

/** A customer with three cards; the first is the default. */
async function withCards(api: Api) {
  const instruments = ['card_success', 'card_3ds', 'card_declined_later']
  let customer = ''
  const methods: Method[] = []
  for (const instrument of instruments) {
    const paid = await payWith(api, instrument)
    customer = paid.customer.uuid
    methods.push(paid.paymentMethod)
  }
  const [first, second, third] = methods
  assert.ok(first && second && third)
  return { customer, first, second, third }
}

const typesOf = async (uuid: string) =>
  (await eventsOf(db, uuid)).map(({ type, version }) => `${type} ${version}`)

describe('a saved payment method', () => {
  it('emits one event for a saved method, however often it is saved, with the record but without its token', async () => {
    const { api } = await service.newMerchant()
    const paid = await payWith(api, 'card_success')
    await Promise.all(Array.from({ length: 4 }, () => payWith(api, 'card_success')))
    const [event, ...others] = await eventsOf(db, paid.paymentMethod.uuid)
    assert.deepEqual(others, [])
    assert.equal(event?.type, 'payment_method.saved')
    assert.deepEqual(event?.body.resource, {
      type: 'payment_method',
      uuid: paid.paymentMethod.uuid,
      version: 1,
    })
    const { lastUsedAt } = event.body.data
    assert.deepEqual(event.body.data, { ...paid.paymentMethod, recurringToken: null, lastUsedAt })
  })

  it('emits one event when several payments save a method for the first time at once', async () => {
    const { api } = await service.newMerchant()
    const paid = await Promise.all(Array.from({ length: 8 }, () => payWith(api, 'card_success')))
    const uuids = new Set(paid.map(({ paymentMethod }) => paymentMethod.uuid))
    assert.equal(uuids.size, 1)
    assert.deepEqual(await typesOf([...uuids][0] ?? ''), ['payment_method.saved 1'])
  })
})

describe('revoking a payment method', () => {
  it('revokes a method’s token for good, makes the last used method the default, and emits one event', async () => {
    const { api } = await service.newMerchant()
    const { customer, first, second, third } = await withCards(api)
    await api.post('/api/v1/charges/recurring', chargeBody(second.recurringToken))
    const answer = await api.send('DELETE', pathOf(customer, first.uuid))
    assert.equal(answer.http, 200, answer.text)
    assert.deepEqual(answer.body.data, {
      ...first,
      status: 'revoked',
      isDefault: false,
      lastUsedAt: answer.body.data.lastUsedAt,
    })
    const again = await api.send('DELETE', pathOf(customer, first.uuid))
    assert.deepEqual(again.body.data, answer.body.data)
    assert.deepEqual(await typesOf(first.uuid), ['payment_method.saved 1', 'payment_method.revoked 2'])
    assertApiError(
      await api.post('/api/v1/charges/recurring', chargeBody(first.recurringToken)),
      'recurring_token_inactive',
    )
    const defaults = (await methodsOf(api, customer)).filter(({ isDefault }) => isDefault)
    assert.deepEqual(
      defaults.map(({ uuid }) => uuid),
      [second.uuid],
    )
    for (const { uuid } of [second, third]) await api.send('DELETE', pathOf(customer, uuid))
    assert.ok(
      (await methodsOf(api, customer)).every(({ isDefault, status }) => !isDefault && status === 'revoked'),
    )
  })

  it('saves a revoked card again as another method with another token', async () => {
    const { api } = await service.newMerchant()
    const { customer, paymentMethod: old } = await payWith(api, 'card_success')
    await api.send('DELETE', pathOf(customer.uuid, old.uuid))
    const { paymentMethod: fresh } = await payWith(api, 'card_success')
    assert.notEqual(fresh.uuid, old.uuid)
    assert.notEqual(fresh.recurringToken, old.recurringToken)
    assert.equal(fresh.isDefault, true)
    const charge = await api.post('/api/v1/charges/recurring', chargeBody(fresh.recurringToken))
    assert.equal(charge.body.data.status, 'successful')
    assertApiError(
      await api.post('/api/v1/charges/recurring', chargeBody(old.recurringToken)),
      'recurring_token_inactive',
    )
  })

  it('emits one event for parallel revocations', async () => {
    const { api } = await service.newMerchant()
    const { customer, paymentMethod } = await payWith(api, 'card_success')
    const path = pathOf(customer.uuid, paymentMethod.uuid)
    const answers = await Promise.all(Array.from({ length: 6 }, () => api.send('DELETE', path)))
    assert.deepEqual([...new Set(answers.map(({ http }) => http))], [200])
    assert.equal((await typesOf(paymentMethod.uuid)).length, 2)
  })

  it('answers the same 404 for a method of another customer, of another merchant and for an unknown one', async () => {
    const [mine, theirs] = [await service.newMerchant(), await service.newMerchant()]
    const own = await payWith(mine.api, 'card_success')
    const otherCustomer = await payWith(mine.api, 'card_success', {
      customer: { ...CUSTOMER, email: 'brother@example.com' },
    })
    const foreign = await payWith(theirs.api, 'card_success')
    for (const verb of ['DELETE', 'POST']) {
      const send = (method: string) =>
        mine.api.send(verb, `${pathOf(own.customer.uuid, method)}${verb === 'POST' ? '/default' : ''}`)
      const unknown = await send(UNKNOWN_UUID)
      for (const { paymentMethod } of [otherCustomer, foreign])
        assertSameApiError(await send(paymentMethod.uuid), unknown, 'payment_method_not_found')
      assertApiError(await send('nothing'), 'invalid_uuid')
    }
  })
})

describe('the default payment method', () => {
  it('keeps exactly one default method under parallel changes while another method is saved', async () => {
    const { api } = await service.newMerchant()
    const { customer, first, second, third } = await withCards(api)
    const chosen = await api.post(`${pathOf(customer, third.uuid)}/default`, {})
    assert.equal(chosen.body.data.isDefault, true)
    const choices = [first, second, third, first, second, third].map(({ uuid }) =>
      api.post(`${pathOf(customer, uuid)}/default`, {}),
    )
    const saved = payWith(api, 'card_slow_later')
    for (const answer of await Promise.all(choices)) assert.equal(answer.http, 200, answer.text)
    await saved
    assert.equal((await methodsOf(api, customer)).filter(({ isDefault }) => isDefault).length, 1)
  })

  it('never makes a revoked method the default', async () => {
    const { api } = await service.newMerchant()
    const { customer, first, second } = await withCards(api)
    await api.send('DELETE', pathOf(customer, second.uuid))
    assertApiError(await api.post(`${pathOf(customer, second.uuid)}/default`, {}), 'invalid_state')
    const [now] = (await methodsOf(api, customer)).filter(({ isDefault }) => isDefault)
    assert.equal(now?.uuid, first.uuid)
  })
})

const YEARS_MS = 6 * 366 * 24 * 3_600_000

describe('a payment method with an expired card', () => {
  it(
    'emits one event for an expired card, moves the default flag, and reactivates the method when the card is renewed',
    ONE_DATABASE,
    async () => {
      const { api } = await service.newMerchant()
      const { customer, first, second } = await withCards(api)
      const end = sql`update payment_methods set expires_at = now() - interval '1 day' where id = $1`
      await db.query(end, [first.uuid])
      const app = {
        db,
        clock,
        random: systemRandom(clock),
        mode: 'test' as const,
        get vault(): never {
          return assert.fail('no token is returned')
        },
        get cursors(): never {
          return assert.fail('no method is listed')
        },
      }
      const counts = await Promise.all([expireMethods(app), expireMethods(app), expireMethods(app)])
      // The job of the service may have been faster.
      assert.ok(counts.reduce((a, b) => a + b) <= 1)
      const types = await eventually(
        () => typesOf(first.uuid),
        ({ length }) => length > 1,
        10_000,
      )
      assert.deepEqual(types, ['payment_method.saved 1', 'payment_method.expired 2'])
      const methods = await methodsOf(api, customer)
      assert.equal(methods.find(({ uuid }) => uuid === first.uuid)?.status, 'expired')
      assert.equal(methods.filter(({ isDefault }) => isDefault).length, 1)
      assertApiError(await api.post(`${pathOf(customer, first.uuid)}/default`, {}), 'invalid_state')
      assertApiError(
        await api.post('/api/v1/charges/recurring', chargeBody(first.recurringToken)),
        'recurring_token_inactive',
      )

      const renewed = await payWith(api, 'card_success')
      assert.equal(renewed.paymentMethod.uuid, first.uuid)
      assert.equal(renewed.paymentMethod.recurringToken, first.recurringToken)
      assert.equal(renewed.paymentMethod.status, 'active')
      assert.equal((await typesOf(first.uuid)).at(-1), 'payment_method.saved 3')

      clock.advance(YEARS_MS)
      await expireMethods(app)
      assert.equal((await typesOf(second.uuid)).at(-1), 'payment_method.expired 2')
      assert.ok((await methodsOf(api, customer)).every(({ isDefault }) => !isDefault))
    },
  )
})
