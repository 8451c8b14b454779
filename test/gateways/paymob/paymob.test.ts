// What only Paymob has: its requests, signed fields, integrations by account, tries on one page, tokens of cards.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { CREDENTIALS as FIELDS } from '../../../src/gateways/paymob/credentials.ts'
import { PAYMOB } from '../../../src/gateways/paymob/index.ts'
import { addMs, systemClock } from '../../../src/kit/clock.ts'
import { callbackUrlAt } from '../webhook-request.ts'
import { CARD_TOKEN, CREDENTIALS } from './fake.ts'
import { type FakeTransaction, makeTransaction, signTransaction } from './records.ts'
import { makeAttempt, payNew, RETURN_URL, startCard, startPaymob } from './rig.ts'

describe('a checkout at Paymob', () => {
  it('is an intention with the integration of the channel, and the page of its secret', async (t) => {
    const { provider, gateway } = await startPaymob(t)
    const attempt = makeAttempt()
    const started = await startCard(gateway, attempt)
    const { id, clientSecret, notificationUrl } = provider.orderOf(attempt.key)
    const [request] = provider.server.requests
    assert.equal(`${request?.method} ${request?.path}`, 'POST /v1/intention/')
    assert.equal(request?.headers.authorization, `Token ${CREDENTIALS.secretKey}`)
    assert.deepEqual(JSON.parse(request?.text ?? ''), {
      amount: 125_050,
      currency: 'EGP',
      payment_methods: [4_838_801],
      items: [{ name: 'Two books', amount: 125_050, description: 'Two books', quantity: 1 }],
      billing_data: {
        first_name: 'Amina',
        last_name: 'NA',
        email: 'amina.otieno@example.com',
        phone_number: '+201012345678',
      },
      customer: { first_name: 'Amina', last_name: 'NA', email: 'amina.otieno@example.com' },
      special_reference: attempt.key,
      notification_url: notificationUrl,
      redirection_url: RETURN_URL,
      expiration: 1_800,
    })
    const page = `${provider.server.url}/unifiedcheckout/?publicKey=${CREDENTIALS.publicKey}&clientSecret=${clientSecret}`
    assert.deepEqual(started.next, { kind: 'redirect', url: page })
    assert.equal(started.gatewayReference, `order-${id}`)
  })

  it('is not sent without the number of its payer', async (t) => {
    const { provider, gateway } = await startPaymob(t)
    const { phone: _phone, ...customer } = makeAttempt().customer
    const outcomes = [
      await gateway.startCheckout(makeAttempt({ customer }), { channel: 'card' }, RETURN_URL),
      await gateway.chargeSaved?.(makeAttempt({ customer, operation: 'charge' }), CARD_TOKEN),
    ]
    for (const outcome of outcomes) assert.ok(outcome?.kind === 'declined' && outcome.refused)
    assert.deepEqual(provider.server.requests, [])
  })

  it('offers wallets and kiosks for mobile money, and only channels with an integration', async (t) => {
    const { walletIntegration: _wallet, cardIntegration: _card, ...others } = CREDENTIALS
    const { gateway, provider } = await startPaymob(t)
    await gateway.startCheckout(makeAttempt(), { channel: 'mobile_money' }, RETURN_URL)
    const { payment_methods: offered } = JSON.parse(provider.server.requests[0]?.text ?? '')
    assert.deepEqual(offered, [4_838_802, 4_838_803])

    const { gateway: kioskOnly } = await startPaymob(t, others)
    assert.deepEqual(
      kioskOnly.rails.map(({ channels }) => channels),
      [['mobile_money']],
    )
    const refused = await kioskOnly.startCheckout(makeAttempt(), { channel: 'card' }, RETURN_URL)
    assert.ok(refused.kind === 'declined' && refused.refused)

    const { motoIntegration: _moto, ...withoutMoto } = others
    const { gateway: withoutCharges } = await startPaymob(t, withoutMoto)
    assert.equal(withoutCharges.chargeSaved, undefined)
  })

  it('is checked for the secret of its callbacks', async (t) => {
    const { hmacSecret: _secret, ...without } = CREDENTIALS
    for (const [credentials, result] of [
      [CREDENTIALS, 'callbacks ok'],
      [without, 'callbacks by_hand'],
    ] as const) {
      const checks = await (await startPaymob(t, credentials)).gateway.checkAccount?.()
      assert.deepEqual(
        checks?.map((check) => `${check.name} ${check.result}`),
        [result],
      )
    }
  })

  it('is paid by a second try on the same page after a failed one', async (t) => {
    const { gateway, provider } = await startPaymob(t)
    const attempt = makeAttempt()
    const { gatewayReference } = await startCard(gateway, attempt)
    await provider.finish(attempt.key, { kind: 'declines', how: '51' })
    const declined = await gateway.verify(attempt, gatewayReference)
    assert.ok(declined.kind === 'declined' && declined.code === 'insufficient_funds')
    assert.equal(gateway.behavior.paysAfterDecline, true)
    await provider.finish(attempt.key, { kind: 'pays' })
    assert.equal((await gateway.verify(attempt, gatewayReference)).kind, 'succeeded')
  })

  it('waits for its payer while Paymob knows no transaction, and for a cash code that is not paid', async (t) => {
    const { gateway, provider } = await startPaymob(t)
    const attempt = makeAttempt()
    const { gatewayReference } = await startCard(gateway, attempt)
    const pending = { kind: 'pending', gatewayReference }
    assert.deepEqual(await gateway.verify(attempt, gatewayReference), pending)
    await provider.finish(attempt.key, { kind: 'waits' })
    assert.deepEqual(await gateway.verify(attempt, gatewayReference), pending)
  })

  it('ends when its page has expired unpaid, but not while a cash code waits, and a later payment is found', async (t) => {
    const { gateway, provider } = await startPaymob(t)
    const attempt = makeAttempt()
    const { gatewayReference } = await startCard(gateway, attempt)
    const checkAt = (minutes: number) =>
      gateway.verify({ ...attempt, expiresAt: addMs(systemClock.now(), -minutes * 60_000) }, gatewayReference)
    assert.equal((await checkAt(50)).kind, 'pending')
    const left = await checkAt(61)
    assert.ok(left.kind === 'declined' && left.code === 'customer_timeout')
    await provider.finish(attempt.key, { kind: 'waits' })
    assert.equal((await checkAt(61)).kind, 'pending')
    await provider.finish(attempt.key, { kind: 'pays' })
    assert.equal((await checkAt(61)).kind, 'succeeded')
  })

  it('is asked about by its order, without one by our key, and when it is paid by its transaction', async (t) => {
    const { gateway, provider } = await startPaymob(t)
    const { attempt, paid, reference } = await payNew({ gateway, provider })
    const { id } = provider.orderOf(attempt.key)
    const requestFor = async (known: string | null) => {
      assert.deepEqual(await gateway.verify(attempt, known), paid)
      const { path, text } = provider.server.requests.at(-1) ?? {}
      return [path, text]
    }
    const inquiry = '/api/ecommerce/orders/transaction_inquiry'
    assert.deepEqual(await requestFor(reference), [inquiry, JSON.stringify({ order_id: id })])
    assert.deepEqual(await requestFor(null), [inquiry, JSON.stringify({ merchant_order_id: attempt.key })])
    const transaction = `/api/acceptance/transactions/${paid.gatewayReference}`
    assert.deepEqual(await requestFor(paid.gatewayReference), [transaction, ''])
  })

  it('is not a success if the integration only authorizes', async (t) => {
    const { gateway, provider } = await startPaymob(t)
    const { attempt, reference } = await payNew({ gateway, provider })
    Object.assign(provider.orderOf(attempt.key).transactions[0] ?? {}, { is_auth: true })
    const outcome = await gateway.verify(attempt, reference)
    assert.ok(outcome.kind === 'unknown' && outcome.reason === 'unrecognized')
  })

  it('is a lost dispute if it was voided in the dashboard, and a callback says so', async (t) => {
    const { gateway, provider, receive } = await startPaymob(t)
    const { attempt, paid } = await payNew({ gateway, provider })
    const reading = receive(provider.voidInPaymob(attempt.key))
    assert.ok(reading.kind === 'payment' && reading.isDispute)
    const outcome = await gateway.verify({ ...attempt, isPaid: true }, paid.gatewayReference)
    assert.ok(outcome.kind === 'succeeded')
    const [dispute] = outcome.disputes ?? []
    assert.deepEqual([dispute?.status, dispute?.amount], ['lost', attempt.amount])
  })

  it('does not know a reference that is used twice, and does not call it refused', async (t) => {
    const { gateway } = await startPaymob(t)
    const attempt = makeAttempt()
    await startCard(gateway, attempt)
    const again = await gateway.startCheckout(attempt, { channel: 'card' }, RETURN_URL)
    assert.ok(again.kind === 'unknown' && again.reason === 'unrecognized')
  })
})

