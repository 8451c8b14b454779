import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { UUID_V7 } from '../support/assertions.ts'
import { initiateBody, newReference } from '../support/builders.ts'
import { choiceOf, createPayer, headingOf, mainTextOf, openCheckout } from '../support/payer.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { api } = service
const anonymous = service.apiWith(undefined)
const payer = createPayer()
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

describe('unknown addresses of pages', () => {
  it('F-84: shows the same page for every unknown code and every step', async () => {
    const { checkoutUrl, reference } = await openCheckout(api, payer)
    const known = new URL(checkoutUrl).pathname
    const code = known.split('/').at(-1) ?? ''
    const near = known.slice(0, -1) + (known.endsWith('A') ? 'B' : 'A')
    const pages = new Set<string>()
    for (const path of [
      near,
      `${near}/status`,
      `${near}/continue`,
      `${near}/return`,
      `${near}/receipt`,
      '/pay/x',
      `/pay/${code.toLowerCase()}x`,
      `/pay/${'a'.repeat(2_000)}`,
      "/pay/'%20or%201=1",
      '/pay/__proto__',
    ]) {
      const { http, headers, text } = await anonymous.get(path)
      assert.equal(http, 404, path)
      assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
      assert.ok(!text.includes(reference) && !text.includes('Demo Shop') && !text.includes(code))
      const requestId = headers.get('x-request-id') ?? ''
      assert.match(requestId, UUID_V7)
      pages.add(text.replace(requestId, '').replace(/nonce="[^"]+"/, ''))
    }
    for (const step of ['attempts', 'network', 'check', 'sent', 'extend', 'other', 'cancel'])
      assert.equal((await anonymous.postText(`${near}/${step}`, '', FORM)).http, 404, step)
    assert.equal(pages.size, 1)
  })

  it('F-84: has unguessable codes of at least 128 random bits', async () => {
    const codes = await Promise.all(
      Array.from(
        { length: 5 },
        async () => (await openCheckout(api, payer)).checkoutUrl.split('/').at(-1) ?? '',
      ),
    )
    assert.equal(new Set(codes).size, 5)
    for (const code of codes) assert.match(code, /^[0-9A-Za-z_-]{22,}$/)
  })

  it('rejects a code with control characters', async () => {
    assert.equal((await anonymous.get('/pay/a%00b')).http, 400)
  })
})

describe('the safety of pages', () => {
  it('shows texts of merchants and payers as text, never as markup', async () => {
    const made = await service.admin.post('/admin/v1/merchants', { name: '<b>Shop</b> "&\'' })
    const key = await service.admin.post(`/admin/v1/merchants/${made.body.data.uuid}/keys`, { scopes: ['*'] })
    const shop = service.apiWith(key.body.data.apiKey)
    const { page, read } = await openCheckout(shop, payer, {
      reference: `${newReference()}"><img src=x onerror=alert(1)>`,
      description: '<script>alert(document.domain)</script>\n{{7*7}}',
      redirectUrl: `https://shop.example/?q="><script>alert(2)</script>'#"onload=alert(3)`,
      customer: { email: 'x@example.com', firstname: '<i>A', lastname: '"><svg onload=alert(4)>' },
    })
    const cardPage = await payer.goToCardPage(page)
    const paid = await payer.submit(cardPage, '', { instrument: 'card_success', action: 'pay' })
    assert.equal((await read()).status, 'successful')
    const receipt = await payer.open(`${paid.url}/receipt`)
    for (const { html } of [page, cardPage, paid, receipt]) {
      assert.ok(!/<script>|<img|<b>|<svg (?!viewBox="0 0 24 24")|<i>/.test(html), html)
      // No attribute value may end early: only our own markup has quotes.
      assert.ok(!/="[^"]*"[^\s/>]/.test(html.replace(/<style[\s\S]*?<\/style>/, '')), html)
    }
    assert.ok(page.html.includes('&lt;script&gt;alert(document.domain)&lt;/script&gt;'))
    assert.ok(mainTextOf(page).includes('<b>Shop</b>') || page.html.includes('&lt;b&gt;Shop&lt;/b&gt;'))
  })

  it('forbids caching, framing and loading from other origins on a page', async () => {
    const redirectUrl = 'https://shop.example:8443/thanks?x=1'
    const { page, checkoutUrl } = await openCheckout(api, payer, { redirectUrl })
    const policy = page.headers.get('content-security-policy') ?? ''
    const [, nonce = ''] = /<style nonce="([^"]+)">/.exec(page.html) ?? []
    assert.deepEqual(policy.split('; '), [
      "default-src 'none'",
      "script-src 'self'",
      `style-src 'self' 'nonce-${nonce}'`,
      "img-src 'self' data:",
      "connect-src 'self'",
      "form-action 'self'",
      "base-uri 'none'",
      "object-src 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      'report-uri /csp-reports',
      'report-to csp',
    ])
    assert.ok(nonce.length >= 22)
    assert.equal(page.headers.get('cache-control'), 'no-store')
    assert.equal(page.headers.get('referrer-policy'), 'no-referrer')
    assert.equal(page.headers.get('x-content-type-options'), 'nosniff')
    assert.equal(page.headers.get('cross-origin-opener-policy'), 'same-origin')
    const again = await payer.open(checkoutUrl)
    assert.ok(!again.html.includes(nonce), 'a nonce is used once')
    assert.ok(
      !/ on\w+=| style="|javascript:|<script(?! src="\/assets\/\S+" integrity="sha384-[^"]{64}" defer><\/script>)/.test(
        page.html,
      ),
    )
    for (const [, address = ''] of page.html.matchAll(/(?:src|href|action)="([^"]+)"/g))
      assert.match(address, /^(data:,$|\/(pay|assets)\/)/)
  })

  it('sends the same headers with the steps and errors of a page', async () => {
    const { page } = await openCheckout(api, payer)
    const refused = await anonymous.get('/pay/nothing')
    for (const { headers } of [await payer.postForm(page, '/attempts', choiceOf('card')), refused]) {
      assert.equal(headers.get('cache-control'), 'no-store')
      assert.equal(headers.get('referrer-policy'), 'no-referrer')
      assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'.*frame-ancestors 'none'/)
    }
  })

  it('accepts only forms of at most 16 KB, and shows the page again for an unknown choice', async () => {
    const { page, read, checkoutUrl } = await openCheckout(api, payer)
    const path = `${new URL(checkoutUrl).pathname}/attempts`
    const post = (text: string, type = 'application/x-www-form-urlencoded') =>
      anonymous.postText(path, text, { 'content-type': type })
    const problems = [
      ['', 'choice'],
      ['channel=', 'choice'],
      ['channel=cash', 'choice'],
      ['channel=__proto__', 'choice'],
      ['channel=mobile_money', 'phone'],
      ['channel=mobile_money&phone=12&mobile_money_instrument=mobile_success', 'phone'],
      ['channel=mobile_money&phone=%2B256712345678', 'phone'],
      ['channel=mobile_money&phone=0747123456&network=__proto__', 'network'],
      // The limit of the phone field cuts this character in half.
      [`channel=mobile_money&phone=${'x'.repeat(39)}%F0%9F%98%80`, 'phone'],
    ] as const
    for (const [form, problem] of problems) {
      const answer = await post(form)
      const location = new URL(answer.headers.get('location') ?? '', checkoutUrl)
      assert.deepEqual(
        [answer.http, location.pathname, location.searchParams.get('problem')],
        [303, new URL(checkoutUrl).pathname, problem],
        form,
      )
    }
    const refusals: [number, Promise<{ http: number; text: string }>][] = [
      [400, post('channel=card%00')],
      [400, post('channel=%ff')],
      [413, post(`channel=card&x=${'y'.repeat(17_000)}`)],
      [415, post('{"channel":"card"}', 'application/json')],
      [415, post('channel=card', 'text/plain')],
    ]
    for (const [http, answer] of refusals) {
      const { http: answered, text } = await answer
      assert.equal(answered, http, text)
      assert.match(text, /^<!doctype html>/)
    }
    const payment = await read()
    assert.deepEqual([payment.status, payment.attempts], ['pending', []])
    assert.equal(headingOf(await payer.payByCard(page, 'card_success')), 'Paid')
  })

  it('treats an instrument of another channel as an unknown field', async () => {
    const { page, read } = await openCheckout(api, payer)
    const fields = { ...choiceOf('mobile_success'), mobile_money_instrument: 'card_declined' }
    assert.equal(headingOf(await payer.submit(page, '/attempts', fields)), 'Check your phone')
    assert.equal((await read()).attempts[0].channel, 'mobile_money')
  })

  it('keeps input out of addresses, and for a quarter of an hour in a cookie of this page only', async () => {
    const { page, checkoutUrl } = await openCheckout(api, payer)
    const typed = '0712 34 "><i>'
    const fields = { ...choiceOf('mobile_success'), phone: typed, network: 'airtel_ke' }
    const answer = await payer.postForm(page, '/attempts', fields)
    assert.equal(answer.http, 303)
    assert.ok(!decodeURIComponent(answer.location ?? '').includes('0712'))
    const [cookie = ''] = answer.headers.getSetCookie()
    assert.match(cookie, /^cowry_typed=[^;]+; Max-Age=900; Path=\/pay\/[^;]+; HttpOnly; SameSite=Lax$/)
    assert.ok(cookie.includes(`Path=${new URL(checkoutUrl).pathname};`))
    const again = await payer.open(answer.location ?? '')
    assert.match(mainTextOf(again), /Please check this Write the number in figures/)
    assert.ok(again.html.includes('value="0712 34 &quot;&gt;&lt;i&gt;"'), again.html)
    assert.match(again.html, /value="airtel_ke" checked>/)
    assert.match(again.html, /value="mobile_money"[^>]* checked>/)
  })

  it('adds only an origin to its content security policy, whatever the host of the merchant', async () => {
    for (const host of ['shop;sandbox', 'shop,default-src', "shop'", 'shop*', 'shop"', 'shop$', '(shop)']) {
      const body = initiateBody({ redirectUrl: `https://${host}.example/` })
      const answer = await api.post('/api/v1/checkout/initiate-payment', body)
      assert.equal(`${answer.http} ${answer.body.error?.details[0].field}`, '400 redirectUrl', host)
    }
    for (const host of [
      'bücher.example',
      'a_b.example',
      '192.0.2.7',
      '[2001:db8::1]',
      'xn--bcher-kva.example',
    ]) {
      const { page } = await openCheckout(api, payer, { redirectUrl: `https://${host}:8443/` })
      const policy = page.headers.get('content-security-policy') ?? ''
      assert.ok(policy.includes("form-action 'self';"), policy)
    }
  })

  it('formats each amount as its currency requires', async () => {
    const francs = await openCheckout(api, payer, { amount: 5000, currency: 'XOF', country: 'SN' })
    assert.match(headingOf(francs.page), /5 000 F CFA/, 'as Senegal formats it')
    const large = await openCheckout(api, payer, { amount: 999_999_999_999.99, currency: 'NGN' })
    assert.equal(headingOf(large.page), 'Pay ₦999,999,999,999.99 to Demo Shop')
  })

  it('states in staging that no real money moves', async () => {
    assert.match((await openCheckout(api, payer)).page.html, /Test mode: no real money moves/)
  })
})

describe('the script of the checkout', () => {
  it('is served from our origin', async () => {
    const { page } = await openCheckout(api, payer)
    const [, src = ''] = /<script src="([^"]+)"/.exec(page.html) ?? []
    const script = await anonymous.get(src)
    assert.equal(script.http, 200)
    assert.equal(script.headers.get('cache-control'), 'public, max-age=31536000, immutable')
    assert.equal(script.headers.get('content-type'), 'text/javascript; charset=utf-8')
    assert.equal(script.headers.get('x-content-type-options'), 'nosniff')
  })
})
