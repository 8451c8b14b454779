// The payer's flow: start, payer's action, status check.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { type Money, money } from '../../../src/core/money.ts'
import type { Attempt, NextStep, Outcome } from '../../../src/gateways/gateway.ts'
import {
  AMBIGUOUS_FAULTS,
  assertNotFinal,
  assertRejected,
  assertUnknown,
  failEachRequest,
  queryWithFault,
  refuseConnections,
  submissionFaults,
  submitWithFault,
} from './faults.ts'
import { CONCURRENCY, type Rig, startRig } from './rig.ts'
import type { CheckoutEnding, Subject } from './subject.ts'

export function testCheckout(subject: Subject): void {
  describe('a checkout', { concurrency: CONCURRENCY }, () => {
    testStart(subject)
    testVerify(subject)
    testEndings(subject)
    testMismatches(subject)
  })
}

function testStart(subject: Subject): void {
  it('starts with a step for the payer, and takes no money yet', async (t) => {
    const rig = await startRig(t, subject)
    const attempt = rig.makeAttempt()
    const started = await rig.start(attempt)
    assert.ok(started.kind === 'started', inspect(started))
    assert.notEqual(started.gatewayReference, '')
    assertUsable(started.next)
    assertUndecided(await rig.gateway.verify(attempt, started.gatewayReference))
    assert.equal(await rig.provider.executions(attempt.key), 0)
  })

  it('is accepted once, even if it is submitted several times', async (t) => {
    const rig = await startRig(t, subject)
    if (rig.gateway.behavior.notResendable) return
    const attempt = rig.makeAttempt()
    const first = await rig.start(attempt)
    assert.ok(first.kind === 'started', inspect(first))
    assertNotFinal(await rig.start(attempt))
    await assertPaysOnce(rig, attempt, first.gatewayReference)
  })

  it('is accepted once if it is submitted twice at the same time', async (t) => {
    const rig = await startRig(t, subject)
    if (rig.gateway.behavior.notResendable) return
    const attempt = rig.makeAttempt()
    const answers = await Promise.all([rig.start(attempt), rig.start(attempt)])
    for (const answer of answers) assertNotFinal(answer)
    const started = answers.find(({ kind }) => kind === 'started')
    assert.ok(started?.kind === 'started', inspect(answers))
    await assertPaysOnce(rig, attempt, started.gatewayReference)
  })

  it('was not sent if the connection is refused', async (t) => {
    const rig = await startRig(t, subject)
    const gateway = await refuseConnections(rig)
    assertUnknown(await rig.start(rig.makeAttempt(), gateway), ['not_sent'])
  })

  it('is refused after a rate limit, and can be submitted again', async (t) => {
    const rig = await startRig(t, subject)
    const attempt = rig.makeAttempt()
    assertRejected(await submitWithFault(rig, 'http_429', (gateway) => rig.start(attempt, gateway)))
    assert.equal((await rig.start(attempt)).kind, 'started')
  })

  it('is refused with credentials that the provider does not know', async (t) => {
    const rig = await startRig(t, subject)
    assertRejected(await rig.start(rig.makeAttempt(), rig.open({ credentials: subject.otherCredentials })))
  })

  it('starts even if the provider is slow', async (t) => {
    const rig = await startRig(t, subject)
    const answer = await submitWithFault(rig, 'slow', (gateway) => rig.start(rig.makeAttempt(), gateway))
    assert.equal(answer.kind, 'started')
  })

  for (const { kind, title, reasons } of submissionFaults(subject, 'checkout')) {
    it(`is unknown if ${title}, and pays once if it is submitted again`, async (t) => {
      const rig = await startRig(t, subject)
      const attempt = rig.makeAttempt()
      assertUnknown(await submitWithFault(rig, kind, (gateway) => rig.start(attempt, gateway)), reasons)
      // The service would not submit it again.
      if (rig.gateway.behavior.notResendable) return
      const again = await rig.start(attempt)
      assertNotFinal(again)
      const reference = again.kind === 'started' ? again.gatewayReference : null
      if (reference !== null || rig.gateway.behavior.lookupByReference)
        await assertPaysOnce(rig, attempt, reference)
    })
  }
}

