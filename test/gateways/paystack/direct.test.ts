import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { inspect } from 'node:util'
import { money } from '../../../src/core/money.ts'
import type { Attempt, CheckoutChoice } from '../../../src/gateways/gateway.ts'
import { PAYSTACK } from '../../../src/gateways/paystack/index.ts'
import { servingRails, waysOf } from '../../../src/gateways/rails.ts'
import { addMs, systemClock } from '../../../src/kit/clock.ts'
import {
  altered,
  EMAIL,
  FIXTURE_KEY,
  makeAttempt,
  RETURN_URL,
  startFixedServer,
  startPaystack,
} from './rig.ts'

const GHANA = { amount: money(125_050n, 'GHS'), country: 'GH' } as const
const MTN: CheckoutChoice = { channel: 'mobile_money', phone: '+233551234987', network: 'mtn_gh' }
const TRANSFER: CheckoutChoice = { channel: 'bank_transfer' }

describe('mobile money at Paystack', () => {
  it('is charged with exactly the fields that Paystack documents', async (t) => {
    const { server, gateway } = await startPaystack(t)
    const attempt = makeAttempt(GHANA)
    await gateway.startCheckout(attempt, MTN, RETURN_URL)
    const [request] = server.requests
    assert.equal(`${request?.method} ${request?.path}`, 'POST /charge')
    const { metadata, ...body } = JSON.parse(request?.text ?? '')
    assert.deepEqual(body, {
      email: EMAIL,
      amount: 125_050,
      currency: 'GHS',
      reference: attempt.key,
      mobile_money: { phone: '0551234987', provider: 'mtn' },
    })
    assert.equal(metadata.custom_fields[0].value, attempt.reference)
  })

  it('is a prompt on the phone for each network that needs no code', async (t) => {
    const { gateway } = await startPaystack(t)
    const kenya = { amount: money(125_050n, 'KES'), country: 'KE' } as const
    const cases: [Partial<Attempt>, string, string, string][] = [
      [GHANA, '+233551234987', 'mtn_gh', 'MTN MoMo'],
      [GHANA, '+233261234987', 'at_gh', 'AT Money (AirtelTigo)'],
      [kenya, '+254712345678', 'mpesa_ke', 'M-Pesa'],
      [kenya, '+254733345678', 'airtel_ke', 'Airtel Money'],
      [{ amount: money(1_250n, 'XOF'), country: 'CI' }, '+2250701234567', 'orange_ci', 'Orange Money'],
    ]
    for (const [terms, phone, network, name] of cases) {
      const attempt = makeAttempt(terms)
      const started = await gateway.startCheckout(
        attempt,
        { channel: 'mobile_money', phone, network },
        RETURN_URL,
      )
      const expiresAt = addMs(attempt.startedAt, 180_000).toISOString()
      const next = { kind: 'prompt', phone, network: name, expiresAt }
      assert.deepEqual(started, { kind: 'started', gatewayReference: attempt.key, next })
    }
  })

  it('redirects to the page of Wave', async (t) => {
    const { gateway } = await startPaystack(t)
    const attempt = makeAttempt({ amount: money(1_250n, 'XOF'), country: 'CI' })
    const choice: CheckoutChoice = { channel: 'mobile_money', phone: '+2250701234567', network: 'wave_ci' }
    const started = await gateway.startCheckout(attempt, choice, RETURN_URL)
    assert.ok(started.kind === 'started', inspect(started))
    assert.deepEqual(started.next, { kind: 'redirect', url: `https://pay.wave.com/c/${attempt.key}` })
  })

  it("is on Paystack's page for Telecel Cash, which wants a voucher, and without a number", async (t) => {
    const { server, gateway } = await startPaystack(t)
    for (const choice of [{ ...MTN, network: 'telecel_gh' }, { channel: 'mobile_money' } as const]) {
      const started = await gateway.startCheckout(makeAttempt(GHANA), choice, RETURN_URL)
      assert.ok(started.kind === 'started' && started.next.kind === 'redirect', inspect(started))
      assert.equal(server.requests.at(-1)?.path, '/transaction/initialize')
    }
  })

  it('is refused if Paystack asks for a code after all, because only we could submit it', async (t) => {
    for (const status of ['send_otp', 'send_phone', 'send_birthday']) {
      const outcome = await answer(t, altered('charge-otp', { reference: FIXTURE_KEY, status }))
      assert.ok(outcome.kind === 'declined' && outcome.refused, inspect(outcome))
      assert.equal(outcome.code, 'provider_unavailable')
    }
  })

  it('is refused with a reason that the payer can act on if the number is wrong', async (t) => {
    const { gateway } = await startPaystack(t)
    const outcome = await gateway.startCheckout(
      makeAttempt(GHANA),
      { ...MTN, phone: '+233991234987' },
      RETURN_URL,
    )
    assert.ok(outcome.kind === 'declined' && outcome.refused, inspect(outcome))
    assert.equal(outcome.code, 'wallet_not_found')
  })

  it('may be paid or declined at once', async (t) => {
    const paid = await answer(t, altered('charge-success', { reference: FIXTURE_KEY }))
    assert.equal(paid.kind, 'succeeded', inspect(paid))
    const failed = { reference: FIXTURE_KEY, status: 'failed', gateway_response: 'Insufficient Funds' }
    const outcome = await answer(t, altered('charge-offline', failed))
    assert.ok(outcome.kind === 'declined' && !outcome.refused, inspect(outcome))
    assert.equal(outcome.code, 'insufficient_funds')
  })

  it('is unknown for another payment, an unknown status and an invalid URL', async (t) => {
    const bodies = [
      altered('charge-offline', { reference: 'another' }),
      altered('charge-offline', { reference: FIXTURE_KEY, status: 'new_word' }),
      altered('charge-offline', { reference: FIXTURE_KEY, status: 'open_url', url: 'javascript:alert(1)' }),
    ]
    for (const body of bodies) {
      const outcome = await answer(t, body)
      assert.ok(outcome.kind === 'unknown' && outcome.reason === 'unrecognized', inspect(outcome))
    }
  })

  it('shows the prompt again after a lost response, and is executed once', async (t) => {
    const { paystack, server, gateway } = await startPaystack(t)
    const attempt = makeAttempt(GHANA)
    const start = () => gateway.startCheckout(attempt, MTN, RETURN_URL)
    server.injectFault('cut_off_after_acting', { times: 1 })
    assert.equal((await start()).kind, 'unknown')
    assert.equal((await gateway.verify(attempt, null)).kind, 'pending')
    const again = await start()
    assert.ok(again.kind === 'started' && again.next.kind === 'prompt', inspect(again))
    await paystack.finish(attempt.key, { kind: 'pays' })
    assert.equal((await start()).kind, 'succeeded')
    assert.equal(paystack.executions(attempt.key), 1)
  })
})