/** The published example of a signature. */
const EXAMPLE = {
  ...makeTransaction({
    ...{ id: 789, key: '', amount: 10_000, currency: 'EGP', clientSecret: '', paymentKey: '' },
    ...{ integration: 456, notificationUrl: '', transactions: [] },
  }),
  ...{ id: 123, created_at: '2026-01-01T00:00:00.000000', owner: 42 },
} satisfies FakeTransaction
const EXAMPLE_HMAC =
  'da60f734e7f8dce80ae135c386d1b90fc87c926be2a9240a03236876fb6b77ec6439e525ae478ee95e792c469756ae4ce51454883ea048a5754ba62fcfe77c9e'

describe('a callback of Paymob', () => {
  const key = randomUUID()
  const url = callbackUrlAt('https://pay.example.com', 'paymob')({ kind: 'attempt', key })
  const send = (obj: unknown, hmac: string, type = 'TRANSACTION') => ({
    headers: {},
    query: { hmac },
    body: Buffer.from(JSON.stringify({ type, obj })),
    url,
  })

  it('is read with the signature of the example', async (t) => {
    const { receive } = await startPaymob(t, { ...CREDENTIALS, hmacSecret: 'paymob-hmac-secret' })
    assert.equal(signTransaction('paymob-hmac-secret', EXAMPLE), EXAMPLE_HMAC)
    const reading = receive(send(EXAMPLE, EXAMPLE_HMAC))
    assert.ok(reading.kind === 'payment' && reading.key === key)
    assert.equal(receive(send(EXAMPLE, EXAMPLE_HMAC.toUpperCase())).kind, 'payment')
  })

  it('is forged with another value of any signed field, another signature, or none', async (t) => {
    const { receive } = await startPaymob(t)
    const hmac = signTransaction(CREDENTIALS.hmacSecret, EXAMPLE)
    assert.equal(receive(send(EXAMPLE, hmac)).kind, 'payment')
    const changes: Partial<FakeTransaction>[] = [
      ...[{ amount_cents: 10_001 }, { success: false }, { pending: true }, { id: 124 }, { is_voided: true }],
      ...[{ order: { id: 790, merchant_order_id: null } }, { error_occured: true }, { currency: 'USD' }],
      { source_data: { pan: '2347', type: 'card', sub_type: 'MasterCard' } },
    ]
    for (const change of changes)
      assert.deepEqual(receive(send({ ...EXAMPLE, ...change }, hmac)), { kind: 'forged' })
    for (const given of ['', 'zz', hmac.replace(/^../, '00'), hmac.slice(2)])
      assert.deepEqual(receive(send(EXAMPLE, given)), { kind: 'forged' })
    const { hmacSecret: _secret, ...unsigned } = CREDENTIALS
    const { receive: receiveUnsigned } = await startPaymob(t, unsigned)
    assert.deepEqual(receiveUnsigned(send(EXAMPLE, hmac)), { kind: 'forged' })
  })

  it('has the token of a card only in encrypted form, the same one each time', async (t) => {
    const { gateway, provider, receive } = await startPaymob(t)
    const { attempt } = await payNew({ gateway, provider })
    const webhook = await provider.savedMethodWebhook?.(attempt.key)
    assert.ok(webhook)
    const reading = receive(webhook)
    assert.ok(reading.kind === 'payment' && reading.key === attempt.key && reading.report)
    assert.ok(reading.isFinalReport)
    assert.ok(webhook.body.includes(CARD_TOKEN))
    for (const encoding of ['utf8', 'hex', 'base64', 'base64url'] as const)
      assert.ok(!reading.report.includes(Buffer.from(CARD_TOKEN).toString(encoding)))
    assert.deepEqual(receive(webhook), reading)
    const changed = Buffer.from(webhook.body.toString().replace(CARD_TOKEN, CARD_TOKEN.replace('e', 'f')))
    assert.deepEqual(receive({ ...webhook, body: changed }), { kind: 'forged' })

    const paid = await gateway.verify({ ...attempt, report: reading.report }, null)
    assert.ok(paid.kind === 'succeeded' && paid.savedMethod)
    const { credential, card } = paid.savedMethod
    assert.equal(credential, CARD_TOKEN)
    assert.deepEqual(card, {
      ...{ brand: 'MasterCard', last4: '2346', expiryMonth: null, expiryYear: null, country: null },
    })
  })

  it('saves no card of another order, of another account, or without a MOTO integration', async (t) => {
    const { gateway, provider, receive } = await startPaymob(t)
    const [one, other] = [await payNew({ gateway, provider }), await payNew({ gateway, provider })]
    const webhook = await provider.savedMethodWebhook?.(one.attempt.key)
    assert.ok(webhook)
    const reading = receive(webhook)
    assert.ok(reading.kind === 'payment' && reading.key !== undefined && reading.report)
    const { report } = reading
    const savedBy = async (by: typeof gateway, { attempt, reference }: typeof one) => {
      const outcome = await by.verify({ ...attempt, report }, reference)
      return outcome.kind === 'succeeded' ? outcome.savedMethod : outcome
    }
    assert.ok(await savedBy(gateway, one))
    assert.equal(await savedBy(gateway, other), null)
    const forged = await gateway.verify({ ...one.attempt, report: '{"card":"AAAA"}' }, one.reference)
    assert.ok(forged.kind === 'succeeded' && forged.savedMethod === null)
  })
})

