// Live parts of the dashboard: the stream of changes at /app/live.

import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import { initiateBody } from '../support/builders.ts'
import { newVisitor, signInAs, type Visitor } from '../support/dashboard.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

let merchant: Awaited<ReturnType<typeof service.newMerchant>>
let owner: Visitor & { email: string }

before(async () => {
  merchant = await service.newMerchant()
  owner = await signInAs(service, merchant.uuid)
})

const cookieOf = ({ cookies }: Visitor) => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')

/** Opens the stream of the person; `until` reads it up to the text. */
async function openStream(t: TestContext, visitor: Visitor) {
  const closed = new AbortController()
  t.after(() => closed.abort())
  const { signal } = closed
  const response = await fetch(`${service.url}/app/live`, { headers: { cookie: cookieOf(visitor) }, signal })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const until = async (wanted: string): Promise<string> => {
    while (!text.includes(wanted)) {
      const part = await reader?.read()
      if (!part || part.done) throw new Error(`the stream ended without ${wanted}: ${text}`)
      text += part.value
    }
    return text
  }
  return { http: response.status, type: response.headers.get('content-type'), until }
}

async function newPayment(by: Pick<typeof merchant, 'api'>): Promise<string> {
  const made = await by.api.post('/api/v1/checkout/initiate-payment', initiateBody())
  assert.equal(made.http, 201, made.text)
  return made.body.data.uuid
}

describe('the stream of changes in the dashboard', () => {
  it('reports the ids of changed records of the own merchant alone', async (t) => {
    const other = await service.newMerchant()
    const stranger = await signInAs(service, other.uuid, 'viewer')
    const [own, strange] = [await openStream(t, owner), await openStream(t, stranger)]
    assert.deepEqual([own.http, own.type], [200, 'text/event-stream'])
    const uuid = await newPayment(merchant)
    const foreign = await newPayment(other)
    const text = await own.until(uuid)
    const [, data = ''] = new RegExp(`data: (.*${uuid}.*)`).exec(text) ?? []
    assert.deepEqual(JSON.parse(data), { of: uuid, type: 'payment', version: 1 })
    assert.equal((await strange.until(foreign)).includes(uuid), false)
    assert.equal(text.includes(foreign), false)
  })

  it('is refused without a session, and ends the oldest of a session that has too many', async (t) => {
    assert.equal((await openStream(t, newVisitor(service))).http, 204)
    const person = await signInAs(service, merchant.uuid, 'support')
    const first = await openStream(t, person)
    for (let count = 0; count < 3; count++) assert.equal((await openStream(t, person)).http, 200)
    await first.until('event: end')
    await person.submit('/app', '/app/sign-out')
    assert.equal((await openStream(t, person)).http, 204)
  })

  it('does not keep a session alive, nor does a page that its script loads again', async (t) => {
    const selectSeen = sql<{ seen: Date }>`
select last_seen_at as seen
from sessions
where user_id = (select id from users where email = $1)`
    const age = sql<unknown>`
update sessions
set last_seen_at = last_seen_at - interval '5 minutes'
where user_id = (select id from users where email = $1)`
    const seen = async () => (await service.db.query(selectSeen, [owner.email]))[0]?.seen.getTime()
    await service.db.query(age, [owner.email])
    const before = await seen()
    await openStream(t, owner)
    assert.equal((await owner.get('/app', { 'x-live': '1' })).http, 200)
    assert.equal(await seen(), before)
    await owner.get('/app')
    assert.notEqual(await seen(), before)
  })
})
