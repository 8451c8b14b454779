// Refunds: full, partial, delayed, failed, and executed once even if the response is lost.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { inspect } from 'node:util'
import { subtract } from '../../../src/core/money.ts'
import type { Gateway, RefundOutcome, RefundRequest } from '../../../src/gateways/gateway.ts'
import {
  AMBIGUOUS_FAULTS,
  assertUnknown,
  failEachRequest,
  queryWithFault,
  refuseConnections,
  submissionFaults,
  submitWithFault,
} from './faults.ts'
import { assertForged, assertReport } from './reading.ts'
import { CONCURRENCY, type Rig, startRig } from './rig.ts'
import type { RefundBehavior, Subject, Webhook } from './subject.ts'

export function testRefund(subject: Subject): void {
  describe('a refund', { concurrency: CONCURRENCY }, () => {
    testEndings(subject)
    testFaults(subject)
  })
}

function testEndings(subject: Subject): void {
  it('returns the whole amount', async (t) => {
    const { rig, request, given } = await prepareRefund(t, subject)
    const all = { ...request, amount: subject.amount, isFull: true }
    assert.equal((await finish(rig, all)).kind, 'succeeded')
    assert.deepEqual(await given(), [subject.amount.minor])
  })

  it('returns a part, and later the rest', async (t) => {
    const { rig, request, given } = await prepareRefund(t, subject)
    if (request.isFull) return t.skip('it returns only whole payments')
    const rest = {
      ...request,
      key: randomUUID(),
      amount: subtract(subject.amount, request.amount),
      refundedBefore: request.amount,
    }
    for (const one of [request, rest]) assert.equal((await finish(rig, one)).kind, 'succeeded')
    assert.deepEqual(await given(), [request.amount.minor, rest.amount.minor])
  })

  it('is executed once, even if it is submitted several times', async (t) => {
    const { rig, request, given } = await prepareRefund(t, subject)
    if (isSubmittedOnce(rig, subject)) return t.skip('the service does not submit it again')
    await refund(rig.gateway, request)
    assertNotFailed(await refund(rig.gateway, request))
    assert.equal((await given()).length, 1)
  })

  it('is pending while the provider processes it', async (t) => {
    if (subject.immediateRefunds) return t.skip('its response is final')
    const { rig, request } = await prepareRefund(t, subject, 'waits')
    const outcome = await refund(rig.gateway, request)
    assert.ok(outcome.kind === 'pending', inspect(outcome))
    const checked = await verify(rig, request, outcome.gatewayReference)
    // Where only a callback ends a refund, the status check finds nothing before it.
    if (rig.provider.refundWebhook) assertUnknown(checked, ['not_found'])
    else assert.equal(checked.kind, 'pending')
  })

  it('fails if the provider cannot execute it', async (t) => {
    const { rig, request, given } = await prepareRefund(t, subject, 'fails')
    const outcome = await finish(rig, request)
    assert.ok(outcome.kind === 'failed', inspect(outcome))
    assert.notEqual(outcome.message, '')
    assert.deepEqual(await given(), [])
  })

  it('is not ended by the callback of another refund, or by one to a path that proves nothing', async (t) => {
    const { rig, request, prepareOne } = await prepareRefund(t, subject)
    const { refundWebhook } = rig.provider
    if (!refundWebhook) return t.skip('a status check ends its refunds')
    const other = await prepareOne()
    for (const one of [request, other.request]) await refund(rig.gateway, one)
    const webhook = await refundWebhook(request.key)
    assert.ok(webhook)
    const { url: _secret, ...unproved } = webhook
    assertForged(rig.receive(unproved))
    const otherUrl = rig.callbackUrl({ kind: 'refund', key: other.request.key })
    const reading = rig.receive({ ...webhook, url: otherUrl })
    if (reading.kind === 'own_refund') assert.equal(reading.key, other.request.key)
    const attemptUrl = rig.callbackUrl({ kind: 'attempt', key: request.attemptKey })
    assert.notEqual(rig.receive({ ...webhook, url: attemptUrl }).kind, 'own_refund')
  })

  it('is not found if the provider does not know it', async (t) => {
    const { rig, request } = await prepareRefund(t, subject)
    if (rig.gateway.verifyRefund) assertUnknown(await verify(rig, request, null), ['not_found'])
  })
}

function testFaults(subject: Subject): void {
  it('is executed once, whichever of its requests fails', async (t) => {
    const { rig, prepareOne } = await prepareRefund(t, subject)
    await failEachRequest(rig, {
      make: prepareOne,
      act: ({ request }) => refund(rig.gateway, request),
      async check({ request, given }, outcome) {
        if (outcome.kind === 'failed') assert.deepEqual(await given(), [])
        await assertExecutedOnce(rig, subject, request, given)
      },
    })
  })

  it('was not sent if the connection is refused', async (t) => {
    const { rig, request } = await prepareRefund(t, subject)
    const gateway = await refuseConnections(rig)
    assertUnknown(await refund(gateway, request), ['not_sent'])
  })

  it('executes nothing with credentials that the provider does not know', async (t) => {
    const { rig, request, given } = await prepareRefund(t, subject)
    const outcome = await refund(rig.open({ credentials: subject.otherCredentials }), request)
    assert.ok(outcome.kind === 'failed' || outcome.kind === 'unknown', inspect(outcome))
    assert.deepEqual(await given(), [])
  })

  for (const { kind, title, reasons } of submissionFaults(subject, 'refund')) {
    it(`is unknown if ${title}, and is executed once`, async (t) => {
      const { rig, request, given } = await prepareRefund(t, subject)
      const withFault = subject.refundsByGet ? queryWithFault : submitWithFault
      const outcome = await withFault(rig, kind, (gateway) => refund(gateway, request))
      assertUnknown(outcome, reasons)
      await assertExecutedOnce(rig, subject, request, given)
    })
  }

  for (const { kind, title, reasons } of AMBIGUOUS_FAULTS) {
    it(`is unknown in a status check if ${title}`, async (t) => {
      const { rig, request } = await prepareRefund(t, subject)
      if (!rig.gateway.verifyRefund || rig.provider.refundWebhook) return
      const made = await refund(rig.gateway, request)
      assert.ok(made.kind === 'succeeded' || made.kind === 'pending', inspect(made))
      const call = async (gateway: Gateway) => gateway.verifyRefund?.(request, made.gatewayReference)
      const outcome = await queryWithFault(rig, kind, call)
      assert.ok(outcome)
      assertUnknown(outcome, reasons)
    })
  }
}