describe('a charge of a saved card at Paymob', () => {
  it('has the number of the checkout that saved the card, unless the merchant sends one', async (t) => {
    const { gateway, provider, receive } = await startPaymob(t)
    const { attempt, reference } = await payNew({ gateway, provider })
    const webhook = await provider.savedMethodWebhook?.(attempt.key)
    const reading = webhook && receive(webhook)
    assert.ok(reading?.kind === 'payment' && reading.key !== undefined && reading.report)
    const query = { ...attempt, report: reading.report, customerPhone: '+201234567890' }
    const paid = await gateway.verify(query, reference)
    assert.ok(paid.kind === 'succeeded' && paid.savedMethod)
    const { credential } = paid.savedMethod
    const { phone: _phone, ...customer } = attempt.customer
    const chargeOf = async (changes: Partial<typeof attempt>) => {
      const charged = makeAttempt({ operation: 'charge', expiresAt: null, ...changes })
      const begun = await gateway.chargeSaved?.(charged, credential)
      const { text } = provider.server.requests.at(-1) ?? {}
      assert.ok(begun?.kind === 'pending' && begun.gatewayReference)
      const end = await gateway.complete?.(charged, begun.gatewayReference, credential)
      return [end?.kind, JSON.parse(text ?? '').billing_data.phone_number]
    }
    assert.deepEqual(await chargeOf({ customer }), ['succeeded', '+201234567890'])
    assert.deepEqual(await chargeOf({}), ['succeeded', '+201012345678'])
  })

  it('is an intention with the MOTO integration, then one pay request with the token', async (t) => {
    const { gateway, provider } = await startPaymob(t)
    const attempt = makeAttempt({ operation: 'charge', expiresAt: null })
    const begun = await gateway.chargeSaved?.(attempt, CARD_TOKEN)
    assert.ok(begun?.kind === 'pending' && begun.canComplete && begun.gatewayReference)
    assert.equal(provider.executions(attempt.key), 0)
    const outcome = await gateway.complete?.(attempt, begun.gatewayReference, CARD_TOKEN)
    assert.equal(outcome?.kind, 'succeeded')
    const { paymentKey, clientSecret } = provider.orderOf(attempt.key)
    const [intention, retrieved, paid, ...others] = provider.server.requests
    assert.deepEqual(JSON.parse(intention?.text ?? '').payment_methods, [4_838_804])
    assert.equal(retrieved?.path, `/v1/intention/element/${CREDENTIALS.publicKey}/${clientSecret}/`)
    assert.equal(`${paid?.method} ${paid?.path}`, 'POST /api/acceptance/payments/pay')
    assert.equal(paid?.headers.authorization, undefined)
    assert.deepEqual(JSON.parse(paid?.text ?? ''), {
      source: { identifier: CARD_TOKEN, subtype: 'TOKEN' },
      payment_token: paymentKey,
    })
    assert.deepEqual(others, [])
  })

  it('is declined if its intention is gone, because nothing can have been charged', async (t) => {
    const { gateway, provider } = await startPaymob(t)
    const attempt = makeAttempt({ operation: 'charge', expiresAt: null })
    const begun = await gateway.chargeSaved?.(attempt, CARD_TOKEN)
    assert.ok(begun?.kind === 'pending' && begun.gatewayReference)
    const order = provider.orderOf(attempt.key)
    order.clientSecret = 'gone'
    const outcome = await gateway.complete?.(attempt, begun.gatewayReference, CARD_TOKEN)
    assert.ok(outcome?.kind === 'declined' && !outcome.refused)
    assert.equal(outcome.gatewayReference, `order-${order.id}`)
  })

  it('has its transaction as the reference once it was tried, and never the secret of its intention', async (t) => {
    const { gateway, provider } = await startPaymob(t)
    for (const behavior of ['waits', { declines: '51' }] as const) {
      const credential = (await provider.savedCredential?.(behavior)) ?? ''
      const attempt = makeAttempt({ operation: 'charge', expiresAt: null })
      const begun = await gateway.chargeSaved?.(attempt, credential)
      assert.ok(begun?.kind === 'pending' && begun.gatewayReference)
      const waiting = await gateway.verify(attempt, begun.gatewayReference)
      const tried = await gateway.complete?.(attempt, begun.gatewayReference, credential)
      const checked = await gateway.verify(attempt, begun.gatewayReference)
      const { clientSecret, transactions } = provider.orderOf(attempt.key)
      for (const encoding of ['utf8', 'hex', 'base64', 'base64url'] as const)
        assert.ok(!JSON.stringify([begun, waiting]).includes(Buffer.from(clientSecret).toString(encoding)))
      assert.deepEqual(tried, checked)
      assert.equal(tried?.kind, behavior === 'waits' ? 'pending' : 'declined')
      const id = String(transactions[0]?.id)
      assert.ok(tried && 'gatewayReference' in tried && tried.gatewayReference === id)
      assert.deepEqual(await gateway.verify(attempt, id), checked)
    }
  })

  it('is not recognized, and not sent, if the intention has no payment key or was made with another secret key', async (t) => {
    const { gateway, provider } = await startPaymob(t)
    const attempt = makeAttempt({ operation: 'charge', expiresAt: null })
    const begun = await gateway.chargeSaved?.(attempt, CARD_TOKEN)
    assert.ok(begun?.kind === 'pending' && begun.gatewayReference)
    const secretKey = CREDENTIALS.secretKey.replaceAll('0', '1')
    const { gateway: other } = await startPaymob(t, { ...CREDENTIALS, secretKey })
    const order = provider.orderOf(attempt.key)
    const { paymentKey } = order
    order.paymentKey = ''
    for (const one of [gateway, other]) {
      const outcome = await one.complete?.(attempt, begun.gatewayReference, CARD_TOKEN)
      assert.ok(outcome?.kind === 'unknown' && outcome.reason === 'unrecognized' && outcome.unsent)
    }
    order.paymentKey = paymentKey
    assert.equal((await gateway.complete?.(attempt, begun.gatewayReference, CARD_TOKEN))?.kind, 'succeeded')
  })
})

