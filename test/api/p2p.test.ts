import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { CURRENCIES, CURRENCY_CODES } from '../../src/core/currency.ts'
import { assertApiError, assertNothingStored } from '../support/assertions.ts'
import { CUSTOMER } from '../support/builders.ts'
import { ACCOUNTS, BANK, dataOf, PAYMENTS, p2pBody, p2pMerchant, WALLET } from '../support/p2p.ts'
import { eventsOf, movesOf, pathOf, postingsOf } from '../support/payment-records.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { db } = service
const DAY_MS = 24 * 3_600_000
const { api, requestTransfer, act, confirm, read } = await p2pMerchant(service, WALLET)

describe('P2P payments', () => {
  it('returns at once where to send the money, with a normal payment record', async () => {
    const payment = await requestTransfer({ description: 'Books', metadata: { order: 1 } })
    const { narration } = payment.instructions
    assert.match(narration, /^[CDFGHJKMNPQRTVWX34679]{8}$/)
    assert.deepEqual(payment.instructions, {
      channel: 'mobile_money',
      accountName: 'Juba Books',
      accountNumber: null,
      bankName: null,
      network: 'm-Gurush',
      phoneNumber: '+211912345678',
      narration,
    })
    assert.deepEqual(
      [payment.status, payment.statusReason, payment.transferStatus, payment.paymentGateway, payment.country],
      ['processing', 'awaiting_customer', 'awaiting_payment', 'p2p', 'SS'],
    )
    assert.deepEqual(
      [payment.amountExpected, payment.amountReceived, payment.amountMissing, payment.amountExcess],
      ['5000.00', null, '5000.00', '0.00'],
    )
    assert.equal(Date.parse(payment.expiresAt) - Date.parse(payment.createdAt), DAY_MS)
    assert.deepEqual(await read(payment.uuid), payment)
    const { attempts, ...seen } = await dataOf(api.get(`/api/v1/checkout/payments/${payment.uuid}`))
    assert.equal(attempts[0].channel, 'direct_mobile_money')
    for (const [name, value] of Object.entries(seen)) assert.deepEqual(payment[name], value, name)
  })

  it('serves every currency in its own minor units', async () => {
    const everywhere = await p2pMerchant(service)
    for (const currency of CURRENCY_CODES) {
      const { countries, decimals, countryRequired } = CURRENCIES[currency]
      const country = countryRequired ? countries[0] : undefined
      await dataOf(everywhere.api.post(ACCOUNTS, { ...BANK, currency, country }))
      const amount = decimals === 0 ? 700 : 7.25
      const payment = await everywhere.requestTransfer({ currency, country, amount })
      assert.equal(payment.amountExpected, decimals === 0 ? '700.00' : '7.25')
      const confirmed = await dataOf(everywhere.act(payment.uuid, 'confirm', { receivedAmount: amount }))
      assert.deepEqual([confirmed.status, confirmed.amountPaid], ['successful', payment.amountExpected])
    }
  })

  it('rejects a P2P payment without an account for its currency, country or channel, and stores nothing', async () => {
    await assertNothingStored(db, service.demoKey, async () => {
      for (const wanted of [
        { currency: 'KES' },
        { channel: 'bank_transfer' },
        { currency: 'XOF', country: 'SN' },
      ]) {
        assertApiError(await api.post(PAYMENTS, p2pBody(wanted)), 'p2p_account_required')
      }
      const wrong: [object, string][] = [
        [{ amount: 0 }, 'amount_out_of_range'],
        [{ amount: 1.001 }, 'amount_precision'],
        [{ country: 'KE' }, 'invalid_country'],
        [{ currency: 'JPY' }, 'invalid_currency'],
        [{ expiresInMinutes: 9 }, 'validation_failed'],
        [{ expiresInMinutes: 10_081 }, 'validation_failed'],
        [{ channel: 'card' }, 'validation_failed'],
        [{ customer: null }, 'validation_failed'],
        [{ description: '4242424242424242' }, 'card_data_not_allowed'],
      ]
      for (const [changes, code] of wrong) {
        const answer = await api.post(PAYMENTS, p2pBody({ ...changes }))
        assert.equal(answer.body.error?.code, code, answer.text)
      }
    })
  })

  it('repeats a P2P payment for the same reference, also in parallel, and rejects another body', async () => {
    const body = p2pBody({ expiresInMinutes: 30 })
    const answers = await Promise.all(Array.from({ length: 8 }, () => api.post(PAYMENTS, body)))
    const uuids = new Set(answers.map(({ http, body: { data }, text }) => (http === 201 ? data.uuid : text)))
    assert.equal(uuids.size, 1, JSON.stringify([...uuids]))
    const fresh = answers.filter(({ headers }) => headers.get('idempotent-replayed') === null)
    assert.equal(fresh.length, 1)
    const [uuid = ''] = uuids
    assert.deepEqual((await eventsOf(db, uuid)).map(({ type }) => type).toSorted(), [
      'p2p.awaiting_payment',
      'payment.pending',
      'payment.processing',
    ])
    assertApiError(await api.post(PAYMENTS, { ...body, amount: 1 }), 'duplicate_reference')
    assertApiError(await api.post(PAYMENTS, { ...body, channel: 'mobile_money' }), 'duplicate_reference')
    const checkout = { ...body, expiresInMinutes: undefined }
    assertApiError(await api.post('/api/v1/checkout/initiate-payment', checkout), 'duplicate_reference')
    const headers = { 'idempotency-key': randomUUID() }
    const keyed = await api.post(PAYMENTS, p2pBody(), headers)
    assertApiError(await api.post(PAYMENTS, p2pBody(), headers), 'idempotency_key_reused')
    assert.equal(keyed.http, 201)
  })

  it('prefers an account of the exact country to a general one, and an older to a newer one', async () => {
    const euro = { ...BANK, currency: 'EUR' }
    const several = await p2pMerchant(
      service,
      { ...euro, accountName: 'Anywhere' },
      { ...euro, accountName: 'In France', country: 'FR' },
      { ...euro, accountName: 'In France too', country: 'FR' },
    )
    const nameFor = async (country?: string) =>
      (await several.requestTransfer({ currency: 'EUR', country })).instructions.accountName
    assert.deepEqual(
      [await nameFor('FR'), await nameFor('DE'), await nameFor()],
      ['In France', 'Anywhere', 'Anywhere'],
    )
  })

  it('filters P2P payments by state, currency and narration, and pages them by cursor', async () => {
    const own = await p2pMerchant(service, WALLET, { ...BANK, currency: 'KES' })
    const [one, two, three] = [
      await own.requestTransfer(),
      await own.requestTransfer(),
      await own.requestTransfer({ currency: 'KES' }),
    ]
    await dataOf(own.act(two.uuid, 'confirm', { receivedAmount: 4000 }))
    const uuids = async (query: string) =>
      (await dataOf(own.api.get(`${PAYMENTS}?${query}`))).map(({ uuid }: { uuid: string }) => uuid)
    assert.deepEqual(await uuids(''), [three.uuid, two.uuid, one.uuid])
    assert.deepEqual(await uuids('transferStatus=underpaid'), [two.uuid])
    assert.deepEqual(await uuids('currency=KES'), [three.uuid])
    const { narration } = one.instructions
    const typed = `${narration.slice(0, 4)} ${narration.slice(4)}`.toLowerCase()
    assert.deepEqual(await uuids(`narration=${encodeURIComponent(typed)}`), [one.uuid])
    const { body } = await own.api.get(`${PAYMENTS}?limit=2`)
    assert.deepEqual([body.meta.total, body.data.length], [3, 2])
    assert.deepEqual(
      body.data[1],
      await dataOf(own.api.get(`${PAYMENTS}/${two.uuid}`)),
      'the record of the list',
    )
    assert.deepEqual(await uuids(`limit=2&cursor=${body.meta.nextCursor}`), [one.uuid])
    assertApiError(await own.api.get(`${PAYMENTS}?transferStatus=paid`), 'validation_failed')
    assertApiError(
      await own.api.get(`${PAYMENTS}?currency=KES&cursor=${body.meta.nextCursor}`),
      'validation_failed',
    )
  })

  it('rejects a P2P payment of a blocked customer', async () => {
    const customer = { ...CUSTOMER, email: `${randomUUID()}@example.com` }
    const { customer: known } = await requestTransfer({ customer })
    await dataOf(api.post(`/api/v1/customers/${known.uuid}/block`, {}))
    assertApiError(await api.post(PAYMENTS, p2pBody({ customer })), 'customer_blocked')
  })
})

