import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { CURRENCIES, CURRENCY_CODES } from '../../src/core/currency.ts'
import {
  assertNothingStored,
  assertRefusal,
  assertRefused,
  assertSameRefusal,
  UNKNOWN_UUID,
} from '../support/answers.ts'
import type { Api, ApiAnswer } from '../support/api.ts'
import { eventsOf, movesOf, pathOf, postingsOf } from '../support/books.ts'
import { CUSTOMER, newReference } from '../support/builders.ts'
import { movingClock } from '../support/moving-clock.ts'
import { createPayer, headingOf, wordsOf } from '../support/payer.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const clock = movingClock()
const service = await testService({ after }, { clock })
const { db } = service
const ACCOUNTS = '/api/v1/p2p/accounts'
const PAYMENTS = '/api/v1/p2p/payments'
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const WALLET = {
  channel: 'mobile_money',
  currency: 'SSP',
  country: 'SS',
  accountName: 'Juba Books',
  network: 'mgurush_ss',
  phoneNumber: '0912 345 678',
}
const BANK = {
  channel: 'bank_transfer',
  currency: 'SSP',
  accountName: 'Juba Books Ltd',
  accountNumber: '0011-2233-4455',
  bankName: 'Equity Bank South Sudan',
}

const p2pBody = (changes: Record<string, unknown> = {}) => ({
  amount: 5000,
  currency: 'SSP',
  reference: newReference(),
  customer: CUSTOMER,
  ...changes,
})

// biome-ignore lint/suspicious/noExplicitAny: a test reads any shape and asserts on it
async function made(answer: Promise<ApiAnswer>): Promise<any> {
  const { http, body, text } = await answer
  assert.ok(http === 200 || http === 201, text)
  return body.data
}

/** A merchant with these accounts. */
async function merchantWith(...accounts: object[]) {
  const merchant = await service.newMerchant()
  for (const account of accounts) await made(merchant.api.post(ACCOUNTS, account))
  return merchant
}

const shop = await merchantWith(WALLET)
const { api } = shop
const ask = (changes: Record<string, unknown> = {}, by: Api = api) =>
  made(by.post(PAYMENTS, p2pBody(changes)))
const say = (uuid: string, word: string, body?: unknown, by: Api = api) =>
  by.post(`${PAYMENTS}/${uuid}/${word}`, body ?? {})
const confirm = (uuid: string, receivedAmount: unknown) => say(uuid, 'confirm', { receivedAmount })
const read = (uuid: string) => made(api.get(`${PAYMENTS}/${uuid}`))

const stranger = await service.newMerchant()
const theirs = await ask()
const theirAccount = await made(api.post(ACCOUNTS, { ...BANK, currency: 'BWP' }))

const EVERY_OPERATION: [method: string, path: string][] = [
  ['POST', ACCOUNTS],
  ['GET', ACCOUNTS],
  ['GET', `${ACCOUNTS}/${theirAccount.uuid}`],
  ['PATCH', `${ACCOUNTS}/${theirAccount.uuid}`],
  ['DELETE', `${ACCOUNTS}/${theirAccount.uuid}`],
  ['POST', PAYMENTS],
  ['GET', PAYMENTS],
  ['GET', `${PAYMENTS}/${theirs.uuid}`],
  ...['mark-paid', 'confirm', 'reject', 'cancel'].map((word): [string, string] => [
    'POST',
    `${PAYMENTS}/${theirs.uuid}/${word}`,
  ]),
]

const send = (by: Api, method: string, path: string) =>
  by.send(method, path, {
    ...(method !== 'GET' && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ receivedAmount: 5000 }),
    }),
  })