/** The payer pays the started checkout, and the provider takes the money once. */
async function assertPaysOnce(rig: Rig, attempt: Attempt, reference: string | null): Promise<void> {
  await rig.provider.finish(attempt.key, { kind: 'pays' })
  const outcome = await rig.gateway.verify(attempt, reference)
  assert.equal(outcome.kind, 'succeeded', inspect(outcome))
  assert.equal(await rig.provider.executions(attempt.key), 1)
}

export function assertUsable(next: NextStep): void {
  switch (next.kind) {
    case 'redirect':
      assert.match(new URL(next.url).protocol, /^https?:$/)
      return
    case 'prompt':
      assert.match(next.phone, /^\+[1-9]\d{5,14}$/)
      assert.notEqual(next.network, '')
      assert.ok(Number.isFinite(Date.parse(next.expiresAt)))
      return
    case 'transfer':
      assert.notEqual(next.accountNumber, '')
      assert.notEqual(next.bankName, '')
      assert.ok(Number.isFinite(Date.parse(next.expiresAt)))
  }
}

/** Some providers do not know a checkout before its payer acts; none of them may report it as ended. */
function assertUndecided(outcome: Outcome): void {
  if (outcome.kind !== 'pending') assertUnknown(outcome, ['not_found'])
}

function testVerify(subject: Subject): void {
  describe('the status check of a checkout', { concurrency: CONCURRENCY }, () => {
    it('is undecided while the provider does not know the key', async (t) => {
      const { gateway, makeAttempt } = await startRig(t, subject)
      assertUndecided(await gateway.verify(makeAttempt(), null))
    })

    it('is pending while the money is in transit', async (t) => {
      const rig = await startRig(t, subject)
      const { attempt, reference } = await rig.startNew()
      await rig.provider.finish(attempt.key, { kind: 'waits' })
      const outcome = await rig.gateway.verify(attempt, reference)
      assert.equal(outcome.kind, 'pending', inspect(outcome))
    })

    it('was not sent if the connection is refused', async (t) => {
      const rig = await startRig(t, subject)
      const { attempt, reference } = await rig.startNew()
      const gateway = await refuseConnections(rig)
      assertUnknown(await gateway.verify(attempt, reference), ['not_sent'])
    })

    // A rejected status check says nothing about the payment, which may have been paid.
    const inconclusive = [
      ...AMBIGUOUS_FAULTS,
      {
        kind: 'http_429',
        title: 'the provider reports a rate limit',
        reasons: ['no_answer', 'unreadable', 'unrecognized'],
      },
    ] as const
    for (const { kind, title, reasons } of inconclusive) {
      it(`is unknown if ${title}, and paid at the next check`, async (t) => {
        const rig = await startRig(t, subject)
        const { attempt, paid } = await rig.payNew()
        const reference = paid.gatewayReference
        const call = (gateway: Rig['gateway']) => gateway.verify(attempt, reference)
        assertUnknown(await queryWithFault(rig, kind, call), reasons)
        assert.deepEqual(await rig.gateway.verify(attempt, reference), paid)
      })
    }

    it('is paid or unknown, whichever of its requests fails', async (t) => {
      const rig = await startRig(t, subject)
      await failEachRequest(rig, {
        make: rig.payNew,
        act: ({ attempt, paid }) => rig.gateway.verify(attempt, paid.gatewayReference),
        async check({ attempt, paid }, outcome) {
          if (outcome.kind === 'succeeded') assert.equal(outcome.key, attempt.key)
          else assertUnknown(outcome, ['no_answer', 'unreadable', 'unrecognized'])
          assert.deepEqual(await rig.gateway.verify(attempt, paid.gatewayReference), paid)
        },
      })
    })

    it('is unknown with credentials that the provider does not know', async (t) => {
      const rig = await startRig(t, subject)
      const { attempt, paid } = await rig.payNew()
      const otherAccount = rig.open({ credentials: subject.otherCredentials })
      const outcome = await otherAccount.verify(attempt, paid.gatewayReference)
      assertUnknown(outcome, subject.prelude ? ['not_sent'] : ['no_answer', 'unreadable', 'unrecognized'])
    })
  })
}