/**
 * A paid checkout and a refund of a tenth of it. A part, because providers detect a second full refund by themselves. The
 * whole if the provider returns nothing else.
 */
export async function prepareRefund(t: TestContext, subject: Subject, behavior: RefundBehavior = 'succeeds') {
  const rig = await startRig(t, subject)
  const isFull = rig.gateway.behavior.fullRefundsOnly === true
  const amount = isFull ? subject.amount : { ...subject.amount, minor: subject.amount.minor / 10n }
  const prepareOne = async () => {
    const { attempt, paid } = await rig.payNew()
    const request: RefundRequest = {
      key: randomUUID(),
      attemptKey: attempt.key,
      attemptReference: paid.gatewayReference,
      amount,
      isFull,
      ...(paid.receiptNumber && { receiptNumber: paid.receiptNumber }),
      ...(subject.choice?.phone && { payerPhone: subject.choice.phone }),
    }
    return { request, given: () => listRefunds(rig, attempt.key) }
  }
  assert.ok(rig.provider.setRefundBehavior, 'the fake provider has setRefundBehavior')
  rig.provider.setRefundBehavior(behavior)
  return { rig, prepareOne, ...(await prepareOne()) }
}

async function listRefunds(rig: Rig, attemptKey: string): Promise<bigint[]> {
  assert.ok(rig.provider.refunds, 'the fake provider has refunds')
  return [...(await rig.provider.refunds(attemptKey))]
}

export function refund(gateway: Gateway, request: RefundRequest): Promise<RefundOutcome> {
  assert.ok(gateway.refund, 'the gateway has refund')
  return gateway.refund(request)
}

async function verify(rig: Rig, request: RefundRequest, reference: string | null): Promise<RefundOutcome> {
  assert.ok(rig.gateway.verifyRefund, 'a gateway with pending refunds has verifyRefund')
  const webhook = await rig.provider.refundWebhook?.(request.key)
  const reported = webhook ? { ...request, report: readRefundReport(rig, request, webhook) } : request
  return rig.gateway.verifyRefund(reported, reference)
}

/** The report in the callback about the refund, which its secret path proves. */
function readRefundReport(rig: Rig, { key }: RefundRequest, webhook: Webhook): string {
  const reading = rig.receive(webhook)
  assert.ok(reading.kind === 'own_refund' && reading.key === key, inspect(reading))
  assertReport(reading, webhook)
  assert.ok(reading.report, 'only its report says how the refund ended')
  return reading.report
}

/** The final outcome of a refund: at once, or by a status check. */
async function finish(rig: Rig, request: RefundRequest): Promise<RefundOutcome> {
  const outcome = await refund(rig.gateway, request)
  return outcome.kind === 'pending' ? verify(rig, request, outcome.gatewayReference) : outcome
}

/** Without a key the service submits a refund once: its callback or a list ends it, or a person. */
const isSubmittedOnce = ({ gateway, provider }: Rig, { unfindableRefunds, keylessRefunds }: Subject) =>
  gateway.behavior.nonIdempotentRefunds === true &&
  (unfindableRefunds === true || keylessRefunds === true || provider.refundWebhook !== undefined)

/** After a fault of the submission: the refund is executed, and the service learns it, or asks a person. */
async function assertExecutedOnce(
  rig: Rig,
  subject: Subject,
  request: RefundRequest,
  given: () => Promise<bigint[]>,
): Promise<void> {
  const resolved = await resolve(rig, subject, request)
  const executed = await given()
  const isUnfindable = subject.unfindableRefunds === true && executed.length === 1
  const isUnexecuted = isSubmittedOnce(rig, subject) && executed.length === 0
  if (isUnfindable || isUnexecuted) return assertUnknown(resolved, ['not_found'])
  assert.ok(resolved.kind === 'succeeded' || resolved.kind === 'pending', inspect(resolved))
  assert.deepEqual(executed, [request.amount.minor])
}

/** As the service does after `unknown`: a status check, and only if the refund is not found the same request again. */
async function resolve(rig: Rig, subject: Subject, request: RefundRequest): Promise<RefundOutcome> {
  const outcome = rig.gateway.verifyRefund && (await verify(rig, request, null))
  if (outcome && (outcome.kind !== 'unknown' || isSubmittedOnce(rig, subject))) return outcome
  return refund(rig.gateway, request)
}

function assertNotFailed(outcome: RefundOutcome): void {
  assert.notEqual(outcome.kind, 'failed', inspect(outcome))
}
