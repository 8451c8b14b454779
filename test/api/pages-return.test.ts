import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { initiateBody, newReference } from '../support/builders.ts'
import { tickingClock } from '../support/fake-clock.ts'
import {
  choiceOf,
  createPayer,
  headingOf,
  linkOf,
  mainTextOf,
  openCheckout,
  type Page,
} from '../support/payer.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const clock = tickingClock()
const service = await testService({ after }, { clock })
const { api } = service
const payer = createPayer()
const INITIATE = '/api/v1/checkout/initiate-payment'

// TTL of a merchant's profile in the cache.
const CACHE_TTL_MS = 31_000

/** The merchant's address to which the page after a cancellation redirects. */
async function leadsTo({ location }: Page): Promise<string> {
  const { html } = await payer.open(location ?? '')
  const [, url = ''] = /http-equiv="refresh" content="0;url=([^"]+)"/.exec(html) ?? []
  return url.replaceAll('&amp;', '&')
}

describe('a payer who cancels', () => {
  it('redirects a payer who cancels with reference and status, and keeps the payment payable', async () => {
    const redirectUrl = 'https://shop.example/thanks'
    const { page, reference, read } = await openCheckout(api, payer, { redirectUrl })
    const left = await payer.postForm(page, '/cancel')
    assert.equal(left.http, 303)
    assert.match(left.location ?? '', /\/leave$/)
    assert.equal(await leadsTo(left), `https://shop.example/thanks?reference=${reference}&status=cancelled`)
    const { status, statusReason } = await read()
    assert.deepEqual([status, statusReason], ['pending', 'customer_cancelled'])
  })

  it('keeps the query and fragment of redirectUrl unchanged', async () => {
    const endings: [string, string][] = [
      ['?order=7', '?order=7&RESULT'],
      ['?a=1&b=%2F+x&a=2', '?a=1&b=%2F+x&a=2&RESULT'],
      ['?', '?RESULT'],
      ['?a=1&', '?a=1&RESULT'],
      ['#/done?x=1', '?RESULT#/done?x=1'],
      ['?a=b#top', '?a=b&RESULT#top'],
      ['/%C3%A9%20?q=%E2%82%AC', '/%C3%A9%20?q=%E2%82%AC&RESULT'],
    ]
    for (const [ending, expected] of endings) {
      const { page, reference } = await openCheckout(api, payer, {
        redirectUrl: `https://shop.example/x${ending}`,
      })
      const left = await leadsTo(await payer.postForm(page, '/cancel'))
      const result = `reference=${reference}&status=cancelled`
      assert.equal(left, `https://shop.example/x${expected.replace('RESULT', result)}`)
    }
  })

  it('redirects to an address in any alphabet', async () => {
    const { page, reference } = await openCheckout(api, payer, {
      redirectUrl: 'https://shop.example/€/王?x=é#ü',
    })
    const left = await leadsTo(await payer.postForm(page, '/cancel'))
    const { pathname, searchParams, hash } = new URL(left)
    assert.equal(decodeURIComponent(pathname), '/€/王')
    assert.equal(decodeURIComponent(hash), '#ü')
    assert.deepEqual(
      [...searchParams.entries()],
      [
        ['x', 'é'],
        ['reference', reference],
        ['status', 'cancelled'],
      ],
    )
  })

  it('encodes a reference of any letters in the redirect', async () => {
    const reference = `${newReference()} é&=?#/+"<%`.trim()
    const redirectUrl = 'https://shop.example/thanks'
    const { page } = await openCheckout(api, payer, { redirectUrl, reference })
    const left = await leadsTo(await payer.postForm(page, '/cancel'))
    const { searchParams, hash } = new URL(left)
    assert.equal(searchParams.get('reference'), reference)
    assert.equal(searchParams.get('status'), 'cancelled')
    assert.equal(hash, '')
  })

  it('stays on our page after a cancellation without redirectUrl', async () => {
    const { page, checkoutUrl } = await openCheckout(api, payer)
    const ended = await payer.submit(page, '/cancel')
    assert.equal(ended.url, checkoutUrl)
    assert.equal(headingOf(ended), 'Payment cancelled')
    assert.match(mainTextOf(ended), /You have not been charged/)
    assert.match(mainTextOf(ended), /You can pay here until/)
  })

  it('lets a payer who has cancelled pay after all, at the address that a repeated initiate returns', async () => {
    const redirectUrl = 'https://shop.example/thanks'
    const body = initiateBody({ redirectUrl })
    const first = await api.post(INITIATE, body)
    const { checkoutUrl, uuid } = first.body.data
    await payer.postForm(await payer.open(checkoutUrl), '/cancel')
    const again = await api.post(INITIATE, body)
    assert.deepEqual([again.body.data.checkoutUrl, again.body.message], [checkoutUrl, 'Payment initiated.'])
    const cancelled = await payer.open(checkoutUrl)
    assert.equal(headingOf(cancelled), 'Payment cancelled')
    const open = await payer.submit(cancelled, '/resume')
    assert.match(headingOf(open), /^Pay /)
    await payer.payByCard(open, 'card_success')
    const { data } = (await api.get(`/api/v1/checkout/payments/${uuid}`)).body
    assert.deepEqual([data.status, data.statusReason], ['successful', null])
  })

  it('accepts the form of another tab after a cancellation', async () => {
    const { page, checkoutUrl, read } = await openCheckout(api, payer)
    await payer.submit(page, '/cancel')
    await payer.payByCard(page, 'card_success')
    assert.equal((await read()).status, 'successful')
    assert.equal(headingOf(await payer.open(checkoutUrl)), 'Paid')
  })

  it('cancels from the waiting page, after which the gateway’s page leads only to the result', async () => {
    const { page, read, checkoutUrl } = await openCheckout(api, payer)
    const cardPage = await payer.goToCardPage(page)
    const waiting = await payer.open(checkoutUrl)
    assert.equal(headingOf(waiting), 'Continue on the payment page')
    assert.equal(headingOf(await payer.submit(waiting, '/cancel')), 'Payment cancelled')
    const late = await payer.submit(cardPage, '', { instrument: 'card_success', action: 'pay' })
    assert.equal(headingOf(late), 'Payment cancelled')
    const payment = await read()
    assert.deepEqual([payment.status, payment.amountPaid], ['pending', null])
  })

  it('rejects the cancellation of a paid payment', async () => {
    const { page, read } = await openCheckout(api, payer, { redirectUrl: 'https://shop.example/thanks' })
    await payer.payByCard(page, 'card_success')
    const answer = await payer.submit(page, '/cancel')
    assert.equal(headingOf(answer), 'Paid')
    assert.equal((await read()).status, 'successful')
  })

  it('offers other methods after a cancellation on the gateway’s page', async () => {
    const { page } = await openCheckout(api, payer)
    const cardPage = await payer.goToCardPage(page)
    const back = await payer.submit(cardPage, '', { action: 'cancel' })
    assert.ok(mainTextOf(back).includes('The payment was not approved.'), mainTextOf(back))
    assert.equal(headingOf(await payer.payByCard(back, 'card_success')), 'Paid')
  })
})

