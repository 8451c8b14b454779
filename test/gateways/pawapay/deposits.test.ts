import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { money } from '../../../src/core/money.ts'
import type { CheckoutChoice } from '../../../src/gateways/gateway.ts'
import { PAWAPAY } from '../../../src/gateways/pawapay/index.ts'
import { servingRails, waysOf } from '../../../src/gateways/rails.ts'
import type { Fault } from '../fake-server.ts'
import { ATTEMPT, openOn, PROMPT, RECORDED_KEY, RETURN_URL, type Rig, startPawapay } from './rig.ts'

const SENEGAL = { amount: money(5_000n, 'XOF'), country: 'SN' } as const
const WAVE: CheckoutChoice = { channel: 'mobile_money', phone: '+221701234567', network: 'wave_sn' }

const linesOf = ({ provider }: Rig) => provider.server.requests.map(({ method, path }) => `${method} ${path}`)

function bodyOf({ provider }: Rig, path: string): string | undefined {
  return provider.server.requests.findLast((request) => request.method === 'POST' && request.path === path)
    ?.text
}

describe('a direct deposit at pawaPay', () => {
  it('has exactly the fields that pawaPay knows', async (t) => {
    const rig = await startPawapay(t)
    await rig.prompt({ ...ATTEMPT, startedAt: rig.clock.now() })
    assert.equal(
      bodyOf(rig, '/v2/deposits'),
      `{"depositId":"${RECORDED_KEY}","amount":"1250.5","currency":"ZMW",` +
        '"payer":{"type":"MMO","accountDetails":{"phoneNumber":"260763456789","provider":"MTN_MOMO_ZMB"}},' +
        '"customerMessage":"Duka La Vitabu",' +
        '"metadata":[{"paymentId":"0197a3c2-7d51-7cc3-98c4-dc0c0c07398f"},{"reference":"A-1042"}]}',
    )
  })

  it('prompts the phone, with the company name of the configuration', async (t) => {
    const rig = await startPawapay(t)
    const attempt = rig.makeAttempt()
    const started = await rig.prompt(attempt)
    assert.ok(started.kind === 'started', inspect(started))
    const expiresAt = new Date(attempt.startedAt.getTime() + 300_000).toISOString()
    const next = {
      kind: 'prompt',
      phone: '+260763456789',
      network: 'MTN MoMo',
      expiresAt,
      promptName: 'DUKA LTD',
    }
    assert.deepEqual(started, { kind: 'started', gatewayReference: attempt.key, next })
    const [configuration] = rig.provider.server.requests
    assert.equal(
      `${configuration?.path}?${configuration?.query}`,
      '/v2/active-conf?country=ZMB&operationType=DEPOSIT',
    )
  })

  it('asks pawaPay for the operator if the payer chose none', async (t) => {
    const rig = await startPawapay(t)
    const { network: _network, ...choice } = PROMPT
    const started = await rig.gateway.startCheckout(rig.makeAttempt(), choice, RETURN_URL)
    assert.equal(started.kind, 'started', inspect(started))
    assert.equal(bodyOf(rig, '/v2/predict-provider'), '{"phoneNumber":"260763456789"}')
    assert.match(bodyOf(rig, '/v2/deposits') ?? '', /"provider":"MTN_MOMO_ZMB"/)
  })

  it('is refused for a number without an operator, and for a number of another country', async (t) => {
    const rig = await startPawapay(t)
    for (const phone of ['+260999999999', '+254703456789']) {
      const choice: CheckoutChoice = { channel: 'mobile_money', phone }
      const outcome = await rig.gateway.startCheckout(rig.makeAttempt(), choice, RETURN_URL)
      assert.ok(outcome.kind === 'declined' && outcome.refused, inspect(outcome))
      assert.equal(outcome.code, 'wallet_not_found')
    }
    assert.equal(bodyOf(rig, '/v2/deposits'), undefined)
  })

  it('is not sent beyond the limits of the operator, or while it is closed', async (t) => {
    const rig = await startPawapay(t)
    const cases = [
      { network: 'airtel_zm', minor: 500_051n, code: 'limit_exceeded' },
      { network: 'airtel_zm', minor: 99n, code: 'limit_exceeded' },
      { network: 'zamtel_zm', minor: 100_000n, code: 'provider_unavailable' },
    ]
    for (const { network, minor, code } of cases) {
      const outcome = await rig.prompt(rig.makeAttempt({ amount: money(minor, 'ZMW') }), { network })
      assert.ok(outcome.kind === 'declined' && outcome.refused, inspect(outcome))
      assert.equal(outcome.code, code)
    }
    assert.equal(bodyOf(rig, '/v2/deposits'), undefined)
    const most = await rig.prompt(rig.makeAttempt({ amount: money(500_050n, 'ZMW') }), {
      network: 'airtel_zm',
    })
    assert.equal(most.kind, 'started')
  })

  it('reads the limits in the shape of an example of pawaPay too', async (t) => {
    const rig = await startPawapay(t)
    rig.provider.listOperations()
    const tooMuch = rig.makeAttempt({ amount: money(500_051n, 'ZMW') })
    const outcome = await rig.prompt(tooMuch, { network: 'airtel_zm' })
    assert.ok(outcome.kind === 'declined' && outcome.code === 'limit_exceeded', inspect(outcome))
    assert.equal((await rig.prompt(rig.makeAttempt())).kind, 'started')
  })

  it('does not need the configuration, but is not sent if pawaPay does not answer', async (t) => {
    const rig = await startPawapay(t)
    const withFault = async (fault: Fault) => {
      rig.provider.server.injectFault(fault, { times: 1 })
      const attempt = rig.makeAttempt()
      const outcome = await rig.prompt(attempt)
      rig.provider.server.clearFaults()
      return outcome
    }
    for (const fault of ['http_500', 'garbage', 'html_403'] as const)
      assert.equal((await withFault(fault)).kind, 'started', fault)
    const lost = await withFault('cut_off')
    assert.ok(lost.kind === 'unknown' && lost.reason === 'not_sent', inspect(lost))
  })

  it('is refused with a reason that the payer can act on', async (t) => {
    const rig = await startPawapay(t)
    rig.provider.rejectNext('INVALID_PHONE_NUMBER')
    const outcome = await rig.prompt(rig.makeAttempt())
    assert.ok(outcome.kind === 'declined' && outcome.refused, inspect(outcome))
    assert.equal(outcome.code, 'wallet_not_found')
    assert.doesNotMatch(outcome.message, /260763456789/)
  })

  it('shows the prompt again after a lost response, without a second one on the phone', async (t) => {
    const rig = await startPawapay(t)
    const attempt = rig.makeAttempt()
    rig.provider.server.injectFault('cut_off_after_acting', { on: /^POST / })
    const lost = await rig.prompt(attempt)
    assert.ok(lost.kind === 'unknown' && lost.reason === 'no_answer', inspect(lost))
    rig.provider.server.clearFaults()
    assert.equal((await rig.gateway.verify(attempt, null)).kind, 'pending')
    const again = await rig.prompt(attempt)
    assert.ok(again.kind === 'started' && again.next.kind === 'prompt', inspect(again))
    await rig.provider.finish(attempt.key, { kind: 'pays' })
    assert.equal((await rig.prompt(attempt)).kind, 'succeeded')
    assert.equal(rig.provider.executions(attempt.key), 1)
  })
})

