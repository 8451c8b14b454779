// F-27 to F-39: a gateway responds wrongly, late or not at all, or is unreachable. A charge is executed at most once,
// fails only on proof, and completes without intervention.

import assert from 'node:assert/strict'
import { after, afterEach, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from '../../src/kit/db/db.ts'
import { chargeBody, initiateBody, saveMethod } from '../support/builders.ts'
import { CHARGED_ONCE, type Fault, startDeployment } from '../support/deployment.ts'
import { eventually } from '../support/process.ts'

const CHARGE = '/api/v1/charges/recurring'

const deployment = await startDeployment({ after })
const { sandbox } = deployment
const { api } = await deployment.startService({ COWRY_GATEWAY_TIMEOUT_MS: '2000' })
const card = await saveMethod(api, 'card_success')

const countPolled = sql<{ count: number }>`
select count(*)::integer as count
from attempts
where payment_id = any ($1) and polls > 0`

afterEach(() => sandbox.clearFaults())

async function charge(token = card) {
  const answer = await api.post(CHARGE, chargeBody(token))
  assert.equal(answer.http, 201, answer.text)
  return answer.body.data
}

const chargeMany = (count: number) => Promise.all(Array.from({ length: count }, () => charge()))

// Status checks fail until the fault is cleared: the resolver must not finish before a slow machine has set the test
// up.
const SILENCE: Fault = { kind: '500_before', on: 'verify', times: 1_000 }

/**
 * Makes one charge for each fault, at once. Each outcome must be unknown; then sets the faults that status checks will
 * meet.
 */
async function chargeWith(faults: Fault[], verifyFaults: Fault[] = []): Promise<string[]> {
  for (const fault of [SILENCE, ...faults]) await sandbox.addFault(fault)
  const charges = await chargeMany(faults.length)
  await sandbox.clearFaults()
  for (const fault of verifyFaults) await sandbox.addFault(fault)
  for (const { status, statusReason } of charges)
    assert.deepEqual({ status, statusReason }, { status: 'processing', statusReason: 'outcome_unknown' })
  return charges.map(({ uuid }) => uuid)
}

async function assertChargedOnce(uuids: string[]): Promise<void> {
  // One after the other: each wait polls both sides.
  for (const uuid of uuids) assert.deepEqual(await deployment.awaitFinal(uuid), CHARGED_ONCE)
}

const onCharge = (kind: string, ms?: number): Fault => ({ kind, on: 'charge', times: 1, ms })
const onVerify = (kind: string, times: number, ms?: number): Fault => ({ kind, on: 'verify', times, ms })

it('a charge whose response never arrives is not failed: a status check completes it within 10 s (F-28)', async () => {
  const { uuid, status, statusReason } = await charge(await saveMethod(api, 'card_lost_answer_later'))
  assert.deepEqual({ status, statusReason }, { status: 'processing', statusReason: 'outcome_unknown' })
  assert.deepEqual(await deployment.awaitFinal(uuid, 10_000), CHARGED_ONCE)
})

it('a response that arrives after our timeout is found by a status check (F-33)', async () => {
  const { uuid, status } = await charge(await saveMethod(api, 'card_slow_later'))
  assert.equal(status, 'processing')
  assert.deepEqual(await deployment.awaitFinal(uuid, 10_000), CHARGED_ONCE)
})

it('an execution after a status check that did not find it is the only one: the key is the same (F-29)', async () => {
  // The first status check comes after a second, and finds some of the charges executed and some not.
  const lateness = [0, 300, 700, 1_000, 1_300, 2_500]
  const uuids = await chargeWith(lateness.map((ms) => onCharge('late_ms', ms)))
  const latest = delay(3_000)
  await assertChargedOnce(uuids)
  await latest
  await assertChargedOnce(uuids)
})

it('a gateway whose reads lag behind is not asked to charge twice (F-39)', async () => {
  const lagging = [onVerify('not_found_ms', 4, 60_000)]
  await assertChargedOnce(await chargeWith([onCharge('drop_after'), onCharge('500_after')], lagging))
})

it('500 before and after execution, a web page, garbage and a cut connection never fail a charge (F-32)', async () => {
  const kinds = ['500_before', '500_after', 'html', 'garbage', 'drop_after']
  await assertChargedOnce(await chargeWith(kinds.map((kind) => onCharge(kind))))
})

it('an unreadable response to a status check changes nothing, and we poll again (F-32)', async () => {
  const kinds = ['500_before', '500_after', 'html', 'garbage', 'drop_after']
  const verifyFaults = kinds.map((kind) => onVerify(kind, 1))
  const charges = kinds.map(() => onCharge('drop_after'))
  await assertChargedOnce(await chargeWith(charges, verifyFaults))
})

describe('another amount, currency or key than ours credits nothing (F-34)', () => {
  const MISMATCH = {
    status: 'processing',
    reason: 'amount_mismatch',
    credits: 0,
    events: ['charge.processing'],
    attempts: ['amount_mismatch'],
  }
  const balances = async () => (await api.get('/api/v1/wallet/balance')).body.data.balances

  for (const kind of ['wrong_amount', 'wrong_currency', 'wrong_key']) {
    it(`no credit for ${kind}, in the response to the charge or to a status check`, async () => {
      const before = await balances()
      await sandbox.addFault(onCharge(kind))
      const charged = await charge()
      assert.equal(charged.status, 'processing')
      assert.equal(charged.statusReason, 'amount_mismatch')

      const [asked = ''] = await chargeWith([onCharge('drop_after')], [onVerify(kind, 1)])
      await api.get(`/api/v1/checkout/verify-payment?uuid=${asked}`)
      // Verify checks the status at once, unless the resolver is already checking it.
      await eventually(
        () => deployment.snapshotOf(asked),
        ({ reason }) => reason === 'amount_mismatch',
        10_000,
      )
      const verified = await api.get(`/api/v1/checkout/verify-payment?uuid=${asked}`)
      assert.equal(verified.body.data.statusReason, 'amount_mismatch')

      for (const uuid of [charged.uuid, asked]) {
        const { executions, ...snapshot } = await deployment.snapshotOf(uuid)
        assert.deepEqual(snapshot, MISMATCH)
        assert.equal(executions, 1)
      }
      assert.deepEqual(await balances(), before)
    })
  }
})

describe('a gateway that is down', () => {
  it('a charge that was provably not sent fails at once, with its proof and no execution (F-27)', async () => {
    await sandbox.kill()
    const failed = await charge()
    await sandbox.restart()
    assert.equal(failed.status, 'failed')
    assert.equal(failed.failure.code, 'provider_unavailable')
    assert.deepEqual(await deployment.snapshotOf(failed.uuid), {
      status: 'failed',
      reason: null,
      executions: 0,
      credits: 0,
      events: ['charge.processing', 'charge.failed'],
      attempts: ['declined'],
    })
    assert.deepEqual(await deployment.proofsOf(failed.uuid), ['not_sent'])
  })

  it('a checkout can be paid when the gateway is back (F-27)', async () => {
    const body = initiateBody()
    await api.post('/api/v1/checkout/initiate-payment', body)
    const path = `/api/v1/sandbox/payments/${body.reference}/complete`
    await sandbox.kill()
    const refused = await api.post(path, { instrument: 'card_success' })
    await sandbox.restart()
    assert.equal(refused.http, 200, refused.text)
    assert.equal(refused.body.data.status, 'pending')
    const paid = await api.post(path, { instrument: 'card_success' })
    assert.equal(paid.body.data.status, 'successful', paid.text)
    assert.deepEqual((await deployment.snapshotOf(paid.body.data.uuid)).attempts, ['declined', 'succeeded'])
  })

  it('50 charges with an unknown outcome are resolved when the gateway is back (F-38)', async () => {
    for (const fault of [SILENCE, { ...onCharge('drop_after'), times: 50 }]) await sandbox.addFault(fault)
    const charges = await chargeMany(50)
    await sandbox.kill()
    for (const { status } of charges) assert.equal(status, 'processing')
    const polled = () => deployment.db.query(countPolled, [charges.map(({ uuid }) => uuid)])
    await eventually(polled, ([row]) => row?.count === charges.length, 20_000)
    const waiting = await Promise.all(charges.map(({ uuid }) => api.get(`/api/v1/charges/${uuid}`)))
    for (const { body } of waiting) assert.equal(body.data.status, 'processing')
    await sandbox.restart()
    await assertChargedOnce(charges.map(({ uuid }) => uuid))
  })
})
