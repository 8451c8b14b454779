// The screens of developers at /app/developers, over HTTP.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { initiateBody } from '../support/builders.ts'
import { hiddenFields, signInAs, type Visitor } from '../support/dashboard.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

const EVENTS = '/app/developers/events'

let merchant: Awaited<ReturnType<typeof service.newMerchant>>
let owner: Visitor
let payment: { uuid: string }

/** The ids of the events of the payment, newest first. */
async function eventIds(): Promise<string[]> {
  const { body } = await merchant.api.get(`/api/v1/events?resource=${payment.uuid}`)
  return body.data.map(({ id }: { id: string }) => id)
}

async function newEndpoint(): Promise<{ uuid: string; url: string }> {
  const url = `${service.url}/no-such-page`
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
    assert.match(page.text, new RegExp(`<li><time[^>]*>[^<]*</time><span><a href="${EVENTS}/${id}">`))
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
