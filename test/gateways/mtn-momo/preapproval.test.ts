// An account with pre-approvals: checkouts that save the payer's number have two steps, and saved numbers are charged.

import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { inspect } from 'node:util'
import { money } from '../../../src/core/money.ts'
import type { Attempt, CheckoutChoice, StatusQuery } from '../../../src/gateways/gateway.ts'
import { MTN_MOMO } from '../../../src/gateways/mtn-momo/index.ts'
import { preapprovalIdOf } from '../../../src/gateways/mtn-momo/preapproval.ts'
import { addMs } from '../../../src/kit/clock.ts'
import { UUID_V4 } from '../../support/gateways.ts'
import { LARGER_FORM_ONLY } from '../../support/scale.ts'
import { testCharge } from '../conformance/charge.ts'
import { testCheckout } from '../conformance/checkout.ts'
import { testComplete } from '../conformance/complete.ts'
import { testSchedules } from '../conformance/schedules.ts'
import type { ChargeBehavior, Subject } from '../conformance.ts'
import { CREDENTIALS, startFakeMomo, TOKEN_PATH } from './fake.ts'
import { CONSENT, makeAttempt, startMomo } from './rig.ts'

const PHONE = '+233241234567'
const SAVING: CheckoutChoice = { channel: 'mobile_money', phone: PHONE, network: 'mtn_gh', consent: CONSENT }

const ACCOUNT = { ...CREDENTIALS, preapprovalSeconds: '31536000' }

const SUBJECT: Subject = {
  name: MTN_MOMO.name,
  credentials: ACCOUNT,
  otherCredentials: { ...ACCOUNT, apiKey: 'ffffffffffffffffffffffffffffffff' },
  amount: money(125_050n, 'GHS'),
  choice: SAVING,
  country: 'GH',
  mode: 'live',
  declines: [
    { how: 'REJECTED', code: 'customer_cancelled', on: 'checkout' },
    { how: 'CANCELLED', code: 'customer_cancelled', on: 'checkout' },
    { how: 'EXPIRED', code: 'customer_timeout', on: 'checkout' },
    { how: 'NOT_ENOUGH_FUNDS', code: 'insufficient_funds', on: 'charge' },
    { how: 'A_REASON_FROM_TOMORROW', code: 'unknown', on: 'charge' },
  ],
  unsignedCallbacks: true,
  emptyReplies: true,
  withoutTimes: true,
  prelude: { path: TOKEN_PATH },
  start: (t) => startFakeMomo(t),
  open: MTN_MOMO.open,
}

describe('MTN MoMo with pre-approvals', () => {
  // The conformance test of the account without pre-approvals, and denials.test.ts, have the same in short.
  describe('a checkout in two steps', LARGER_FORM_ONLY, () => {
    testCheckout(SUBJECT)
    testComplete(SUBJECT)
  })
  testCharge(SUBJECT)
  testSchedules(SUBJECT)
})

async function startAccount(t: TestContext) {
  const momo = await startMomo(t, { credentials: ACCOUNT })
  const start = (attempt: Attempt, choice: CheckoutChoice = SAVING) =>
    momo.gateway.startCheckout(attempt, choice, 'https://pay.example.com/return')
  const verify = (attempt: Attempt, changes: Partial<StatusQuery> = {}) =>
    momo.gateway.verify({ ...attempt, phone: PHONE, savesMethod: true, ...changes }, null)
  const paths = () =>
    momo.provider.server.requests.map(({ method, path }) => `${method} ${path.replace(KEYS, '')}`)
  return { ...momo, start, verify, paths }
}

const KEYS = /\/[0-9a-f-]{36}$/
const REQUEST = 'POST /collection/v1_0/requesttopay'
const LIST = 'GET /collection/v1_0/preapprovals/MSISDN/233241234567'
const PREAPPROVAL = 'POST /collection/v2_0/preapproval'

