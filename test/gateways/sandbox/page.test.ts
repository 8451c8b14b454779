import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { money } from '../../../src/core/money.ts'
import type { Attempt } from '../../../src/gateways/gateway.ts'
import { SANDBOX_INSTRUMENTS } from '../../../src/gateways/sandbox/index.ts'
import { CARD, makeAttempt, RETURN_URL, type Rig, startRig } from './rig.ts'

const CARD_COUNT = SANDBOX_INSTRUMENTS.filter(({ channel }) => channel === 'card').length

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

async function get(url: string, headers: Record<string, string> = {}) {
  const answer = await rig.http.request({ method: 'GET', url, headers })
  assert(answer.kind === 'answered')
  return answer
}

/** Submits a form as a browser does, and returns the redirect URL. */
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

const statusOf = async (attempt: Attempt) => {
  const outcome = await rig.gateway.verify(attempt, null)
  return outcome.kind === 'declined' ? outcome.code : outcome.kind
}

/** The approval page of a payment with a card that requires approval. */
async function openApproval() {
  const { url, attempt } = await openPage()
  const approval = await submit(url, { action: 'pay', instrument: 'card_3ds' })
  assert.equal(approval, `${url}/approval`)
  return { url, attempt, approval }
}

const DAY_MS = 24 * 60 * 60_000

async function openTooLate() {
  const opened = await openPage()
  rig.clock.move(DAY_MS)
  return opened
}

/** Every page; the expired one last, because advancing the clock affects all. */
async function getEveryPage() {
  return [
    await get((await openPage(makeAttempt({ description: '"><script>alert(1)</script>' }))).url),
    await get((await openApproval()).approval),
    await get((await openTooLate()).url),
    await get(`${rig.url}/pay/nothing`),
  ]
}

const bodyOf = async (url: string) => (await get(url)).body.toString()

