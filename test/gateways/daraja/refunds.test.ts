// Refunds by reversal and by payout: what is sent, what ends them, and lost answers in any order.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { money } from '../../../src/core/money.ts'
import type { RefundOutcome, RefundRequest } from '../../../src/gateways/gateway.ts'
import { createPrng, type Prng } from '../../faults/simulation/prng.ts'
import { HAS_LARGER_FORM, sized } from '../../support/scale.ts'
import { withFailureContext } from '../conformance/faults.ts'
import type { Webhook } from '../conformance.ts'
import type { Fault } from '../fake-server.ts'
import { CREDENTIALS, PAYOUT_CREDENTIALS, SHORTCODE } from './fake.ts'
import { callbackUrl, type DarajaRig, payAndRefund, readFixture, replay, startDaraja } from './rig.ts'

const ACCOUNTS = { reversal: CREDENTIALS, payout: PAYOUT_CREDENTIALS }

const summary = (outcome: RefundOutcome | undefined) =>
  outcome?.kind === 'unknown' ? outcome.reason : outcome?.kind

const addressesOf = ({ key }: RefundRequest) => ({
  ResultURL: callbackUrl({ kind: 'refund', key }),
  QueueTimeOutURL: callbackUrl({ kind: 'account' }),
})

const lastBody = ({ provider }: DarajaRig) => {
  const { path, text } = provider.server.requests.at(-1) ?? assert.fail()
  return { path, body: JSON.parse(text) }
}

function reportIn(rig: DarajaRig, webhook: Webhook | null) {
  const reading = webhook && rig.receive(webhook)
  assert.ok(reading?.kind === 'own_refund' && reading.report, inspect(reading))
  return { report: reading.report, isFinal: reading.isFinalReport === true }
}

describe('a refund at Daraja by reversal', () => {
  it('is requested by the receipt number, with exactly the documented fields', async (t) => {
    const rig = await startDaraja(t)
    const { request } = await payAndRefund(rig)
    const outcome = await rig.gateway.refund?.(request)
    assert.equal(summary(outcome), 'pending')
    assert.deepEqual(lastBody(rig), {
      path: '/mpesa/reversal/v1/request',
      body: {
        Initiator: CREDENTIALS.initiator,
        SecurityCredential: CREDENTIALS.securityCredential,
        CommandID: 'TransactionReversal',
        TransactionID: request.receiptNumber,
        Amount: 500,
        ReceiverParty: SHORTCODE,
        RecieverIdentifierType: '11',
        Remarks: 'Part refund',
        Occasion: 'Refund',
        ...addressesOf(request),
      },
    })
  })

  it('fails before it is sent if the receipt number is not known, or for cents', async (t) => {
    const rig = await startDaraja(t)
    const { request } = await payAndRefund(rig)
    const { receiptNumber: _unknown, ...without } = request
    const sent = rig.provider.server.requests.length
    for (const one of [without, { ...request, amount: money(50_050n, 'KES') }])
      assert.equal(summary(await rig.gateway.refund?.(one)), 'failed')
    assert.equal(rig.provider.server.requests.length, sent)
  })

  it('is ended by the published example of a result, if it is about the amount', async (t) => {
    const rig = await startDaraja(t)
    const { request } = await payAndRefund(rig, { amount: money(10_000n, 'KES') })
    const { ResultURL: url } = addressesOf(request)
    const { report, isFinal } = reportIn(rig, { headers: {}, url, body: readFixture('reversal-result') })
    const verify = (one: RefundRequest, reference: string | null) =>
      rig.gateway.verifyRefund?.(one, reference)
    const reported = { ...request, report }
    const conversation = 'AG_20181005_00004d7ee675c0c7ee0b'
    for (const reference of [null, conversation])
      assert.deepEqual(await verify(reported, reference), {
        kind: 'succeeded',
        gatewayReference: 'MJ561H6X5O',
      })
    assert.equal(isFinal, true)
    assert.equal(summary(await verify({ ...reported, amount: money(20_000n, 'KES') }, null)), 'unrecognized')
    assert.equal(summary(await verify(reported, 'AG_of_another_reversal')), 'unrecognized')
  })

  it('fails by a result that says why, and is unknown by one that is not clear', async (t) => {
    const rig = await startDaraja(t)
    const { request } = await payAndRefund(rig)
    const cases = [
      ['1', 'The balance is insufficient for the transaction.', 'failed'],
      ['2001', 'The initiator information is invalid.', 'failed'],
      ['8006', 'The security credential is locked.', 'failed'],
      ['R000001', 'The transaction has already been reversed.', 'unrecognized'],
      ['15', 'Duplicate detected', 'unrecognized'],
      ['21', 'The service request is processed successfully', 'unrecognized'],
      ['0', 'The service request is processed successfully', 'unrecognized'],
    ] as const
    for (const [resultCode, text, expected] of cases) {
      const report = JSON.stringify({ resultCode, text })
      assert.equal(summary(await rig.gateway.verifyRefund?.({ ...request, report }, null)), expected, text)
    }
  })

  it('is not there without the credentials of an initiator', async (t) => {
    const { initiator: _name, ...without } = CREDENTIALS
    const { gateway } = await startDaraja(t, without)
    assert.deepEqual([gateway.refund, gateway.verifyRefund], [undefined, undefined])
  })

  it('fails only by answers that prove that it was not begun, and is sent again after too many requests', async (t) => {
    const error = (http: number, errorCode: string, errorMessage: string) => ({
      http,
      body: { errorCode, errorMessage },
    })
    const cases = [
      [error(400, '400.002.02', 'Bad Request - Invalid TransactionID'), 'failed'],
      [error(500, '500.003.02', 'System is busy'), 'not_sent'],
      [error(503, '500.003.03', 'Quota Violation'), 'not_sent'],
      [error(429, '429.000.00', 'Too many requests'), 'not_sent'],
      [error(500, '500.001.1001', 'Internal error'), 'no_answer'],
      [error(409, '409.000.00', 'Conflict'), 'unrecognized'],
      [{ http: 200, body: { ResponseCode: '2001', ResponseDescription: 'no' } }, 'failed'],
      [{ http: 200, body: { ResponseCode: '2001', ConversationID: 'AG_1' } }, 'unrecognized'],
    ] as const
    for (const [reply, expected] of cases) {
      const { gateway } = await replay(t, reply)
      const request = {
        key: randomUUID(),
        attemptKey: randomUUID(),
        attemptReference: 'ws',
        amount: money(100n, 'KES'),
        isFull: true,
      }
      const outcome = await gateway.refund?.({ ...request, receiptNumber: 'NLJ7RT61SV' })
      assert.equal(summary(outcome), expected, inspect(reply))
    }
  })
})

