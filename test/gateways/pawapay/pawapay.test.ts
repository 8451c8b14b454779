import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { inspect } from 'node:util'
import { type Currency, decimalsOf } from '../../../src/core/currency.ts'
import { money } from '../../../src/core/money.ts'
import type { Outcome, StartedCheckout } from '../../../src/gateways/gateway.ts'
import { fromAmount } from '../../../src/gateways/pawapay/amounts.ts'
import { PAWAPAY } from '../../../src/gateways/pawapay/index.ts'
import { PAGE_RAILS } from '../../../src/gateways/pawapay/rails.ts'
import { API_TOKEN } from './fake.ts'
import {
  ATTEMPT,
  MOBILE_MONEY,
  openOn,
  RECORDED_KEY,
  RETURN_URL,
  type Rig,
  replay,
  replayReply,
  startPawapay,
} from './rig.ts'

const HEADERS = { accept: 'application/json', authorization: `Bearer ${API_TOKEN}` }

/** The last request, without the headers that the client always adds. */
function lastRequest({ provider }: Rig) {
  const request = provider.server.requests.at(-1)
  assert.ok(request)
  const { host, connection, 'content-length': length, ...headers } = request.headers
  return { line: `${request.method} ${request.path}?${request.query}`, headers, text: request.text }
}

describe('a request to pawaPay', () => {
  it('opens a page with exactly the fields that pawaPay knows', async (t) => {
    const rig = await startPawapay(t)
    await rig.start({ ...ATTEMPT, startedAt: rig.clock.now() })
    assert.deepEqual(lastRequest(rig), {
      line: 'POST /v2/paymentpage?',
      headers: { ...HEADERS, 'content-type': 'application/json' },
      text:
        `{"depositId":"${RECORDED_KEY}","returnUrl":"https://pay.example.com/pay/return",` +
        '"customerMessage":"Duka La Vitabu","amountDetails":{"amount":"1250.5","currency":"ZMW"},' +
        '"language":"EN","country":"ZMB","reason":"Two books",' +
        '"metadata":[{"paymentId":"0197a3c2-7d51-7cc3-98c4-dc0c0c07398f"},{"reference":"A-1042"}]}',
    })
  })

  it('checks a deposit by our key and without a body', async (t) => {
    const rig = await startPawapay(t)
    await rig.gateway.verify(ATTEMPT, null)
    const line = `GET /v2/deposits/${RECORDED_KEY}?`
    assert.deepEqual(lastRequest(rig), { line, headers: HEADERS, text: '' })
  })

  it('checks credentials by reading the configuration of the account', async (t) => {
    const rig = await startPawapay(t)
    assert.equal(await rig.gateway.probe?.(), 'works')
    const line = 'GET /v2/active-conf?operationType=DEPOSIT'
    assert.deepEqual(lastRequest(rig), { line, headers: HEADERS, text: '' })
  })

  const bodyOf = async (t: TestContext, changes: Partial<typeof ATTEMPT>) => {
    const rig = await startPawapay(t)
    const started = await rig.start(rig.makeAttempt(changes))
    assert.equal(started.kind, 'started', inspect(started))
    return JSON.parse(lastRequest(rig).text)
  }

  it("shows the merchant's name on the phone in the characters that operators accept", async (t) => {
    const names: [string, string | undefined][] = [
      ['Épicerie <Chez> Zoë & Fils, Abidjan', 'Epicerie Chez Zoe Fils'],
      ['A very long name of a shop', 'A very long name of a'],
      ['Ab', undefined],
      ['ጤና ይስጥልኝ', undefined],
    ]
    for (const [merchantName, message] of names)
      assert.equal((await bodyOf(t, { merchantName })).customerMessage, message)
  })

  it('has a reason of at most 50 characters, and the reference if there is no description', async (t) => {
    const long = await bodyOf(t, { description: `${'x'.repeat(49)}😀 and more` })
    assert.equal(long.reason, 'x'.repeat(49))
    assert.equal((await bodyOf(t, { description: ' \n ' })).reason, 'A-1042')
    assert.equal((await bodyOf(t, { description: 'one\ttwo\nthree' })).reason, 'one two three')
    const { metadata } = await bodyOf(t, { reference: 'r'.repeat(200) })
    assert.equal(metadata[1].reference.length, 50)
  })

  it('uses French where business is done in French', async (t) => {
    const { language, country } = await bodyOf(t, { amount: money(5_000n, 'XOF'), country: 'SN' })
    assert.deepEqual([language, country], ['FR', 'SEN'])
  })

  it('uses the country of the currency if the payment has none', async (t) => {
    assert.equal((await bodyOf(t, { country: null })).country, 'ZMB')
  })
})

