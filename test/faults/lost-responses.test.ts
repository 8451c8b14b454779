// F-07 and F-28 to F-31: responses are lost, or arrive at a process that lost its lease. Nothing fails without proof,
// nothing is credited twice, and every payment that was made is credited in the end.

import assert from 'node:assert/strict'
import { after, afterEach, describe, it } from 'node:test'
import { startAttempt } from '../../src/checkout/start-attempt.ts'
import type { Outcome } from '../../src/gateways/gateway.ts'
import { checkStatus } from '../../src/outcomes/status-check.ts'
import { pathOf } from '../support/payment-records.ts'
import {
  CARD,
  NO_ANSWER,
  NOT_FOUND,
  NOT_SENT,
  PENDING,
  paid,
  paymentsRig,
  STARTED,
} from '../support/payments-rig.ts'

const rig = await paymentsRig({ after })
const { clock, gateway } = rig

const HOUR_MS = 3_600_000
// Longer than any lease here.
const LEASE_MS = 60_000

afterEach(async () => {
  gateway.behavior = { ...gateway.behavior, keyRetentionHours: 24 }
  await rig.endTest()
})

async function statusOf(id: string) {
  const { status, statusReason } = await rig.payment(id)
  return {
    status,
    reason: statusReason,
    attempt: (await rig.attempt(id)).status,
    credits: await rig.credits(id),
  }
}

const PAID_ONCE = { status: 'successful', reason: null, attempt: 'succeeded', credits: 1 }
const UNKNOWN = { status: 'processing', reason: 'outcome_unknown', attempt: 'started', credits: 0 }
const UNDER_REVIEW = {
  status: 'processing',
  reason: 'requires_review',
  attempt: 'requires_review',
  credits: 0,
}

describe('a charge that the gateway reports as pending', () => {
  it('a pending charge is polled by the reference of the gateway’s response', async () => {
    gateway.answers('chargeSaved', { kind: 'pending', gatewayReference: 'pi_1' })
    const { id } = await rig.charge()
    assert.equal((await rig.attempt(id)).gatewayReference, 'pi_1')
    clock.advance(LEASE_MS)
    gateway.answers('verify', paid())
    assert.equal(await rig.resolve(), 1)
    assert.deepEqual(await statusOf(id), PAID_ONCE)
  })
})

describe('a process that stalled and lost its lease', () => {
  it('a stalled process does not fail the charge that the resolver submitted meanwhile (F-07)', async () => {
    const stalls = async (): Promise<Outcome> => {
      clock.advance(LEASE_MS)
      gateway.answers('verify', NOT_FOUND)
      // The resolver's own submission: executed, and its response lost.
      gateway.answers('chargeSaved', NO_ANSWER)
      assert.equal(await rig.resolve(), 1)
      return NOT_SENT
    }
    gateway.answers('chargeSaved', stalls)
    const { id } = await rig.charge()
    assert.deepEqual(await statusOf(id), UNKNOWN)

    clock.advance(LEASE_MS)
    gateway.answers('verify', paid())
    assert.equal(await rig.resolve(), 1)
    assert.deepEqual(await statusOf(id), PAID_ONCE)
    assert.deepEqual(await pathOf(rig.db, id), ['processing', 'successful'])
  })

  it('a stalled process does not reopen the checkout that the resolver started meanwhile (F-07)', async () => {
    const payment = await rig.checkout()
    const stalls = async (): Promise<Outcome> => {
      clock.advance(LEASE_MS)
      gateway.answers('verify', NOT_FOUND)
      gateway.answers('startCheckout', STARTED)
      assert.equal(await rig.resolve(), 1)
      return NOT_SENT
    }
    gateway.answers('startCheckout', stalls)
    await startAttempt(
      rig.app,
      { payment, attempts: [], attempt: undefined, isCancelled: false },
      { channel: 'card' },
    )
    assert.deepEqual(await statusOf(payment.id), {
      status: 'processing',
      reason: 'awaiting_customer',
      attempt: 'awaiting_customer',
      credits: 0,
    })
  })

  it('a stalled process fails the charge when its lease was not taken over: a request that was not sent did nothing (F-27)', async () => {
    gateway.answers('chargeSaved', NOT_SENT)
    const { id } = await rig.charge()
    assert.deepEqual(await statusOf(id), { status: 'failed', reason: null, attempt: 'declined', credits: 0 })
  })
})

