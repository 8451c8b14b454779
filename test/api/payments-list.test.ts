import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { CURRENCY_CODES, type Currency, decimalsOf } from '../../src/core/currency.ts'
import { type Db, sql } from '../../src/kit/db/db.ts'
import type { Api } from '../support/api.ts'
import { assertApiError, assertSameApiError, UNKNOWN_UUID } from '../support/assertions.ts'
import { CUSTOMER, chargeBody, initiateBody, payWith, saveMethod } from '../support/builders.ts'
import { HAS_LARGER_FORM, LARGER_FORM_ONLY, shareOf } from '../support/scale.ts'
import { testService } from '../support/service.ts'

// The rows inserted here directly have no moves and no events.
const service = await testService(
  { after },
  { env: { COWRY_RATE_LIMIT: '0' }, role: 'api', checksInvariants: false },
)
const { db } = service

const PAYMENTS = '/api/v1/checkout/payments'
const CHARGES = '/api/v1/charges'
const ALL = '/api/v1/payments'

async function list(api: Api, path: string) {
  const answer = await api.get(path)
  assert.equal(answer.http, 200, answer.text)
  return answer.body
}

const insertCustomers = sql`
insert into customers (merchant_id, id, email, email_key, firstname, lastname, search_text, created_at, updated_at)
select
  $1, ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'payer' || n || '@example.com',
  'payer' || n || '@example.com', 'P', 'N', 'p n' || chr(10) || 'payer' || n || '@example.com', now(), now()
from generate_series(1, 20) n`

const insertPayments = sql`
with rows as (
  select
    n, gen_random_uuid() as id, case when n % 5 = 0 then 'charge' else 'checkout' end as kind,
    ('{successful,failed,processing}'::text[])[1 + n % 3] as status,
    case when n % 7 = 0 then 'NGN' else 'KES' end as currency,
    case when n % 11 = 0 then 'paystack' else 'sandbox' end as gateway,
    1 + n % 20 as payer, timestamptz '2026-01-01T00:00:00Z' + n * interval '1 minute' as at,
    case when n % 2 = 0 then 'card' when n % 13 = 0 then 'mobile_money' end as channel,
    case when n % 3 = 1 then ('{card_expired,do_not_honor}'::text[])[1 + n % 2] end as failure_code,
    case when n % 3 = 2 then 'outcome_unknown' end as reason,
    case when n % 4 = 0 then jsonb_build_object('orderId', n, 'city', 'Nairobi') else '{"city": "Lagos", "vip": true}' end
      as metadata
  from generate_series($2::integer, $3::integer) n
),
reference as (
  insert into payment_references (
    merchant_id, reference, payment_id, fingerprint, created_at, amount_hundredths, metadata_terms
  )
  select $1, 'Order-' || n, id, '', at, hundredths_of(n * 10, currency), metadata_terms($1, metadata)
  from rows
)
insert into payments (
  merchant_id, id, kind, reference, status, version, amount_minor, currency, gateway, customer_id, customer_email,
  customer_firstname, customer_lastname, created_at, channel, failure_code, status_reason, paid_at, metadata
)
select
  $1, id, kind, 'Order-' || n, status, 1, n * 10, currency, gateway,
  ('00000000-0000-7000-8000-' || lpad(payer::text, 12, '0'))::uuid, 'payer' || payer || '@example.com', 'P', 'N', at,
  channel, failure_code, reason, case when n % 3 = 0 then at + interval '5 minutes' end,
  metadata
from rows`

/** A merchant with that many payments, each with its number. */
async function seeded(database: Db, count: number) {
  const merchant = await service.newMerchant()
  await database.query(insertCustomers, [merchant.uuid])
  // In parts, so that no statement takes too long on a busy machine.
  for (let from = 1; from <= count; from += 2_000)
    await database.query(insertPayments, [merchant.uuid, from, Math.min(count, from + 1_999)])
  return merchant
}

const uuids = (body: { data: { uuid: string }[] }) => body.data.map(({ uuid }) => uuid)

const numbers = (body: { data: { reference: string }[] }) =>
  body.data.map(({ reference }) => Number(reference.slice('Order-'.length)))