describe('the rails of pawaPay', () => {
  // The default routes with pawaPay, and whether only whole amounts can always be paid.
  const WHOLE_ONLY: readonly Currency[] = ['CDF', 'KES', 'MZN', 'NGN', 'TZS']
  const ROUTED =
    'CDF-CD ETB-ET GHS-GH KES-KE LSL-LS MWK-MW MZN-MZ NGN-NG RWF-RW SLE-SL TZS-TZ UGX-UG USD-CD XAF-CM XAF-GA ' +
    'XAF-CG XOF-CI XOF-SN XOF-BJ XOF-BF ZMW-ZM'

  it('match the default routes, with mobile money only', () => {
    const rows = PAGE_RAILS.flatMap(({ currency, countries = [] }) =>
      countries.map((country) => `${currency}-${country}`),
    )
    assert.equal(rows.join(' '), ROUTED)
    assert.ok(PAGE_RAILS.every(({ channels }) => channels.join() === 'mobile_money'))
    const prompting = new Set(
      PAWAPAY.rails.flatMap(({ currency, countries = [] }) =>
        countries.map((country) => `${currency}-${country}`),
      ),
    )
    assert.equal([...prompting].join(' '), ROUTED)
  })

  it('take only whole amounts on a page if one operator of the currency takes no decimals', () => {
    for (const { currency, stepMinor } of PAGE_RAILS)
      assert.equal(stepMinor, WHOLE_ONLY.includes(currency) ? 100n : undefined, currency)
  })

  it('refuse unsupported amounts before anything is sent', async (t) => {
    const rig = await startPawapay(t)
    const attempts = [
      rig.makeAttempt({ amount: money(125_050n, 'KES'), country: 'KE' }),
      rig.makeAttempt({ amount: money(1_000n, 'USD'), country: 'US' }),
      rig.makeAttempt({ amount: money(1_000n, 'USD'), country: null }),
      rig.makeAttempt({ amount: money(1_000n, 'XOF'), country: 'ML' }),
      rig.makeAttempt({ amount: money(1_000n, 'XOF'), country: null }),
      rig.makeAttempt({ amount: money(1_000n, 'EUR'), country: 'constructor' }),
    ]
    for (const attempt of attempts) assertRejected(await rig.start(attempt))
    assert.equal(rig.provider.server.requests.length, 0)
  })

  const LARGEST = 99_999_999_999_999n
  const amountsOf = (currency: Currency): [minor: bigint, text: string][] => {
    const isWhole = decimalsOf(currency) === 0
    const factor = isWhole ? 1n : 100n
    const common: [bigint, string][] = [
      [factor, '1'],
      [1_234n * factor, '1234'],
      [1_000n * factor, '1000'],
    ]
    if (isWhole || WHOLE_ONLY.includes(currency))
      return [...common, [(LARGEST / 100n) * factor, '999999999999']]
    return [[1n, '0.01'], [10n, '0.1'], [110n, '1.1'], ...common, [LARGEST, '999999999999.99']]
  }

  for (const { currency, countries = [] } of PAWAPAY.rails) {
    it(`convert amounts of ${currency} in both directions without loss`, async (t) => {
      const rig = await startPawapay(t)
      for (const country of countries)
        for (const [minor, text] of amountsOf(currency)) {
          const attempt = rig.makeAttempt({ amount: money(minor, currency), country })
          assert.equal((await rig.start(attempt)).kind, 'started')
          const encoded = `"amountDetails":{"amount":"${text}","currency":"${currency}"}`
          assert.ok(lastRequest(rig).text.includes(encoded), lastRequest(rig).text)
          await rig.provider.finish(attempt.key, { kind: 'pays' })
          const outcome = await rig.gateway.verify(attempt, attempt.key)
          assert.ok(outcome.kind === 'succeeded', inspect(outcome))
          assert.deepEqual(outcome.paid, money(minor, currency))
        }
    })
  }
})

