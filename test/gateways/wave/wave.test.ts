import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import type { Currency } from '../../../src/core/currency.ts'
import { money } from '../../../src/core/money.ts'
import type { RefundRequest } from '../../../src/gateways/gateway.ts'
import { WAVE } from '../../../src/gateways/wave/index.ts'
import { hmacSha256 } from '../../../src/kit/crypto.ts'
import { requestOf } from '../webhook-request.ts'
import { FAKE_API_KEY, FAKE_WEBHOOK_SECRET, signWebhook } from './fake.ts'
import { ATTEMPT, MOBILE_MONEY, openOn, RETURN_URL, readFixture, replay, startWave } from './rig.ts'

const REFUND: RefundRequest = {
  key: '1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed',
  attemptKey: ATTEMPT.key,
  attemptReference: 'cos-18qq25rgr100a',
  amount: ATTEMPT.amount,
  isFull: true,
}

describe('the requests to Wave', () => {
  it('search for an earlier session, and then make one', async (t) => {
    const { provider, start } = await startWave(t)
    await start(ATTEMPT)
    const [search, made] = provider.server.requests
    assert.equal(
      `${search?.method} ${search?.path}?${search?.query}`,
      `GET /v1/checkout/sessions/search?client_reference=${ATTEMPT.key}`,
    )
    assert.equal(`${made?.method} ${made?.path}`, 'POST /v1/checkout/sessions')
    assert.equal(made?.headers.authorization, `Bearer ${FAKE_API_KEY}`)
    assert.equal(made?.headers['content-type'], 'application/json')
    assert.equal(made?.headers['wave-signature'], undefined)
    assert.deepEqual(JSON.parse(made?.text ?? ''), {
      amount: '5000',
      currency: 'XOF',
      client_reference: ATTEMPT.key,
      success_url: RETURN_URL,
      error_url: RETURN_URL,
    })
  })

  it('are signed if the account has a signing secret: time and body, with nothing between them', async (t) => {
    const signingSecret = 'wave_sn_AKS_0123456789abcdef'
    const { provider, start } = await startWave(t, {
      credentials: { apiKey: FAKE_API_KEY, webhookSecret: FAKE_WEBHOOK_SECRET, signingSecret },
    })
    await start(ATTEMPT)
    for (const { headers, text } of provider.server.requests) {
      const [, seconds = '', signature] =
        /^t=(\d{10}),v1=([0-9a-f]{64})$/.exec(headers['wave-signature'] ?? '') ?? []
      assert.equal(signature, hmacSha256(signingSecret, `${seconds}${text}`).toString('hex'))
    }
  })

  it('refund and expire a session without a body', async (t) => {
    const { provider, gateway, start, makeAttempt } = await startWave(t)
    const attempt = makeAttempt()
    const started = await start(attempt)
    assert.ok(started.kind === 'started')
    const { gatewayReference: id } = started
    await gateway.cancel?.(attempt, id)
    await gateway.refund?.({ ...REFUND, attemptReference: id })
    const posted = provider.server.requests.filter(({ method }) => method === 'POST').slice(1)
    assert.deepEqual(
      posted.map(({ path, text }) => [path, text]),
      [
        [`/v1/checkout/sessions/${id}/expire`, ''],
        [`/v1/checkout/sessions/${id}/refund`, ''],
      ],
    )
  })

  const amounts: [bigint, Currency, string][] = [
    [1n, 'XOF', '1'],
    [1_234n, 'XOF', '1234'],
    [99_999_999n, 'XOF', '99999999'],
    [1n, 'GMD', '0.01'],
    [123_450n, 'GMD', '1234.50'],
    [500_000n, 'GMD', '5000.00'],
  ]
  for (const [minor, currency, text] of amounts)
    it(`write ${minor} minor units of ${currency} as ${text}, and read them back`, async (t) => {
      const { provider, gateway, start, makeAttempt } = await startWave(t)
      const attempt = makeAttempt({ amount: money(minor, currency) })
      assert.equal((await start(attempt)).kind, 'started')
      assert.equal(provider.sessionsOf(attempt.key)[0]?.amount, text)
      await provider.finish(attempt.key, { kind: 'pays' })
      const outcome = await gateway.verify(attempt, null)
      assert.ok(outcome.kind === 'succeeded', inspect(outcome))
      assert.deepEqual(outcome.paid, attempt.amount)
    })
})

