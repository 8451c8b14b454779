import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Api } from '../support/api.ts'
import {
  assertApiError,
  assertErrorCode,
  assertKeys,
  assertSameApiError,
  ISO_TIME,
  UNKNOWN_UUID,
  UUID_V7,
} from '../support/assertions.ts'
import { TEST_CELLS } from '../support/cells.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { linkBody, makeLink, payAt } from '../support/links.ts'
import { eventsOf } from '../support/payment-records.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const PATH = '/api/v1/payment-links'
const DAY_MS = 86_400_000

const clock = tickingClock()
const service = await testService({ after }, { clock })
const { api } = service
const other = await service.newMerchant()

const FIELDS = [
  ...['uuid', 'slug', 'url', 'qr', 'title', 'description', 'amount', 'minAmount', 'maxAmount', 'currency'],
  ...['country', 'usage', 'maxPayments', 'paymentsCount', 'amountCollected', 'status', 'redirectUrl'],
  ...['metadata', 'expiresAt', 'createdAt'],
]

const inDays = (days: number) => new Date(clock.now().getTime() + days * DAY_MS).toISOString()

const patch = (uuid: string, body: unknown, client: Api = api) =>
  client.send('PATCH', `${PATH}/${uuid}`, {
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })

async function read(uuid: string) {
  const answer = await api.get(`${PATH}/${uuid}`)
  assert.equal(answer.http, 200, answer.text)
  return answer.body.data
}

/** Every operation of one link, by its uuid. */
const EACH = {
  'GET of one': (client: Api, uuid: string) => client.get(`${PATH}/${uuid}`),
  'PATCH of one': (client: Api, uuid: string) => patch(uuid, { title: 'Another' }, client),
  'POST of its end': (client: Api, uuid: string) => client.post(`${PATH}/${uuid}/deactivate`, {}),
  'GET of its payments': (client: Api, uuid: string) => client.get(`${PATH}/${uuid}/payments`),
}

describe('access to payment links', () => {
  const asked = {
    POST: (client: Api) => client.post(PATH, linkBody()),
    GET: (client: Api) => client.get(PATH),
    ...Object.fromEntries(
      Object.entries(EACH).map(([name, ask]) => [name, (client: Api) => ask(client, UNKNOWN_UUID)]),
    ),
  }

  it('requires a key for every operation on a link', async () => {
    for (const ask of Object.values(asked))
      assertApiError(await ask(service.apiWith(undefined)), 'missing_api_key')
  })

  it('answers the same for another merchant’s link as for an unknown one', async () => {
    const { uuid } = await makeLink(api)
    for (const ask of Object.values(EACH)) {
      assertSameApiError(
        await ask(other.api, uuid),
        await ask(other.api, UNKNOWN_UUID),
        'payment_link_not_found',
      )
      assertErrorCode(await ask(api, 'not-a-uuid'), 400, 'invalid_uuid')
    }
    assert.deepEqual((await other.api.get(PATH)).body.data, [])
    assert.equal((await read(uuid)).status, 'active', 'the other merchant has not deactivated it')
  })

  it('requires the scope links:read or links:write for every operation on a link, and names it', async () => {
    const { api: reader } = await service.newMerchant(['checkout:write', 'checkout:read'])
    for (const ask of Object.values(asked)) {
      const answer = await ask(reader)
      assertErrorCode(answer, 403, 'insufficient_scope')
      assert.match(answer.body.message, /links:(?:read|write)/)
    }
  })
})