describe("an operator's own way to authorise", () => {
  it('redirects to the page of Wave, as soon as it is known', async (t) => {
    const rig = await startPawapay(t)
    rig.provider.delayUrls(2)
    const attempt = rig.makeAttempt(SENEGAL)
    const started = await rig.prompt(attempt, WAVE)
    const next = { kind: 'redirect', url: `https://pay.wave.com/c/${attempt.key}` }
    assert.deepEqual(started, { kind: 'started', gatewayReference: attempt.key, next })
    const body = JSON.parse(bodyOf(rig, '/v2/deposits') ?? '')
    assert.deepEqual([body.successfulUrl, body.failedUrl], [RETURN_URL, RETURN_URL])
  })

  it('finds the page of Wave again after a lost response', async (t) => {
    const rig = await startPawapay(t)
    const attempt = rig.makeAttempt(SENEGAL)
    rig.provider.server.injectFault('cut_off_after_acting', { on: /^POST / })
    assert.equal((await rig.prompt(attempt, WAVE)).kind, 'unknown')
    rig.provider.server.clearFaults()
    const again = await rig.prompt(attempt, WAVE)
    assert.ok(again.kind === 'started' && again.next.kind === 'redirect', inspect(again))
  })

  it('is not a redirect to anything but a web page', async (t) => {
    const rig = await startPawapay(t)
    rig.provider.delayUrls(100)
    const attempt = rig.makeAttempt(SENEGAL)
    const outcome = await rig.prompt(attempt, WAVE)
    // A slow operator is no case, and no failure of pawaPay.
    assert.ok(outcome.kind === 'unknown' && outcome.reason === 'not_found', inspect(outcome))
    assert.equal((await rig.gateway.verify(attempt, null)).kind, 'pending')
    rig.provider.delayUrls(0)
    rig.provider.setDeposit(attempt.key, { authorizationUrl: 'javascript:alert(1)' })
    assert.equal((await rig.prompt(attempt, WAVE)).kind, 'unknown')
  })

  it("opens pawaPay's page with the number if a code is needed first", async (t) => {
    const rig = await startPawapay(t)
    const choice: CheckoutChoice = { channel: 'mobile_money', phone: '+22607345678', network: 'orange_bf' }
    const attempt = rig.makeAttempt({ amount: money(5_000n, 'XOF'), country: 'BF' })
    const started = await rig.gateway.startCheckout(attempt, choice, RETURN_URL)
    assert.ok(started.kind === 'started' && started.next.kind === 'redirect', inspect(started))
    assert.equal(JSON.parse(bodyOf(rig, '/v2/paymentpage') ?? '').phoneNumber, '22607345678')
    assert.ok(!linesOf(rig).includes('POST /v2/deposits'))
  })
})