describe('a refund at Daraja by payout', () => {
  it('is sent to the number that paid, under our key, by the app that has B2C', async (t) => {
    const rig = await startDaraja(t, PAYOUT_CREDENTIALS)
    assert.equal(rig.gateway.behavior.nonIdempotentRefunds, undefined)
    const { request } = await payAndRefund(rig)
    assert.equal(summary(await rig.gateway.refund?.(request)), 'pending')
    assert.deepEqual(lastBody(rig), {
      path: '/mpesa/b2c/v3/paymentrequest',
      body: {
        OriginatorConversationID: request.key,
        InitiatorName: CREDENTIALS.initiator,
        SecurityCredential: CREDENTIALS.securityCredential,
        CommandID: 'BusinessPayment',
        Amount: 500,
        PartyA: PAYOUT_CREDENTIALS.payoutShortcode,
        PartyB: '254708374149',
        Remarks: 'Part refund',
        Occasion: 'Refund',
        ...addressesOf(request),
      },
    })
    // Sent again, it is executed once.
    assert.equal(summary(await rig.gateway.refund?.(request)), 'pending')
    assert.equal(rig.provider.refundsOf(request.key).length, 1)
  })

  it('ends by the result of a status query if its own result is lost', async (t) => {
    const rig = await startDaraja(t, PAYOUT_CREDENTIALS)
    const { request } = await payAndRefund(rig)
    await rig.gateway.refund?.(request)
    assert.equal(summary(await rig.gateway.verifyRefund?.(request, null)), 'not_found')
    const { path, body } = lastBody(rig)
    assert.deepEqual(
      [path, body.OriginatorConversationID, body.ResultURL],
      [
        '/mpesa/transactionstatus/v1/query',
        request.key,
        callbackUrl({ kind: 'refund_status', key: request.key }),
      ],
    )
    const { report, isFinal } = reportIn(rig, rig.provider.statusWebhook(request.key))
    assert.equal(isFinal, true)
    const outcome = await rig.gateway.verifyRefund?.({ ...request, report }, null)
    const transaction = rig.provider.refundsOf(request.key)[0]?.transaction
    assert.deepEqual(outcome, { kind: 'succeeded', gatewayReference: transaction })
    const other = { ...request, report, amount: money(60_000n, 'KES') }
    assert.equal(summary(await rig.gateway.verifyRefund?.(other, null)), 'unrecognized')
  })

  it('does not fail because a status query fails, though its result names the id of the payout', async (t) => {
    const rig = await startDaraja(t, PAYOUT_CREDENTIALS)
    const { request } = await payAndRefund(rig)
    await rig.gateway.verifyRefund?.(request, null)
    const result = rig.provider.statusWebhook(request.key) ?? assert.fail()
    assert.equal(JSON.parse(result.body.toString()).Result.OriginatorConversationID, request.key)
    assert.equal(rig.receive(result).kind, 'ignored')
  })

  it('fails by a result about its own conversation only, if that is known', async (t) => {
    const rig = await startDaraja(t, PAYOUT_CREDENTIALS)
    rig.provider.setRefundBehavior('fails')
    const { request } = await payAndRefund(rig)
    const made = await rig.gateway.refund?.(request)
    assert.ok(made?.kind === 'pending')
    const { report } = reportIn(rig, rig.provider.refundWebhook(request.key))
    const verify = (reference: string | null) => rig.gateway.verifyRefund?.({ ...request, report }, reference)
    for (const [reference, expected] of [
      [made.gatewayReference, 'failed'],
      // The acknowledgement was lost: then the address and our id prove what it is about.
      [null, 'failed'],
      ['AG_of_another_request', 'unrecognized'],
    ] as const)
      assert.equal(summary(await verify(reference)), expected, String(reference))
  })

  it('fails before it is sent if the number of the payer is not known', async (t) => {
    const rig = await startDaraja(t, PAYOUT_CREDENTIALS)
    const { request } = await payAndRefund(rig)
    const { payerPhone: _unknown, ...without } = request
    assert.equal(summary(await rig.gateway.refund?.(without)), 'failed')
    assert.deepEqual(rig.provider.refundsOf(request.key), [])
  })
})

