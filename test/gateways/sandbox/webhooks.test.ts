import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sign } from '../../../src/gateways/sandbox/webhooks.ts'
import { requestOf } from '../webhook-request.ts'
import {
  CARD,
  createTestClock,
  makeAttempt,
  RETURN_URL,
  receiveWebhooks,
  saveCard,
  startRig,
  WEBHOOK_SECRET,
} from './rig.ts'

const cleanups: (() => Promise<void>)[] = []
after(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})

// A boundary: Node's headers may be lists; ours are all single.
const flat = (headers: object) => headers as Record<string, string>

describe('a webhook of the sandbox', () => {
  it('is sent when a checkout ends, signed, and names the attempt and nothing about money', async () => {
    const receiver = await receiveWebhooks(cleanups)
    const rig = await startRig(cleanups, { webhookUrl: receiver.url })
    const attempt = makeAttempt()
    await rig.gateway.startCheckout(attempt, CARD, RETURN_URL)
    await rig.gateway.simulatePayer(attempt.key)
    const [webhook] = await receiver.arrived(1)
    assert(webhook)
    const reading = rig.gateway.parseWebhook(requestOf(flat(webhook.headers), webhook.body))
    assert(reading.kind === 'payment')
    assert.equal(reading.key, attempt.key)
    const body = JSON.parse(webhook.body.toString())
    assert.deepEqual(Object.keys(body), ['id', 'type', 'key', 'order', 'createdAt'])
    assert.equal(body.type, 'checkout.succeeded')
    assert.equal(body.order, attempt.paymentId)
  })

  it('is sent when a planned time comes, even after a restart', async () => {
    const receiver = await receiveWebhooks(cleanups)
    const first = await startRig(cleanups)
    const attempt = makeAttempt()
    await first.gateway.startCheckout(attempt, { channel: 'mobile_money' }, RETURN_URL)
    await first.close()
    const second = await startRig(cleanups, { webhookUrl: receiver.url, dataDir: first.dataDir })
    assert.equal(receiver.webhooks.length, 0)
    second.clock.move(2_000)
    const webhooks = await receiver.arrived(1)
    assert.equal(JSON.parse(String(webhooks[0]?.body)).key, attempt.key)
  })

  it('is retried with the same event id if the delivery fails', async () => {
    const receiver = await receiveWebhooks(cleanups, [500, 302])
    const rig = await startRig(cleanups, { webhookUrl: receiver.url })
    const attempt = makeAttempt()
    await rig.gateway.startCheckout(attempt, CARD, RETURN_URL)
    await rig.gateway.simulatePayer(attempt.key)
    const webhooks = await receiver.arrived(3)
    assert.equal(new Set(webhooks.map((webhook) => JSON.parse(webhook.body.toString()).id)).size, 1)
    assert.equal(webhooks.length, 3)
  })

  it('is not sent for a charge with a response, but is sent if the response was lost', async () => {
    const receiver = await receiveWebhooks(cleanups)
    const rig = await startRig(cleanups, { webhookUrl: receiver.url })
    const good = await saveCard(rig, 'card_success')
    const lossy = await saveCard(rig, 'card_lost_answer_later')
    await rig.gateway.chargeSaved(makeAttempt(), good)
    const lost = makeAttempt()
    await rig.gateway.chargeSaved(lost, lossy)
    const webhooks = await receiver.arrived(3)
    const bodies = webhooks.map((webhook) => JSON.parse(webhook.body.toString()))
    const charges = bodies.filter((body) => body.type === 'charge.succeeded')
    assert.deepEqual(
      charges.map((body) => body.key),
      [lost.key],
    )
  })

  it('does not affect the API if it fails', async () => {
    const rig = await startRig(cleanups, { webhookUrl: 'http://127.0.0.1:1/webhooks/sandbox' })
    const attempt = makeAttempt()
    await rig.gateway.startCheckout(attempt, CARD, RETURN_URL)
    assert.equal((await rig.gateway.simulatePayer(attempt.key)).kind, 'succeeded')
  })
})

const rig = await startRig(cleanups)

describe('F-40 a forged webhook', () => {
  const body = Buffer.from(
    JSON.stringify({
      id: 'e1',
      type: 'checkout.succeeded',
      key: 'k',
      order: 'o',
      createdAt: '2026-01-01T00:00:00.000Z',
    }),
  )
  const signature = sign(WEBHOOK_SECRET, rig.clock.now(), body)
  const read = (header: string | undefined, raw = body) =>
    rig.gateway.parseWebhook(
      requestOf(header === undefined ? {} : { 'cowry-sandbox-signature': header }, raw),
    )

  it('is distinguished from the real one', () => {
    assert.deepEqual(read(signature), { kind: 'payment', key: 'k', eventId: 'e1' })
  })

  it('is detected by its signature', () => {
    const otherTime = `t=1,${signature.split(',')[1]}`
    const otherSecret = sign('another', rig.clock.now(), body)
    for (const header of [
      undefined,
      '',
      'v1=',
      otherTime,
      otherSecret,
      `${signature}0`,
      signature.toUpperCase(),
    ])
      assert.deepEqual(read(header), { kind: 'forged' })
  })

  it('is detected by any changed byte of its body', () => {
    for (let index = 0; index < body.length; index += 1) {
      const changed = Buffer.from(body)
      changed[index] = (changed[index] ?? 0) ^ 1
      assert.deepEqual(read(signature, changed), { kind: 'forged' })
    }
  })

  it('is detected by its age', () => {
    const clock = createTestClock()
    clock.move(-600_000)
    assert.deepEqual(read(sign(WEBHOOK_SECRET, clock.now(), body)), { kind: 'forged' })
  })

  it('is ignored if it is signed but has no known content', () => {
    const other = Buffer.from('[]')
    assert.equal(read(sign(WEBHOOK_SECRET, rig.clock.now(), other), other).kind, 'ignored')
  })
})