describe('POST /api/v1/payment-links', () => {
  it('creates a link with an address, a QR code and no payments', async () => {
    const answer = await api.post(PATH, {
      ...linkBody({ maxPayments: 40, metadata: { event: 'tasting' }, redirectUrl: 'https://shop.example/x' }),
      expiresAt: inDays(1),
    })
    assert.equal(answer.http, 201, answer.text)
    const { data } = answer.body
    assertKeys(data, FIELDS)
    const { uuid, slug, url, qr, createdAt, expiresAt, ...rest } = data
    assert.match(uuid, UUID_V7)
    assert.match(slug, TEST_CELLS === 1 ? /^[0-9A-Za-z]{15}$/ : /^(?:0[12])?[0-9A-Za-z]{15}$/)
    assert.equal(url, `${service.url}/l/${slug}`)
    assert.match(qr, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox="0 0 (\d+) \1"/)
    assert.match(createdAt, ISO_TIME)
    assert.match(expiresAt, ISO_TIME)
    assert.deepEqual(rest, {
      title: 'A ticket',
      description: 'Saturday at ten',
      amount: '1250.50',
      minAmount: null,
      maxAmount: null,
      currency: 'KES',
      country: 'KE',
      usage: 'multi',
      maxPayments: 40,
      paymentsCount: 0,
      amountCollected: '0.00',
      status: 'active',
      redirectUrl: 'https://shop.example/x',
      metadata: { event: 'tasting' },
    })
    assert.deepEqual(await read(uuid), data)
  })

  it('lets the payer choose the amount, with or without bounds', async () => {
    const open = await makeLink(api, { amount: null })
    assert.deepEqual([open.amount, open.minAmount, open.maxAmount], [null, null, null])
    const bound = await makeLink(api, { amount: undefined, minAmount: 10, maxAmount: 20.5 })
    assert.deepEqual([bound.amount, bound.minAmount, bound.maxAmount], [null, '10.00', '20.50'])
    const single = await makeLink(api, { usage: 'single' })
    assert.equal(single.maxPayments, 1)
  })

  it('creates one link per Idempotency-Key', async () => {
    const headers = { 'idempotency-key': `link-${clock.now().getTime()}` }
    const body = linkBody({ expiresAt: inDays(1) })
    const answers = await Promise.all(Array.from({ length: 5 }, () => api.post(PATH, body, headers)))
    assert.deepEqual(new Set(answers.map(({ http }) => http)), new Set([201]))
    assert.equal(new Set(answers.map((answer) => answer.body.data.uuid)).size, 1)
    const replayed = answers.filter((answer) => answer.headers.get('idempotent-replayed') === 'true')
    assert.equal(replayed.length, 4)
    assertApiError(await api.post(PATH, linkBody({ amount: 2 }), headers), 'idempotency_key_reused')
    clock.advance(2 * DAY_MS)
    const late = await api.post(PATH, body, headers)
    assert.equal(late.http, 201, 'a retry is idempotent, also when a new request would be rejected')
    assert.equal(late.body.data.status, 'expired')
  })

  it('reports all validation issues of a link at once', async () => {
    const wrong = {
      title: '\u200b ',
      description: 'x'.repeat(256),
      amount: 1.005,
      minAmount: 1,
      currency: 'KES',
      country: 'NG',
      usage: 'single',
      maxPayments: 2,
      redirectUrl: 'ftp://shop.example',
      metadata: { a: 'x'.repeat(501) },
      expiresAt: 'tomorrow',
    }
    const details = assertApiError(await api.post(PATH, wrong), 'validation_failed')
    assert.deepEqual(details.toSorted(), [
      'amount: amount_precision',
      'country: invalid_country',
      'description: too_long',
      'expiresAt: invalid_format',
      'maxPayments: not_allowed',
      'metadata.a: too_long',
      'minAmount: not_allowed',
      'redirectUrl: invalid_format',
      'title: invalid_format',
    ])
  })

  it('rejects a link that cannot be collected, and stores nothing', async () => {
    const { total } = (await api.get(PATH)).body.meta
    const refused: [Record<string, unknown>, string][] = [
      [{ currency: 'XYZ' }, 'invalid_currency'],
      [{ currency: 'XOF', amount: 5000 }, 'country_required'],
      [{ currency: 'XOF', amount: 5000.5, country: 'CI' }, 'amount_precision'],
      [{ amount: 0 }, 'amount_out_of_range'],
      [{ amount: undefined, minAmount: -1 }, 'amount_out_of_range'],
      [{ amount: undefined, minAmount: 20, maxAmount: 10 }, 'validation_failed'],
      [{ title: undefined }, 'validation_failed'],
      [{ maxPayments: 0 }, 'validation_failed'],
      [{ expiresAt: inDays(-1) }, 'validation_failed'],
      [{ title: 'Card 4242 4242 4242 4242' }, 'card_data_not_allowed'],
      [{ description: '4242424242424242' }, 'card_data_not_allowed'],
    ]
    for (const [changes, code] of refused) {
      const answer = await api.post(PATH, linkBody(changes))
      assert.equal(answer.body.error?.code, code, `${JSON.stringify(changes)}: ${answer.text}`)
    }
    assert.equal((await api.get(PATH)).body.meta.total, total)
  })
})