describe('every P2P operation', () => {
  it('wants a key with the scope p2p:write', async () => {
    const other = await service.newMerchant(['checkout:write', 'checkout:read'])
    for (const [method, path] of EVERY_OPERATION) {
      assertRefused(await send(service.apiWith(undefined), method, path), 401, 'missing_api_key')
      assertRefused(await send(other.api, method, path), 403, 'insufficient_scope')
    }
  })

  it('knows nothing of another merchant’s records, as if there were none', async () => {
    for (const [method, path] of EVERY_OPERATION.filter(([, one]) => /-[0-9a-f]{12}/.test(one))) {
      const code = path.startsWith(ACCOUNTS) ? 'p2p_account_not_found' : 'p2p_payment_not_found'
      const unknown = path.replace(/[0-9a-f-]{36}/, UNKNOWN_UUID)
      assertSameRefusal(
        await send(stranger.api, method, path),
        await send(stranger.api, method, unknown),
        code,
      )
      assertRefusal(await send(api, method, path.replace(/[0-9a-f-]{36}/, 'none')), 'invalid_uuid')
    }
    for (const list of [ACCOUNTS, PAYMENTS]) assert.deepEqual(await made(stranger.api.get(list)), [])
    assert.equal((await read(theirs.uuid)).transferStatus, 'awaiting_payment')
  })

  it('leaves a payment that nobody was to transfer alone', async () => {
    const body = { ...p2pBody(), currency: 'KES' }
    const { uuid } = await made(api.post('/api/v1/checkout/initiate-payment', body))
    assertRefusal(await api.get(`${PAYMENTS}/${uuid}`), 'p2p_payment_not_found')
    assertRefusal(await confirm(uuid, 5000), 'p2p_payment_not_found')
  })
})