describe('the responses of Wave', () => {
  const verify = async (t: Parameters<typeof replay>[0], session: object) =>
    (await replay(t, { http: 200, body: { result: [session] } })).verify(ATTEMPT, null)

  it('open a page, as documented', async (t) => {
    const gateway = await replay(t, { http: 200, body: readFixture('search') })
    assert.deepEqual(await gateway.startCheckout(ATTEMPT, MOBILE_MONEY, RETURN_URL), {
      kind: 'started',
      gatewayReference: 'cos-18qq25rgr100a',
      next: {
        kind: 'redirect',
        url: 'https://pay.wave.com/c/cos-18qq25rgr100a?a=5000&c=XOF&m=Ma%20Boutique',
      },
    })
  })

  it('report a payment with the number that the payer sees, as documented', async (t) => {
    assert.deepEqual(await verify(t, readFixture('session-complete')), {
      kind: 'succeeded',
      gatewayReference: 'cos-18qq25rgr100a',
      receiptNumber: 'TCN4Y4ZC3FM',
      paid: money(5_000n, 'XOF'),
      key: ATTEMPT.key,
      savedMethod: null,
      paidAt: new Date('2026-09-04T10:02:05Z'),
    })
  })

  it('leave a session open after a failed try, because the payer can try again', async (t) => {
    assert.equal((await verify(t, readFixture('session-failed-try'))).kind, 'pending')
  })

  it('say why the last try failed when the session has expired', async (t) => {
    const session = { ...readFixture('session-failed-try'), checkout_status: 'expired' }
    const outcome = await verify(t, session)
    assert.ok(outcome.kind === 'declined', inspect(outcome))
    assert.equal(outcome.code, 'insufficient_funds')
  })

  it('are unknown where the two statuses contradict each other: never failed, never paid', async (t) => {
    for (const checkout_status of ['open', 'expired']) {
      const outcome = await verify(t, { ...readFixture('session-complete'), checkout_status })
      assert.ok(outcome.kind === 'unknown' && outcome.reason === 'unrecognized', inspect(outcome))
    }
  })

  it('refuse a checkout by the key, by the wallet and by validation, so that the next gateway is tried', async (t) => {
    for (const http of [400, 401, 403, 422, 429]) {
      const gateway = await replay(t, { http, body: readFixture('error-key') })
      const outcome = await gateway.startCheckout(ATTEMPT, MOBILE_MONEY, RETURN_URL)
      assert.ok(outcome.kind === 'declined' && outcome.refused, inspect(outcome))
      assert.match(outcome.message, /no-matching-api-key/)
    }
  })

  it('fail a refund by their code, in both forms of an error', async (t) => {
    const nested = readFixture('error-nested')
    for (const [http, body] of [
      [400, nested.error],
      [409, nested],
    ] as const) {
      const gateway = await replay(t, { http, body })
      assert.equal((await gateway.refund?.(REFUND))?.kind, 'failed')
    }
  })

  it('accept a refund with an empty object too, and nothing else', async (t) => {
    const kinds: unknown[] = []
    for (const body of ['', '{}', '<html></html>', '{"code":"x"}'])
      kinds.push((await (await replay(t, { http: 200, body })).refund?.(REFUND))?.kind)
    assert.deepEqual(kinds, ['succeeded', 'succeeded', 'unknown', 'unknown'])
  })
})

describe('several sessions of one attempt at Wave', () => {
  it('are asked about by the key: whichever the payer has paid, the attempt is paid', async (t) => {
    const { provider, gateway, start, makeAttempt } = await startWave(t)
    const attempt = makeAttempt()
    await Promise.all([start(attempt), start(attempt)])
    const sessions = provider.sessionsOf(attempt.key)
    await provider.finish(attempt.key, { kind: 'pays' })
    for (const { id } of sessions) {
      const outcome = await gateway.verify(attempt, id)
      assert.ok(outcome.kind === 'succeeded', inspect(outcome))
      assert.equal(outcome.gatewayReference, sessions[0]?.id)
    }
  })

  it('are found by their id if the search does not have them yet', async (t) => {
    const { provider, gateway, start, makeAttempt } = await startWave(t)
    const attempt = makeAttempt()
    const started = await start(attempt)
    assert.ok(started.kind === 'started')
    provider.hideFromSearch()
    await provider.finish(attempt.key, { kind: 'pays' })
    assert.equal((await gateway.verify(attempt, started.gatewayReference)).kind, 'succeeded')
  })

  it('are not made while it is unknown whether there is one: the request is not sent', async (t) => {
    const { provider, start, makeAttempt } = await startWave(t)
    provider.server.injectFault('http_500', { on: /^GET / })
    const outcome = await start(makeAttempt())
    assert.ok(outcome.kind === 'unknown' && outcome.reason === 'not_sent', inspect(outcome))
    assert.ok(provider.server.requests.every(({ method }) => method === 'GET'))
  })

  it('are cancelled although the response with their id was lost', async (t) => {
    const { provider, gateway, start, makeAttempt } = await startWave(t)
    const attempt = makeAttempt()
    provider.server.injectFault('cut_off_after_acting', { on: /^POST /, times: 1 })
    await start(attempt)
    const outcome = await gateway.cancel?.(attempt, null)
    assert.ok(outcome?.kind === 'declined', inspect(outcome))
    assert.equal(outcome.code, 'customer_cancelled')
    assert.equal(provider.sessionsOf(attempt.key)[0]?.checkout_status, 'expired')
  })
})

