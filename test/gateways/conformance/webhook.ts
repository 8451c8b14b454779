// Webhooks: the sender and the payment are verified. Nothing else in the body is trusted.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { inspect } from 'node:util'
import { testUnsigned } from './callback.ts'
import { submitWithFault } from './faults.ts'
import { assertForged, assertNames, flipBit } from './reading.ts'
import { CONCURRENCY, type Rig, startRig } from './rig.ts'
import type { Subject, Webhook } from './subject.ts'

export function testWebhook(subject: Subject): void {
  describe('a webhook', { concurrency: CONCURRENCY }, () => {
    if (subject.withoutWebhooks) {
      testAbsence(subject)
      return
    }
    testReading(subject)
    if (subject.unsignedCallbacks) testUnsigned(subject)
    else testSigned(subject)
  })
}

function testAbsence(subject: Subject): void {
  it('a webhook is forged, because the provider sends none', async (t) => {
    const rig = await startRig(t, subject)
    const { attempt } = await rig.payNew()
    const webhook = await rig.provider.webhook(attempt.key)
    const url = rig.callbackUrl({ kind: 'attempt', key: attempt.key })
    for (const forged of [webhook, { ...webhook, url }]) assertForged(rig.receive(forged))
  })
}

function testReading(subject: Subject): void {
  it('names our payment', async (t) => {
    const rig = await startRig(t, subject)
    const { attempt, paid } = await rig.payNew()
    const webhook = await rig.provider.webhook(attempt.key)
    assertNames(rig.receive(webhook), attempt, paid.gatewayReference)
  })

  it('names our payment even if it arrives before the answer of our own request, which is lost', async (t) => {
    const rig = await startRig(t, subject)
    const attempt = rig.makeAttempt()
    await submitWithFault(rig, 'cut_off_after_acting', (gateway) => rig.start(attempt, gateway))
    await rig.provider.finish(attempt.key, { kind: 'pays' })
    const reading = rig.receive(await rig.provider.webhook(attempt.key))
    assertNames(reading, attempt)
    assert.ok(reading.kind === 'payment')
    if (reading.key === undefined && !rig.gateway.behavior.lookupByReference) return
    const { referenceHint = null, report } = reading.key === undefined ? {} : reading
    const query = report === undefined ? attempt : { ...attempt, report }
    // Without the reference a provider may find nothing, but must not find a failure.
    const outcome = await rig.gateway.verify(query, referenceHint)
    const open: readonly string[] = ['pending', 'unknown']
    if (outcome.kind === 'succeeded') assert.equal(outcome.key, attempt.key)
    else assert.ok(!rig.gateway.behavior.lookupByReference && open.includes(outcome.kind), inspect(outcome))
    assert.equal(await rig.provider.executions(attempt.key), 1)
  })

  it('has the same event id when it is delivered again', async (t) => {
    const rig = await startRig(t, subject)
    const { attempt } = await rig.payNew()
    const webhook = await rig.provider.webhook(attempt.key)
    assert.deepEqual(rig.receive(webhook), rig.receive(webhook))
  })

  it('is parsed independently: in another order the results are the same', async (t) => {
    const rig = await startRig(t, subject)
    const payments = [await rig.payNew(), await rig.payNew()]
    const hooks = await Promise.all(payments.map(({ attempt }) => rig.provider.webhook(attempt.key)))
    const there = hooks.map((hook) => rig.receive(hook))
    assert.deepEqual(
      hooks
        .toReversed()
        .map((hook) => rig.receive(hook))
        .toReversed(),
      there,
    )
    for (const [index, { attempt, paid }] of payments.entries())
      assertNames(there[index], attempt, paid.gatewayReference)
    const [first, second] = there
    assert.ok(first?.kind === 'payment' && second?.kind === 'payment')
    assert.notEqual(first.eventId, second.eventId)
  })

  it('a webhook with an unknown event type causes no error and is not forged', async (t) => {
    const rig = await startRig(t, subject)
    const { attempt } = await rig.startNew()
    const webhook = await rig.provider.webhook(attempt.key, 'made.up_by_a_test')
    assert.notEqual(rig.receive(webhook).kind, 'forged')
  })
}

