// Failed deliveries and the health of endpoints at /app/developers, over HTTP.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { listFailedRows } from '../../src/deliveries/failures/queries.ts'
import type { ListWindow } from '../../src/kit/db/pagination.ts'
import { initiateBody } from '../support/builders.ts'
import { startConsumer } from '../support/consumer.ts'
import { signInAs, type Visitor } from '../support/dashboard.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const consumer = await startConsumer({ after })

const LIST = '/app/developers/deliveries'
const ENDPOINTS = '/app/developers/endpoints'

let merchant: Awaited<ReturnType<typeof service.newMerchant>>
let developer: Visitor
let failing: string
let healthy: string

async function newEndpoint(url: string): Promise<string> {
  const made = await merchant.api.post('/api/v1/webhooks/endpoints', { url, events: ['payment.pending'] })
  assert.equal(made.http, 201, made.text)
  return made.body.data.uuid
}

/** Makes an event, and returns its id. */
async function newEvent(): Promise<string> {
  const made = await merchant.api.post('/api/v1/checkout/initiate-payment', initiateBody())
  assert.equal(made.http, 201, made.text)
  const { body } = await merchant.api.get(`/api/v1/events?resource=${made.body.data.uuid}`)
  return body.data[0].id
}

const linkTo = (event: string) => `href="/app/developers/events/${event}"`

const untilShown = (path: string, part: string | RegExp) =>
  eventually(
    () => developer.get(path),
    ({ text }) => (typeof part === 'string' ? text.includes(part) : part.test(text)),
    20_000,
  )

before(async () => {
  merchant = await service.newMerchant()
  developer = await signInAs(service, merchant.uuid, 'developer')
  failing = await newEndpoint(`${service.url}/no-such-page`)
  healthy = await newEndpoint(consumer.url)
})

describe('failed deliveries', () => {
  it('are listed with the last response, by endpoint and by status; accepted ones are not', async () => {
    assert.match((await developer.get(LIST)).text, /No failed deliveries/)
    const event = await newEvent()
    const { text } = await untilShown(LIST, linkTo(event))
    assert.match(text, /HTTP 404<\/span> [\d,]+ ms/)
    assert.match((await developer.get(`/app/developers/events/${event}`)).text, /badge bad">Failing/)
    assert.ok(text.includes(`<option value="${failing}">`))
    assert.equal(text.includes(`href="${ENDPOINTS}/${healthy}"`), false)
    for (const [query, isShown] of [
      [`endpoint=${failing}`, true],
      [`endpoint=${failing}&status=failing`, true],
      [`endpoint=${healthy}`, false],
      ['status=failing', true],
      ['status=dead', false],
    ] as const)
      assert.equal((await developer.get(`${LIST}?${query}`)).text.includes(linkTo(event)), isShown, query)
    assert.ok((await developer.get('/app/developers')).text.includes(`href="${LIST}"`))
  })

  it('are not those of another merchant, also by the id of its endpoint', async () => {
    const stranger = await signInAs(service, (await service.newMerchant()).uuid)
    for (const path of [LIST, `${LIST}?endpoint=${failing}`])
      assert.match((await stranger.get(path)).text, /No failed deliveries/)
    assert.equal((await stranger.get(`${ENDPOINTS}/${failing}`)).http, 404)
  })

  it('come one page after the other, each once, also if two endpoints fail for one event', async () => {
    await newEndpoint(`${service.url}/no-other-page`)
    const events = [await newEvent(), await newEvent(), await newEvent()]
    const filter = { endpoint: null, status: null }
    const page = async (limit: number, after: ListWindow['after']) => {
      const window = {
        order: 'desc',
        after,
        page: 1,
        limit,
        offset: 0,
        createdFrom: null,
        createdTo: null,
      } as const
      return (await listFailedRows(service.db, merchant.uuid, filter, window)).rows
    }
    const all = await eventually(
      () => page(100, null),
      (rows) => rows.filter(({ eventId }) => events.includes(eventId)).length === 6,
      20_000,
    )
    const seen: string[] = []
    let after: ListWindow['after'] = null
    for (;;) {
      const [row]: Awaited<ReturnType<typeof page>> = await page(1, after)
      if (!row) break
      seen.push(row.id)
      after = { at: row.createdAt, id: row.id }
    }
    assert.deepEqual(
      seen,
      all.map(({ id }) => id),
    )
  })
})

describe('the page of an endpoint', () => {
  it('shows since when it fails, the counts of the last day and the last response', async () => {
    const { text } = await untilShown(`${ENDPOINTS}/${failing}`, /Every attempt has failed since/)
    assert.match(text, /In the last 24 hours<\/dt><dd>0 delivered, [1-4] failing, 0 not delivered/)
    assert.match(text, /HTTP 404/)
    assert.ok(text.includes(`href="${LIST}?endpoint=${failing}"`))
    assert.match(text, /badge good">Enabled<\/span> <span class="badge bad">Failing/)
    const good = await untilShown(`${ENDPOINTS}/${healthy}`, /4 delivered, 0 failing, 0 not delivered/)
    assert.match(good.text, /HTTP 204/)
    assert.doesNotMatch(good.text, /Every attempt has failed since/)
  })

  it('shows that it is disabled, and its waiting deliveries are listed as not delivered', async () => {
    await developer.submit(`${ENDPOINTS}/${failing}`, `${ENDPOINTS}/${failing}/disable`)
    const { text } = await untilShown(`${ENDPOINTS}/${failing}`, /0 delivered, 0 failing, 4 not delivered/)
    assert.match(text, /Disabled since/)
    const dead = await developer.get(`${LIST}?status=dead`)
    assert.ok(dead.text.includes(`href="${ENDPOINTS}/${failing}"`))
    assert.match(dead.text, /Not delivered/)
  })
})