describe('GET /api/v1/payment-links', () => {
  it('filters links by status, currency, usage, time and a part of the title or slug', async () => {
    const { api: own } = await service.newMerchant()
    const ask = async (query: string) => {
      const answer = await own.get(`${PATH}${query}`)
      assert.equal(answer.http, 200, answer.text)
      return answer.body.data.map(({ title }: { title: string }) => title)
    }
    const first = await makeLink(own, { title: 'Kahawa ya Asubuhi' })
    await makeLink(own, { title: 'Chai', currency: 'NGN' })
    await makeLink(own, { title: '100% Juice', usage: 'single', expiresAt: inDays(1) })
    assert.deepEqual(await ask(''), ['100% Juice', 'Chai', 'Kahawa ya Asubuhi'])
    assert.deepEqual(await ask('?sort=createdAt:asc&limit=1'), ['Kahawa ya Asubuhi'])
    assert.deepEqual(await ask('?search=ASUB'), ['Kahawa ya Asubuhi'])
    assert.deepEqual(await ask(`?search=${first.slug.slice(2, 12)}`), ['Kahawa ya Asubuhi'])
    assert.deepEqual(await ask('?search=0%25'), ['100% Juice'])
    assert.deepEqual(await ask('?currency=NGN'), ['Chai'])
    assert.deepEqual(await ask('?usage=single'), ['100% Juice'])
    await own.post(`${PATH}/${first.uuid}/deactivate`, {})
    assert.deepEqual(await ask('?status=inactive'), ['Kahawa ya Asubuhi'])
    clock.advance(2 * DAY_MS)
    assert.deepEqual(await ask('?status=expired'), ['100% Juice'])
    assert.deepEqual(await ask('?status=active'), ['Chai'])
    assert.deepEqual(await ask('?status=completed'), [])
    assert.deepEqual(await ask(`?createdFrom=${encodeURIComponent(clock.now().toISOString())}`), [])
  })

  it('lists links as they are read, without the QR code', async () => {
    const { api: own } = await service.newMerchant()
    const { qr: _, ...link } = await makeLink(own)
    assert.deepEqual((await own.get(PATH)).body.data, [link])
  })

  it('pages links by number and by cursor, and rejects parameters out of range', async () => {
    const { api: own } = await service.newMerchant()
    for (let n = 1; n <= 3; n += 1) await makeLink(own, { title: `Link ${n}` })
    const page = (await own.get(`${PATH}?limit=2`)).body
    assert.deepEqual(
      [page.data.length, page.meta.total, page.meta.pageCount, page.meta.hasNext],
      [2, 3, 2, true],
    )
    const next = (await own.get(`${PATH}?limit=2&cursor=${page.meta.nextCursor}`)).body
    assert.deepEqual([next.data.length, next.data[0].title, next.meta.hasNext], [1, 'Link 1', false])
    for (const query of ['?limit=101', '?page=0', '?status=open', '?usage=many', '?search=', '?cursor=x'])
      assertErrorCode(await own.get(`${PATH}${query}`), 400, 'validation_failed')
    assertErrorCode(await own.get(`${PATH}?currency=kes`), 400, 'invalid_currency')
    const foreign = await other.api.get(`${PATH}?limit=2&cursor=${page.meta.nextCursor}`)
    assertErrorCode(foreign, 400, 'validation_failed')
  })
})

