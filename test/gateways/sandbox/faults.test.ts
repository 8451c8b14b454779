import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Fault } from '../../../src/gateways/sandbox/provider/faults.ts'
import { callApi, makeAttempt, type Rig, saveCard, startRig } from './rig.ts'

const cleanups: (() => Promise<void>)[] = []
let rig: Rig
let credential: string
before(async () => {
  rig = await startRig(cleanups)
  credential = await saveCard(rig, 'card_success')
})
after(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})
beforeEach(async () => {
  await callApi(rig, 'DELETE', '/faults')
})

async function setFault(fault: Partial<Fault> & Pick<Fault, 'kind'>) {
  const answer = await callApi(rig, 'POST', '/faults', { on: 'charge', times: 1, ...fault })
  assert(answer.kind === 'answered' && answer.status === 201)
}

async function chargeUnder(fault: Partial<Fault> & Pick<Fault, 'kind'>) {
  await setFault(fault)
  const attempt = makeAttempt()
  return { attempt, outcome: await rig.gateway.chargeSaved(attempt, credential) }
}

const executed = async (paymentId: string) => (await rig.gateway.executions(paymentId)).length

describe('F-32 a malformed response leaves the outcome unknown', () => {
  const faults: [Fault['kind'], string, number][] = [
    ['500_before', 'no_answer', 0],
    ['500_after', 'no_answer', 1],
    ['drop_after', 'no_answer', 1],
    ['html', 'unreadable', 1],
    ['garbage', 'unreadable', 1],
  ]
  for (const [kind, reason, executions] of faults) {
    it(`${kind}: ${reason}, ${executions} executed, and one after a retry with the same key`, async () => {
      const { attempt, outcome } = await chargeUnder({ kind })
      assert(outcome.kind === 'unknown')
      assert.equal(outcome.reason, reason)
      assert.equal(await executed(attempt.paymentId), executions)
      assert.equal((await rig.gateway.chargeSaved(attempt, credential)).kind, 'succeeded')
      assert.equal(await executed(attempt.paymentId), 1)
    })
  }
})

describe('F-34 a wrong response is passed on, so that the service can reject it', () => {
  it('wrong_amount, wrong_currency and wrong_key', async () => {
    const amount = await chargeUnder({ kind: 'wrong_amount' })
    assert(amount.outcome.kind === 'succeeded')
    assert.equal(amount.outcome.paid.minor, 125_051n)
    const currency = await chargeUnder({ kind: 'wrong_currency' })
    assert(currency.outcome.kind === 'succeeded')
    assert.equal(currency.outcome.paid.currency, 'USD')
    const key = await chargeUnder({ kind: 'wrong_key' })
    assert(key.outcome.kind === 'succeeded')
    assert.notEqual(key.outcome.key, key.attempt.key)
  })
})

describe('F-29 F-39 a late or hidden execution', () => {
  it('late_ms executes after the caller’s timeout, once, even if the key is sent again in between', async () => {
    const { attempt, outcome } = await chargeUnder({ kind: 'late_ms', ms: 150 })
    assert.equal(outcome.kind, 'unknown')
    assert.equal((await rig.gateway.verify(attempt, null)).kind, 'unknown')
    assert.equal((await rig.gateway.chargeSaved(attempt, credential)).kind, 'succeeded')
    await delay(250)
    assert.equal(await executed(attempt.paymentId), 1)
  })

  it('not_found_ms does not find a young record', async () => {
    const attempt = makeAttempt()
    await rig.gateway.chargeSaved(attempt, credential)
    await setFault({ kind: 'not_found_ms', on: 'verify', times: 10, ms: 1_000 })
    const early = await rig.gateway.verify(attempt, null)
    assert(early.kind === 'unknown' && early.reason === 'not_found')
    rig.clock.move(1_000)
    assert.equal((await rig.gateway.verify(attempt, null)).kind, 'succeeded')
  })

  it('slow_ms responds late', async () => {
    rig.clock.sleeps.length = 0
    const { outcome } = await chargeUnder({ kind: 'slow_ms', ms: 1_234 })
    assert.equal(outcome.kind, 'succeeded')
    assert(rig.clock.sleeps.includes(1_234))
  })
})

describe('injected faults', () => {
  it('count down and then end', async () => {
    await setFault({ kind: '500_before', times: 2 })
    const kinds: string[] = []
    for (let count = 0; count < 3; count += 1) {
      kinds.push((await rig.gateway.chargeSaved(makeAttempt(), credential)).kind)
    }
    assert.deepEqual(kinds, ['unknown', 'unknown', 'succeeded'])
  })

  it('affect only the requests that they name', async () => {
    await setFault({ kind: '500_before', on: 'verify' })
    const attempt = makeAttempt()
    assert.equal((await rig.gateway.chargeSaved(attempt, credential)).kind, 'succeeded')
    assert.equal((await rig.gateway.verify(attempt, null)).kind, 'unknown')
  })
})