describe('the credentials of Paymob', () => {
  const issueOf = (name: string, text: string, mode: 'test' | 'live' = 'test') =>
    FIELDS.find((field) => field.name === name)?.validate(text, mode)

  it('are those of an account in Egypt, of the right mode and in the right field', () => {
    for (const [name, text] of Object.entries(CREDENTIALS)) assert.equal(issueOf(name, text), undefined)
    assert.match(issueOf('secretKey', CREDENTIALS.secretKey, 'live') ?? '', /live mode/)
    assert.match(issueOf('secretKey', CREDENTIALS.publicKey) ?? '', /egy_sk_test_/)
    assert.match(issueOf('publicKey', 'ksa_pk_test_0123456789abcdef') ?? '', /Egypt/)
    assert.ok(issueOf('apiKey', CREDENTIALS.secretKey))
    assert.ok(issueOf('hmacSecret', 'with a space'))
    for (const text of ['', '12a', '-1', '4838801\n']) assert.ok(issueOf('cardIntegration', text))
  })

  it('cannot be left out', () => {
    const open = () => startPaymobWithout(CREDENTIALS)
    assert.throws(open, /secret key/)
  })
})

function startPaymobWithout({ secretKey: _key, ...credentials }: Record<string, string>) {
  // A boundary: nothing else of the connection is read before the credentials.
  return PAYMOB.open({ credentials } as unknown as Parameters<typeof PAYMOB.open>[0])
}
