// P2P transfers after a process died: the merchant's confirmation commits before the payment changes, and the resolver
// starts a transfer that was never written.

import assert from 'node:assert/strict'
import { after, describe, it, type TestContext } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import type { Failpoint } from '../../src/kit/failpoints.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { ACCOUNTS, dataOf, PAYMENTS, p2pActions, p2pBody, p2pMerchant, WALLET } from '../support/p2p.ts'
import { eventsOf, postingsOf } from '../support/payment-records.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const clock = tickingClock()
const healthy = await testService({ after }, { clock })
const shop = await p2pMerchant(healthy, WALLET)

/** An API process on the same database that fails at this point. */
async function breakingAt(t: TestContext, point: string) {
  const { databaseUrl } = healthy
  const env = { COWRY_FAILPOINTS: `${point}=throw` }
  const service = await testService(t, { clock, databaseUrl, env, role: 'api', checksInvariants: false })
  const api = service.apiWith(shop.key)
  return { api, ...p2pActions(api) }
}

const selectPaymentId = sql<{ id: string }>`
select payment_id as id
from payment_references
where reference = $1`

describe('a process that dies', () => {
  it('the resolver applies the merchant’s confirmation once after the process died (F-04)', async (t) => {
    const dying = await breakingAt(t, 'p2p.after_move')
    const words: [string, unknown, string, string][] = [
      ['confirm', { receivedAmount: 5000 }, 'confirmed', 'successful'],
      ['confirm', { receivedAmount: 6000 }, 'overpaid', 'successful'],
      ['cancel', {}, 'cancelled', 'failed'],
    ]
    for (const [word, body, transferStatus, status] of words) {
      const { uuid } = await shop.requestTransfer()
      assert.equal((await dying.act(uuid, word, body)).http, 500)
      const left = await shop.read(uuid)
      assert.equal(left.transferStatus, transferStatus)
      clock.advance(3_000)
      const settled = await eventually(
        () => shop.read(uuid),
        (payment) => payment.status === status,
        10_000,
      )
      assert.equal((await shop.act(uuid, word, body)).http, 200)
      assert.deepEqual(await shop.read(uuid), settled)
      assert.equal((await postingsOf(healthy.db, uuid)).length, status === 'successful' ? 2 : 0)
      const ends = (await eventsOf(healthy.db, uuid)).filter(({ type }) => type === `payment.${status}`)
      assert.equal(ends.length, 1)
    }
  })
})

describe('a transfer whose process died before its start (F-02, F-52)', () => {
  it('a transfer that was not started returns its record when it has expired', async (t) => {
    const dying = await breakingAt(t, 'checkout.before_start')
    const body = p2pBody({ expiresInMinutes: 10 })
    assert.equal((await dying.api.post(PAYMENTS, body)).http, 500)
    clock.advance(11 * 60_000)
    const [stored] = await healthy.db.query(selectPaymentId, [body.reference])
    await eventually(
      async () => (await shop.api.get(`/api/v1/checkout/payments/${stored?.id}`)).body.data.status,
      (status) => status === 'expired',
      15_000,
    )
    const answer = await shop.api.post(PAYMENTS, body)
    assert.equal(answer.http, 201, answer.text)
    assert.equal(answer.headers.get('idempotent-replayed'), 'true')
    const { uuid, status, transferStatus, instructions, amountMissing } = answer.body.data
    assert.deepEqual(
      [uuid, status, transferStatus, instructions, amountMissing],
      [stored?.id, 'expired', null, null, '5000.00'],
    )
  })

  it('a transfer that was not started returns its record when the account is deleted, and starts when a new one exists', async (t) => {
    const other = await p2pMerchant(healthy)
    const { uuid: account } = await dataOf(other.api.post(ACCOUNTS, WALLET))
    const { databaseUrl } = healthy
    const env = { COWRY_FAILPOINTS: 'checkout.before_start=throw' }
    const dying = await testService(t, { clock, databaseUrl, env, role: 'api', checksInvariants: false })
    const body = p2pBody()
    assert.equal((await dying.apiWith(other.key).post(PAYMENTS, body)).http, 500)
    await dataOf(other.api.send('DELETE', `${ACCOUNTS}/${account}`))
    const waiting = await dataOf(other.api.post(PAYMENTS, body))
    assert.deepEqual([waiting.status, waiting.instructions], ['pending', null])
    await dataOf(other.api.post(ACCOUNTS, WALLET))
    const begun = await dataOf(other.api.post(PAYMENTS, body))
    assert.equal(begun.uuid, waiting.uuid)
    assert.match(begun.instructions.narration, /^[0-9A-Z]{8}$/)
  })
})

describe('a transfer that cannot start after its payment was recorded', () => {
  it('a request whose account is deleted meanwhile returns its record, as its repetition does', async (t) => {
    const other = await p2pMerchant(healthy)
    const { uuid: account } = await dataOf(other.api.post(ACCOUNTS, WALLET))
    const hit = async (point: Failpoint) => {
      if (point === 'checkout.before_start') await other.api.send('DELETE', `${ACCOUNTS}/${account}`)
    }
    const { databaseUrl } = healthy
    const failpoints = { hit }
    const racing = await testService(t, {
      clock,
      databaseUrl,
      failpoints,
      role: 'api',
      checksInvariants: false,
    })
    const body = p2pBody()
    const { uuid, status, instructions } = await dataOf(racing.apiWith(other.key).post(PAYMENTS, body))
    assert.deepEqual([status, instructions], ['pending', null])
    assert.equal((await dataOf(other.api.post(PAYMENTS, body))).uuid, uuid)
    for (let repeats = 0; repeats < 5; repeats += 1)
      await dataOf(racing.apiWith(other.key).post(PAYMENTS, body))
    const { attempts, status: later } = await dataOf(other.api.get(`/api/v1/checkout/payments/${uuid}`))
    assert.deepEqual([attempts.length, later], [1, 'pending'], 'a repetition uses no further attempt')
  })
})

const { databaseUrl } = healthy
const second = await testService({ after }, { clock, databaseUrl, role: 'api', checksInvariants: false })

describe('two processes', () => {
  it('two processes that get the merchant’s confirmation at once make one success and one ledger entry (F-31, F-47)', async () => {
    const other = p2pActions(second.apiWith(shop.key))
    for (let round = 0; round < 5; round += 1) {
      const { uuid } = await shop.requestTransfer()
      const confirmations = [shop, other, shop, other].map(({ confirm }) => confirm(uuid, 5000))
      const answers = await Promise.all([
        ...confirmations,
        shop.act(uuid, 'cancel'),
        other.act(uuid, 'mark-paid'),
      ])
      assert.deepEqual(
        answers.filter(({ http }) => http !== 200 && http !== 409).map(({ text }) => text),
        [],
      )
      const { status, transferStatus } = await shop.read(uuid)
      const entries = (await postingsOf(healthy.db, uuid)).length
      const isPaid = transferStatus === 'confirmed'
      assert.deepEqual([status, entries], isPaid ? ['successful', 2] : ['failed', 0], transferStatus)
    }
  })

  it('two processes find an account that the other has just created', async () => {
    const merchant = await p2pMerchant(healthy)
    assert.equal((await second.apiWith(merchant.key).post(PAYMENTS, p2pBody())).http, 422)
    await dataOf(merchant.api.post('/api/v1/p2p/accounts', WALLET))
    assert.equal((await second.apiWith(merchant.key).post(PAYMENTS, p2pBody())).http, 201)
  })
})