describe('a charge that its gateway does not know', () => {
  const unanswered = async () => {
    gateway.answers('chargeSaved', NO_ANSWER)
    return (await rig.charge()).id
  }

  it('an unknown charge is submitted again under its key while the gateway surely keeps the key (F-29)', async () => {
    const id = await unanswered()
    const { gatewayKey } = await rig.attempt(id)
    clock.advance(24 * 0.9 * HOUR_MS - 1_000)
    gateway.answers('verify', NOT_FOUND)
    gateway.answers('chargeSaved', paid())
    await rig.resolve()
    assert.deepEqual(await statusOf(id), PAID_ONCE)
    assert.deepEqual(gateway.calls.filter((call) => call === `chargeSaved ${gatewayKey}`).length, 2)
  })

  it('an unknown charge needs manual review once the key may have expired at the gateway, and a later proof of success is applied (F-30)', async () => {
    const id = await unanswered()
    clock.advance(24 * 0.9 * HOUR_MS + 1_000)
    gateway.answers('verify', NOT_FOUND)
    await rig.resolve()
    assert.deepEqual(await statusOf(id), UNDER_REVIEW)
    assert.equal(await rig.resolve(), 0, 'no poll is scheduled any more')

    await rig.deliverWebhook(await rig.attempt(id))
    gateway.answers('verify', paid())
    assert.equal(await rig.resolve(), 1)
    assert.deepEqual(await statusOf(id), PAID_ONCE)
  })

  it('an unknown charge needs manual review at once where the gateway keeps no keys (F-30)', async () => {
    gateway.behavior = { ...gateway.behavior, keyRetentionHours: 0 }
    const id = await unanswered()
    clock.advance(LEASE_MS)
    gateway.answers('verify', NOT_FOUND)
    await rig.resolve()
    assert.deepEqual(await statusOf(id), UNDER_REVIEW)
    assert.deepEqual(await pathOf(rig.db, id), ['processing'])
  })
})

describe('two processes', () => {
  it('two processes together check the status at a gateway once in three seconds (F-31)', async () => {
    gateway.answers('chargeSaved', NO_ANSWER)
    const { id } = await rig.charge()
    const { gatewayKey } = await rig.attempt(id)
    const apps = [rig.app, rig.anotherApp(), rig.anotherApp()]
    const verify = async (app: typeof rig.app) => checkStatus(app, await rig.payment(id), 'verify')
    const verifyEverywhere = () => Promise.all(apps.flatMap((app) => [verify(app), verify(app)]))
    const statusChecks = () => gateway.calls.filter((call) => call === `verify ${gatewayKey}`).length

    gateway.answers('verify', PENDING)
    await verifyEverywhere()
    assert.equal(statusChecks(), 1)
    clock.advance(2_900)
    await verifyEverywhere()
    assert.equal(statusChecks(), 1, 'the window is not over')
    clock.advance(200)
    gateway.answers('verify', paid())
    await verifyEverywhere()
    assert.equal(statusChecks(), 2)
    assert.deepEqual(await statusOf(id), PAID_ONCE)
  })
})

describe('text from a provider', () => {
  const UNSTORABLE_TEXT = 'nul \0, half \ud83d, bell \u0007'
  const KEPT = 'nul  , half \ufffd, bell  '

  it('unstorable characters of a provider’s text are replaced, and the decline is applied', async () => {
    gateway.answers('chargeSaved', {
      kind: 'declined',
      code: 'do_not_honor',
      message: UNSTORABLE_TEXT,
      gatewayReference: UNSTORABLE_TEXT,
    })
    const { id } = await rig.charge()
    const { status, failureMessage } = await rig.payment(id)
    assert.deepEqual({ status, failureMessage }, { status: 'failed', failureMessage: KEPT })
    assert.equal((await rig.attempt(id)).gatewayReference, KEPT)
  })

  it('unstorable text does not prevent a credit', async () => {
    gateway.answers('chargeSaved', paid({ gatewayReference: UNSTORABLE_TEXT }))
    const { id } = await rig.charge()
    assert.deepEqual(await statusOf(id), PAID_ONCE)
    assert.equal((await rig.attempt(id)).gatewayReference, KEPT)
  })

  it('unstorable text about the method to save does not prevent a credit', async () => {
    const card = {
      brand: UNSTORABLE_TEXT,
      last4: '42\0',
      expiryMonth: 1,
      expiryYear: 2098,
      country: UNSTORABLE_TEXT,
    }
    gateway.answers('chargeSaved', paid({ savedMethod: { ...CARD, fingerprint: UNSTORABLE_TEXT, card } }))
    const { id } = await rig.charge()
    assert.deepEqual(await statusOf(id), PAID_ONCE)
  })

  it('unstorable text does not prevent the start of a checkout', async () => {
    const payment = await rig.checkout()
    gateway.answers('startCheckout', {
      kind: 'started',
      gatewayReference: UNSTORABLE_TEXT,
      next: {
        kind: 'transfer',
        bankName: UNSTORABLE_TEXT,
        accountNumber: '0123456789',
        accountName: UNSTORABLE_TEXT,
        narration: UNSTORABLE_TEXT,
        expiresAt: '2030-01-01T00:00:00.000Z',
      },
    })
    const view = await startAttempt(
      rig.app,
      { payment, attempts: [], attempt: undefined, isCancelled: false },
      { channel: 'card' },
    )
    assert.equal(view.attempt?.status, 'awaiting_customer')
    assert.equal(view.attempt.gatewayReference, KEPT)
    assert.equal(view.attempt.nextStep?.kind === 'transfer' && view.attempt.nextStep.bankName, KEPT)
  })
})
