import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { money } from '../../../src/core/money.ts'
import { makeAttempt, RETURN_URL, receiveWebhooks, startRig } from './rig.ts'

const cleanups: (() => Promise<void>)[] = []
after(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})

const DAY_MS = 24 * 3_600_000

/** A payment with the instrument, at a provider that sends webhooks. */
async function pay(instrument: string) {
  const receiver = await receiveWebhooks(cleanups)
  const rig = await startRig(cleanups, { webhookUrl: receiver.url })
  const attempt = makeAttempt()
  await rig.gateway.startCheckout(attempt, { channel: 'card', instrument }, RETURN_URL)
  const paid = await rig.gateway.simulatePayer(attempt.key)
  assert(paid.kind === 'succeeded')
  const types = async (count: number) =>
    (await receiver.arrived(count)).map(({ body }) => JSON.parse(String(body)).type)
  return { ...rig, attempt, paid, types }
}

describe('the test clock of the sandbox', () => {
  it('brings planned times of one account nearer, and leaves the others', async () => {
    const { gateway } = await startRig(cleanups)
    const choice = { channel: 'mobile_money', instrument: 'mobile_timeout' } as const
    const [mine, theirs] = [makeAttempt(), makeAttempt()]
    for (const attempt of [mine, theirs]) await gateway.startCheckout(attempt, choice, RETURN_URL)
    const early = await gateway.advanceClock(mine.merchantId, 60_000)
    assert.deepEqual(early.changed, [])
    assert.notEqual(early.nextAt, null)
    const late = await gateway.advanceClock(mine.merchantId, 240_000)
    assert.deepEqual(late, { changed: [mine.key], nextAt: null })
    const statuses = [mine, theirs].map(async (attempt) => (await gateway.verify(attempt, null)).kind)
    assert.deepEqual(await Promise.all(statuses), ['declined', 'pending'])
  })

  it('sends a webhook for each change, and none for times that only come nearer', async () => {
    const { gateway, attempt, types } = await pay('card_dispute_lost_later')
    for (const ms of [DAY_MS / 2, DAY_MS / 2, 3 * DAY_MS, 4 * DAY_MS])
      await gateway.advanceClock(attempt.merchantId, ms)
    assert.deepEqual(await types(3), ['checkout.succeeded', 'checkout.disputed', 'checkout.disputed'])
    const outcome = await gateway.verify(attempt, null)
    assert(outcome.kind === 'succeeded')
    assert.deepEqual(
      outcome.disputes?.map(({ status }) => status),
      ['lost'],
    )
  })

  it('ends a refund that takes a moment once', async () => {
    const { gateway, attempt, paid, types, clock } = await pay('card_refund_pending')
    const { key: attemptKey } = attempt
    const { gatewayReference: attemptReference } = paid
    const refund = {
      key: 'refund-1',
      attemptKey,
      attemptReference,
      amount: money(100n, 'KES'),
      isFull: false,
    }
    assert.equal((await gateway.refund(refund)).kind, 'pending')
    clock.move(2_000)
    await types(2)
    assert.deepEqual(await gateway.advanceClock(attempt.merchantId, DAY_MS), { changed: [], nextAt: null })
    assert.deepEqual(await types(2), ['checkout.succeeded', 'refund.succeeded'])
  })
})
