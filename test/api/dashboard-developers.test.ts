// The screens of developers at /app/developers, over HTTP.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { EN } from '../../src/dashboard/locales/en.ts'
import { sql } from '../../src/kit/db/db.ts'
import { untilBlocked } from '../support/blocked-sessions.ts'
import { initiateBody } from '../support/builders.ts'
import { startConsumer } from '../support/consumer.ts'
import { hiddenFields, signInAs, type Visitor } from '../support/dashboard.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

const EVENTS = '/app/developers/events'

const describeEndpoint = sql<unknown>`
update webhook_endpoints
set description = $3
where merchant_id = $1 and id = $2`

let merchant: Awaited<ReturnType<typeof service.newMerchant>>
let owner: Visitor
let payment: { uuid: string }

/** The ids of the events of the payment, newest first. */
async function eventIds(): Promise<string[]> {
  const { body } = await merchant.api.get(`/api/v1/events?resource=${payment.uuid}`)
  return body.data.map(({ id }: { id: string }) => id)
}

async function newEndpoint(url = `${service.url}/no-such-page`): Promise<{ uuid: string; url: string }> {
  const made = await merchant.api.post('/api/v1/webhooks/endpoints', { url })
  assert.equal(made.http, 201, made.text)
  return { uuid: made.body.data.uuid, url }
}

before(async () => {
  merchant = await service.newMerchant()
  owner = await signInAs(service, merchant.uuid)
  const made = await merchant.api.post('/api/v1/checkout/initiate-payment', initiateBody())
  assert.equal(made.http, 201, made.text)
  payment = made.body.data
})