describe('the rails of pawaPay', () => {
  const networksFor = (currency: 'KES' | 'MZN' | 'XOF', country: string, minor: bigint) => {
    const rails = servingRails(PAWAPAY.rails, { currency, country, amountMinor: minor })
    return waysOf(rails, country).map(({ collection, networks }) => [
      collection,
      networks.map(({ code }) => code),
    ])
  }

  it('prompt the networks whose operators take the amount', () => {
    assert.deepEqual(networksFor('KES', 'KE', 100_000n), [['prompt', ['mpesa_ke']]])
    assert.deepEqual(networksFor('KES', 'KE', 100_050n), [])
    assert.deepEqual(networksFor('MZN', 'MZ', 100_000n), [['prompt', ['mpesa_mz', 'emola_mz']]])
    assert.deepEqual(networksFor('MZN', 'MZ', 100_050n), [['prompt', ['mpesa_mz']]])
    assert.deepEqual(networksFor('XOF', 'SN', 5_000n), [['prompt', ['wave_sn', 'orange_sn', 'free_sn']]])
  })

  it('do not prompt if the account collects on the page of pawaPay', async (t) => {
    const rig = await startPawapay(t)
    const page = openOn(t, rig.provider.server.url, { credentials: { apiToken: 'x', collection: 'page' } })
    assert.ok(page.rails.every(({ prompts, networks }) => !prompts && !networks))
    assert.ok(rig.gateway.rails.every(({ prompts }) => prompts))
  })
})