describe('an amount at pawaPay', () => {
  it('may have any number of trailing zeros', () => {
    assert.deepEqual(fromAmount('1000.0000', 'RWF'), money(1_000n, 'RWF'))
    assert.deepEqual(fromAmount('15.5', 'ZMW'), money(1_550n, 'ZMW'))
    assert.deepEqual(fromAmount('15.50', 'ZMW'), money(1_550n, 'ZMW'))
    assert.deepEqual(fromAmount('0.30', 'ZMW'), money(30n, 'ZMW'))
  })

  it('is never rounded and never guessed', () => {
    for (const text of [
      '',
      '1e3',
      '-1',
      '+1',
      '01',
      '.5',
      '1.',
      ' 1',
      '1 ',
      '1,000',
      '0x10',
      'NaN',
      '١',
      '1.0.0',
    ])
      assert.equal(fromAmount(text, 'ZMW'), undefined, text)
    assert.equal(fromAmount('0.001', 'ZMW'), undefined)
    assert.equal(fromAmount('100.50', 'UGX'), undefined)
  })

  it('an amount at pawaPay that exceeds our ledger is unknown, although it was paid', async (t) => {
    const rig = await startPawapay(t)
    const attempt = rig.makeAttempt({ amount: money(100n, 'UGX'), country: 'UG' })
    await rig.start(attempt)
    await rig.provider.finish(attempt.key, { kind: 'pays' })
    for (const changes of [{ amount: '100.5' }, { amount: '100', currency: 'ZWG' }]) {
      rig.provider.setDeposit(attempt.key, changes)
      assertUnknown(await rig.gateway.verify(attempt, attempt.key), 'unrecognized')
    }
  })
})