describe('a payer who has paid', () => {
  it('links a payer who has paid back to the merchant with reference and status', async () => {
    const redirectUrl = 'https://shop.example/thanks?order=7'
    const { page, reference } = await openCheckout(api, payer, { redirectUrl })
    const receipt = await payer.payByCard(page, 'card_success')
    const home = `https://shop.example/thanks?order=7&reference=${reference}&status=successful`
    assert.equal(linkOf(receipt), home)
    assert.ok(
      receipt.html.includes(`<meta http-equiv="refresh" content="5;url=${home.replaceAll('&', '&amp;')}">`),
    )
  })

  it('redirects automatically only once, and always offers a link', async () => {
    const redirectUrl = 'https://shop.example/thanks'
    const { page, checkoutUrl } = await openCheckout(api, payer, { redirectUrl })
    assert.match((await payer.payByCard(page, 'card_success')).html, /http-equiv="refresh"/)
    const again = await payer.open(checkoutUrl)
    assert.equal(headingOf(again), 'Paid')
    assert.ok(!/http-equiv|data-return/.test(again.html))
    assert.match(linkOf(again), /^https:\/\/shop\.example\/thanks\?/)
  })

  it('does not redirect to an origin that the merchant no longer allows', async () => {
    const shop = await service.newMerchant()
    const allow = async (origin: string) => {
      const settings = { redirectOrigins: [origin] }
      const answer = await service.admin.send('PATCH', `/admin/v1/merchants/${shop.uuid}`, {
        body: JSON.stringify({ settings }),
        headers: { 'content-type': 'application/json' },
      })
      assert.equal(answer.http, 200, answer.text)
      clock.advance(CACHE_TTL_MS)
    }
    await allow('https://shop.example')
    const { page } = await openCheckout(shop.api, payer, { redirectUrl: 'https://shop.example/thanks' })
    await allow('https://other.example')
    const receipt = await payer.payByCard(page, 'card_success')
    assert.ok(!receipt.html.includes('shop.example'))
    assert.ok(!receipt.headers.get('content-security-policy')?.includes('shop.example'))
  })

  it('shows our receipt to a payer who has paid without redirectUrl', async () => {
    const { page, reference, checkoutUrl } = await openCheckout(api, payer, { description: 'Two goats' })
    const ended = await payer.payByCard(page, 'card_success')
    assert.equal(headingOf(ended), 'Paid')
    assert.ok(!/http-equiv|<form|class="button/.test(ended.html), 'there is no redirect target')
    const receipt = await payer.open(`${checkoutUrl}/receipt`)
    assert.equal(headingOf(receipt), 'Receipt')
    const facts = `Amount KSh 1,250\\.50 To Demo Shop For Two goats Paid with Visa •••• 4242 Time .+ EAT Reference ${reference} Receipt number ([\\dA-Z]{4}-){2}[\\dA-Z]{4} Provider’s code \\S+ Status Paid · Test mode`
    for (const one of [ended, receipt]) assert.match(mainTextOf(one), new RegExp(facts))
  })

  it('shows no receipt before the payment', async () => {
    const { checkoutUrl } = await openCheckout(api, payer)
    const page = await payer.open(`${checkoutUrl}/receipt`)
    assert.equal(page.url, checkoutUrl)
    assert.match(headingOf(page), /^Pay KSh/)
  })
})

describe('one checkout over several requests', () => {
  const choices = (page: Page, times: number) =>
    Promise.all(Array.from({ length: times }, () => payer.postForm(page, '/attempts', choiceOf('card'))))

  it('starts one attempt for repeated and parallel submissions', async () => {
    const { page, read } = await openCheckout(api, payer)
    for (const answer of await choices(page, 5)) assert.equal(answer.http, 303)
    const again = await payer.postForm(page, '/attempts', choiceOf('mobile_success'))
    assert.equal(again.http, 303)
    const { attempts } = await read()
    assert.equal(attempts.length, 1)
    assert.equal(attempts[0].channel, 'card')
  })

  it('collects by another method after the first attempt was cancelled', async () => {
    const { page, checkoutUrl, read } = await openCheckout(api, payer)
    await payer.goToCardPage(page)
    const open = await payer.submit(await payer.open(checkoutUrl), '/other')
    assert.equal(open.url, checkoutUrl)
    assert.equal(headingOf(await payer.payByCard(open, 'card_success')), 'Paid')
    assert.deepEqual(
      (await read()).attempts.map(({ status }: { status: string }) => status),
      ['declined', 'succeeded'],
    )
  })

  it('fails the checkout when its attempts are used up', async () => {
    const { page, read, checkoutUrl } = await openCheckout(api, payer, {
      redirectUrl: 'https://shop.example/',
    })
    let current = page
    for (let n = 0; n < 5; n += 1) current = await payer.payByCard(current, 'card_declined')
    assert.equal(headingOf(current), 'Payment did not go through')
    assert.match(mainTextOf(current), /Your bank declined this payment\. You have not been charged\./)
    assert.ok(!current.html.includes('<form'))
    assert.match(linkOf(current), /&status=failed$/)
    const payment = await read()
    assert.deepEqual([payment.status, payment.failure.code], ['failed', 'do_not_honor'])
    await payer.postForm({ ...page, url: checkoutUrl }, '/attempts', choiceOf('card'))
    assert.equal((await read()).attempts.length, 5)
  })

  it('shows the result of a status check at once', async () => {
    const { page, checkoutUrl } = await openCheckout(api, payer)
    await payer.choose(page, 'transfer_success')
    const waiting = await payer.open(checkoutUrl)
    clock.advance(3_000)
    // A check that the service has begun before is shared, and is older than the payment.
    const checked = await eventually(
      () => payer.submit(waiting, '/check'),
      (page) => headingOf(page) === 'Paid',
      10_000,
    )
    assert.equal(headingOf(checked), 'Paid')
  })

  it('returns its state as JSON to the page’s script', async () => {
    const { page, checkoutUrl } = await openCheckout(api, payer)
    const status = () => service.apiWith(undefined).get(`${new URL(checkoutUrl).pathname}/status`)
    const before = await status()
    assert.equal(before.headers.get('content-type'), 'application/json; charset=utf-8')
    assert.equal(before.headers.get('cache-control'), 'no-store')
    assert.deepEqual(Object.keys(before.body), ['status', 'shown'])
    assert.equal(before.body.status, 'pending')
    await payer.payByCard(page, 'card_success')
    const now = await status()
    assert.equal(now.body.status, 'successful')
    assert.notEqual(now.body.shown, before.body.shown)
  })

  it('closes a checkout after its expiry', async () => {
    const { page, checkoutUrl, read } = await openCheckout(api, payer, {
      redirectUrl: 'https://shop.example/',
    })
    clock.advance(61 * 60_000)
    const early = await payer.choose(page, 'card')
    assert.equal(headingOf(early), 'This payment link has expired', 'also before the expiry job has run')
    const over = await eventually(
      () => payer.open(checkoutUrl),
      (one) => linkOf(one).endsWith('&status=expired'),
      10_000,
    )
    assert.match(mainTextOf(over), /You have not been charged/)
    assert.ok(!over.html.includes('<form'))
    assert.equal(headingOf(await payer.choose(page, 'card')), 'This payment link has expired')
    const payment = await read()
    assert.deepEqual([payment.status, payment.attempts], ['expired', []])
  })
})