describe('lists of payments and charges', () => {
  it('requires a key and a scope for lists, and shows nothing of another merchant', async () => {
    const { api } = await service.newMerchant()
    const paid = await payWith(api, 'card_success')
    const other = await service.newMerchant()
    const ofCustomer = `/api/v1/customers/${paid.customer.uuid}/payments`
    for (const path of [PAYMENTS, CHARGES, ALL, ofCustomer]) {
      assertApiError(await service.apiWith(undefined).get(path), 'missing_api_key')
      const { api: poor } = await service.newMerchant(['wallet:read'])
      assertApiError(await poor.get(path), 'insufficient_scope')
    }
    assert.deepEqual((await list(other.api, PAYMENTS)).data, [])
    assert.deepEqual((await list(other.api, ALL)).data, [])
    assert.deepEqual((await list(other.api, `${PAYMENTS}?customer=${paid.customer.uuid}`)).data, [])
    assert.deepEqual((await list(other.api, `${PAYMENTS}?search=${paid.reference}`)).data, [])
    const unknown = await other.api.get(`/api/v1/customers/${UNKNOWN_UUID}/payments`)
    assertSameApiError(await other.api.get(ofCustomer), unknown, 'customer_not_found')
  })

  it('lists the same records that reading one returns', async () => {
    const { api } = await service.newMerchant()
    const token = await saveMethod(api, 'card_success')
    await payWith(api, 'card_declined')
    const recovering = await saveMethod(api, 'card_auth_required_later', {
      customer: { ...CUSTOMER, email: 'second@example.com' },
    })
    await api.post('/api/v1/charges/recurring', chargeBody(token))
    const customer = { ...CUSTOMER, email: 'second@example.com' }
    await api.post('/api/v1/charges/recurring', chargeBody(recovering, { customer }))
    for (const path of [PAYMENTS, CHARGES]) {
      const { data } = await list(api, path)
      assert.ok(data.length >= 2)
      for (const record of data) {
        assert.deepEqual(record, (await api.get(`${path}/${record.uuid}`)).body.data)
      }
    }
    const [failed] = (await list(api, `${CHARGES}?status=failed`)).data
    assert.match(failed.recovery.checkoutUrl, /\/pay\//)
  })

  it('has the decimals of every currency on the scale by which amounts are filtered', async () => {
    const read = sql<{ currency: Currency; scaled: bigint }>`
      select currency, hundredths_of(1, currency) as scaled from unnest($1::text[]) as currency`
    for (const { currency, scaled } of await db.query(read, [CURRENCY_CODES]))
      assert.equal(scaled, decimalsOf(currency) === 0 ? 100n : 1n, currency)
  })

  it('lists a customer’s payments and charges together, as verify returns them', async () => {
    const { api } = await service.newMerchant()
    const paid = await payWith(api, 'card_success')
    await api.post('/api/v1/charges/recurring', chargeBody(paid.paymentMethod.recurringToken))
    await api.post(
      '/api/v1/checkout/initiate-payment',
      initiateBody({ customer: { ...CUSTOMER, email: 'b@x.io' } }),
    )
    const path = `/api/v1/customers/${paid.customer.uuid}/payments`
    const { data, meta } = await list(api, path)
    assert.equal(meta.total, 2)
    for (const record of data) {
      const verified = await api.get(`/api/v1/checkout/verify-payment?reference=${record.reference}`)
      assert.deepEqual(record, verified.body.data)
    }
    assert.equal((await list(api, `${path}?search=${paid.reference}`)).meta.total, 1)
    assert.equal((await list(api, `${path}?status=failed`)).meta.total, 0)
  })

  it('finds a payment by each of its names at the provider, and for its own merchant only', async () => {
    const { api } = await service.newMerchant()
    const other = await service.newMerchant()
    await payWith(api, 'card_success')
    const paid = await payWith(api, 'mobile_success', { metadata: { cup: 7 } })
    const { gatewayReference, receiptNumber, gatewayKey } = paid
    assert.match(receiptNumber, /^S[0-9A-Z]{9}$/)
    for (const name of [gatewayReference, receiptNumber, receiptNumber.toLowerCase(), gatewayKey]) {
      for (const path of [PAYMENTS, ALL]) {
        for (const filter of ['search', 'gatewayReference'])
          for (const more of [
            '',
            '&status=successful',
            `&customer=${paid.customer.uuid}`,
            '&metadata[cup]=7',
          ])
            assert.deepEqual(uuids(await list(api, `${path}?${filter}=${name}${more}`)), [paid.uuid], name)
        assert.deepEqual(uuids(await list(api, `${path}?gatewayReference=${name.slice(1)}`)), [])
        assert.deepEqual(uuids(await list(api, `${path}?gatewayReference=${name}&status=failed`)), [])
      }
      for (const filter of ['search', 'gatewayReference'])
        assert.deepEqual((await list(other.api, `${PAYMENTS}?${filter}=${name}`)).data, [])
    }
    const refund = (await api.post('/api/v1/refunds', { paymentReference: paid.reference })).body.data
    for (const filter of ['search', 'gatewayReference']) {
      const path = `/api/v1/refunds?${filter}=${refund.gatewayReference}`
      assert.deepEqual((await list(api, path)).data, [refund])
      assert.deepEqual((await list(other.api, path)).data, [])
    }
    assert.deepEqual((await list(api, '/api/v1/refunds?gatewayReference=re_other')).data, [])
  })

  it('finds a payment by the number on its receipt, as people write it', async () => {
    const { api } = await service.newMerchant()
    const other = await service.newMerchant()
    await payWith(api, 'card_success')
    const { receiptCode, uuid } = await payWith(api, 'mobile_success')
    for (const written of [receiptCode, receiptCode.toLowerCase(), receiptCode.replaceAll('-', '%20')])
      for (const path of [PAYMENTS, ALL])
        assert.deepEqual(uuids(await list(api, `${path}?search=${written}`)), [uuid], written)
    assert.deepEqual((await list(other.api, `${ALL}?search=${receiptCode}`)).data, [])
    assert.deepEqual((await list(api, `${ALL}?search=${receiptCode.slice(0, -1)}0`)).data, [])
  })

  it('finds the payments of a whole phone number, as people dial it', async () => {
    const { api } = await service.newMerchant()
    const other = await service.newMerchant()
    const called = { ...CUSTOMER, phone: '+254712345678' }
    const family = { ...called, email: 'family@example.com' }
    const others = { ...CUSTOMER, email: 'others@example.com', phone: '+254799000111' }
    const made: string[] = []
    for (const customer of [called, family, others])
      made.push(
        (await api.post('/api/v1/checkout/initiate-payment', initiateBody({ customer }))).body.data.uuid,
      )
    for (const written of ['+254712345678', '254712345678', '0712 345 678', '00254 712-345678'])
      for (const path of [PAYMENTS, ALL]) {
        const found = uuids(await list(api, `${path}?search=${encodeURIComponent(written)}`))
        assert.deepEqual(found.toSorted(), made.slice(0, 2).toSorted(), written)
      }
    assert.deepEqual((await list(other.api, `${ALL}?search=0712345678`)).data, [])
    assert.deepEqual((await list(api, `${ALL}?search=0712345679`)).data, [])
  })

  it('lists payments and charges together, with their kind, and filters by real metadata and amounts', async () => {
    const { api } = await service.newMerchant()
    const metadata = { orderId: 7, city: 'Nairobi', nested: { a: 1 } }
    const paid = await payWith(api, 'card_success', { metadata })
    const { recurringToken } = paid.paymentMethod
    const charged = await api.post('/api/v1/charges/recurring', chargeBody(recurringToken, { amount: 77 }))
    assert.equal(charged.body.data.channel, 'saved')
    const { data } = await list(api, ALL)
    assert.deepEqual(
      data.map(({ kind, channel }: { kind: string; channel: string }) => [kind, channel]),
      [
        ['charge', 'saved'],
        ['checkout', 'card'],
      ],
    )
    const { kind, ...record } = data[1]
    assert.deepEqual(record, (await api.get(`${PAYMENTS}/${paid.uuid}`)).body.data)
    for (const [query, found] of [
      ['metadata[orderId]=7', [paid.uuid]],
      ['metadata[orderId]=7&metadata[city]=Lagos', []],
      ['minAmount=77&maxAmount=77.00', [charged.body.data.uuid]],
      ['channel=card', [paid.uuid]],
      ['kind=charge', [charged.body.data.uuid]],
      ['paidFrom=2020-01-01T00:00:00Z&channel=saved', [charged.body.data.uuid]],
    ] as const)
      assert.deepEqual(
        (await list(api, `${ALL}?${query}`)).data.map(({ uuid }: { uuid: string }) => uuid),
        found,
        query,
      )
    assert.equal(kind, 'checkout')
  })

  it('rejects invalid filters, all at once', async () => {
    const { api } = await service.newMerchant()
    const wrong =
      'status=failed,paid&paymentGateway=A%20B&customer=7&search=&limit=101&createdFrom=yesterday&sort=amount&minAmount=1e3&paidTo=x&failureCode=odd&metadata[a]=1&metadata[a]=2'
    for (const path of [PAYMENTS, CHARGES, ALL]) {
      assert.deepEqual(assertApiError(await api.get(`${path}?${wrong}`), 'validation_failed').sort(), [
        'createdFrom: invalid_format',
        'customer: invalid_uuid',
        'failureCode: not_allowed',
        'limit: out_of_range',
        'metadata[a]: repeated',
        'minAmount: invalid_format',
        'paidTo: invalid_format',
        'paymentGateway: invalid_format',
        'search: too_short',
        'sort: not_allowed',
        'status: not_allowed',
      ])
      assertApiError(await api.get(`${path}?minAmount=2&maxAmount=1.99`), 'validation_failed')
      assertApiError(await api.get(`${path}?currency=ABC`), 'invalid_currency')
      assertApiError(await api.get(`${path}?customer=x`), 'invalid_uuid')
    }
  })
})

const SEEDED = 300
const statusOf = (n: number) => ['successful', 'failed', 'processing'][n % 3]
const payerOf = (n: number) => 1 + (n % 20)
const uuidOf = (payer: number) => `00000000-0000-7000-8000-${String(payer).padStart(12, '0')}`

interface Filter {
  query: string
  fits: (n: number) => boolean
}

const FILTERS: Filter[] = [
  { query: 'status=failed', fits: (n) => statusOf(n) === 'failed' },
  { query: 'currency=NGN', fits: (n) => n % 7 === 0 },
  { query: 'paymentGateway=paystack', fits: (n) => n % 11 === 0 },
  { query: `customer=${uuidOf(3)}`, fits: (n) => payerOf(n) === 3 },
  { query: 'search=ORDER-1', fits: (n) => String(n).startsWith('1') },
  { query: 'search=payer2%40', fits: (n) => payerOf(n) === 2 },
  { query: 'createdFrom=2026-01-01T01:00:00Z', fits: (n) => n >= 60 },
  { query: 'createdTo=2026-01-01T03:00:00Z', fits: (n) => n <= 180 },
]

const isPaid = (n: number) => statusOf(n) === 'successful'

/** Each is combined with some of the filters above. */
const MORE_FILTERS: Filter[] = [
  { query: 'status=failed,processing', fits: (n) => !isPaid(n) },
  { query: 'status=failed&status=successful', fits: (n) => statusOf(n) !== 'processing' },
  { query: 'channel=card', fits: (n) => n % 2 === 0 },
  { query: 'channel=mobile_money', fits: (n) => n % 2 === 1 && n % 13 === 0 },
  { query: 'failureCode=card_expired', fits: (n) => statusOf(n) === 'failed' && n % 2 === 0 },
  { query: 'statusReason=outcome_unknown', fits: (n) => statusOf(n) === 'processing' },
  { query: 'minAmount=12.5', fits: (n) => n >= 125 },
  { query: 'maxAmount=20', fits: (n) => n <= 200 },
  { query: 'minAmount=7.30&maxAmount=7.30', fits: (n) => n === 73 },
  { query: 'paidFrom=2026-01-01T01:05:00Z', fits: (n) => isPaid(n) && n >= 60 },
  { query: 'paidTo=2026-01-01T03:05:00Z', fits: (n) => isPaid(n) && n <= 180 },
  { query: 'metadata[orderId]=8', fits: (n) => n === 8 },
  { query: 'metadata[city]=Nairobi', fits: (n) => n % 4 === 0 },
  { query: 'metadata%5Bvip%5D=true&metadata[city]=Lagos', fits: (n) => n % 4 !== 0 },
  { query: 'metadata[city]=Paris', fits: () => false },
]
const COMPANIONS = ['', 'currency=NGN', 'search=ORDER-1', `customer=${uuidOf(3)}`]

/** Every combination with at most one filter of each kind. */
function combinations(): Filter[] {
  const all: Filter[] = [{ query: '', fits: () => true }]
  for (const filter of FILTERS) {
    const [kind = ''] = filter.query.split('=')
    for (const { query, fits } of all.filter((one) => !one.query.includes(kind)))
      all.push({
        query: query === '' ? filter.query : `${query}&${filter.query}`,
        fits: (n) => fits(n) && filter.fits(n),
      })
  }
  return all
}

const { api } = await seeded(db, SEEDED)

describe('the filters of a payment list', () => {
  const everyNumber = Array.from({ length: SEEDED }, (_, n) => n + 1)
  const expected = (fits: Filter['fits'], kind: 'checkout' | 'charge') =>
    everyNumber.filter((n) => fits(n) && (n % 5 === 0) === (kind === 'charge')).reverse()

  it('combines filters in every combination and order, and counts exactly', HAS_LARGER_FORM, async () => {
    const all = shareOf(combinations(), 0)
    assert.ok(all.length > 50)
    const check = async ({ query, fits }: Filter, index: number) => {
      const [path, kind] = index % 2 ? ([PAYMENTS, 'checkout'] as const) : ([CHARGES, 'charge'] as const)
      const wanted = expected(fits, kind)
      const page = await list(api, `${path}?limit=7&${query}`)
      assert.deepEqual(numbers(page), wanted.slice(0, 7), query)
      assert.equal(page.meta.total, wanted.length, query)
      const oldest = await list(api, `${path}?limit=7&page=2&sort=createdAt:asc&${query}`)
      assert.deepEqual(numbers(oldest), wanted.toReversed().slice(7, 14), query)
    }
    // A few at a time: a request that waits three seconds for a connection gets a 503.
    for (let from = 0; from < all.length; from += 8)
      await Promise.all(all.slice(from, from + 8).map((one, n) => check(one, from + n)))
  })

  it('filters by several statuses, channel, failure, reason, amount, time of payment and metadata', async () => {
    const companions = combinations().filter(({ query }) => COMPANIONS.includes(query))
    assert.equal(companions.length, COMPANIONS.length)
    for (const { query, fits } of MORE_FILTERS) {
      const check = async (companion: Filter, index: number) => {
        const kinds = (['checkout', 'charge'] as const).filter((_, n) => index % 2 === 0 || n === 0)
        const path = kinds.length === 2 ? ALL : `${ALL}?kind=checkout`
        const wanted = kinds.flatMap((kind) => expected((n) => fits(n) && companion.fits(n), kind))
        const page = await list(api, `${path}${path === ALL ? '?' : '&'}limit=20&${query}&${companion.query}`)
        assert.deepEqual(numbers(page), wanted.toSorted((a, b) => b - a).slice(0, 20), page.message + query)
        assert.equal(page.meta.total, wanted.length, `${query}&${companion.query}`)
      }
      await Promise.all(companions.map(check))
    }
  })

  it('pages every filter by cursor to the last row, in both orders', async () => {
    for (const query of ['', 'status=failed', `customer=${uuidOf(4)}`, 'search=order-2']) {
      const fits = combinations().find((one) => one.query === query)?.fits
      const wanted = fits ? expected(fits, 'checkout') : undefined
      const seen: number[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const next: string = cursor === '' ? '' : `&cursor=${cursor}`
        const page = await list(api, `${PAYMENTS}?limit=40&${query}${next}`)
        seen.push(...numbers(page))
        cursor = page.meta.nextCursor
      }
      assert.equal(new Set(seen).size, seen.length, 'no row comes twice')
      assert.deepEqual(
        seen,
        seen.toSorted((a, b) => b - a),
      )
      if (wanted) assert.deepEqual(seen, wanted)
    }
  })

  it('rejects a cursor with other filters', async () => {
    const { meta } = await list(api, `${PAYMENTS}?limit=5&status=failed`)
    for (const path of [`${PAYMENTS}?status=successful`, `${CHARGES}?status=failed`]) {
      assertApiError(await api.get(`${path}&cursor=${meta.nextCursor}`), 'validation_failed')
    }
  })

  it('filters by %, _ and \\ literally', async () => {
    for (const search of ['%25', '_', '%5C', 'order_1', 'payer%25']) {
      assert.equal((await list(api, `${PAYMENTS}?search=${search}`)).meta.total, 0, search)
    }
  })
})

describe('a long payment list', () => {
  it('counts up to ten thousand and no further', LARGER_FORM_ONLY, async () => {
    const { api } = await seeded(db, 13_000)
    for (const query of ['', 'currency=KES&paymentGateway=sandbox']) {
      const { meta } = await list(api, `${PAYMENTS}?${query}`)
      assert.equal(meta.totalIsCapped, query === '', query)
      assert.equal(meta.total, query === '' ? 10_000 : 8_104, query)
      assert.equal(meta.hasNext, true)
    }
    for (const query of ['search=order-', 'search=example.com']) {
      const { meta, data } = await list(api, `${PAYMENTS}?${query}`)
      assert.deepEqual([meta.totalIsCapped, meta.hasNext, data.length], [true, true, 20], query)
    }
  })
})