describe('the start of a page at pawaPay', () => {
  const start = async (t: TestContext, fixture: string, http?: number) => {
    const { gateway } = await replay(t, fixture, http)
    return gateway.startCheckout(ATTEMPT, MOBILE_MONEY, RETURN_URL)
  }

  it('redirects to the URL in either spelling', async (t) => {
    for (const fixture of ['page-opened', 'page-opened-other-spelling'])
      assert.deepEqual(await start(t, fixture), {
        kind: 'started',
        gatewayReference: RECORDED_KEY,
        next: { kind: 'redirect', url: 'https://sandbox.paywith.pawapay.io/?token=AgV4made-up' },
      })
  })

  it('the start of a page at pawaPay that is rejected with HTTP 200 began nothing', async (t) => {
    assertRejected(await start(t, 'page-rejected-operator-down'))
    assertRejected(await start(t, 'page-rejected-phone'), 'wallet_not_found')
    assertRejected(await start(t, 'page-rejected-amount'), 'limit_exceeded')
  })

  it('the start of a page at pawaPay that is rejected names the code and the parameter, and neither phone nor token', async (t) => {
    assertRejected(
      await start(t, 'page-missing-parameter', 400),
      'provider_unavailable',
      /MISSING_PARAMETER \(country\)/,
    )
    assertRejected(await start(t, 'page-rejected-phone'), 'wallet_not_found', /INVALID_PHONE_NUMBER$/)
    const rig = await startPawapay(t)
    const credentials = { apiToken: 'another-made-up-token' }
    const otherAccount = openOn(t, rig.provider.server.url, { credentials })
    const outcome = await otherAccount.startCheckout(rig.makeAttempt(), MOBILE_MONEY, RETURN_URL)
    assertRejected(outcome, 'provider_unavailable', /AUTHENTICATION_ERROR: the API token \(apiToken\)/)
    assert.ok(!inspect(outcome).includes(credentials.apiToken))
  })

  it('is refused for a wrong token with HTTP 401 and with 403', async (t) => {
    for (const http of [401, 403])
      assertRejected(await start(t, 'wrong-token', http), 'provider_unavailable', /apiToken/)
  })

  it('is unknown, and not the fault of the token, if a firewall answers with a page of its own', async (t) => {
    for (const http of [400, 401, 403]) {
      const { gateway } = await replayReply(t, { http, body: '<h1>Forbidden</h1>' })
      assertUnknown(await gateway.startCheckout(ATTEMPT, MOBILE_MONEY, RETURN_URL), 'unreadable')
      assert.equal(await gateway.probe?.(), 'unreachable')
    }
  })

  it('is never refused after UNKNOWN_ERROR', async (t) => {
    assertUnknown(await start(t, 'unknown-error', 500), 'no_answer')
    const body = { status: 'REJECTED', failureReason: { failureCode: 'UNKNOWN_ERROR' } }
    const { gateway } = await replayReply(t, { http: 200, body })
    assertUnknown(await gateway.startCheckout(ATTEMPT, MOBILE_MONEY, RETURN_URL), 'no_answer')
  })

  it('is unreadable if it is neither a page nor a rejection', async (t) => {
    for (const body of [{}, { status: 'ACCEPTED' }, { redirectUrl: 'javascript:alert(1)' }, []]) {
      const { gateway } = await replayReply(t, { http: 200, body })
      assertUnknown(await gateway.startCheckout(ATTEMPT, MOBILE_MONEY, RETURN_URL), 'unrecognized')
    }
  })

  it('is rejected by the fake for every rejection code of pawaPay', async (t) => {
    const rig = await startPawapay(t)
    for (const code of ['INVALID_AMOUNT', 'INVALID_CURRENCY', 'INVALID_PROVIDER', 'DEPOSITS_NOT_ALLOWED']) {
      rig.provider.rejectNext(code)
      const attempt = rig.makeAttempt()
      assertRejected(await rig.start(attempt), 'provider_unavailable', new RegExp(code))
      // A rejected request does not use up the id.
      assert.equal((await rig.start(attempt)).kind, 'started')
    }
  })
})

