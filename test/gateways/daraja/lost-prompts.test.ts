// What becomes of a prompt whose answer was lost: the list of payments, where the account has one.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { PULL_QUERY_PATH } from '../../../src/gateways/daraja/pull.ts'
import type { Outcome } from '../../../src/gateways/gateway.ts'
import { CREDENTIALS } from './fake.ts'
import { type Credentials, makeAttempt, readFixture, replay, startDaraja } from './rig.ts'

const { pullNumber: _list, ...WITHOUT_LIST } = CREDENTIALS

const reasonOf = (outcome: Outcome) => (outcome.kind === 'unknown' ? outcome.reason : outcome.kind)

async function losePrompt(t: Parameters<typeof startDaraja>[0], credentials?: Credentials) {
  const rig = await startDaraja(t, credentials)
  const attempt = makeAttempt()
  rig.provider.server.injectFault('cut_off_after_acting', { on: /stkpush\/v1/ })
  const outcome = await rig.start(attempt)
  assert.equal(outcome.kind, 'unknown', inspect(outcome))
  rig.provider.server.clearFaults()
  return { ...rig, attempt }
}

describe('a prompt of Daraja whose answer was lost', () => {
  it('is found in the list of payments if it was paid, beyond the first page too', async (t) => {
    const { provider, gateway, attempt, start } = await losePrompt(t)
    assert.equal(reasonOf(await gateway.verify(attempt, null)), 'not_found')
    for (let others = 0; others < 45; others += 1) {
      const other = makeAttempt()
      await start(other)
      await provider.finish(other.key, { kind: 'pays' })
    }
    await provider.finish(attempt.key, { kind: 'pays' })
    const outcome = await gateway.verify(attempt, null)
    assert.ok(outcome.kind === 'succeeded', inspect(outcome))
    const receipt = provider.prompts(attempt.key)[0]?.receipt
    assert.deepEqual(
      [outcome.key, outcome.paid, outcome.receiptNumber, outcome.gatewayReference],
      [attempt.key, attempt.amount, receipt, receipt],
    )
    assert.deepEqual(await gateway.verify({ ...attempt, isPaid: true }, outcome.gatewayReference), outcome)
  })

  it('is not found as long as the list goes back that far, and unknown afterwards', async (t) => {
    const { gateway, attempt, passHours } = await losePrompt(t)
    const { notResendable } = gateway.behavior
    assert.ok(notResendable)
    passHours((notResendable.absentAfterHours ?? 0) + 2)
    assert.equal(reasonOf(await gateway.verify(attempt, null)), 'not_found')
    passHours(2)
    assert.equal(reasonOf(await gateway.verify(attempt, null)), 'unrecognized')
  })

  it('is never proven absent without a list, and at a till, whose payments have no account number', async (t) => {
    for (const credentials of [WITHOUT_LIST, { ...CREDENTIALS, till: '5432100' }]) {
      const { provider, gateway, attempt } = await losePrompt(t, credentials)
      await provider.finish(attempt.key, { kind: 'pays' })
      assert.equal(reasonOf(await gateway.verify(attempt, null)), 'not_found')
      assert.deepEqual(gateway.behavior.notResendable, { absentAfterHours: null })
      assert.equal(provider.server.requests.filter(({ path }) => path === PULL_QUERY_PATH).length, 0)
    }
  })

  it('is paid if the callback and the list say so, even if the query of the prompt fails', async (t) => {
    const { provider, gateway, attempt, receive } = await losePrompt(t)
    await provider.finish(attempt.key, { kind: 'pays' })
    const reading = receive(await provider.webhook(attempt.key))
    assert.ok(reading.kind === 'payment' && reading.key !== undefined && reading.report)
    provider.server.injectFault('http_500', { on: /stkpushquery/ })
    const { report, referenceHint = '' } = reading
    const outcome = await gateway.verify({ ...attempt, report }, referenceHint)
    assert.ok(outcome.kind === 'succeeded', inspect(outcome))
    assert.equal(reasonOf(await gateway.verify(attempt, referenceHint)), 'no_answer')
  })

  it('is not found in the published example of a list, which goes on, and unknown in any other answer', async (t) => {
    const example = JSON.parse(readFixture('list').toString())
    const cases = [
      [{ http: 200, body: example }, 'unrecognized'],
      [{ http: 200, body: { ResponseCode: '1001', Response: '[[]]' } }, 'not_found'],
      [{ http: 200, body: { ResponseCode: '1001', Response: [[]] } }, 'not_found'],
      [{ http: 200, body: { ResponseCode: '1000' } }, 'unrecognized'],
      [{ http: 200, body: { ResponseCode: '1002', Response: [[]] } }, 'unrecognized'],
      [{ http: 401, body: { errorCode: '401.002.01', errorMessage: 'no apiproduct match' } }, 'unrecognized'],
      [{ http: 500, body: { errorCode: '500.003.02', errorMessage: 'busy' } }, 'no_answer'],
    ] as const
    for (const [reply, expected] of cases) {
      const { gateway } = await replay(t, reply)
      assert.equal(reasonOf(await gateway.verify(makeAttempt(), null)), expected, inspect(reply))
    }
  })
})