describe('a checkout at MTN MoMo whose payer agrees to be charged again', () => {
  it('asks for a pre-approval first, with exactly the documented fields', async (t) => {
    const { start, provider } = await startAccount(t)
    const attempt = makeAttempt()
    assert.equal((await start(attempt)).kind, 'started')
    const request = provider.server.requests.at(-1)
    assert.equal(`${request?.method} ${request?.path}`, PREAPPROVAL)
    assert.equal(request?.headers['x-reference-id'], preapprovalIdOf(attempt.key))
    assert.match(preapprovalIdOf(attempt.key), UUID_V4)
    assert.equal(
      request?.text,
      '{"payer":{"partyIdType":"MSISDN","partyId":"233241234567"},"payerCurrency":"GHS","payerMessage":"Two books","validityTime":31536000}',
    )
  })

  it('asks only for the payment without the consent, and if the account has no pre-approvals', async (t) => {
    const { consent, ...unasked } = SAVING
    for (const choice of [unasked, { ...unasked, consent: null }]) {
      const { start, paths } = await startAccount(t)
      await start(makeAttempt(), choice)
      assert.equal(paths().at(-1), REQUEST)
      assert.ok(!paths().includes(PREAPPROVAL))
    }
    const plain = await startMomo(t)
    assert.deepEqual([plain.gateway.chargeSaved, plain.gateway.complete], [undefined, undefined])
    await plain.gateway.startCheckout(makeAttempt(), SAVING, 'https://pay.example.com')
    assert.equal(
      plain.provider.server.requests.some(({ path }) => path.includes('preapproval')),
      false,
    )
  })

  it('asks for the payment if MTN gives no pre-approvals here, and saves nothing', async (t) => {
    for (const http of [400, 403, 404]) {
      const { start, provider, verify, paths } = await startAccount(t)
      provider.denyPreapprovals({ http, body: { code: 'NOT_ALLOWED' } })
      const attempt = makeAttempt()
      assert.equal((await start(attempt)).kind, 'started')
      assert.deepEqual(paths().slice(-3), [PREAPPROVAL, LIST, REQUEST])
      await provider.finish(attempt.key, { kind: 'pays' })
      const outcome = await verify(attempt)
      assert.ok(outcome.kind === 'succeeded' && outcome.savedMethod === null, inspect(outcome))
    }
  })

  it('asks for the payment after HTTP 500 with a code only if MTN does not have the pre-approval', async (t) => {
    const { start, provider, paths } = await startAccount(t)
    provider.denyPreapprovals({ http: 500, body: { code: 'NOT_ALLOWED' } })
    assert.equal((await start(makeAttempt())).kind, 'started')
    assert.equal(paths().at(-1), REQUEST)
    provider.denyPreapprovals({ http: 500, body: { code: 'INTERNAL_PROCESSING_ERROR' } })
    assert.equal((await start(makeAttempt())).kind, 'unknown')
    assert.equal(paths().at(-1), PREAPPROVAL)
  })

  it('saves the number with the approval, also until when it is valid', async (t) => {
    const { start, provider, verify, gateway } = await startAccount(t)
    const attempt = makeAttempt()
    await start(attempt)
    await provider.finish(attempt.key, { kind: 'pays' })
    provider.server.alter((value) => ({ ...Object(value), expirationDateTime: '2027-11-17T03:00:00Z' }))
    const outcome = await verify(attempt)
    assert.ok(outcome.kind === 'succeeded' && outcome.savedMethod, inspect(outcome))
    const { credential, fingerprint, ...method } = outcome.savedMethod
    assert.deepEqual(method, {
      type: 'mobile_money',
      card: null,
      mobileMoney: { network: 'MTN MoMo', phone: PHONE },
      currencies: ['GHS'],
      tokenExpiresAt: new Date('2027-11-17T03:00:00Z'),
    })
    provider.server.clearFaults()
    // Without the consent, and after it was saved, MTN is only asked about the payment.
    const asked = provider.server.requests.length
    const { savesMethod, ...query } = { ...attempt, phone: PHONE, savesMethod: true }
    await gateway.verify(query, null)
    assert.equal(provider.server.requests.length, asked + 1)
  })

  it('is paid at once if MTN does not return the pre-approval, and the number is saved later', async (t) => {
    const { start, provider, verify } = await startAccount(t)
    const attempt = makeAttempt()
    await start(attempt)
    await provider.finish(attempt.key, { kind: 'pays' })
    provider.server.injectFault('http_500', { on: /preapproval/ })
    const asked = await verify(attempt)
    assert.ok(
      asked.kind === 'succeeded' && asked.savedMethod === null && asked.isMethodPending,
      inspect(asked),
    )
    const late = await verify(attempt, { startedAt: addMs(attempt.startedAt, -25 * 3_600_000) })
    assert.ok(late.kind === 'succeeded' && !late.isMethodPending, inspect(late))
    provider.server.clearFaults()
    const again = await verify(attempt, { isPaid: true })
    assert.ok(again.kind === 'succeeded' && again.savedMethod && !again.isMethodPending, inspect(again))
  })

  it('is not ended by the pre-approval of another payer or another currency', async (t) => {
    const { start, provider, verify } = await startAccount(t)
    const attempt = makeAttempt()
    await start(attempt)
    await provider.confirm?.(attempt.key)
    for (const other of [
      { payer: { partyIdType: 'MSISDN', partyId: '233249999999' } },
      { payerCurrency: 'UGX' },
    ]) {
      provider.server.alter((value) => ('payer' in Object(value) ? { ...Object(value), ...other } : value))
      const outcome = await verify(attempt)
      assert.ok(outcome.kind === 'unknown' && outcome.reason === 'unrecognized', inspect(outcome))
    }
  })

  it('is completed again after a rate limit', async (t) => {
    const { start, provider, gateway } = await startAccount(t)
    const attempt = makeAttempt()
    await start(attempt)
    await provider.confirm?.(attempt.key)
    const complete = () => gateway.complete?.({ ...attempt, phone: PHONE }, attempt.key)
    provider.server.injectFault('http_429', { times: 1 })
    assert.deepEqual(await complete(), { kind: 'pending', gatewayReference: attempt.key, canComplete: true })
    assert.equal((await complete())?.kind, 'pending')
    assert.equal(provider.executions(attempt.key), 1)
  })
})