describe('the hosted page', () => {
  it('shows the amount, the merchant and every test card, and no input field', async () => {
    const { url } = await openPage()
    const page = (await get(url)).body.toString()
    assert.match(page, /<p class="amount">KES\u00a01,250\.50<\/p>/)
    assert.match(page, /value="pay">Pay KES\u00a01,250\.50</)
    assert.match(page, /Two books/)
    assert.match(page, /Test mode/)
    assert.equal(page.match(/type="radio"/g)?.length, CARD_COUNT)
    assert.equal(page.match(/ checked>/g)?.length, 1)
    assert.equal(page.match(/<input/g)?.length, CARD_COUNT)
    assert.doesNotMatch(page, /<script|https?:\/\/(?!127\.0\.0\.1)/)
  })

  it('formats each amount for its currency', async () => {
    const francs = await openPage(makeAttempt({ amount: money(5_000n, 'XOF') }))
    assert.match(await bodyOf(francs.url), /Pay XOF\u00a05,000</)
    const large = await openPage(makeAttempt({ amount: money(99_999_999_999_999n, 'NGN') }))
    assert.match(await bodyOf(large.url), /<p class="amount long">NGN\u00a0999,999,999,999\.99</)
  })

  it('F-67 escapes the merchant’s texts', async () => {
    const pages = (await getEveryPage()).map(({ body }) => body.toString())
    const [open = '', approval = '', late = ''] = pages
    assert.match(open, /&quot;&gt;&lt;script&gt;alert\(1\)/)
    assert.match(approval, /Your bank[\s\S]*<dd>Duka &lt;b&gt;La&lt;\/b&gt; Vitabu<\/dd>/)
    assert.match(late, /to Duka &lt;b&gt;La&lt;\/b&gt; Vitabu has passed/)
    for (const page of pages) assert.doesNotMatch(page, /<script|<b>/)
  })

  it('F-81 may load nothing, be framed by no site, and submit only to itself and the return URL', async () => {
    const { headers, body } = await get((await openPage()).url)
    const [, style = ''] = /<style>([\s\S]*)<\/style>/.exec(body.toString()) ?? []
    const hash = createHash('sha256').update(style).digest('base64')
    assert.deepEqual(headers['content-security-policy']?.split('; '), [
      "default-src 'none'",
      `style-src 'sha256-${hash}'`,
      'img-src data:',
      "form-action 'self' http://127.0.0.1:9",
      "base-uri 'none'",
      "object-src 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ])
  })

  it('F-81 sends the security headers on every page, and on the redirect back', async () => {
    const pages = await getEveryPage()
    assert.deepEqual(
      pages.map(({ status }) => status),
      [200, 200, 410, 404],
    )
    for (const { headers } of pages) {
      assert.equal(headers['cache-control'], 'no-store')
      assert.equal(headers['referrer-policy'], 'no-referrer')
      assert.equal(headers['x-content-type-options'], 'nosniff')
      assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
      assert.equal(headers['cross-origin-resource-policy'], 'same-origin')
      assert.match(headers['permissions-policy'] ?? '', /\bpayment=\(\)/)
      assert.match(headers['content-security-policy'] ?? '', /^default-src 'none'.* frame-ancestors 'none'/)
    }
    const { attempt, url: paid } = await openPage()
    await rig.gateway.simulatePayer(attempt.key)
    const back = await get(paid)
    assert.equal(back.headers.location, RETURN_URL)
    assert.equal(back.headers['referrer-policy'], 'no-referrer')
    assert.equal(back.headers['cache-control'], 'no-store')
  })

  it('is compressed for browsers that support it, to at most 6 KB', async () => {
    const { url } = await openPage()
    const plain = await get(url, { 'accept-encoding': 'gzip;q=0, identity' })
    assert.equal(plain.headers['content-encoding'], undefined)
    const zipped = await get(url, { 'accept-encoding': 'gzip, deflate, br' })
    assert.equal(zipped.headers['content-encoding'], 'gzip')
    assert.equal(zipped.headers.vary, 'accept-encoding')
    assert.equal(Number(zipped.headers['content-length']), zipped.body.length)
    assert.ok(gunzipSync(zipped.body).equals(plain.body))
    assert.ok(zipped.body.length <= 6_144, `${zipped.body.length} bytes`)
  })

  it('pays, and redirects back', async () => {
    const { url, attempt } = await openPage()
    assert.equal(await submit(url, { action: 'pay', instrument: 'card_success' }), RETURN_URL)
    assert.equal(await statusOf(attempt), 'succeeded')
  })

  it('declines, and redirects back', async () => {
    const { url, attempt } = await openPage()
    assert.equal(await submit(url, { action: 'pay', instrument: 'card_declined' }), RETURN_URL)
    assert.equal(await statusOf(attempt), 'do_not_honor')
  })

  it('cancels, and redirects back', async () => {
    const { url, attempt } = await openPage()
    assert.equal(await submit(url, { action: 'cancel', instrument: 'card_success' }), RETURN_URL)
    assert.equal(await statusOf(attempt), 'customer_cancelled')
  })

  it('requires approval on one more page, which may be approved or refused', async () => {
    for (const [action, verdict] of [
      ['approve', 'succeeded'],
      ['refuse', 'authentication_failed'],
    ] as const) {
      const { url, attempt, approval } = await openApproval()
      assert.equal(await statusOf(attempt), 'pending')
      const page = await bodyOf(approval)
      assert.match(page, /<dd>KES\u00a01,250\.50<\/dd>[\s\S]*<dd>Visa •••• 3155<\/dd>/)
      assert.equal((await get(url)).headers.location, approval)
      assert.equal(await submit(approval, { action }), RETURN_URL)
      assert.equal(await statusOf(attempt), verdict)
    }
  })

  it('pays once, even if the form is sent several times', async () => {
    const { url, attempt } = await openPage()
    const places = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        submit(url, { action: 'pay', instrument: index % 2 === 0 ? 'card_success' : 'card_declined' }),
      ),
    )
    assert.deepEqual(new Set(places), new Set([RETURN_URL]))
    const verdict = await statusOf(attempt)
    const executions = await rig.gateway.executions(attempt.paymentId)
    assert.equal(executions.length, verdict === 'succeeded' ? 1 : 0)
    assert.equal((await get(url)).headers.location, RETURN_URL)
  })

  it('shows an error for a form without a card, with a wallet, or with anything but pay and cancel', async () => {
    const { url, attempt } = await openPage()
    for (const fields of [
      {},
      { action: 'pay' },
      { action: 'pay', instrument: 'mobile_success' },
      { action: 'pay', instrument: '__proto__' },
      { instrument: 'card_success' },
      { action: 'PAY', instrument: 'card_success' },
      { action: 'approve', instrument: 'card_success' },
    ] as Record<string, string>[])
      assert.equal(await submit(url, fields), `${url}?problem=choice`, JSON.stringify(fields))
    assert.equal(await statusOf(attempt), 'pending')
    const page = await bodyOf(`${url}?problem=choice`)
    assert.match(page, /role="alert"[^>]*>Choose a card/)
    assert.doesNotMatch(page, / checked>/)
    assert.equal(await submit(url, { action: 'pay', instrument: 'card_success' }), RETURN_URL)
  })

  it('accepts only approve and refuse on the approval page', async () => {
    const { attempt, approval } = await openApproval()
    for (const action of ['', 'pay', 'yes'])
      assert.equal(await submit(approval, { action }), `${approval}?problem=choice`)
    assert.match(await bodyOf(`${approval}?problem=choice`), /role="alert"[^>]*>Choose Approve or Refuse/)
    assert.equal(await statusOf(attempt), 'pending')
  })

  it('shows that the session has expired to a late payer, and charges nothing', async () => {
    const { url, attempt } = await openTooLate()
    assert.equal(await submit(url, { action: 'pay', instrument: 'card_success' }), url)
    const answer = await get(url)
    assert.equal(answer.status, 410)
    assert.match(answer.body.toString(), /<h1>This session is over<\/h1>[\s\S]*You have not been charged/)
    assert.ok(answer.body.toString().includes(`<a class="button" href="${RETURN_URL}">`))
    assert.equal((await get(`${url}/approval`)).status, 410)
    assert.deepEqual(await rig.gateway.executions(attempt.paymentId), [])
    assert.equal(await statusOf(attempt), 'customer_timeout')
  })

  it('is not found by guessing, with the same response for every unknown URL', async () => {
    const pages = new Set<string>()
    for (const path of [
      '/pay/0000000000000000000000',
      '/pay/a%00b',
      '/pay/',
      '/pay',
      '/pay/x/approval',
      '/pay/a/b/c',
    ]) {
      const answer = await get(`${rig.url}${path}`)
      assert.equal(answer.status, 404, path)
      pages.add(answer.body.toString())
    }
    assert.equal(pages.size, 1)
    assert.match([...pages].join(''), /<h1>We can't find this payment<\/h1>/)
  })
})