describe('a bank transfer at Paystack', () => {
  it('goes to an account of its own, without a reference, until the checkout expires', async (t) => {
    const { server, gateway } = await startPaystack(t)
    const expiresAt = addMs(systemClock.now(), 3_600_000)
    const started = await gateway.startCheckout(makeAttempt({ expiresAt }), TRANSFER, RETURN_URL)
    assert.ok(started.kind === 'started', inspect(started))
    assert.deepEqual(started.next, {
      kind: 'transfer',
      bankName: 'Test Bank',
      accountNumber: '1260257501',
      accountName: 'TEST-MANAGED-ACCOUNT',
      narration: '',
      expiresAt: expiresAt.toISOString(),
    })
    const { bank_transfer } = JSON.parse(server.requests.at(-1)?.text ?? '')
    assert.deepEqual(bank_transfer, { account_expires_at: expiresAt.toISOString() })
  })

  it('has an account within the times that Paystack allows', async (t) => {
    const { gateway } = await startPaystack(t)
    const inMinutes = (minutes: number) => addMs(systemClock.now(), minutes * 60_000)
    for (const expiresAt of [inMinutes(1), inMinutes(5_000), null]) {
      const started = await gateway.startCheckout(makeAttempt({ expiresAt }), TRANSFER, RETURN_URL)
      assert.equal(started.kind, 'started', inspect(started))
    }
  })

  it('is unknown without an account', async (t) => {
    for (const missing of ['account_number', 'bank', 'account_expires_at']) {
      const body = altered('charge-transfer', { reference: FIXTURE_KEY, [missing]: null })
      const outcome = await answer(t, body, TRANSFER)
      assert.equal(outcome.kind, 'unknown', missing)
    }
  })
})

describe('the rails of Paystack on our page', () => {
  const waysFor = (currency: 'GHS' | 'KES' | 'NGN', country: string, rails = PAYSTACK.rails) =>
    waysOf(servingRails(rails, { currency, country, amountMinor: 100_000n }), country).map(
      ({ channel, collection, networks }) => [channel, collection, networks.map(({ code }) => code).join()],
    )

  it('prompt and show transfers where the Charge API can', () => {
    assert.deepEqual(waysFor('GHS', 'GH'), [
      ['card', 'page', ''],
      ['mobile_money', 'prompt', 'mtn_gh,telecel_gh,at_gh'],
    ])
    assert.deepEqual(waysFor('KES', 'KE'), [
      ['card', 'page', ''],
      ['mobile_money', 'prompt', 'mpesa_ke,airtel_ke'],
      ['bank_transfer', 'page', ''],
    ])
    assert.deepEqual(waysFor('NGN', 'NG'), [
      ['card', 'page', ''],
      ['bank_transfer', 'transfer', ''],
    ])
  })

  it("lead payers of Telecel Cash to Paystack's page, without a number", () => {
    const [, ghana] = waysOf(
      servingRails(PAYSTACK.rails, { currency: 'GHS', country: 'GH', amountMinor: 100_000n }),
      'GH',
    )
    assert.deepEqual(ghana?.pageNetworks, ['telecel_gh'])
  })

  it("are all on Paystack's page if the account is set so", async (t) => {
    const { server, gateway } = await startPaystack(t, { collection: 'page' })
    assert.ok(waysFor('GHS', 'GH', gateway.rails).every(([, collection]) => collection === 'page'))
    for (const [terms, choice] of [[GHANA, MTN] as const, [{}, TRANSFER] as const])
      await gateway.startCheckout(makeAttempt(terms), choice, RETURN_URL)
    assert.deepEqual([...new Set(server.requests.map(({ path }) => path))], ['/transaction/initialize'])
  })
})

async function answer(t: TestContext, body: unknown, choice = MTN) {
  const { gateway } = await startFixedServer(t, { http: 200, body })
  const terms = choice === MTN ? GHANA : {}
  return gateway.startCheckout(makeAttempt({ key: FIXTURE_KEY, ...terms }), choice, RETURN_URL)
}