function testSigned(subject: Subject): void {
  const { unsignedBody } = subject

  it('returns the key even if the provider does not know the payment', async (t) => {
    const rig = await startRig(t, subject)
    const attempt = rig.makeAttempt()
    assertNames(rig.receive(await rig.provider.webhook(attempt.key)), attempt)
  })

  if (unsignedBody === undefined)
    it('is forged with a changed body', async (t) => {
      const { rig, webhook } = await receiveWebhook(t, subject)
      for (const offset of [0, Math.floor(webhook.body.length / 2), webhook.body.length - 1])
        assertForged(rig.receive({ ...webhook, body: flipBit(webhook.body, offset) }))
      assertForged(rig.receive({ ...webhook, body: Buffer.concat([webhook.body, Buffer.from(' ')]) }))
    })
  else
    it('returns a key or is ignored with a changed body, and causes no error', async (t) => {
      const { rig, webhook } = await receiveWebhook(t, subject)
      for (let offset = 0; offset < webhook.body.length; offset += 1) {
        const { kind } = rig.receive({ ...webhook, body: flipBit(webhook.body, offset) })
        assert.ok(kind === 'payment' || kind === 'ignored', kind)
      }
    })

  it('is forged with any changed part of its signature', async (t) => {
    const { rig, webhook } = await receiveWebhook(t, subject)
    const parts = signatureParts(webhook)
    assert.ok(parts.length > 0, 'the webhook has a signature')
    for (const { value, replace } of parts)
      for (const tampered of tamperedValues(value)) assertForged(rig.receive(replace(tampered)))
  })

  it('is forged without its signature', async (t) => {
    const { rig, webhook } = await receiveWebhook(t, subject)
    for (const { replace } of signatureParts(webhook)) {
      assertForged(rig.receive(replace(undefined)))
      assertForged(rig.receive(replace('')))
    }
    assertForged(rig.receive({ ...webhook, headers: {}, query: {} }))
  })

  it('is forged if it is of another account', async (t) => {
    const { rig, webhook } = await receiveWebhook(t, subject)
    assertForged(rig.receive(webhook, rig.open({ credentials: subject.otherCredentials })))
  })

  it('is forged if it is random bytes', async (t) => {
    const { rig, webhook } = await receiveWebhook(t, subject)
    const noise = '\u00ff,=;"" t=,v1='
    for (const body of [Buffer.from('ff00fe7b22', 'hex'), Buffer.alloc(0)])
      for (const { replace } of signatureParts(webhook))
        assertForged(rig.receive({ ...replace(noise), body }))
  })
}

async function receiveWebhook(t: TestContext, subject: Subject): Promise<{ rig: Rig; webhook: Webhook }> {
  const rig = await startRig(t, subject)
  const webhook = await rig.provider.webhook(randomUUID())
  assert.equal(rig.receive(webhook).kind, 'payment')
  return { rig, webhook }
}

interface SignaturePart {
  value: string
  /** The webhook with another value of this part; undefined removes it. */
  replace(value: string | undefined): Webhook
}

/** The headers and the parameters of the query: each of them is part of the signature. */
function signatureParts(webhook: Webhook): SignaturePart[] {
  const partsOf = (place: 'headers' | 'query') =>
    Object.entries(webhook[place] ?? {})
      .filter(([name]) => name !== 'content-type')
      .map(([name, value]) => ({
        value,
        replace(other: string | undefined): Webhook {
          const { [name]: _left, ...others } = webhook[place] ?? {}
          return { ...webhook, [place]: other === undefined ? others : { ...others, [name]: other } }
        },
      }))
  return [...partsOf('headers'), ...partsOf('query')]
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
