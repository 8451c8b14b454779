import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { inspect } from 'node:util'
import type { Currency } from '../../../src/core/currency.ts'
import { money } from '../../../src/core/money.ts'
import { findNetwork } from '../../../src/core/networks.ts'
import { FLUTTERWAVE } from '../../../src/gateways/flutterwave/index.ts'
import type { Attempt, CheckoutChoice } from '../../../src/gateways/gateway.ts'
import { servingRails, waysOf } from '../../../src/gateways/rails.ts'
import type { FakeReply } from '../fake-server.ts'
import { type Json, readFixture } from './fixture.ts'
import {
  EMAIL,
  errorReply,
  FIXTURE_KEY,
  makeAttempt,
  NOW,
  RETURN_URL,
  startFixedServer,
  startFlutterwave,
} from './rig.ts'

const MPESA: CheckoutChoice = { channel: 'mobile_money', phone: '+254712345678', network: 'mpesa_ke' }
const KENYA = { amount: money(125_050n, 'KES'), country: 'KE' } as const
const TRANSFER: CheckoutChoice = { channel: 'bank_transfer' }

const PHONES: Readonly<Record<string, string>> = {
  BF: '+22607345678',
  CI: '+2250701234567',
  CM: '+237653456789',
  GH: '+233551234987',
  KE: '+254712345678',
  RW: '+250783456789',
  SN: '+221771234567',
  TZ: '+255754345678',
  UG: '+256773456789',
  ZM: '+260763456789',
}

/** A payment and a choice on our page, for every network of the rails. */
const WALLETS = FLUTTERWAVE.rails.flatMap(({ currency, networks = [] }) =>
  networks.map((network) => {
    const country = findNetwork(network)?.country ?? ''
    const choice: CheckoutChoice = { channel: 'mobile_money', phone: PHONES[country] ?? '', network }
    return { terms: { amount: money(10_000n, currency), country }, choice, network }
  }),
)

const newAttempt = (changes: Partial<Attempt> = {}) => makeAttempt({ key: randomUUID(), ...changes })