describe('a number with a pre-approval at MTN MoMo, entered in another checkout', () => {
  const { consent, ...PLAIN } = SAVING

  const startApproved = async (t: TestContext) => {
    const account = await startAccount(t)
    const saved = makeAttempt()
    await account.start(saved)
    await account.provider.finish(saved.key, { kind: 'pays' })
    return { ...account, attempt: makeAttempt() }
  }

  it('is not debited before its owner has approved again on the phone', async (t) => {
    const { attempt, start, verify, gateway, provider } = await startApproved(t)
    assert.equal((await start(attempt, PLAIN)).kind, 'started')
    assert.ok(!provider.isRequested(attempt.key))
    assert.deepEqual(await verify(attempt), { kind: 'pending', gatewayReference: attempt.key })
    await provider.confirm?.(attempt.key)
    assert.equal(provider.approved(), 2)
    await gateway.complete?.({ ...attempt, phone: PHONE }, attempt.key)
    assert.equal((await verify(attempt)).kind, 'succeeded')
    assert.equal(provider.executions(attempt.key), 1)
    assert.equal(provider.approved(), 1, 'the second one is not saved, so it does not stay in force')
  })

  it('is refused if MTN does not ask its owner again, also if the payer of the checkout agrees to be charged again', async (t) => {
    for (const choice of [PLAIN, SAVING]) {
      const { attempt, start, provider } = await startApproved(t)
      provider.denyPreapprovals({ http: 400, body: { code: 'NOT_ALLOWED' } })
      const outcome = await start(attempt, choice)
      assert.ok(outcome.kind === 'declined' && outcome.refused, inspect(outcome))
      assert.ok(!provider.knows(attempt.key))
    }
  })

  it('is not requested if MTN does not say whether it has one', async (t) => {
    const { attempt, start, provider } = await startApproved(t)
    provider.server.injectFault('http_500', { on: /preapprovals/, times: 1 })
    assert.equal((await start(attempt, PLAIN)).kind, 'unknown')
    provider.server.alter((value) => (Array.isArray(value) ? { list: value } : value))
    const outcome = await start(attempt, PLAIN)
    assert.ok(outcome.kind === 'declined' && outcome.refused, inspect(outcome))
    provider.server.alter((value) => (Array.isArray(value) ? [{ status: 'A_STATUS_FROM_TOMORROW' }] : value))
    assert.equal((await start(attempt, PLAIN)).kind, 'started')
    assert.ok(!provider.isRequested(attempt.key))
  })

  it('is asked for the payment alone if the pre-approval has ended', async (t) => {
    const { attempt, start, provider } = await startApproved(t)
    provider.server.alter((value) =>
      Array.isArray(value) ? [{ status: 'EXPIRED' }, { status: 'CANCELLED' }] : value,
    )
    assert.equal((await start(attempt, PLAIN)).kind, 'started')
    assert.ok(provider.isRequested(attempt.key))
  })
})

describe('a charge of a saved number at MTN MoMo', () => {
  const charge = async (t: TestContext, behavior: ChargeBehavior, change?: (value: object) => object) => {
    const account = await startAccount(t)
    const credential = await account.provider.savedCredential?.(behavior)
    const attempt = makeAttempt({ operation: 'charge' })
    if (change) account.provider.server.alter((value) => change(Object(value)))
    return { ...account, attempt, outcome: await account.gateway.chargeSaved?.(attempt, credential ?? '') }
  }

  it('sends no prompt without a valid pre-approval', async (t) => {
    const changes = ['PENDING', 'EXPIRED', 'REJECTED', 'A_STATUS_FROM_TOMORROW'].map((status) => ({ status }))
    for (const change of [...changes, { payerCurrency: 'UGX' }]) {
      const { outcome, paths } = await charge(t, 'approves', (value) =>
        'payer' in value ? { ...value, ...change } : value,
      )
      assert.ok(outcome?.kind === 'declined' && outcome.code === 'authentication_required', inspect(outcome))
      assert.ok(!paths().includes(REQUEST))
    }
    const { gateway } = await startAccount(t)
    for (const text of ['', '{}', '{"preapproval":"x","phone":"+233241234567","currency":"SZL"}']) {
      const outcome = await gateway.chargeSaved?.(makeAttempt({ operation: 'charge' }), text)
      assert.equal(outcome?.kind, 'declined')
    }
  })

  it('is not declined if it was executed before the payer ended the pre-approval', async (t) => {
    const { gateway, provider, attempt } = await charge(t, 'approves')
    const ended = await provider.savedCredential?.('wants_customer')
    assert.equal(provider.executions(attempt.key), 1)
    const again = await gateway.chargeSaved?.(attempt, ended ?? '')
    assert.equal(again?.kind, 'succeeded', inspect(again))
  })
})