const SCHEDULES = sized({ quick: 10, rest: 1_000, long: 1_000 })
const FAULTS: readonly Fault[] = [
  ...(['cut_off', 'cut_off_after_acting', 'http_500', 'http_500_after_acting'] as const),
  ...(['html_503', 'garbage', 'http_409', 'http_429'] as const),
]

describe('refunds at Daraja, in any order of lost answers and callbacks', () => {
  for (const [name, credentials] of Object.entries(ACCOUNTS))
    it(`end as at M-Pesa and are executed once, by ${name}`, HAS_LARGER_FORM, async (t) => {
      const rig = await startDaraja(t, credentials)
      // The faults are those of refunds: the access tokens are there by then.
      const { request } = await payAndRefund(rig)
      await rig.gateway.refund?.(request)
      const firstSeed = Math.floor(Math.random() * 1e9)
      for (let seed = firstSeed; seed < firstSeed + SCHEDULES; seed += 1)
        await withFailureContext(`with the seed ${seed}`, () => runSchedule(rig, createPrng(seed)))
    })
})

/** As the service does: a refund that may have been sent is not sent again, and its first final report is kept. */
async function runSchedule(rig: DarajaRig, prng: Prng): Promise<void> {
  const { provider, gateway } = rig
  provider.setRefundBehavior(prng.pick(['succeeds', 'succeeds', 'fails', 'waits']))
  const { request } = await payAndRefund(rig)
  if (prng.nextBool(0.7)) provider.server.injectFault(prng.pick(FAULTS), { times: 1 })
  const submitted = await gateway.refund?.(request)
  provider.server.clearFaults()
  assert.notEqual(submitted?.kind, 'succeeded', 'only a callback ends it')
  const reference = submitted?.kind === 'pending' ? submitted.gatewayReference : null
  const made = provider.refundsOf(request.key)
  assert.ok(made.length <= 1, 'it is executed once')
  // What the service has ended it does not ask about, and what was not sent it sends again: neither may have been executed.
  const isNotBegun = submitted?.kind === 'failed' || summary(submitted) === 'not_sent'
  if (isNotBegun) return assert.equal(made.length, 0)
  let stored: { report: string; isFinal: boolean } | undefined
  for (let rounds = 1 + prng.nextInt(4); rounds > 0; rounds -= 1) {
    const isAnswer = prng.nextBool(0.6)
    const webhook = isAnswer ? provider.refundWebhook(request.key) : provider.statusWebhook(request.key)
    const read = webhook && rig.receive(webhook).kind !== 'ignored' ? reportIn(rig, webhook) : undefined
    if (read && !stored?.isFinal && (stored === undefined || read.isFinal)) stored = read
    const query = stored ? { ...request, report: stored.report } : request
    const outcome = await gateway.verifyRefund?.(query, reference)
    const behavior = made[0]?.behavior
    if (outcome?.kind === 'succeeded') assert.equal(behavior, 'succeeds')
    else if (outcome?.kind === 'failed') assert.equal(behavior, 'fails')
    else assert.equal(stored?.isFinal ?? false, false, inspect(outcome))
  }
}
