import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import { systemRandom } from '../../src/kit/random.ts'
import { settleDueMoney } from '../../src/ledger/service.ts'
import type { Api } from '../support/api.ts'
import { assertErrorCode, assertSameApiError, ISO_TIME } from '../support/assertions.ts'
import { chargeBody, payWith, saveMethod } from '../support/builders.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const DAY_MS = 24 * 3_600_000
const FEES = { sandbox: { GHS: { percent: '2' } } }
const clock = tickingClock()
const service = await testService(
  { after },
  { clock, env: { COWRY_RATE_LIMIT: '0', COWRY_FEES: JSON.stringify(FEES) } },
)

/** Moves the clock to the settlement; a background job may settle earlier. */
async function settleAll(): Promise<void> {
  clock.advance(2 * DAY_MS)
  await settleDueMoney({ db: service.db, clock, random: systemRandom(clock), mode: 'test' })
}

const PATH = '/api/v1/wallet/transactions'
const EXPORT = `${PATH}/export`

async function read(api: Api, query = '') {
  const answer = await api.get(`${PATH}${query}`)
  assert.equal(answer.http, 200, answer.text)
  return answer.body
}

async function balance(api: Api, currency: string) {
  const { body } = await api.get(`/api/v1/wallet/balance?currency=${currency}`)
  return [body.data.availableBalance, body.data.pendingBalance]
}

const amounts = (records: { amount: string }[]) => records.map(({ amount }) => amount)