describe('mobile money at Flutterwave', () => {
  it('is charged with exactly the fields that Flutterwave documents', async (t) => {
    const { server, gateway } = await startFlutterwave(t)
    const attempt = newAttempt({ amount: money(1_250n, 'RWF'), country: 'RW' })
    const choice: CheckoutChoice = { channel: 'mobile_money', phone: '+250783456789', network: 'mtn_rw' }
    await gateway.startCheckout(attempt, choice, RETURN_URL)
    const [request] = server.requests
    assert.equal(`${request?.path}?${request?.query}`, '/v3/charges?type=mobile_money_rwanda')
    assert.deepEqual(JSON.parse(request?.text ?? ''), {
      tx_ref: attempt.key,
      amount: 1250,
      currency: 'RWF',
      email: EMAIL,
      fullname: 'Amina Otieno',
      meta: { payment: attempt.paymentId, reference: attempt.reference },
      phone_number: '250783456789',
      network: 'MTN',
      country: 'RW',
      order_id: attempt.key,
      redirect_url: RETURN_URL,
    })
  })

  it('is accepted for every network of the rails, as a prompt or on the page that the response names', async (t) => {
    const { server, gateway } = await startFlutterwave(t)
    const steps = new Map<string, string>()
    for (const { terms, choice, network } of WALLETS) {
      const started = await gateway.startCheckout(newAttempt(terms), choice, RETURN_URL)
      assert.ok(started.kind === 'started', `${network}: ${inspect(started)}`)
      steps.set(network, started.next.kind)
    }
    assert.ok(server.requests.every(({ path }) => path === '/v3/charges'))
    const prompted = [...steps].filter(([, kind]) => kind === 'prompt').map(([network]) => network)
    assert.deepEqual(
      prompted.join(' '),
      'mpesa_ke mpesa_tz mixx_tz airtel_tz halopesa_tz mtn_cm orange_cm orange_ci mtn_ci orange_sn orange_bf',
    )
    assert.equal(steps.get('wave_sn'), 'redirect')
    assert.equal(steps.get('mtn_gh'), 'redirect')
  })

  it('shows the number and the network of the prompt', async (t) => {
    const { gateway } = await startFlutterwave(t)
    const started = await gateway.startCheckout(newAttempt(KENYA), MPESA, RETURN_URL)
    assert.ok(started.kind === 'started', inspect(started))
    const expiresAt = new Date(NOW.getTime() + 300_000).toISOString()
    assert.deepEqual(started.next, { kind: 'prompt', phone: '+254712345678', network: 'M-Pesa', expiresAt })
  })

  it("is on Flutterwave's page without a number, and for a network that it does not charge", async (t) => {
    const { server, gateway } = await startFlutterwave(t)
    for (const choice of [{ channel: 'mobile_money' } as const, { ...MPESA, network: 'tkash_ke' }]) {
      const started = await gateway.startCheckout(newAttempt(KENYA), choice, RETURN_URL)
      assert.ok(started.kind === 'started' && started.next.kind === 'redirect', inspect(started))
      assert.equal(server.requests.at(-1)?.path, '/v3/payments')
    }
  })

  it('is refused with a reason that the payer can act on if the number is wrong', async (t) => {
    const { gateway } = await startFlutterwave(t)
    const choice: CheckoutChoice = { ...MPESA, phone: '+233551234987' }
    const outcome = await gateway.startCheckout(newAttempt(KENYA), choice, RETURN_URL)
    assert.ok(outcome.kind === 'declined' && outcome.refused, inspect(outcome))
    assert.equal(outcome.code, 'wallet_not_found')
  })

  it('is unknown after an error that does not prove that nothing was begun', async (t) => {
    const outcome = await answer(t, errorReply('An error occurred, please contact support'), MPESA)
    assert.equal(outcome.kind, 'unknown', inspect(outcome))
  })

  it('may be declined at once', async (t) => {
    const data = { tx_ref: FIXTURE_KEY, status: 'failed', processor_response: 'Insufficient Funds' }
    const outcome = await answer(t, altered('charge-callback', data), MPESA)
    assert.ok(outcome.kind === 'declined' && !outcome.refused, inspect(outcome))
    assert.equal(outcome.code, 'insufficient_funds')
  })

  it('is unknown for another payment, and without a step', async (t) => {
    const redirect = (url: string) => ({ authorization: { mode: 'redirect', redirect: url } })
    const replies = [
      altered('charge-callback', { tx_ref: 'another' }),
      { http: 200, body: { ...readFixture('charge-redirect'), meta: redirect('javascript:alert(1)') } },
      { http: 200, body: { status: 'success', message: 'Charge initiated' } },
    ]
    for (const reply of replies) {
      const outcome = await answer(t, reply, MPESA)
      assert.ok(outcome.kind === 'unknown' && outcome.reason === 'unrecognized', inspect(outcome))
    }
  })

  it('shows the prompt again after a lost response, and is executed once', async (t) => {
    const { provider, server, gateway } = await startFlutterwave(t)
    const attempt = newAttempt(KENYA)
    const start = () => gateway.startCheckout(attempt, MPESA, RETURN_URL)
    server.injectFault('cut_off_after_acting', { times: 1 })
    assert.equal((await start()).kind, 'unknown')
    const again = await start()
    assert.ok(again.kind === 'started' && again.next.kind === 'prompt', inspect(again))
    await provider.finish(attempt.key, { kind: 'pays' })
    assert.equal((await start()).kind, 'succeeded')
    assert.equal(provider.executions(attempt.key), 1)
  })

  it('shows no prompt after a lost response if the payer had to go to another page', async (t) => {
    const { server, gateway } = await startFlutterwave(t)
    const attempt = newAttempt({ amount: money(10_000n, 'GHS'), country: 'GH' })
    const choice: CheckoutChoice = { channel: 'mobile_money', phone: '+233551234987', network: 'mtn_gh' }
    server.injectFault('cut_off_after_acting', { times: 1 })
    await gateway.startCheckout(attempt, choice, RETURN_URL)
    assert.equal((await gateway.startCheckout(attempt, choice, RETURN_URL)).kind, 'pending')
  })
})