describe('events in the dashboard', () => {
  it('lists events by type and record, with links to them from the payment', async () => {
    const [id] = await eventIds()
    for (const query of ['', '?type=payment.pending', `?resource=${payment.uuid}`])
      assert.ok((await owner.get(`${EVENTS}${query}`)).text.includes(`href="${EVENTS}/${id}"`), query)
    assert.equal((await owner.get(`${EVENTS}?type=refund.failed`)).text.includes(String(id)), false)
    const page = await owner.get(`/app/payments/${payment.uuid}`)
    assert.ok(page.text.includes(`href="${EVENTS}/${id}"`))
    assert.ok(page.text.includes(`action="${EVENTS}/${id}/resend"`))
  })

  it('shows the event as it is delivered, and says that nothing was delivered', async () => {
    const [id = ''] = await eventIds()
    const { text } = await owner.get(`${EVENTS}/${id}`)
    const [, json = ''] = /<pre[^>]*>([^<]*)<\/pre>/.exec(text) ?? []
    const shown = JSON.parse(json.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&'))
    const { body } = await merchant.api.get(`/api/v1/events/${id}`)
    assert.deepEqual(shown, body.data)
    assert.match(text, /Not delivered/)
    assert.match(text, /<button class="plain small" disabled[^>]*>Send again to all endpoints/)
    assert.match(text, /No enabled endpoint is subscribed to this event/)
    assert.doesNotMatch(text, /\/resend"/)
  })

  it('names types of events in the words of the person, with the code beside them', async () => {
    const headers = {
      cookie: `${[...owner.cookies].map((pair) => pair.join('=')).join('; ')}; cowry_app_language=fr`,
    }
    const { text } = await owner.get(EVENTS, headers)
    assert.match(text, />Paiement ouvert<\/a><span class="sub"><code>payment\.pending<\/code>/)
    assert.match(text, /<option value="refund\.failed">Remboursement échoué \(refund\.failed\)</)
    const form = (await owner.get('/app/developers/endpoints/new', headers)).text
    assert.match(form, /Tous les événements des paiements <code dir="ltr">payment\.\*<\/code>/)
  })

  it('sends an event again once per form, also for support, and shows the attempts', async () => {
    const { uuid, url } = await newEndpoint()
    const [id = ''] = await eventIds()
    const support = await signInAs(service, merchant.uuid, 'support')
    const action = `${EVENTS}/${id}/resend`
    const fields = hiddenFields((await support.get(`${EVENTS}/${id}`)).text, action)
    const sent = await Promise.all([1, 2].map(() => support.post(action, fields)))
    for (const { http, headers } of sent)
      assert.deepEqual([http, headers.get('location')], [303, `${EVENTS}/${id}?done=resend`])
    const { body } = await merchant.api.get(`/api/v1/events/${id}/deliveries`)
    assert.deepEqual(
      body.data.map(({ endpoint }: { endpoint: string }) => endpoint),
      [uuid],
    )
    const { text } = await eventually(
      () => support.get(`${EVENTS}/${id}`),
      (page) => page.text.includes('HTTP 404'),
      20_000,
    )
    assert.ok(text.includes(`<bdi>${url}</bdi>`))
  })

  it('lets a viewer read events, but not send them again', async () => {
    const [id = ''] = await eventIds()
    const viewer = await signInAs(service, merchant.uuid, 'viewer')
    const { text, http } = await viewer.get(`${EVENTS}/${id}`)
    assert.deepEqual([http, text.includes('/resend"')], [200, false])
    const forced = await viewer.post(`${EVENTS}/${id}/resend`, hiddenFields(text, '/app/sign-out'))
    assert.equal(forced.http, 403)
  })
})

describe('webhook endpoints in the dashboard', () => {
  it('makes one endpoint of a form, and says so if it is submitted again with other values', async () => {
    const path = '/app/developers/endpoints/new'
    const hidden = hiddenFields((await owner.get(path)).text, path)
    const submit = (url: string) => owner.post(path, { ...hidden, url, 'event:payment.*': 'on' })
    assert.equal((await submit('https://one.example.com/hook')).http, 200)
    const other = await submit('https://two.example.com/hook')
    assert.deepEqual([other.http, other.text.includes(EN.people_form_used)], [409, true])
    const { body } = await merchant.api.get('/api/v1/webhooks/endpoints')
    const urls = body.data.map(({ url }: { url: string }) => url)
    assert.deepEqual(
      urls.filter((url: string) => url.includes('.example.com/hook')),
      ['https://one.example.com/hook'],
    )
  })

  const PATH = '/app/developers/endpoints'
  const secretOf = (text: string) => /whsec_[\w+/=]+/.exec(text)?.[0]

  it('shows the secret of a new endpoint once, also if the form is submitted again', async () => {
    const url = `${service.url}/hooks-of-shop`
    const fields = { url, description: 'Orders', 'event:payment.*': 'on', 'event:refund.failed': 'on' }
    const hidden = hiddenFields((await owner.get(`${PATH}/new`)).text, `${PATH}/new`)
    const added = await owner.post(`${PATH}/new`, { ...hidden, ...fields })
    assert.ok(secretOf(added.text), added.text)
    const again = await owner.post(`${PATH}/new`, { ...hidden, ...fields })
    assert.deepEqual([again.http, secretOf(again.text)], [200, undefined])
    const { body } = await merchant.api.get('/api/v1/webhooks/endpoints')
    const made = body.data.filter((one: { url: string }) => one.url === url)
    assert.deepEqual(
      made.map((one: { events: string[] }) => one.events),
      [['payment.*', 'refund.failed']],
    )
    assert.equal(secretOf((await owner.get(`${PATH}/${made[0].uuid}`)).text), undefined)
    assert.ok((await owner.get(PATH)).text.includes(`href="${PATH}/${made[0].uuid}"`))
  })

  it('keeps the input when the API refuses the address', async () => {
    const fields = { url: 'ftp://shop.example', description: 'Kept', 'event:*': 'on' }
    const refused = await owner.submit(`${PATH}/new`, `${PATH}/new`, fields)
    assert.equal(refused.http, 422)
    assert.match(refused.text, /role="alert"/)
    assert.match(refused.text, /value="Kept"/)
    assert.match(refused.text, /id="url-error"/)
  })

  it('has all events ticked at first, and refuses an endpoint without events', async () => {
    assert.match((await owner.get(`${PATH}/new`)).text, /name="event:\*" checked/)
    const url = `${service.url}/hooks-of-nothing`
    const refused = await owner.submit(`${PATH}/new`, `${PATH}/new`, { url })
    assert.equal(refused.http, 422)
    assert.match(refused.text, /id="events-error">Choose at least one event/)
    const { uuid } = await newEndpoint()
    const unchanged = await owner.submit(`${PATH}/${uuid}`, `${PATH}/${uuid}`, { url })
    assert.equal(unchanged.http, 422)
    const { body } = await merchant.api.get('/api/v1/webhooks/endpoints')
    assert.equal(
      body.data.some((one: { url: string }) => one.url === url),
      false,
    )
  })

  it('changes, disables, tests, replaces the secret of and deletes an endpoint', async () => {
    const { uuid, url } = await newEndpoint()
    const page = `${PATH}/${uuid}`
    const saved = await owner.submit(page, page, { url, description: 'New', 'event:*': 'on' })
    assert.deepEqual([saved.http, saved.headers.get('location')], [303, `${page}?done=saved`])
    const tested = await owner.submit(page, `${page}/test`)
    assert.match(tested.headers.get('location') ?? '', /^\/app\/developers\/events\/[\w-]+\?done=test$/)
    const rotated = await owner.submit(`${page}/secret`, `${page}/secret`, { overlapHours: '24' })
    assert.ok(secretOf(rotated.text), rotated.text)
    await owner.submit(page, `${page}/disable`)
    const { body } = await merchant.api.get(`/api/v1/webhooks/endpoints/${uuid}`)
    assert.deepEqual([body.data.status, body.data.description], ['disabled', 'New'])
    await owner.submit(`${page}/delete`, `${page}/delete`)
    assert.equal((await owner.get(page)).http, 404)
  })

  it('refuses a form that was made before another person changed the endpoint, and shows what has changed', async () => {
    const { uuid, url } = await newEndpoint()
    const page = `${PATH}/${uuid}`
    const fields = hiddenFields((await owner.get(page)).text, page)
    const save = (description: string) => owner.post(page, { ...fields, url, description, 'event:*': 'on' })
    assert.equal((await save('First')).http, 303)
    assert.equal((await save('First')).http, 303, 'the same form again')
    const refused = await save('Second')
    assert.equal(refused.http, 409)
    assert.match(refused.text, /Changed since you opened this page: What it is for\./)
    assert.match(refused.text, /value="First"/)
    assert.equal((await owner.submit(page, page, { url, description: 'Second', 'event:*': 'on' })).http, 303)
  })

  it('refuses a form if another person changes the endpoint in the same moment', async () => {
    const { uuid, url } = await newEndpoint()
    const page = `${PATH}/${uuid}`
    const saveBehind = async (description: string) => {
      const { saved } = await service.db.transaction(async (tx) => {
        await tx.query(describeEndpoint, [merchant.uuid, uuid, 'Theirs'])
        // It has read the endpoint as it was, and waits for the row.
        const sent = owner.submit(page, page, { url, description, 'event:*': 'on' })
        await untilBlocked(tx)
        return { saved: sent }
      })
      return saved
    }
    const refused = await saveBehind('Mine')
    assert.equal(refused.http, 409, refused.text)
    assert.match(refused.text, /Changed since you opened this page: What it is for\./)
    const { body } = await merchant.api.get(`/api/v1/webhooks/endpoints/${uuid}`)
    assert.equal(body.data.description, 'Theirs')
    await owner.submit(page, page, { url, description: 'Before', 'event:*': 'on' })
    assert.equal((await saveBehind('Theirs')).http, 303, 'they have saved the same')
  })
})

describe('a replay in the dashboard', () => {
  const periodOf = (text: string) => {
    const [, from = '', to = ''] =
      /name="from"[^>]*value="([^"]*)"[\s\S]*name="to"[^>]*value="([^"]*)"/.exec(text) ?? []
    return { from, to }
  }

  it('sends the missed events of a period to one endpoint again, once per form, and refuses a wrong period', async () => {
    const { uuid } = await newEndpoint()
    const page = `/app/developers/endpoints/${uuid}/replay`
    const wrong = await owner.submit(page, page, { from: '2026-01-02T10:00', to: '2026-01-02T09:00' })
    assert.equal(wrong.http, 422)
    assert.match(wrong.text, /id="to-error">Must be later than “From”/)
    assert.equal((await owner.submit(page, page, { from: '2026-01-02T10:00', to: 'never' })).http, 422)
    const { text } = await owner.get(page)
    const { from, to } = periodOf(text)
    const fields = { ...hiddenFields(text, page), from, to, onlyUndelivered: 'on' }
    const [sent, again] = [await owner.post(page, fields), await owner.post(page, fields)]
    const address = sent.headers.get('location') ?? ''
    assert.match(address, new RegExp(`^${page}\\?replay=[\\w-]+$`))
    assert.equal(again.headers.get('location'), address)
    const done = await eventually(
      () => owner.get(address),
      (shown) => shown.text.includes('handed over'),
      20_000,
    )
    assert.match(done.text, /<dt>Deliveries<\/dt><dd>[1-9]/)
    assert.match(done.text, new RegExp(`<dt>From</dt><dd><time datetime="${from}`))
    assert.ok(done.text.includes(`href="/app/developers/endpoints/${uuid}"`))
    assert.match(done.text, /<dt>Accepted<\/dt><dd>0<\/dd>/)
    const viewer = await signInAs(service, merchant.uuid, 'viewer')
    assert.equal((await viewer.get(page)).http, 403)
  })

  it('counts what became of its own deliveries, and not those that were accepted before', async (t) => {
    const { url } = await startConsumer(t)
    const { uuid } = await newEndpoint(url)
    const made = await merchant.api.post('/api/v1/checkout/initiate-payment', initiateBody())
    await eventually(
      () => owner.get(`/app/developers/endpoints/${uuid}`),
      ({ text }) => text.includes('1 delivered'),
      20_000,
    )
    assert.equal(made.http, 201)
    const page = `/app/developers/endpoints/${uuid}/replay`
    const { text } = await owner.get(page)
    const fields = { ...hiddenFields(text, page), ...periodOf(text), onlyUndelivered: 'on' }
    const sent = await owner.post(page, fields)
    assert.equal(sent.http, 303, sent.text)
    const figure = (shown: string, name: string) =>
      Number(new RegExp(`<dt>${name}</dt><dd>(\\d+)`).exec(shown)?.[1])
    const done = await eventually(
      () => owner.get(sent.headers.get('location') ?? ''),
      (shown) => shown.text.includes('handed over') && !shown.text.includes('Look again'),
      20_000,
    )
    const count = figure(done.text, 'Deliveries')
    assert.ok(count > 0)
    const names = ['Accepted', 'Waiting for the first attempt', 'Failing', 'Not delivered']
    assert.deepEqual(
      names.map((name) => figure(done.text, name)),
      [count, 0, 0, 0],
    )
    const health = await owner.get(`/app/developers/endpoints/${uuid}`)
    assert.ok(health.text.includes(`${count + 1} delivered`))
  })
})

describe('test tools in the dashboard', () => {
  it('lists the instruments, and advances the clock once per form', async () => {
    const developer = await signInAs(service, merchant.uuid, 'developer')
    const page = '/app/developers/test'
    const { text } = await developer.get(page)
    assert.match(text, /card_dispute_lost_later/)
    const fields = { ...hiddenFields(text, `${page}/clock`), seconds: '3600' }
    for (const answer of [
      await developer.post(`${page}/clock`, fields),
      await developer.post(`${page}/clock`, fields),
    ])
      assert.equal(answer.headers.get('location'), `${page}?done=clock`)
    const { body } = await merchant.api.get('/api/v1/sandbox/clock')
    assert.equal(body.data.advancedSeconds, 3_600)
  })
})

describe('the request log in the dashboard', () => {
  const PATH = '/app/developers/requests'

  it('shows a refused request with its fields and reference, and finds it by its id, never its body', async () => {
    const requestId = randomUUID()
    const reference = 'commande #77/é'
    const body = { ...initiateBody({ reference }), amount: '-1', note: 'secret words' }
    const headers = { 'x-request-id': requestId }
    const { http } = await merchant.api.post('/api/v1/checkout/initiate-payment', body, headers)
    assert.equal(http, 400)
    const page = `${PATH}/${requestId}`
    const { text } = await eventually(
      () => owner.get(page),
      (shown) => shown.http === 200,
      10_000,
    )
    for (const part of ['HTTP 400', 'amount: ', reference, 'href="/docs/errors#', '/initiate-payment'])
      assert.ok(text.includes(part), `${part} in ${text}`)
    assert.equal(/secret words|@/.test(text.split('<main')[1] ?? ''), false)
    for (const query of [
      '?outcome=failed',
      `?requestId=${requestId}`,
      `?reference=${encodeURIComponent(reference)}`,
    ])
      assert.ok((await owner.get(`${PATH}${query}`)).text.includes(`href="${page}"`), query)
    assert.equal((await owner.get(`${PATH}?route=/api/v1/refunds`)).text.includes(page), false)
    for (const q of [requestId, `%20${requestId.toUpperCase()}%20`])
      assert.equal((await owner.get(`/app/search?q=${q}`)).headers.get('location'), page)
    const listed = await owner.get(`${PATH}?requestId=%20${requestId.toUpperCase()}`)
    assert.ok(listed.text.includes(`href="${page}"`))
  })

  it('keeps the filters, and says beside the field why the API refuses one', async () => {
    const query = 'reference=order-77&createdFrom=2026-05-02&createdTo=2026-05-01'
    const { http, text } = await owner.get(`${PATH}?${query}`)
    assert.equal(http, 422)
    assert.match(text, /<b>To:<\/b> Must not be before “From”\./)
    assert.match(text, /id="f-createdTo-error">Must not be before “From”/)
    for (const value of ['order-77', '2026-05-02', '2026-05-01'])
      assert.ok(text.includes(`value="${value}"`), value)
    assert.doesNotMatch(text, /createdTo must|No requests here/)
  })

  it('withholds a card number in a request id, and has no request of another merchant or for a viewer', async () => {
    const other = await service.newMerchant()
    await other.api.send('GET', '/api/v1/refunds', { headers: { 'x-request-id': '4111111111111111' } })
    const stranger = await signInAs(service, other.uuid, 'developer')
    const { text } = await eventually(
      () => stranger.get(PATH),
      (page) => page.text.includes('/api/v1/refunds'),
      10_000,
    )
    assert.equal(text.includes('411111'), false)
    assert.equal(text.includes('initiate-payment'), false)
    const viewer = await signInAs(service, merchant.uuid, 'viewer')
    assert.equal((await viewer.get(PATH)).http, 403)
  })
})

describe('the search of the dashboard', () => {
  const search = async (q: string) => {
    const { http, text, headers } = await owner.get(`/app/search?q=${q}`)
    return { http, text, location: headers.get('location') }
  }

  it('leads to the record of an id, of every kind, also in upper case', async () => {
    const [event = ''] = await eventIds()
    const { uuid } = await newEndpoint()
    const customers = await merchant.api.get('/api/v1/customers')
    const [customer] = customers.body.data
    for (const [id, address] of [
      [payment.uuid, `/app/payments/${payment.uuid}`],
      [event, `${EVENTS}/${event}`],
      [uuid, `/app/developers/endpoints/${uuid}`],
      [customer.uuid, `/app/customers/${customer.uuid}`],
    ])
      for (const q of [id, id.toUpperCase()]) assert.equal((await search(q)).location, address)
  })

  it('shows the screen of the search for an id that nothing has', async () => {
    const { http, text } = await search(randomUUID())
    assert.deepEqual([http, text.includes('class="card empty"')], [200, true])
  })
})