describe('a receiving account', () => {
  it('is kept as payers will read it, the phone with its country', async () => {
    const { uuid, createdAt, updatedAt, ...account } = await made(stranger.api.post(ACCOUNTS, WALLET))
    const phoneNumber = '+211912345678'
    assert.deepEqual(account, { ...WALLET, phoneNumber, accountNumber: null, bankName: null, isActive: true })
    assert.equal(createdAt, updatedAt)
    assert.deepEqual(await made(stranger.api.get(`${ACCOUNTS}/${uuid}`)), {
      uuid,
      createdAt,
      updatedAt,
      ...account,
    })
    const bank = await made(stranger.api.post(ACCOUNTS, { ...BANK, country: null, phoneNumber: '1' }))
    assert.deepEqual([bank.country, bank.phoneNumber, bank.accountNumber], [null, null, BANK.accountNumber])
  })

  it('is refused with every complaint at once, and nothing is kept', async () => {
    const wrong: [object, string, string[]][] = [
      [{}, 'validation_failed', ['accountName: required', 'channel: required', 'currency: required']],
      [
        { ...WALLET, network: null, phoneNumber: null },
        'validation_failed',
        ['network: required', 'phoneNumber: required'],
      ],
      [{ ...WALLET, network: 'mpesa_ke' }, 'validation_failed', ['network: not_allowed']],
      [{ ...WALLET, phoneNumber: '+254712345678' }, 'validation_failed', ['phoneNumber: invalid_format']],
      [{ ...WALLET, phoneNumber: 'Juba 7' }, 'validation_failed', ['phoneNumber: invalid_format']],
      [{ ...WALLET, currency: 'EUR', country: null }, 'country_required', ['country: country_required']],
      [{ ...BANK, accountNumber: null }, 'validation_failed', ['accountNumber: required']],
      [{ ...BANK, accountNumber: '12<b>' }, 'validation_failed', ['accountNumber: invalid_format']],
      [
        { ...BANK, accountNumber: `${'1'.repeat(48)}!` },
        'validation_failed',
        ['accountNumber: invalid_format'],
      ],
      [{ ...BANK, currency: 'XOF' }, 'country_required', ['country: country_required']],
      [{ ...BANK, country: 'KE' }, 'invalid_country', ['country: invalid_country']],
      [{ ...BANK, currency: 'JPY' }, 'invalid_currency', ['currency: invalid_currency']],
      [
        { ...BANK, accountNumber: '4242 4242 4242 4242' },
        'card_data_not_allowed',
        ['accountNumber: card_data_not_allowed'],
      ],
      [
        { ...BANK, bankName: 'x 4242424242424242' },
        'card_data_not_allowed',
        ['bankName: card_data_not_allowed'],
      ],
    ]
    const before = (await made(api.get(ACCOUNTS))).length
    for (const [body, code, details] of wrong) {
      const answer = await api.post(ACCOUNTS, body)
      assert.equal(answer.body?.error?.code, code, answer.text)
      const found = answer.body.error.details.map(
        (one: { field: string; code: string }) => `${one.field}: ${one.code}`,
      )
      assert.deepEqual(found.toSorted(), details)
    }
    assert.equal((await made(api.get(ACCOUNTS))).length, before)
  })

  it('may have an account number with letters, whatever its digits look like', async () => {
    const accountNumber = 'GB33 4242 4242 4242 4242'
    const body = { ...BANK, currency: 'GBP', accountNumber }
    assert.equal((await made(stranger.api.post(ACCOUNTS, body))).accountNumber, accountNumber)
  })

  it('is made once under an Idempotency-Key', async () => {
    const headers = { 'idempotency-key': randomUUID() }
    const body = { ...BANK, currency: 'LSL' }
    const first = await stranger.api.post(ACCOUNTS, body, headers)
    const again = await stranger.api.post(ACCOUNTS, body, headers)
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
    assert.deepEqual(again.body.data, first.body.data)
    assertRefusal(
      await stranger.api.post(ACCOUNTS, { ...body, bankName: 'Other' }, headers),
      'idempotency_key_reused',
    )
    assert.equal((await made(stranger.api.get(`${ACCOUNTS}?currency=LSL`))).length, 1)
  })

  it('is listed, filtered and paged', async () => {
    const { api: many } = await merchantWith(WALLET, BANK, { ...BANK, currency: 'KES' })
    const names = async (query: string) =>
      (await made(many.get(`${ACCOUNTS}?${query}`))).map(
        ({ channel, currency }: { channel: string; currency: string }) => `${channel} ${currency}`,
      )
    assert.deepEqual(await names(''), ['bank_transfer KES', 'bank_transfer SSP', 'mobile_money SSP'])
    assert.deepEqual(await names('currency=SSP&channel=bank_transfer'), ['bank_transfer SSP'])
    assert.deepEqual(await names('sort=createdAt:asc&limit=1'), ['mobile_money SSP'])
    const { body } = await many.get(`${ACCOUNTS}?limit=2`)
    assert.deepEqual([body.meta.total, body.meta.hasNext], [3, true])
    assert.deepEqual(await names(`limit=2&cursor=${body.meta.nextCursor}`), ['mobile_money SSP'])
    assertRefusal(await many.get(`${ACCOUNTS}?limit=0`), 'validation_failed')
    assertRefusal(await many.get(`${ACCOUNTS}?currency=JPY`), 'invalid_currency')
  })

  it('that is changed, switched off or deleted changes nothing for who was told it before', async () => {
    const { api: own } = await merchantWith(WALLET)
    const [{ uuid }] = await made(own.get(ACCOUNTS))
    const told = await ask({}, own)
    const change = (body: object) =>
      own.send('PATCH', `${ACCOUNTS}/${uuid}`, {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    assertRefusal(await change({ phoneNumber: '1' }), 'validation_failed')
    assertRefusal(await change({ network: 'mpesa_ke' }), 'validation_failed')
    const changed = await made(change({ phoneNumber: '0912 345 679', currency: 'KES', bankName: 'None' }))
    assert.deepEqual(
      [changed.phoneNumber, changed.currency, changed.bankName, changed.network],
      ['+211912345679', 'SSP', null, 'mgurush_ss'],
    )
    assert.equal((await ask({}, own)).instructions.phoneNumber, '+211912345679')
    await made(change({ isActive: false }))
    assertRefusal(await own.post(PAYMENTS, p2pBody()), 'p2p_account_required')
    await made(own.send('DELETE', `${ACCOUNTS}/${uuid}`))
    assertRefusal(await own.get(`${ACCOUNTS}/${uuid}`), 'p2p_account_not_found')
    const kept = await made(own.get(`${PAYMENTS}/${told.uuid}`))
    assert.deepEqual(kept.instructions, told.instructions)
    assert.equal((await made(say(told.uuid, 'confirm', { receivedAmount: 5000 }, own))).status, 'successful')
  })
})

describe('a P2P payment', () => {
  it('answers at once where to send the money, and is a payment like any other', async () => {
    const payment = await ask({ description: 'Books', metadata: { order: 1 } })
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
    const { attempts, ...seen } = await made(api.get(`/api/v1/checkout/payments/${payment.uuid}`))
    assert.equal(attempts[0].channel, 'direct_mobile_money')
    for (const [name, value] of Object.entries(seen)) assert.deepEqual(payment[name], value, name)
  })

  it('serves every currency, each in minor units of its own', async () => {
    const { api: everywhere } = await service.newMerchant()
    for (const currency of CURRENCY_CODES) {
      const { countries, decimals, countryRequired } = CURRENCIES[currency]
      const country = countryRequired ? countries[0] : undefined
      await made(everywhere.post(ACCOUNTS, { ...BANK, currency, country }))
      const amount = decimals === 0 ? 700 : 7.25
      const payment = await ask({ currency, country, amount }, everywhere)
      assert.equal(payment.amountExpected, decimals === 0 ? '700.00' : '7.25')
      const confirmed = await made(say(payment.uuid, 'confirm', { receivedAmount: amount }, everywhere))
      assert.deepEqual([confirmed.status, confirmed.amountPaid], ['successful', payment.amountExpected])
    }
  })

  it('is refused where there is no account for the currency, country or channel, and nothing is kept', async () => {
    await assertNothingStored(db, async () => {
      for (const wanted of [
        { currency: 'KES' },
        { channel: 'bank_transfer' },
        { currency: 'XOF', country: 'SN' },
      ]) {
        assertRefusal(await api.post(PAYMENTS, p2pBody(wanted)), 'p2p_account_required')
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

  it('with the same reference is the same, also many at once; with another body it is refused', async () => {
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
    assertRefusal(await api.post(PAYMENTS, { ...body, amount: 1 }), 'duplicate_reference')
    assertRefusal(await api.post(PAYMENTS, { ...body, channel: 'mobile_money' }), 'duplicate_reference')
    assertRefusal(await api.post('/api/v1/checkout/initiate-payment', body), 'duplicate_reference')
    const headers = { 'idempotency-key': randomUUID() }
    const keyed = await api.post(PAYMENTS, p2pBody(), headers)
    assertRefusal(await api.post(PAYMENTS, p2pBody(), headers), 'idempotency_key_reused')
    assert.equal(keyed.http, 201)
  })

  it('takes the account of the very country before one for all, and the older before the newer', async () => {
    const euro = { ...BANK, currency: 'EUR' }
    const { api: several } = await merchantWith(
      { ...euro, accountName: 'Anywhere' },
      { ...euro, accountName: 'In France', country: 'FR' },
      { ...euro, accountName: 'In France too', country: 'FR' },
    )
    const nameFor = async (country?: string) =>
      (await ask({ currency: 'EUR', country }, several)).instructions.accountName
    assert.deepEqual(
      [await nameFor('FR'), await nameFor('DE'), await nameFor()],
      ['In France', 'Anywhere', 'Anywhere'],
    )
  })

  it('is found in the list by its state, currency and narration, and paged by cursor', async () => {
    const { api: own } = await merchantWith(WALLET, { ...BANK, currency: 'KES' })
    const [one, two, three] = [await ask({}, own), await ask({}, own), await ask({ currency: 'KES' }, own)]
    await made(say(two.uuid, 'confirm', { receivedAmount: 4000 }, own))
    const uuids = async (query: string) =>
      (await made(own.get(`${PAYMENTS}?${query}`))).map(({ uuid }: { uuid: string }) => uuid)
    assert.deepEqual(await uuids(''), [three.uuid, two.uuid, one.uuid])
    assert.deepEqual(await uuids('transferStatus=underpaid'), [two.uuid])
    assert.deepEqual(await uuids('currency=KES'), [three.uuid])
    const { narration } = one.instructions
    const typed = `${narration.slice(0, 4)} ${narration.slice(4)}`.toLowerCase()
    assert.deepEqual(await uuids(`narration=${encodeURIComponent(typed)}`), [one.uuid])
    const { body } = await own.get(`${PAYMENTS}?limit=2`)
    assert.deepEqual([body.meta.total, body.data.length], [3, 2])
    assert.deepEqual(body.data[1], await made(own.get(`${PAYMENTS}/${two.uuid}`)), 'the record of the list')
    assert.deepEqual(await uuids(`limit=2&cursor=${body.meta.nextCursor}`), [one.uuid])
    assertRefusal(await own.get(`${PAYMENTS}?transferStatus=paid`), 'validation_failed')
    assertRefusal(
      await own.get(`${PAYMENTS}?currency=KES&cursor=${body.meta.nextCursor}`),
      'validation_failed',
    )
  })

  it('is not made for a customer who is blocked', async () => {
    const customer = { ...CUSTOMER, email: `${randomUUID()}@example.com` }
    const { customer: known } = await ask({ customer })
    await made(api.post(`/api/v1/customers/${known.uuid}/block`, {}))
    assertRefusal(await api.post(PAYMENTS, p2pBody({ customer })), 'customer_blocked')
  })
})

describe('what a merchant says of a transfer', () => {
  it('confirmed: the payment is successful, recorded, and in no balance of the wallet', async () => {
    const { uuid } = await ask()
    const marked = await made(say(uuid, 'mark-paid'))
    assert.deepEqual(
      [marked.status, marked.statusReason, marked.transferStatus],
      ['processing', 'marked_paid', 'marked_paid'],
    )
    assert.ok(Date.parse(marked.expiresAt) - clock.now().getTime() > 6 * DAY_MS, 'there is time to look')
    assert.deepEqual(await made(say(uuid, 'mark-paid')), marked, 'saying it again changes nothing')
    const confirmed = await made(confirm(uuid, 5000))
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
    assert.deepEqual(await made(confirm(uuid, 5000)), confirmed)
    for (const [word, body] of [
      ['confirm', { receivedAmount: 5001 }],
      ['confirm', { receivedAmount: 1 }],
      ['mark-paid', {}],
      ['reject', {}],
      ['cancel', {}],
    ] as const) {
      assertRefusal(await say(uuid, word, body), 'invalid_state')
    }
    assert.deepEqual(await read(uuid), confirmed)
    assert.deepEqual(await postingsOf(db, uuid), [
      'capture gateway:p2p SSP -500000',
      'capture direct SSP 500000',
    ])
    const { balances } = await made(api.get('/api/v1/wallet/balance?currency=SSP'))
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

  it('confirmed before anybody said that it was sent: it passes through marked_paid', async () => {
    const { uuid } = await ask()
    assert.equal((await made(confirm(uuid, 5000))).transferStatus, 'confirmed')
    const told = (await eventsOf(db, uuid)).map(({ type }) => type).filter((type) => type.startsWith('p2p.'))
    assert.deepEqual(told, ['p2p.awaiting_payment', 'p2p.marked_paid', 'p2p.confirmed'])
  })

  it('overpaid: the payment is successful for what was asked, and the excess is shown', async () => {
    const { uuid } = await ask()
    const paid = await made(confirm(uuid, 5500.5))
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
    assert.deepEqual(await made(confirm(uuid, 5500.5)), paid)
    assertRefusal(await confirm(uuid, 5000), 'invalid_state')
  })

  it('underpaid: the payment stays open until the rest has come', async () => {
    const { uuid } = await ask()
    const short = await made(confirm(uuid, 3000))
    assert.deepEqual(
      [short.status, short.statusReason, short.transferStatus, short.amountReceived, short.amountMissing],
      ['processing', 'underpaid', 'underpaid', '3000.00', '2000.00'],
    )
    assert.deepEqual(await postingsOf(db, uuid), [])
    assert.deepEqual(await made(confirm(uuid, 3000)), short)
    assert.equal((await made(confirm(uuid, 4000))).amountMissing, '1000.00')
    assertRefusal(await say(uuid, 'cancel'), 'invalid_state')
    const whole = await made(confirm(uuid, 5000))
    assert.deepEqual(
      [whole.status, whole.transferStatus, whole.statusReason],
      ['successful', 'confirmed', null],
    )
    assert.deepEqual(await pathOf(db, uuid), ['pending', 'processing', 'successful'])
  })

  it('rejected: the payment has failed on the merchant’s word, for good', async () => {
    const { uuid } = await ask()
    assertRefusal(await say(uuid, 'reject'), 'invalid_state')
    await made(say(uuid, 'mark-paid'))
    assertRefusal(await say(uuid, 'reject', { reason: 'card 4242424242424242' }), 'card_data_not_allowed')
    const rejected = await made(say(uuid, 'reject', { reason: 'Nothing came.' }))
    assert.deepEqual(
      [rejected.status, rejected.transferStatus, rejected.rejectionReason, rejected.attempts.length],
      ['failed', 'rejected', 'Nothing came.', 1],
    )
    assert.equal((await movesOf(db, uuid)).at(-1)?.proof, 'declined')
    assert.deepEqual(await made(say(uuid, 'reject', { reason: 'Again.' })), rejected)
    assertRefusal(await confirm(uuid, 5000), 'invalid_state')
  })

  it('rejected after a part has come: the record still says how much that was', async () => {
    const { uuid } = await ask()
    await made(confirm(uuid, 3000))
    const rejected = await made(api.send('POST', `${PAYMENTS}/${uuid}/reject`))
    assert.deepEqual(
      [rejected.status, rejected.transferStatus, rejected.amountReceived],
      ['failed', 'rejected', '3000.00'],
    )
  })

  it('cancelled: while nobody has sent anything, and never after', async () => {
    const { uuid } = await ask()
    const cancelled = await made(api.send('POST', `${PAYMENTS}/${uuid}/cancel`))
    assert.deepEqual(
      [cancelled.status, cancelled.transferStatus, cancelled.failure.code],
      ['failed', 'cancelled', 'customer_cancelled'],
    )
    assert.deepEqual(await made(say(uuid, 'cancel')), cancelled)
    const { uuid: sent } = await ask()
    await made(say(sent, 'mark-paid'))
    assertRefusal(await say(sent, 'cancel'), 'invalid_state')
    assertRefusal(await say(uuid, 'mark-paid'), 'invalid_state')
  })

  it('at once many times: one success, one entry, one event', async () => {
    const { uuid } = await ask()
    const amounts = [5000, 5000, 5000, 4999, 5001, 5000, 5000, 5000]
    const answers = await Promise.all(amounts.map((amount) => confirm(uuid, amount)))
    assert.ok(answers.every(({ http }) => http === 200 || http === 409))
    assert.equal((await read(uuid)).status, 'successful')
    assert.equal((await postingsOf(db, uuid)).length, 2)
    const types = (await eventsOf(db, uuid)).map(({ type }) => type)
    assert.equal(types.filter((type) => type === 'payment.successful').length, 1)
    assert.equal(types.filter((type) => type === 'p2p.confirmed' || type === 'p2p.overpaid').length, 1)
  })

  it('of an amount that cannot be, is refused', async () => {
    const { uuid } = await ask()
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
    assertRefusal(lossy, 'amount_precision')
    assert.equal((await read(uuid)).transferStatus, 'awaiting_payment')
  })

  it('of money that cannot be refunded by us: the operation says so', async () => {
    const { uuid, reference } = await ask()
    await made(confirm(uuid, 5000))
    assertRefusal(await api.post('/api/v1/refunds', { reference }), 'refund_not_supported')
  })
})

describe('the checkout', () => {
  const payer = createPayer()
  const INITIATE = '/api/v1/checkout/initiate-payment'
  const openPage = async (changes: Record<string, unknown> = {}) => {
    const { uuid, checkoutUrl } = await made(api.post(INITIATE, p2pBody(changes)))
    return { uuid, checkoutUrl, page: await payer.open(checkoutUrl) }
  }
  const chooseDirect = async () => {
    const opened = await openPage()
    return {
      ...opened,
      page: await payer.submit(opened.page, '/attempts', { channel: 'direct_mobile_money' }),
    }
  }

  it('offers a transfer to the merchant where it has an account, and nowhere else', async () => {
    const { page } = await openPage()
    assert.match(wordsOf(page), /Mobile money to Another Shop/)
    assert.doesNotMatch(wordsOf(page), /Bank transfer to Another Shop/)
    const other = await openPage({ currency: 'KES' })
    assert.doesNotMatch(wordsOf(other.page), /to Another Shop You send/)
    const refused = await payer.submit(other.page, '/attempts', { channel: 'direct_mobile_money' })
    assert.match(wordsOf(refused), /Choose how you would like to pay/)
    const [route] = await made(api.get('/api/v1/misc/routes?currency=SSP&country=SS'))
    assert.deepEqual(
      route.gateways.map(({ name, channels }: { name: string; channels: string[] }) => `${name} ${channels}`),
      ['sandbox card,mobile_money,bank_transfer', 'p2p direct_mobile_money'],
    )
  })

  it('shows the account, takes the payer’s word, and the merchant’s', async () => {
    const { uuid, page } = await chooseDirect()
    assert.equal(headingOf(page), 'Send exactly SSP 5,000.00')
    assert.match(wordsOf(page), /m-Gurush .*091 234 5678|m-Gurush .*0912 345 678/)
    const { instructions } = await read(uuid)
    assert.ok(wordsOf(page).includes(instructions.narration))
    const sent = await payer.submit(page, '/sent')
    assert.equal(headingOf(sent), 'Another Shop is checking your transfer')
    assert.doesNotMatch(sent.html, /\/other"/, 'no second way while the first is looked for')
    assert.equal((await read(uuid)).transferStatus, 'marked_paid')
    await made(confirm(uuid, 3000))
    const short = await payer.open(page.url)
    assert.equal(headingOf(short), 'SSP 3,000.00 of SSP 5,000.00 arrived')
    assert.match(wordsOf(short), /missing SSP 2,000.00/)
    await made(confirm(uuid, 6000))
    const paid = await payer.open(page.url)
    assert.equal(headingOf(paid), 'Paid')
    assert.match(wordsOf(paid), /You sent SSP 1,000.00 more/)
  })

  it('lets a payer who has sent nothing pay another way, and counts money that comes all the same', async () => {
    const { uuid, page } = await chooseDirect()
    const open = await payer.submit(page, '/other')
    assert.match(headingOf(open), /^Pay SSP/)
    const again = await payer.submit(open, '/attempts', { channel: 'direct_mobile_money' })
    assert.equal(headingOf(again), 'Send exactly SSP 5,000.00')
    const first = await eventually(
      async () => (await made(api.get(`/api/v1/checkout/payments/${uuid}`))).attempts,
      (attempts) => attempts[0].status === 'declined',
      10_000,
    )
    assert.equal(first.length, 2)
    assert.equal((await eventsOf(db, uuid)).filter(({ type }) => type === 'p2p.awaiting_payment').length, 1)
    const card = await payer.submit(await payer.submit(again, '/other'), '/attempts', { channel: 'card' })
    assert.match(headingOf(card), /Continue/)
    const confirmed = await made(confirm(uuid, 5000))
    assert.deepEqual([confirmed.status, confirmed.paymentGateway], ['successful', 'p2p'])
  })

  it('tells the payer that the merchant did not find it', async () => {
    const { uuid, page } = await chooseDirect()
    await payer.submit(page, '/sent')
    await made(say(uuid, 'reject'))
    const failed = await payer.open(page.url)
    assert.equal(headingOf(failed), 'Payment did not go through')
    assert.match(wordsOf(failed), /did not find your transfer/)
    assert.doesNotMatch(wordsOf(failed), /not been charged/)
  })
})

describe('the time of a transfer', () => {
  it('ends what nobody said was sent, and money that comes late is money', async () => {
    const { uuid } = await ask({ expiresInMinutes: 10 })
    const { uuid: sent } = await ask({ expiresInMinutes: 10 })
    await made(say(sent, 'mark-paid'))
    clock.advance(11 * 60_000)
    const expired = await eventually(
      () => read(uuid),
      ({ status, transferStatus }) => status === 'expired' && transferStatus === 'expired',
      15_000,
    )
    assert.equal(expired.attempts[0].status, 'awaiting_customer')
    assertRefusal(await say(uuid, 'mark-paid'), 'invalid_state')
    assertRefusal(await say(uuid, 'cancel'), 'invalid_state')
    const late = await made(confirm(uuid, 5000))
    assert.deepEqual([late.status, late.transferStatus], ['successful', 'confirmed'])
    assert.deepEqual(await pathOf(db, uuid), ['pending', 'processing', 'expired', 'successful'])
    assert.equal((await read(sent)).status, 'processing', 'the merchant is still looking')
    clock.advance(7 * DAY_MS)
    const over = await eventually(
      () => read(sent),
      ({ status }) => status === 'expired',
      15_000,
    )
    assert.equal(over.transferStatus, 'marked_paid')
    assert.equal((await made(confirm(sent, 5000))).status, 'successful')
  })
})
