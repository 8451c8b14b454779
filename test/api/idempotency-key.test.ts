import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import type { PaymentsApp } from '../../src/payments/app.ts'
import { paymentJobs } from '../../src/payments/jobs.ts'
import type { ApiResponse } from '../support/api.ts'
import { assertApiError, assertNothingStored } from '../support/assertions.ts'
import { chargeBody, initiateBody, newReference, saveMethod } from '../support/builders.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { testService } from '../support/service.ts'

const HOUR_MS = 3_600_000
const clock = tickingClock()
const service = await testService({ after }, { clock })
const { api } = service
const INITIATE = '/api/v1/checkout/initiate-payment'
const CHARGE = '/api/v1/charges/recurring'
const token = await saveMethod(api, 'card_success')

const withKey = (key: string) => ({ 'idempotency-key': key })
const isReplay = (answer: ApiResponse) => answer.headers.get('idempotent-replayed') === 'true'

for (const [name, path, makeBody] of [
  ['initiate', INITIATE, (changes?: object) => initiateBody({ ...changes })],
  ['charge', CHARGE, (changes?: object) => chargeBody(token, { ...changes })],
] as const) {
  describe(`an Idempotency-Key on ${name}`, () => {
    it(`repeats the record that an Idempotency-Key created on ${name}`, async () => {
      const key = randomUUID()
      const body = makeBody()
      const first = await api.post(path, body, withKey(key))
      assert.equal(first.http, 201, first.text)
      assert.equal(isReplay(first), false)
      const second = await api.post(path, body, withKey(key))
      assert.equal(second.http, 201, second.text)
      assert.equal(isReplay(second), true)
      assert.deepEqual(second.body.data, first.body.data)
    })

    it(`rejects a used Idempotency-Key with another body as idempotency_key_reused on ${name}, for new and known references`, async () => {
      const key = randomUUID()
      const body = makeBody()
      await api.post(path, body, withKey(key))
      await assertNothingStored(service.db, service.demoKey, async () => {
        for (const other of [{ ...body, amount: 7 }, makeBody(), { ...body, reference: newReference() }]) {
          assertApiError(await api.post(path, other, withKey(key)), 'idempotency_key_reused')
        }
      })
    })

    it(`releases the Idempotency-Key of a rejected request on ${name}`, async () => {
      const taken = makeBody()
      await api.post(path, taken)
      const key = randomUUID()
      const duplicate = await api.post(path, { ...taken, amount: 7 }, withKey(key))
      assertApiError(duplicate, 'duplicate_reference')
      const wrong = await api.post(path, makeBody({ amount: 0 }), withKey(key))
      assertApiError(wrong, 'amount_out_of_range')
      const fresh = await api.post(path, makeBody(), withKey(key))
      assert.equal(fresh.http, 201, fresh.text)
      assert.equal(isReplay(fresh), false)
    })

    it(`accepts an Idempotency-Key on the retry of a known reference on ${name}`, async () => {
      const body = makeBody()
      const key = randomUUID()
      const first = await api.post(path, body)
      const second = await api.post(path, body, withKey(key))
      assert.equal(isReplay(second), true)
      assert.equal(second.body.data.uuid, first.body.data.uuid)
      assertApiError(await api.post(path, makeBody(), withKey(key)), 'idempotency_key_reused')
    })

    it(`accepts an Idempotency-Key of 1 to 255 printable characters on ${name}`, async () => {
      const longest = `${randomUUID()} with spaces `.padEnd(255, 'x')
      const taken = await api.post(path, makeBody(), withKey(longest))
      assert.equal(taken.http, 201, taken.text)
      await assertNothingStored(service.db, service.demoKey, async () => {
        for (const key of [`${longest}x`, '', 'é']) {
          const answer = await api.post(path, makeBody(), withKey(key))
          assert.deepEqual(assertApiError(answer, 'validation_failed'), ['Idempotency-Key: invalid_format'])
        }
      })
    })
  })
}

describe('an Idempotency-Key', () => {
  it('rejects an Idempotency-Key of payments on charges with 422', async () => {
    const key = randomUUID()
    await api.post(INITIATE, initiateBody(), withKey(key))
    assertApiError(await api.post(CHARGE, chargeBody(token), withKey(key)), 'idempotency_key_reused')
    const other = randomUUID()
    await api.post(CHARGE, chargeBody(token), withKey(other))
    assertApiError(await api.post(INITIATE, initiateBody(), withKey(other)), 'idempotency_key_reused')
  })

  it('scopes an Idempotency-Key to its merchant', async () => {
    const key = randomUUID()
    const { api: other } = await service.newMerchant()
    const ours = await api.post(INITIATE, initiateBody(), withKey(key))
    const theirs = await other.post(INITIATE, initiateBody(), withKey(key))
    assert.equal(theirs.http, 201, theirs.text)
    assert.notEqual(theirs.body.data.uuid, ours.body.data.uuid)
  })

  it('keeps an Idempotency-Key for at least 24 hours, and after its purge the reference is still idempotent (F-50)', async () => {
    // The job uses only these two parts of the service.
    const jobs = paymentJobs({ db: service.db, clock } as unknown as PaymentsApp, 7)
    const job = jobs.find(({ name }) => name === 'purge-idempotency-keys')
    const purge = job && 'run' in job ? job.run : assert.fail('there is no such job')
    const key = randomUUID()
    const body = chargeBody(token)
    const first = await api.post(CHARGE, body, withKey(key))
    clock.advance(25 * HOUR_MS)
    assert.equal(await purge(), 0)
    assertApiError(await api.post(CHARGE, chargeBody(token), withKey(key)), 'idempotency_key_reused')
    clock.advance(14 * 24 * HOUR_MS)
    assert.notEqual(await purge(), 0)
    const again = await api.post(CHARGE, body, withKey(key))
    assert.equal(again.http, 201, again.text)
    assert.equal(again.body.data.uuid, first.body.data.uuid)
    const executions = await api.get(`/api/v1/sandbox/executions?reference=${body.reference}`)
    assert.equal(executions.body.data.length, 1)
  })

  it('repeats the current state of the record', async () => {
    const key = randomUUID()
    const body = initiateBody()
    await api.post(INITIATE, body, withKey(key))
    await api.post(`/api/v1/sandbox/payments/${body.reference}/complete`, { instrument: 'card_success' })
    const again = await api.post(INITIATE, body, withKey(key))
    assert.equal(again.body.data.status, 'successful')
  })
})
