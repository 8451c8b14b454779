// Webhooks: the sender and the key are verified. Nothing else in the body is trusted.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import type { ParsedWebhook } from '../../../src/gateways/gateway.ts'
import { requestOf } from '../webhook-request.ts'
import { CONCURRENCY, startRig } from './rig.ts'
import type { Subject, Webhook } from './subject.ts'

export function testWebhook(subject: Subject): void {
  describe('a webhook', { concurrency: CONCURRENCY }, () => {
    testReading(subject)
    testForgery(subject)
  })
}

function testReading(subject: Subject): void {
  it('returns our key', async (t) => {
    const rig = await startRig(t, subject)
    const { attempt } = await rig.payNew()
    const webhook = await rig.provider.webhook(attempt.key)
    assertNamesKey(rig.gateway.parseWebhook(requestOf(webhook.headers, webhook.body)), attempt.key)
  })

  it('returns the key even if it arrives before the payment is known', async (t) => {
    const rig = await startRig(t, subject)
    const key = randomUUID()
    const webhook = await rig.provider.webhook(key)
    assertNamesKey(rig.gateway.parseWebhook(requestOf(webhook.headers, webhook.body)), key)
  })

  it('has the same event id when it is delivered again', async (t) => {
    const rig = await startRig(t, subject)
    const { attempt } = await rig.payNew()
    const webhook = await rig.provider.webhook(attempt.key)
    const [first, second] = [webhook, webhook].map(({ headers, body }) =>
      rig.gateway.parseWebhook(requestOf(headers, body)),
    )
    assert.deepEqual(first, second)
  })

  it('is parsed independently: in another order the results are the same', async (t) => {
    const rig = await startRig(t, subject)
    const keys = [(await rig.payNew()).attempt.key, (await rig.payNew()).attempt.key]
    const hooks = await Promise.all(keys.map((key) => rig.provider.webhook(key)))
    const read = ({ headers, body }: Webhook) => rig.gateway.parseWebhook(requestOf(headers, body))
    const there = hooks.map(read)
    assert.deepEqual(hooks.toReversed().map(read).toReversed(), there)
    const [first, second] = there
    assert.ok(first?.kind === 'payment' && second?.kind === 'payment')
    assert.deepEqual([first.key, second.key], keys)
    assert.notEqual(first.eventId, second.eventId)
  })

  it('a webhook with an unknown event type causes no error and is not forged', async (t) => {
    const rig = await startRig(t, subject)
    const webhook = await rig.provider.webhook(randomUUID(), 'made.up_by_a_test')
    assert.notEqual(rig.gateway.parseWebhook(requestOf(webhook.headers, webhook.body)).kind, 'forged')
  })
}

function testForgery(subject: Subject): void {
  const { unsignedBody } = subject

  if (unsignedBody === undefined)
    it('is forged with a changed body', async (t) => {
      const { gateway, webhook } = await receiveWebhook(t, subject)
      for (const offset of [0, Math.floor(webhook.body.length / 2), webhook.body.length - 1])
        assertForged(gateway.parseWebhook(requestOf(webhook.headers, flipBit(webhook.body, offset))))
      assertForged(
        gateway.parseWebhook(requestOf(webhook.headers, Buffer.concat([webhook.body, Buffer.from(' ')]))),
      )
    })
  else
    it('returns a key or is ignored with a changed body, and causes no error', async (t) => {
      const { gateway, webhook } = await receiveWebhook(t, subject)
      for (let offset = 0; offset < webhook.body.length; offset += 1) {
        const { kind } = gateway.parseWebhook(requestOf(webhook.headers, flipBit(webhook.body, offset)))
        assert.ok(kind === 'payment' || kind === 'ignored', kind)
      }
    })

  it('is forged with any changed part of its signature', async (t) => {
    const { gateway, webhook } = await receiveWebhook(t, subject)
    const names = signatureHeaders(webhook)
    assert.ok(names.length > 0, 'the webhook has a signature')
    for (const name of names)
      for (const value of tamperedValues(webhook.headers[name] ?? ''))
        assertForged(gateway.parseWebhook(requestOf({ ...webhook.headers, [name]: value }, webhook.body)))
  })

  it('is forged without its signature', async (t) => {
    const { gateway, webhook } = await receiveWebhook(t, subject)
    for (const name of signatureHeaders(webhook)) {
      const { [name]: _left, ...headers } = webhook.headers
      assertForged(gateway.parseWebhook(requestOf(headers, webhook.body)))
      assertForged(gateway.parseWebhook(requestOf({ ...headers, [name]: '' }, webhook.body)))
    }
    assertForged(gateway.parseWebhook(requestOf({}, webhook.body)))
  })

  it('is forged if it is of another account', async (t) => {
    const rig = await startRig(t, subject)
    const webhook = await rig.provider.webhook(randomUUID())
    const otherAccount = rig.open({ credentials: subject.otherCredentials })
    assertForged(otherAccount.parseWebhook(requestOf(webhook.headers, webhook.body)))
  })

  it('is forged if it is random bytes', async (t) => {
    const { gateway, webhook } = await receiveWebhook(t, subject)
    const noise = Buffer.from('ff00fe7b22', 'hex')
    const headers = Object.fromEntries(signatureHeaders(webhook).map((name) => [name, '\u00ff,=;"" t=,v1=']))
    assertForged(gateway.parseWebhook(requestOf(headers, noise)))
    assertForged(gateway.parseWebhook(requestOf(headers, Buffer.alloc(0))))
  })
}

async function receiveWebhook(t: TestContext, subject: Subject) {
  const { gateway, provider } = await startRig(t, subject)
  const webhook = await provider.webhook(randomUUID())
  assert.equal(gateway.parseWebhook(requestOf(webhook.headers, webhook.body)).kind, 'payment')
  return { gateway, webhook }
}

function signatureHeaders({ headers }: Webhook): string[] {
  return Object.keys(headers).filter((name) => name !== 'content-type')
}

/** The value with one letter or digit changed, in the middle of each run of them: the ends may be padding. */
function tamperedValues(value: string): string[] {
  return [...value.matchAll(/[A-Za-z0-9]+/g)].map(({ 0: word, index }) => {
    const offset = index + Math.floor(word.length / 2)
    // Never the same letter in the other case, because hexadecimal digits may be written in both.
    const changed = value[offset] === '0' ? '1' : '0'
    return `${value.slice(0, offset)}${changed}${value.slice(offset + 1)}`
  })
}

function flipBit(body: Buffer, offset: number): Buffer {
  const changed = Buffer.from(body)
  changed.writeUInt8(body.readUInt8(offset) ^ 1, offset)
  return changed
}

function assertNamesKey(reading: ParsedWebhook, key: string): void {
  assert.ok(reading.kind === 'payment', reading.kind)
  assert.equal(reading.key, key)
  assert.notEqual(reading.eventId, '')
}

function assertForged(reading: ParsedWebhook): void {
  assert.deepEqual(reading, { kind: 'forged' })
}