describe('the merchant’s report about a transfer', () => {
  it('completes a confirmed transfer, records it, and credits no wallet balance', async () => {
    const { uuid } = await requestTransfer()
    const marked = await dataOf(act(uuid, 'mark-paid'))
    assert.deepEqual(
      [marked.status, marked.statusReason, marked.transferStatus],
      ['processing', 'marked_paid', 'marked_paid'],
    )
    assert.ok(Date.parse(marked.expiresAt) - Date.now() > 6 * DAY_MS, 'there is time to check')
    assert.deepEqual(await dataOf(act(uuid, 'mark-paid')), marked, 'a repeated report changes nothing')
    const confirmed = await dataOf(confirm(uuid, 5000))
    assert.deepEqual(
      [
        confirmed.status,
        confirmed.transferStatus,
        confirmed.amountPaid,
        confirmed.fee,
        confirmed.amountReceived,
      ],
      ['successful', 'confirmed', '5000.00', '0.00', '5000.00'],
    )
    assert.deepEqual(await dataOf(confirm(uuid, 5000)), confirmed)
    for (const [word, body] of [
      ['confirm', { receivedAmount: 5001 }],
      ['confirm', { receivedAmount: 1 }],
      ['mark-paid', {}],
      ['reject', {}],
      ['cancel', {}],
    ] as const) {
      assertApiError(await act(uuid, word, body), 'invalid_state')
    }
    assert.deepEqual(await read(uuid), confirmed)
    assert.deepEqual(await postingsOf(db, uuid), [
      'capture gateway:p2p SSP -500000',
      'capture direct SSP 500000',
    ])
    const { balances } = await dataOf(api.get('/api/v1/wallet/balance?currency=SSP'))
    assert.deepEqual(balances, [{ currency: 'SSP', availableBalance: '0.00', pendingBalance: '0.00' }])
    const events = (await eventsOf(db, uuid)).filter(({ resourceType }) => resourceType === 'p2p_payment')
    assert.deepEqual(
      events.map(({ type, version, body }) => `${version} ${type} ${body.data.transferStatus}`),
      [
        '1 p2p.awaiting_payment awaiting_payment',
        '2 p2p.marked_paid marked_paid',
        '3 p2p.confirmed confirmed',
      ],
    )
    assert.equal(events[1]?.body.data.statusReason, 'marked_paid')
    assert.doesNotMatch(JSON.stringify(events), /\/pay\//)
  })

  it('moves a transfer that is confirmed before it was reported as sent through marked_paid', async () => {
    const { uuid } = await requestTransfer()
    assert.equal((await dataOf(confirm(uuid, 5000))).transferStatus, 'confirmed')
    const emittedTypes = (await eventsOf(db, uuid))
      .map(({ type }) => type)
      .filter((type) => type.startsWith('p2p.'))
    assert.deepEqual(emittedTypes, ['p2p.awaiting_payment', 'p2p.marked_paid', 'p2p.confirmed'])
  })

  it('completes an overpaid transfer with the requested amount, and shows the excess', async () => {
    const { uuid } = await requestTransfer()
    const paid = await dataOf(confirm(uuid, 5500.5))
    assert.deepEqual(
      [
        paid.status,
        paid.transferStatus,
        paid.amountPaid,
        paid.amountReceived,
        paid.amountExcess,
        paid.amountMissing,
      ],
      ['successful', 'overpaid', '5000.00', '5500.50', '500.50', '0.00'],
    )
    assert.deepEqual(await dataOf(confirm(uuid, 5500.5)), paid)
    assertApiError(await confirm(uuid, 5000), 'invalid_state')
  })

  it('keeps an underpaid transfer open until the rest arrives', async () => {
    const { uuid } = await requestTransfer()
    const short = await dataOf(confirm(uuid, 3000))
    assert.deepEqual(
      [short.status, short.statusReason, short.transferStatus, short.amountReceived, short.amountMissing],
      ['processing', 'underpaid', 'underpaid', '3000.00', '2000.00'],
    )
    assert.deepEqual(await postingsOf(db, uuid), [])
    assert.deepEqual(await dataOf(confirm(uuid, 3000)), short)
    assert.equal((await dataOf(confirm(uuid, 4000))).amountMissing, '1000.00')
    assertApiError(await act(uuid, 'cancel'), 'invalid_state')
    const whole = await dataOf(confirm(uuid, 5000))
    assert.deepEqual(
      [whole.status, whole.transferStatus, whole.statusReason],
      ['successful', 'confirmed', null],
    )
    assert.deepEqual(await pathOf(db, uuid), ['pending', 'processing', 'successful'])
  })

  it('fails a rejected transfer for good', async () => {
    const { uuid } = await requestTransfer()
    assertApiError(await act(uuid, 'reject'), 'invalid_state')
    await dataOf(act(uuid, 'mark-paid'))
    assertApiError(await act(uuid, 'reject', { reason: 'card 4242424242424242' }), 'card_data_not_allowed')
    const rejected = await dataOf(act(uuid, 'reject', { reason: 'Nothing came.' }))
    assert.deepEqual(
      [rejected.status, rejected.transferStatus, rejected.rejectionReason, rejected.attempts.length],
      ['failed', 'rejected', 'Nothing came.', 1],
    )
    assert.equal((await movesOf(db, uuid)).at(-1)?.proof, 'declined')
    assert.deepEqual(await dataOf(act(uuid, 'reject', { reason: 'Again.' })), rejected)
    assertApiError(await confirm(uuid, 5000), 'invalid_state')
  })

  it('keeps the partial amount of a transfer that is then rejected', async () => {
    const { uuid } = await requestTransfer()
    await dataOf(confirm(uuid, 3000))
    const rejected = await dataOf(api.send('POST', `${PAYMENTS}/${uuid}/reject`))
    assert.deepEqual(
      [rejected.status, rejected.transferStatus, rejected.amountReceived],
      ['failed', 'rejected', '3000.00'],
    )
  })

  it('cancels a transfer only while nothing was reported as sent', async () => {
    const { uuid } = await requestTransfer()
    const cancelled = await dataOf(api.send('POST', `${PAYMENTS}/${uuid}/cancel`))
    assert.deepEqual(
      [cancelled.status, cancelled.transferStatus, cancelled.failure.code],
      ['failed', 'cancelled', 'customer_cancelled'],
    )
    assert.deepEqual(await dataOf(act(uuid, 'cancel')), cancelled)
    const { uuid: sent } = await requestTransfer()
    await dataOf(act(sent, 'mark-paid'))
    assertApiError(await act(sent, 'cancel'), 'invalid_state')
    assertApiError(await act(uuid, 'mark-paid'), 'invalid_state')
  })

  it('makes one success, one entry and one event of parallel confirmations', async () => {
    const { uuid } = await requestTransfer()
    const amounts = [5000, 5000, 5000, 4999, 5001, 5000, 5000, 5000]
    const answers = await Promise.all(amounts.map((amount) => confirm(uuid, amount)))
    assert.ok(answers.every(({ http }) => http === 200 || http === 409))
    assert.equal((await read(uuid)).status, 'successful')
    assert.equal((await postingsOf(db, uuid)).length, 2)
    const types = (await eventsOf(db, uuid)).map(({ type }) => type)
    assert.equal(types.filter((type) => type === 'payment.successful').length, 1)
    assert.equal(types.filter((type) => type === 'p2p.confirmed' || type === 'p2p.overpaid').length, 1)
  })

  it('rejects a report with an impossible amount', async () => {
    const { uuid } = await requestTransfer()
    const wrong: [unknown, string][] = [
      [0, 'amount_out_of_range'],
      [-1, 'amount_out_of_range'],
      [1e15, 'amount_out_of_range'],
      [1.001, 'amount_precision'],
      ['5000', 'validation_failed'],
      [null, 'validation_failed'],
    ]
    for (const [amount, code] of wrong) {
      const answer = await confirm(uuid, amount)
      assert.equal(answer.body.error?.code, code, answer.text)
      assert.equal(answer.body.error.details[0].field, 'receivedAmount')
    }
    const lossy = await api.send('POST', `${PAYMENTS}/${uuid}/confirm`, {
      headers: { 'content-type': 'application/json' },
      body: '{"receivedAmount": 5000.0000000000000001}',
    })
    assertApiError(lossy, 'amount_precision')
    assert.equal((await read(uuid)).transferStatus, 'awaiting_payment')
  })

  it('rejects the refund of a transfer, which we cannot execute', async () => {
    const { uuid, reference } = await requestTransfer()
    await dataOf(confirm(uuid, 5000))
    assertApiError(await api.post('/api/v1/refunds', { reference }), 'refund_not_supported')
  })
})