describe('PATCH /api/v1/payment-links/{uuid}', () => {
  it('changes the terms of a link: absent fields stay, null clears a field', async () => {
    const { uuid } = await makeLink(api, { amount: null, maxPayments: 5, expiresAt: inDays(1) })
    const changed = await patch(uuid, {
      title: 'Two tickets',
      description: null,
      minAmount: 5,
      maxAmount: 50,
      redirectUrl: 'https://shop.example/thanks',
      metadata: { a: 1 },
    })
    assert.equal(changed.http, 200, changed.text)
    for (const fixed of [{ currency: 'NGN' }, { amount: 3 }, { usage: 'single' }])
      assertErrorCode(await patch(uuid, fixed), 400, 'unknown_field')
    const { title, description, minAmount, maxAmount, currency, amount, usage, maxPayments } =
      changed.body.data
    assert.deepEqual(
      { title, description, minAmount, maxAmount, currency, amount, usage, maxPayments },
      {
        ...{ title: 'Two tickets', description: null, minAmount: '5.00', maxAmount: '50.00' },
        ...{ currency: 'KES', amount: null, usage: 'multi', maxPayments: 5 },
      },
    )
    const cleared = await patch(uuid, {
      minAmount: null,
      maxPayments: null,
      expiresAt: null,
      redirectUrl: null,
    })
    assert.deepEqual(
      ['minAmount', 'maxAmount', 'maxPayments', 'expiresAt', 'redirectUrl'].map(
        (name) => cleared.body.data[name],
      ),
      [null, '50.00', null, null, null],
    )
    assert.deepEqual(cleared.body.data.metadata, { a: 1 })
    assert.equal(
      (await api.get(`${PATH}?search=two tick`)).body.data[0].uuid,
      uuid,
      'the search finds its new title',
    )
  })

  it('rejects terms that contradict each other or the link', async () => {
    const fixed = await makeLink(api, { usage: 'single' })
    const open = await makeLink(api, { amount: null, maxAmount: 10, currency: 'XOF', country: 'CI' })
    const refused: [string, unknown, string][] = [
      [fixed.uuid, { minAmount: 1 }, 'validation_failed'],
      [fixed.uuid, { maxPayments: 3 }, 'validation_failed'],
      [open.uuid, { minAmount: 11 }, 'validation_failed'],
      [open.uuid, { minAmount: 1.5 }, 'amount_precision'],
      [open.uuid, { maxAmount: 0 }, 'amount_out_of_range'],
      [open.uuid, { expiresAt: inDays(-1) }, 'validation_failed'],
      [open.uuid, { title: '' }, 'validation_failed'],
      [open.uuid, { redirectUrl: 'nowhere' }, 'validation_failed'],
      [open.uuid, { description: '4242 4242 4242 4242' }, 'card_data_not_allowed'],
    ]
    for (const [uuid, change, code] of refused) {
      const answer = await patch(uuid, change)
      assert.equal(answer.body.error?.code, code, `${JSON.stringify(change)}: ${answer.text}`)
    }
  })

  it('rejects a limit below the paid and pending payments', async () => {
    const link = await makeLink(api, { maxPayments: 3 })
    await payAt(service, link, 'card_success')
    await payAt(service, link, null)
    const { paymentsCount, amountCollected } = await read(link.uuid)
    assert.deepEqual([paymentsCount, amountCollected], [1, '1250.50'])
    const refusal = await patch(link.uuid, { maxPayments: 1 })
    assertApiError(refusal, 'invalid_state')
    assert.match(refusal.body.message, /1 paid, 1 at this moment/)
    assert.equal((await patch(link.uuid, { maxPayments: 2 })).body.data.maxPayments, 2)
  })
})

describe('POST /api/v1/payment-links/{uuid}/deactivate', () => {
  it('deactivates a link idempotently', async () => {
    const { uuid } = await makeLink(api)
    const once = await api.post(`${PATH}/${uuid}/deactivate`, {})
    assert.equal(once.http, 200, once.text)
    assert.equal(once.body.data.status, 'inactive')
    assert.deepEqual((await api.post(`${PATH}/${uuid}/deactivate`, {})).body.data, once.body.data)
  })
})