describe('webhooks of Wave', () => {
  const gatewayOf = (t: Parameters<typeof replay>[0]) => openOn(t, 'http://127.0.0.1:1')

  it('name the payment and the session, as documented', (t) => {
    const { headers, body } = signWebhook(readFixture('webhook-completed'))
    assert.deepEqual(gatewayOf(t).parseWebhook(requestOf(headers, body)), {
      kind: 'payment',
      key: ATTEMPT.key,
      eventId: 'AE_ijzo7oGgrlM8',
      referenceHint: 'cos-18qq25rgr100a',
    })
  })

  it('are accepted with one of two signatures, while the secret is being changed', (t) => {
    const event = readFixture('webhook-completed')
    const { headers, body } = signWebhook(event)
    const [time, own] = (headers['wave-signature'] ?? '').split(',')
    const other = `v1=${'0'.repeat(64)}`
    for (const signature of [`${time},${other},${own}`, `${time}, ${own}, ${other}`])
      assert.equal(
        gatewayOf(t).parseWebhook(requestOf({ 'wave-signature': signature }, body)).kind,
        'payment',
      )
    assert.equal(
      gatewayOf(t).parseWebhook(requestOf({ 'wave-signature': `${time},${other}` }, body)).kind,
      'forged',
    )
  })

  it('about payments that were not made here are ignored', (t) => {
    const foreign = { ...readFixture('webhook-completed'), data: { id: 'cos-1', client_reference: 'CMD-7' } }
    for (const event of [readFixture('webhook-payment-received'), foreign, { id: 'EV_1' }]) {
      const { headers, body } = signWebhook(event)
      assert.equal(gatewayOf(t).parseWebhook(requestOf(headers, body)).kind, 'ignored')
    }
  })

  it('are forged without a configured secret, whatever they are signed with', (t) => {
    const gateway = openOn(t, 'http://127.0.0.1:1', { credentials: { apiKey: FAKE_API_KEY } })
    const { headers, body } = signWebhook(readFixture('webhook-completed'), '')
    assert.equal(gateway.parseWebhook(requestOf(headers, body)).kind, 'forged')
  })
})

describe('the account at Wave', () => {
  it('collects in the country of its key only', (t) => {
    const placesOf = (country: string) =>
      openOn(t, 'http://127.0.0.1:1', {
        credentials: { apiKey: `wave_${country}_test_0123456789` },
      }).rails.map(({ currency, countries }) => `${currency} ${countries}`)
    assert.deepEqual(['sn', 'ci', 'gm'].map(placesOf), [['XOF SN'], ['XOF CI'], ['GMD GM']])
  })

  const issueOf = (name: string, text: string, mode: 'test' | 'live') =>
    WAVE.credentials.find((field) => field.name === name)?.validate(text, mode)

  it('has a live key in live mode only, because Wave has no test environment', () => {
    const live = 'wave_sn_prod_YhUNb9di4bA6'
    assert.equal(issueOf('apiKey', live, 'live'), undefined)
    assert.match(issueOf('apiKey', live, 'test') ?? '', /live key/)
    assert.equal(issueOf('apiKey', FAKE_API_KEY, 'test'), undefined)
    assert.match(issueOf('apiKey', FAKE_API_KEY, 'live') ?? '', /must be a live key/)
  })

  it('says what is wrong with a key, and does not repeat it', () => {
    for (const text of [
      'Bearer wave_sn_prod_YhUNb9di4bA6',
      'wave_ug_prod_YhUNb9di4bA6',
      'sk_live_1',
      'wave_sn_prod_a\nb',
    ]) {
      const issue = issueOf('apiKey', text, 'live')
      assert.ok(issue && !issue.includes(text), issue)
    }
    assert.match(issueOf('webhookSecret', 'two words', 'live') ?? '', /no spaces/)
    assert.equal(issueOf('webhookSecret', FAKE_WEBHOOK_SECRET, 'live'), undefined)
  })

  it('is checked by doctor: the secrets that are set, and what only a person can look up', async (t) => {
    const gateway = openOn(t, 'http://127.0.0.1:1', { credentials: { apiKey: FAKE_API_KEY } })
    const checks = await gateway.checkAccount?.()
    assert.deepEqual(
      checks?.map(({ name, result }) => [name, result]),
      [
        ['webhooks', 'by_hand'],
        ['request signing', 'ok'],
      ],
    )
    assert.ok(WAVE.manualChecks?.some(({ about }) => about === 'no test environment'))
  })
})