describe('a bank transfer at Flutterwave', () => {
  it('goes to an account of its own until the checkout expires', async (t) => {
    const { server, gateway } = await startFlutterwave(t)
    const attempt = newAttempt()
    const started = await gateway.startCheckout(attempt, TRANSFER, RETURN_URL)
    assert.ok(started.kind === 'started' && started.next.kind === 'transfer', inspect(started))
    const { expiresAt, ...account } = started.next
    assert.deepEqual(account, {
      kind: 'transfer',
      bankName: 'Mock Bank',
      accountNumber: '0067100155',
      accountName: 'Duka La Vitabu FLW',
      narration: '',
    })
    assert.ok(Date.parse(expiresAt) > NOW.getTime())
    const [request] = server.requests
    assert.equal(String(request?.query), 'type=bank_transfer')
    const { tx_ref, amount, expires } = JSON.parse(request?.text ?? '')
    assert.deepEqual([tx_ref, amount, expires], [attempt.key, 1250.5, 3_570])
  })

  it('is refused if another amount must be transferred, because our page shows ours', async (t) => {
    const outcome = await answer(t, transferWith({ transfer_amount: '1267.51' }), TRANSFER)
    assert.ok(outcome.kind === 'declined' && outcome.refused, inspect(outcome))
  })

  it('reads the time as a number or a date, and takes ours if there is none', async (t) => {
    const cases = [
      [1_789_560_000_000, '2026-09-16T12:00:00.000Z'],
      ['2026-11-15T11:00:00.000Z', '2026-11-15T11:00:00.000Z'],
      [null, '2026-11-15T10:29:30.000Z'],
    ] as const
    for (const [account_expiration, expected] of cases) {
      const started = await answer(t, transferWith({ account_expiration }), TRANSFER)
      assert.ok(started.kind === 'started' && started.next.kind === 'transfer', inspect(started))
      assert.equal(started.next.expiresAt, expected)
    }
  })

  it('is unknown without an account', async (t) => {
    for (const missing of ['transfer_account', 'transfer_bank']) {
      const outcome = await answer(t, transferWith({ [missing]: null }), TRANSFER)
      assert.equal(outcome.kind, 'unknown', missing)
    }
  })
})

describe('the rails of Flutterwave on our page', () => {
  const waysFor = (currency: Currency, country: string, rails = FLUTTERWAVE.rails) =>
    waysOf(servingRails(rails, { currency, country, amountMinor: 100_000n }), country).map(
      ({ channel, collection, networks }) => [channel, collection, networks.map(({ code }) => code).join()],
    )

  it('prompt and show transfers where direct charges can', () => {
    assert.deepEqual(waysFor('XOF', 'SN'), [
      ['card', 'page', ''],
      ['mobile_money', 'prompt', 'wave_sn,orange_sn'],
    ])
    assert.deepEqual(waysFor('NGN', 'NG'), [
      ['card', 'page', ''],
      ['bank_transfer', 'transfer', ''],
    ])
    assert.deepEqual(waysFor('MWK', 'MW')[1], ['mobile_money', 'page', ''])
  })

  it("are all on Flutterwave's page if the account is set so", async (t) => {
    const { server, gateway } = await startFlutterwave(t, { collection: 'page' })
    assert.ok(waysFor('XOF', 'SN', gateway.rails).every(([, collection]) => collection === 'page'))
    for (const [terms, choice] of [[KENYA, MPESA] as const, [{}, TRANSFER] as const])
      await gateway.startCheckout(newAttempt(terms), choice, RETURN_URL)
    assert.deepEqual([...new Set(server.requests.map(({ path }) => path))], ['/v3/payments'])
  })
})

function altered(name: string, changes: Json): FakeReply {
  const { data, ...envelope } = readFixture(name)
  return { http: 200, body: { ...envelope, data: { ...Object(data), ...changes } } }
}

function transferWith(changes: Json): FakeReply {
  const fixture = readFixture('charge-transfer')
  const { authorization } = fixture.meta as { authorization: Json }
  const shown = { ...authorization, transfer_amount: '1250.50', ...changes }
  return { http: 200, body: { ...fixture, meta: { authorization: shown } } }
}

async function answer(t: TestContext, reply: FakeReply, choice: CheckoutChoice) {
  const { gateway } = await startFixedServer(t, reply)
  return gateway.startCheckout(makeAttempt(choice === MPESA ? KENYA : {}), choice, RETURN_URL)
}