describe('a deposit at pawaPay', () => {
  it('a deposit at pawaPay that is completed is parsed exactly', async (t) => {
    const { gateway } = await replay(t, 'deposit-completed')
    assert.deepEqual(await gateway.verify(ATTEMPT, RECORDED_KEY), {
      kind: 'succeeded',
      gatewayReference: RECORDED_KEY,
      receiptNumber: '1024601234',
      paid: money(125_050n, 'ZMW'),
      key: RECORDED_KEY,
      savedMethod: null,
      paidAt: new Date('2026-11-15T09:30:12Z'),
    })
  })

  it('a deposit at pawaPay that waits for the payer at the operator is pending', async (t) => {
    const { gateway } = await replay(t, 'deposit-processing')
    assert.deepEqual(await gateway.verify(ATTEMPT, null), { kind: 'pending', gatewayReference: RECORDED_KEY })
  })

  it('a deposit at pawaPay that failed reports the code and not the phone number', async (t) => {
    const { gateway } = await replay(t, 'deposit-failed')
    assert.deepEqual(await gateway.verify(ATTEMPT, RECORDED_KEY), {
      kind: 'declined',
      code: 'insufficient_funds',
      message: 'pawaPay answered INSUFFICIENT_BALANCE',
      gatewayReference: RECORDED_KEY,
    })
  })

  it('is pending in every intermediate status, including that of older versions', async (t) => {
    const rig = await startPawapay(t)
    const attempt = await pay(rig)
    for (const status of ['ACCEPTED', 'PROCESSING', 'SUBMITTED', 'IN_RECONCILIATION']) {
      rig.provider.setDeposit(attempt.key, { status })
      assert.equal((await rig.gateway.verify(attempt, attempt.key)).kind, 'pending')
    }
  })

  it('is unknown in an unknown status, and after UNKNOWN_ERROR', async (t) => {
    const rig = await startPawapay(t)
    const attempt = await pay(rig)
    for (const status of ['completed', 'PENDING', 'REVERSED', '']) {
      rig.provider.setDeposit(attempt.key, { status })
      assertUnknown(await rig.gateway.verify(attempt, attempt.key), 'unrecognized')
    }
    const failureReason = { failureCode: 'UNKNOWN_ERROR', failureMessage: 'Outcome unknown.' }
    rig.provider.setDeposit(attempt.key, { status: 'FAILED', failureReason })
    assertUnknown(await rig.gateway.verify(attempt, attempt.key), 'unrecognized')
  })

  it('a deposit at pawaPay that failed without a reason, or with a malformed one, is declined nevertheless', async (t) => {
    const rig = await startPawapay(t)
    const attempt = await pay(rig)
    const reasons = [undefined, { failureCode: 'call 260763456789', failureMessage: '' }]
    for (const failureReason of reasons) {
      rig.provider.setDeposit(attempt.key, { status: 'FAILED', failureReason })
      const outcome = await rig.gateway.verify(attempt, attempt.key)
      assert.ok(outcome.kind === 'declined', inspect(outcome))
      assert.equal(outcome.code, 'unknown')
      assert.doesNotMatch(outcome.message, /\d/)
    }
  })

  it('is unknown, and not "not found", if a wrong base URL answers 404', async (t) => {
    const { gateway } = await replayReply(t, { http: 404, body: { message: 'no such page' } })
    assertUnknown(await gateway.verify(ATTEMPT, null), 'no_answer')
  })
})

describe('the credentials of pawaPay', () => {
  const validate = (name: string, text: string) =>
    PAWAPAY.credentials.find((field) => field.name === name)?.validate(text, 'test')

  it('are the token and the key of the environment variables', () => {
    assert.deepEqual(
      PAWAPAY.credentials.map(({ name, isRequired }) => [name, isRequired]),
      [
        ['apiToken', true],
        ['publicKey', false],
        ['signingKey', false],
        ['signingKeyId', false],
        ['collection', false],
      ],
    )
  })

  it('are distinguished from common mistakes of operators', () => {
    assert.equal(validate('apiToken', API_TOKEN), undefined)
    assert.match(validate('apiToken', `Bearer ${API_TOKEN}`) ?? '', /without the word Bearer/)
    assert.match(validate('apiToken', 'two words') ?? '', /no spaces/)
    assert.match(validate('apiToken', 'line\nend') ?? '', /no spaces/)
  })

  it('cannot open a gateway without a token', (t) => {
    assert.throws(() => openOn(t, 'http://127.0.0.1:1', { credentials: {} }), /apiToken/)
  })

  it('work with a configuration in either form', async (t) => {
    for (const fixture of ['active-configuration', 'active-configuration-as-list']) {
      const { gateway } = await replay(t, fixture)
      assert.equal(await gateway.probe?.(), 'works')
    }
    const { gateway } = await replay(t, 'not-found')
    assert.equal(await gateway.probe?.(), 'unreachable')
  })
})

async function pay(rig: Rig) {
  const attempt = rig.makeAttempt()
  await rig.start(attempt)
  await rig.provider.finish(attempt.key, { kind: 'pays' })
  return attempt
}

function assertRejected(
  outcome: StartedCheckout | Outcome,
  code = 'provider_unavailable',
  message = /./,
): void {
  assert.ok(outcome.kind === 'declined', inspect(outcome))
  assert.equal(outcome.code, code)
  assert.equal(outcome.refused, true)
  assert.match(outcome.message, message)
  assert.doesNotMatch(outcome.message, /\d{6}/)
}

function assertUnknown(outcome: StartedCheckout | Outcome, reason: string): void {
  assert.ok(outcome.kind === 'unknown', inspect(outcome))
  assert.equal(outcome.reason, reason, inspect(outcome))
}