describe('GET /api/v1/payment-links/{uuid}/payments', () => {
  it('lists the payments of a link as normal payment records', async () => {
    const link = await makeLink(api, { metadata: { table: 7 } })
    const paid = await payAt(service, link, 'card_success')
    await payAt(service, link, null)
    const all = await api.get(`${PATH}/${link.uuid}/payments`)
    assert.equal(all.http, 200, all.text)
    assert.deepEqual([all.body.data.length, all.body.meta.total], [2, 2])
    const [found] = (await api.get(`${PATH}/${link.uuid}/payments?status=successful`)).body.data
    assert.deepEqual(found, await paid.read())
    assert.equal(found.paymentLink, link.uuid)
    assert.equal(found.description, link.title)
    assert.deepEqual(found.metadata, { table: 7 })
    assert.match(found.reference, new RegExp(`^${link.slug}-[0-9A-Za-z]{13}$`))
    const page = (await api.get(`${PATH}/${link.uuid}/payments?limit=1&sort=createdAt:asc`)).body
    const next = await api.get(`${PATH}/${link.uuid}/payments?limit=1&cursor=${page.meta.nextCursor}`)
    assert.notEqual(next.body.data[0].uuid, page.data[0].uuid)
    assertErrorCode(await api.get(`${PATH}/${link.uuid}/payments?status=paid`), 400, 'validation_failed')
  })
})

describe('the events of a payment link', () => {
  const awaitEvents = (uuid: string, count: number) =>
    eventually(
      () => eventsOf(service.db, uuid),
      (events) => events.length >= count,
      10_000,
    )

  it('emits each payment and the completion once and in order, and again after the link is reopened', async () => {
    const link = await makeLink(api, { maxPayments: 2 })
    const first = await payAt(service, link, 'card_success')
    await payAt(service, link, 'card_success')
    const events = await awaitEvents(link.uuid, 3)
    assert.deepEqual(
      events.map(({ type, version }) => `${version} ${type}`),
      ['1 payment_link.paid', '2 payment_link.paid', '3 payment_link.completed'],
    )
    const { data, resource } = events[0]?.body ?? {}
    assert.deepEqual(resource, { type: 'payment_link', uuid: link.uuid, version: 1 })
    assert.deepEqual([data.paymentsCount, data.amountCollected, data.status], [1, '1250.50', 'active'])
    assert.equal(data.payment.uuid, first.uuid)
    assert.equal(data.payment.amountPaid, '1250.50')
    assertKeys(data, [...FIELDS.filter((name) => name !== 'qr'), 'payment'])
    const { qr: _, ...shown } = await read(link.uuid)
    assert.deepEqual(events[2]?.body.data, shown)
    assert.equal(shown.status, 'completed')

    assert.equal((await patch(link.uuid, { maxPayments: 3 })).body.data.status, 'active')
    assert.equal((await patch(link.uuid, { maxPayments: 2 })).body.data.status, 'completed')
    assert.deepEqual((await awaitEvents(link.uuid, 4)).at(-1)?.type, 'payment_link.completed')
  })

  it('emits the expiry of a link once, unless it had ended before', async () => {
    const [plain, off] = [
      await makeLink(api, { expiresAt: inDays(1) }),
      await makeLink(api, { expiresAt: inDays(1) }),
    ]
    await api.post(`${PATH}/${off.uuid}/deactivate`, {})
    clock.advance(2 * DAY_MS)
    const [event] = await awaitEvents(plain.uuid, 1)
    assert.equal(event?.type, 'payment_link.expired')
    assert.equal(event?.body.data.status, 'expired')
    assert.equal((await patch(plain.uuid, { title: 'Still over' })).body.data.status, 'expired')
    assert.equal((await patch(plain.uuid, { expiresAt: inDays(1) })).body.data.status, 'active')
    clock.advance(2 * DAY_MS)
    assert.equal((await awaitEvents(plain.uuid, 2)).length, 2)
    assert.deepEqual(await eventsOf(service.db, off.uuid), [])
  })

  it('reports the collected amount, which a refund does not reduce', async () => {
    const link = await makeLink(api, { usage: 'single' })
    const paid = await payAt(service, link, 'card_success')
    const refund = await api.post('/api/v1/refunds', { uuid: paid.uuid })
    assert.equal(refund.http, 201, refund.text)
    await eventually(paid.read, ({ status }) => status === 'refunded', 10_000)
    const { paymentsCount, amountCollected, status } = await read(link.uuid)
    assert.deepEqual([paymentsCount, amountCollected, status], [1, '1250.50', 'completed'])
  })
})
