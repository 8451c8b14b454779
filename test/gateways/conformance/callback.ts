// Callbacks that the provider does not sign. The secret path proves the sender, and only for the attempt, the refund or
// the account that it was made for.

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { inspect } from 'node:util'
import { verifyCallbackUrl } from '../webhook-request.ts'
import { assertForged, assertNames, assertReport, flipBit, reportOf } from './reading.ts'
import { startRig } from './rig.ts'
import { PUBLIC_URL, type Subject } from './subject.ts'

export function testUnsigned(subject: Subject): void {
  it('is sent to an address that we made, without a query', async (t) => {
    const rig = await startRig(t, subject)
    const { attempt } = await rig.startNew()
    const { url = '' } = await rig.provider.webhook(attempt.key)
    assert.ok(url.startsWith(`${PUBLIC_URL}/hooks/`), 'the fake returns the address that the connector sent')
    assert.equal(new URL(url).search, '')
    const callback = verifyCallbackUrl(url)
    assert.ok(callback, 'the address is one of Connection.callbackUrl')
    if (callback.kind !== 'account') assert.equal(callback.key, attempt.key)
  })

  it('is forged if its path proves nothing', async (t) => {
    const rig = await startRig(t, subject)
    const { attempt } = await rig.payNew()
    const { url = '', ...webhook } = await rig.provider.webhook(attempt.key)
    assertForged(rig.receive(webhook))
    // The service rejects a wrong MAC itself, before the connector reads the body.
    assertForged(rig.receive({ ...webhook, url: url.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')) }))
  })

  it('speaks for the attempt of its path only', async (t) => {
    const rig = await startRig(t, subject)
    const [one, other] = [await rig.payNew(), await rig.payNew()]
    const { url = '' } = await rig.provider.webhook(other.attempt.key)
    if (verifyCallbackUrl(url)?.kind === 'account') return t.skip('one address for all its callbacks')
    const swapped = { ...(await rig.provider.webhook(one.attempt.key)), url }
    const reading = rig.receive(swapped)
    if (reading.kind === 'payment') assertNames(reading, other.attempt)
    const refundUrl = rig.callbackUrl({ kind: 'refund', key: one.attempt.key })
    assert.notEqual(rig.receive({ ...swapped, url: refundUrl }).kind, 'payment')
  })

  it('causes no error with a changed body, and names no other payment', async (t) => {
    const rig = await startRig(t, subject)
    const { attempt } = await rig.payNew()
    const webhook = await rig.provider.webhook(attempt.key)
    const isOfAttempt = verifyCallbackUrl(webhook.url ?? '')?.kind === 'attempt'
    const bodies = [
      ...Array.from(webhook.body, (_, offset) => flipBit(webhook.body, offset)),
      ...['', '[]', 'null', '{}', '{"a":', '\u00ff'].map((text) => Buffer.from(text)),
    ]
    for (const body of bodies) {
      const reading = rig.receive({ ...webhook, body })
      if (reading.kind === 'payment' && isOfAttempt) assert.equal(reading.key, attempt.key)
    }
  })

  it('has a report that is small JSON, without the secret of its path', async (t) => {
    const rig = await startRig(t, subject)
    const { attempt } = await rig.payNew()
    const webhook = await rig.provider.webhook(attempt.key)
    assertReport(rig.receive(webhook), webhook)
  })

  it('does not make a payment successful that the provider does not confirm, whatever it reports', async (t) => {
    const rig = await startRig(t, subject)
    const { attempt: paid } = await rig.payNew()
    const reading = rig.receive(await rig.provider.webhook(paid.key))
    const { attempt, reference } = await rig.startNew()
    await rig.provider.finish(attempt.key, { kind: 'waits' })
    const report = reportOf(reading) ?? '{"status":"SUCCESSFUL"}'
    const outcome = await rig.gateway.verify({ ...attempt, report }, reference)
    assert.notEqual(outcome.kind, 'succeeded', inspect(outcome))
    assert.equal(await rig.provider.executions(attempt.key), 0)
  })
}