describe('GET /api/v1/wallet/transactions', () => {
  it('rejects the wallet statement without a key', async () => {
    assertErrorCode(await service.apiWith(undefined).get(PATH), 401, 'missing_api_key')
    assertErrorCode(await service.apiWith(undefined).get(EXPORT), 401, 'missing_api_key')
  })

  it('never shows another merchant’s lines, and rejects its cursor', async () => {
    const [owner, otherMerchant] = [await service.newMerchant(), await service.newMerchant()]
    const { uuid } = await payWith(owner.api, 'card_success')
    await payWith(owner.api, 'card_success')
    for (const query of ['', `?payment=${uuid}`]) {
      assert.deepEqual((await read(otherMerchant.api, query)).data, [])
      assert.equal((await otherMerchant.api.get(`${EXPORT}${query}`)).text.split('\r\n').length, 2)
    }
    const { nextCursor } = (await read(owner.api, '?limit=1')).meta
    const foreign = await otherMerchant.api.get(`${PATH}?cursor=${nextCursor}`)
    const made = await otherMerchant.api.get(`${PATH}?cursor=made-up`)
    assertSameApiError(foreign, made, 'validation_failed')
  })

  it('requires the scope to read the wallet statement', async () => {
    const { api } = await service.newMerchant(['checkout:read'])
    assertErrorCode(await api.get(PATH), 403, 'insufficient_scope')
    assertErrorCode(await api.get(EXPORT), 403, 'insufficient_scope')
    const { api: reader } = await service.newMerchant(['wallet:read'])
    assert.deepEqual((await read(reader)).data, [])
  })

  it('rejects invalid parameters of the statement', async () => {
    const wrong: [query: string, code: string][] = [
      ['currency=XYZ', 'invalid_currency'],
      ['currency=kes', 'invalid_currency'],
      ['payment=1', 'invalid_uuid'],
      ['type=gift', 'validation_failed'],
      ['createdFrom=yesterday', 'validation_failed'],
    ]
    for (const [query, code] of wrong) {
      assertErrorCode(await service.api.get(`${PATH}?${query}`), 400, code)
      assertErrorCode(await service.api.get(`${EXPORT}?${query}`), 400, code)
    }
    for (const query of [
      'limit=0',
      'limit=101',
      'page=0',
      'page=10000&limit=100',
      'sort=amount:asc',
      'cursor=',
    ])
      assertErrorCode(await service.api.get(`${PATH}?${query}`), 400, 'validation_failed')
  })

  it('shows kind, payment and balances of every line, and ends with the balance', async () => {
    const { api } = await service.newMerchant()
    const first = await payWith(api, 'card_success', { amount: 100, currency: 'GHS' })
    const second = await payWith(api, 'card_success', { amount: 50, currency: 'GHS' })
    const { data, meta } = await read(api)
    const [line] = data
    assert.deepEqual(line, {
      number: 2,
      type: 'capture',
      balance: 'pending',
      amount: '49.00',
      currency: 'GHS',
      availableBalance: '0.00',
      pendingBalance: '147.00',
      payment: { uuid: second.uuid, reference: second.reference },
      createdAt: line.createdAt,
    })
    assert.match(line.createdAt, ISO_TIME)
    assert.equal(data[1].payment.uuid, first.uuid)
    assert.deepEqual([meta.total, meta.page, meta.hasNext], [2, 1, false])
    assert.deepEqual(await balance(api, 'GHS'), [line.availableBalance, line.pendingBalance])
  })

  it('shows settlement, refund and chargeback, also below zero, with a correct sum at every line', async () => {
    const { api } = await service.newMerchant()
    const { reference } = await payWith(api, 'card_success', { amount: 100, currency: 'GHS' })
    await payWith(api, 'card_success', { amount: 5, currency: 'KES' })
    await settleAll()
    await eventually(
      () => balance(api, 'GHS'),
      ([available]) => available === '98.00',
      20_000,
    )
    const dispute = (outcome: string) =>
      api.post(`/api/v1/sandbox/payments/${reference}/dispute`, { outcome })
    assert.equal((await dispute('open')).http, 200)
    // The dispute reserves the whole payment, of which the merchant never received the fee of two.
    assert.deepEqual(await balance(api, 'GHS'), ['-2.00', '0.00'])
    assert.equal((await dispute('won')).http, 200)

    const { data } = await read(api, '?currency=GHS&sort=createdAt:asc')
    assert.deepEqual(
      data.map(({ type, balance: which, amount }: Record<string, string>) => `${type} ${which} ${amount}`),
      [
        'capture pending 98.00',
        'settlement pending -98.00',
        'settlement available 98.00',
        'dispute available -100.00',
        'dispute_won available 100.00',
      ],
    )
    const running = { available: 0, pending: 0 }
    for (const [index, line] of data.entries()) {
      running[line.balance as 'available' | 'pending'] += Number(line.amount)
      assert.deepEqual(
        [line.number, Number(line.availableBalance), Number(line.pendingBalance)],
        [index + 1, running.available, running.pending],
      )
    }
    assert.deepEqual(amounts((await read(api, '?type=dispute')).data), ['-100.00'])
    assert.deepEqual(amounts((await read(api, '?type=settlement&currency=KES&sort=createdAt:asc')).data), [
      '-5.00',
      '5.00',
    ])
    const since = encodeURIComponent(data[3].createdAt)
    assert.equal((await read(api, `?currency=GHS&createdFrom=${since}`)).data.length, 2)
  })

  it('pages through many lines by cursor while others are inserted', async () => {
    const { api } = await service.newMerchant()
    const token = await saveMethod(api, 'card_success', { amount: 1 })
    const charge = () => api.post('/api/v1/charges/recurring', chargeBody(token, { amount: 1 }))
    await Promise.all(Array.from({ length: 10 }, charge))
    const seen: number[] = []
    let cursor: string | null = null
    do {
      const page: Awaited<ReturnType<typeof read>> = await read(
        api,
        `?limit=3${cursor ? `&cursor=${cursor}` : ''}`,
      )
      seen.push(...page.data.map(({ number }: { number: number }) => number))
      cursor = page.meta.nextCursor
      await charge()
    } while (cursor !== null)
    assert.deepEqual(seen, [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
  })
})

const selectSettled = sql<{ resourceType: string; version: number; data: Record<string, unknown> }>`
select resource_type as "resourceType", version, body -> 'data' as data
from events
where merchant_id = $1 and type = 'wallet.settled'
order by body -> 'data' ->> 'currency'`

it('shows a settlement once for each currency, with its amount', async () => {
  const { api, uuid } = await service.newMerchant()
  await payWith(api, 'card_success', { amount: 100, currency: 'GHS' })
  await payWith(api, 'card_success', { amount: 50, currency: 'GHS' })
  await payWith(api, 'card_success', { amount: 5000, currency: 'XOF', country: 'SN' })
  await settleAll()
  const events = await eventually(
    () => service.db.query(selectSettled, [uuid]),
    (rows) => rows.length > 0,
    20_000,
  )
  assert.deepEqual(
    events.map(({ resourceType, version, data }) => ({
      resourceType,
      version,
      ...data,
      uuid: '',
      settledAt: '',
    })),
    [
      {
        resourceType: 'settlement',
        version: 1,
        currency: 'GHS',
        amount: '147.00',
        payments: 2,
        uuid: '',
        settledAt: '',
      },
      {
        resourceType: 'settlement',
        version: 1,
        currency: 'XOF',
        amount: '5000.00',
        payments: 1,
        uuid: '',
        settledAt: '',
      },
    ],
  )
  assert.match(String(events[0]?.data.settledAt), ISO_TIME)
})

describe('GET /api/v1/wallet/transactions/export', () => {
  it('exports every line of the statement, oldest first', async () => {
    const { api } = await service.newMerchant()
    const first = await payWith(api, 'card_success', { amount: 100, currency: 'GHS' })
    const second = await payWith(api, 'card_success', { amount: 7, currency: 'KES' })
    const answer = await api.get(EXPORT)
    assert.equal(answer.http, 200)
    assert.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8')
    assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="wallet-transactions.csv"')
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
    const [line] = (await read(api)).data
    assert.deepEqual(answer.text.split('\r\n'), [
      'number,createdAt,type,balance,amount,currency,availableBalance,pendingBalance,payment,reference',
      `"1","${(await read(api)).data[1].createdAt}","capture","pending","98.00","GHS","0.00","98.00","${first.uuid}","${first.reference}"`,
      `"1","${line.createdAt}","capture","pending","7.00","KES","0.00","7.00","${second.uuid}","${second.reference}"`,
      '',
    ])
    assert.equal((await api.get(`${EXPORT}?currency=KES`)).text.split('\r\n').length, 3)
    assert.equal((await api.send('HEAD', EXPORT)).http, 200)
  })

  it('starts the export with a byte order mark, so that spreadsheets detect UTF-8', async () => {
    const { key, api } = await service.newMerchant()
    await payWith(api, 'card_success', { reference: 'Überweisung-é-१' })
    const answer = await fetch(`${service.url}${EXPORT}`, { headers: { 'x-api-key': key } })
    const bytes = Buffer.from(await answer.arrayBuffer())
    assert.deepEqual([...bytes.subarray(0, 3)], [0xef, 0xbb, 0xbf])
    assert.ok(bytes.toString().includes('"Überweisung-é-१"'))
  })

  it('F-67: exports no reference that a spreadsheet would run as a formula', async () => {
    const { api } = await service.newMerchant()
    const references = ['=HYPERLINK("https://evil.example","pay")', '+1', '-1', '@SUM(1)', 'a"b,=1']
    for (const reference of references) await payWith(api, 'card_success', { reference })
    const lines = (await api.get(EXPORT)).text.split('\r\n').slice(1, -1)
    const cells = lines.map((line) => line.split(',').slice(9).join(','))
    assert.deepEqual(cells, [
      `"'=HYPERLINK(""https://evil.example"",""pay"")"`,
      `"'+1"`,
      `"'-1"`,
      `"'@SUM(1)"`,
      '"a""b,=1"',
    ])
  })
})
