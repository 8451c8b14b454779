import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Attempt } from '../gateway.ts'
import { CARD, makeAttempt, RETURN_URL, type Rig, startRig } from './test-rig.ts'

const cleanups: (() => Promise<void>)[] = []
let rig: Rig
before(async () => {
  rig = await startRig(cleanups)
})
after(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})

async function openPage(attempt: Attempt = makeAttempt()) {
  const started = await rig.gateway.startCheckout(attempt, CARD, RETURN_URL)
  assert(started.kind === 'started' && started.next.kind === 'redirect')
  return { attempt, url: started.next.url }
}

async function get(url: string) {
  const answer = await rig.http.request({ method: 'GET', url })
  assert(answer.kind === 'answered')
  return answer
}

/** Sends a form as a browser does, and answers where it leads. */
async function submit(url: string, fields: Record<string, string>): Promise<string> {
  const answer = await rig.http.request({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  })
  assert(answer.kind === 'answered')
  assert.equal(answer.status, 303)
  return answer.headers.location ?? ''
}

const verdictOn = async (attempt: Attempt) => {
  const outcome = await rig.gateway.verify(attempt, null)
  return outcome.kind === 'declined' ? outcome.code : outcome.kind
}

describe('the hosted page', () => {
  it('shows the amount, the merchant and every test card, and no field to type in', async () => {
    const { url } = await openPage()
    const page = (await get(url)).body.toString()
    assert.match(page, /KES 1250\.50/)
    assert.match(page, /Test mode/)
    assert.equal(page.match(/type="radio"/g)?.length, 8)
    assert.equal(page.match(/ checked>/g)?.length, 1)
    assert.equal(page.match(/<input/g)?.length, 8)
    assert.doesNotMatch(page, /<script|https?:\/\/(?!127\.0\.0\.1)/)
  })

  it('F-67 escapes what the merchant wrote', async () => {
    const { url } = await openPage(makeAttempt({ description: '"><script>alert(1)</script>' }))
    const page = (await get(url)).body.toString()
    assert.match(page, /Duka &lt;b&gt;La&lt;\/b&gt; Vitabu/)
    assert.doesNotMatch(page, /<script/)
  })

  it('F-81 may load nothing, be framed by nobody, and lead only home and back', async () => {
    const { headers } = await get((await openPage()).url)
    const policy = headers['content-security-policy'] ?? ''
    assert.match(policy, /^default-src 'none'; style-src 'sha256-[\w+/=]+'; /)
    assert.match(policy, /form-action 'self' http:\/\/127\.0\.0\.1:9;/)
    assert.match(policy, /frame-ancestors 'none'/)
    assert.equal(headers['cache-control'], 'no-store')
    assert.equal(headers['referrer-policy'], 'no-referrer')
    assert.equal(headers['x-content-type-options'], 'nosniff')
  })

  it('pays, and leads back', async () => {
    const { url, attempt } = await openPage()
    assert.equal(await submit(url, { action: 'pay', instrument: 'card_success' }), RETURN_URL)
    assert.equal(await verdictOn(attempt), 'succeeded')
  })

  it('declines, and leads back', async () => {
    const { url, attempt } = await openPage()
    assert.equal(await submit(url, { action: 'pay', instrument: 'card_declined' }), RETURN_URL)
    assert.equal(await verdictOn(attempt), 'do_not_honor')
  })

  it('cancels, and leads back', async () => {
    const { url, attempt } = await openPage()
    assert.equal(await submit(url, { action: 'cancel', instrument: 'card_success' }), RETURN_URL)
    assert.equal(await verdictOn(attempt), 'customer_cancelled')
  })

  it('asks for approval on one more page, which may be approved or refused', async () => {
    for (const [action, verdict] of [
      ['approve', 'succeeded'],
      ['refuse', 'authentication_failed'],
    ] as const) {
      const { url, attempt } = await openPage()
      const approval = await submit(url, { action: 'pay', instrument: 'card_3ds' })
      assert.equal(approval, `${url}/approval`)
      assert.equal(await verdictOn(attempt), 'pending')
      assert.match((await get(approval)).body.toString(), /Approve/)
      assert.equal((await get(url)).headers.location, approval)
      assert.equal(await submit(approval, { action }), RETURN_URL)
      assert.equal(await verdictOn(attempt), verdict)
    }
  })

  it('pays once, however often the form is sent', async () => {
    const { url, attempt } = await openPage()
    const places = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        submit(url, { action: 'pay', instrument: index % 2 === 0 ? 'card_success' : 'card_declined' }),
      ),
    )
    assert.deepEqual(new Set(places), new Set([RETURN_URL]))
    const verdict = await verdictOn(attempt)
    const executions = await rig.gateway.executions(attempt.paymentId)
    assert.equal(executions.length, verdict === 'succeeded' ? 1 : 0)
    assert.equal((await get(url)).headers.location, RETURN_URL)
  })

  it('shows itself again for a form without a card, or with a wallet', async () => {
    const { url, attempt } = await openPage()
    assert.equal(await submit(url, {}), url)
    assert.equal(await submit(url, { action: 'pay', instrument: 'mobile_success' }), url)
    assert.equal(await verdictOn(attempt), 'pending')
  })

  it('is not found by guessing', async () => {
    const answer = await get(`${rig.url}/pay/0000000000000000000000`)
    assert.equal(answer.status, 404)
    assert.match(answer.body.toString(), /cannot find/)
  })
})