function testEndings(subject: Subject): void {
  it('returns the amount, the currency and the key of a paid checkout, and its time if the provider says it', async (t) => {
    const rig = await startRig(t, subject)
    const { attempt, paid } = await rig.payNew()
    assert.deepEqual(paid.paid, subject.amount)
    assert.equal(paid.key, attempt.key)
    assert.notEqual(paid.gatewayReference, '')
    const paidAt = paid.paidAt ?? (subject.withoutTimes ? attempt.startedAt : undefined)
    assert.ok(paidAt, 'the time is read from the record')
    assert.ok(Math.abs(paidAt.getTime() - attempt.startedAt.getTime()) < 60_000, inspect(paidAt))
    assert.equal(await rig.provider.executions(attempt.key), 1)
    assert.deepEqual(await rig.gateway.verify(attempt, paid.gatewayReference), paid)
  })

  it('finds a paid checkout without its reference if the provider supports lookups by key', async (t) => {
    const rig = await startRig(t, subject)
    const { attempt, paid } = await rig.payNew()
    const outcome = await rig.gateway.verify(attempt, null)
    if (rig.gateway.behavior.lookupByReference) assert.deepEqual(outcome, paid)
    // Found by other means, such as a list.
    else if (outcome.kind === 'succeeded')
      assert.deepEqual([outcome.key, outcome.paid], [attempt.key, paid.paid])
    else assertNotFinal(outcome)
  })

  for (const { how, code } of subject.declines.filter(({ on }) => on === 'checkout')) {
    it(`is declined as ${code} if the checkout ends with ${how}`, async (t) => {
      const rig = await startRig(t, subject)
      const { attempt, reference } = await rig.startNew()
      await rig.provider.finish(attempt.key, { kind: 'declines', how })
      const outcome = await rig.gateway.verify(attempt, reference)
      assert.ok(outcome.kind === 'declined', inspect(outcome))
      assert.equal(outcome.code, code)
      assert.notEqual(outcome.message, '')
      assert.equal(outcome.refused, undefined)
      assert.equal(await rig.provider.executions(attempt.key), 0)
    })
  }
}

/** A connector does not compare: it passes the provider's values on to the caller, which does. */
function testMismatches(subject: Subject): void {
  const other = { minor: (subject.amount.minor * 9n) / 10n, key: randomUUID() }
  const currency = subject.amount.currency === 'USD' ? 'EUR' : 'USD'
  const all: { title: string; ending: Omit<CheckoutEnding & { kind: 'pays' }, 'kind'>; paid: Money }[] = [
    {
      title: 'another amount',
      ending: { minor: other.minor },
      paid: money(other.minor, subject.amount.currency),
    },
    { title: 'another currency', ending: { currency }, paid: money(subject.amount.minor, currency) },
    { title: 'another key', ending: { key: other.key }, paid: subject.amount },
  ]
  const cases = subject.keylessRecords ? all.filter(({ ending }) => ending.minor !== undefined) : all
  for (const { title, ending, paid } of cases) {
    it(`reports a payment with ${title}`, async (t) => {
      const rig = await startRig(t, subject)
      const { attempt, reference } = await rig.startNew()
      await rig.provider.finish(attempt.key, { kind: 'pays', ...ending })
      const outcome = await rig.gateway.verify(attempt, reference)
      assert.ok(outcome.kind === 'succeeded', inspect(outcome))
      assert.deepEqual(outcome.paid, paid)
      assert.equal(outcome.key, ending.key ?? attempt.key)
    })
  }
}
