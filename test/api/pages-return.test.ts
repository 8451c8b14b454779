import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { newReference } from '../support/builders.ts'
import { movingClock } from '../support/moving-clock.ts'
import { createPayer, linkOf, openCheckout, type Page, wordsOf } from '../support/payer.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const clock = movingClock()
const service = await testService({ after }, { clock })
const { api } = service
const payer = createPayer()

describe('a payer who cancels', () => {
  it('is sent back with reference and status, and the payment is abandoned', async () => {
    const redirectUrl = 'https://shop.example/thanks'
    const { page, reference, read } = await openCheckout(api, payer, { redirectUrl })
    const left = await payer.press(page, '/cancel')
    assert.equal(left.http, 303)
    assert.equal(left.location, `https://shop.example/thanks?reference=${reference}&status=abandoned`)
    assert.equal((await read()).status, 'abandoned')
  })

  it('finds the merchant’s own query and fragment to the letter', async () => {
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
      const { headers } = await payer.press(page, '/cancel')
      const result = `reference=${reference}&status=abandoned`
      assert.equal(headers.get('location'), `https://shop.example/x${expected.replace('RESULT', result)}`)
    }
  })

  it('is sent to an address in any alphabet', async () => {
    const { page, reference } = await openCheckout(api, payer, {
      redirectUrl: 'https://shop.example/€/王?x=é#ü',
    })
    const left = await payer.press(page, '/cancel')
    assert.equal(left.http, 303, left.html)
    const { pathname, searchParams, hash } = new URL(left.location ?? '')
    assert.equal(decodeURIComponent(pathname), '/€/王')
    assert.equal(decodeURIComponent(hash), '#ü')
    assert.deepEqual(
      [...searchParams.entries()],
      [
        ['x', 'é'],
        ['reference', reference],
        ['status', 'abandoned'],
      ],
    )
  })

  it('takes a reference of any letters along', async () => {
    const reference = `${newReference()} é&=?#/+"<%`.trim()
    const redirectUrl = 'https://shop.example/thanks'
    const { page } = await openCheckout(api, payer, { redirectUrl, reference })
    const { location } = await payer.press(page, '/cancel')
    const { searchParams, hash } = new URL(location ?? '')
    assert.equal(searchParams.get('reference'), reference)
    assert.equal(searchParams.get('status'), 'abandoned')
    assert.equal(hash, '')
  })

  it('stays on our page when the merchant named no address', async () => {
    const { page, checkoutUrl } = await openCheckout(api, payer)
    const ended = await payer.submit(page, '/cancel')
    assert.equal(ended.url, checkoutUrl)
    assert.match(wordsOf(ended), /^Payment cancelled/)
    assert.ok(!ended.html.includes('<form'))
  })

  it('may do so from the waiting page, and the gateway’s page then leads nowhere else', async () => {
    const { page, read, checkoutUrl } = await openCheckout(api, payer)
    const cardPage = await payer.goToCardPage(page)
    const waiting = await payer.open(checkoutUrl)
    assert.match(wordsOf(waiting), /Continue on the payment page/)
    assert.match(wordsOf(await payer.submit(waiting, '/cancel')), /^Payment cancelled/)
    const late = await payer.submit(cardPage, '', { instrument: 'card_success', action: 'pay' })
    assert.match(wordsOf(late), /^Payment cancelled/)
    const payment = await read()
    assert.deepEqual([payment.status, payment.amountPaid], ['abandoned', null])
  })

  it('cannot cancel what is paid', async () => {
    const { page, read } = await openCheckout(api, payer, { redirectUrl: 'https://shop.example/thanks' })
    await payer.payByCard(page, 'card_success')
    const answer = await payer.submit(page, '/cancel')
    assert.match(wordsOf(answer), /^Paid /)
    assert.equal((await read()).status, 'successful')
  })

  it('who cancels on the gateway’s page may choose another way', async () => {
    const { page } = await openCheckout(api, payer)
    const cardPage = await payer.goToCardPage(page)
    const back = await payer.submit(cardPage, '', { action: 'cancel' })
    assert.ok(wordsOf(back).includes('You did not approve the payment.'), wordsOf(back))
    assert.match(wordsOf(await payer.payByCard(back, 'card_success')), /^Paid /)
  })
})

describe('a payer who has paid', () => {
  it('is led back to the merchant with reference and status', async () => {
    const redirectUrl = 'https://shop.example/thanks?order=7'
    const { page, reference } = await openCheckout(api, payer, { redirectUrl })
    const receipt = await payer.payByCard(page, 'card_success')
    const home = `https://shop.example/thanks?order=7&reference=${reference}&status=successful`
    assert.equal(linkOf(receipt), home)
    assert.ok(
      receipt.html.includes(`<meta http-equiv="refresh" content="5;url=${home.replaceAll('&', '&amp;')}">`),
    )
  })

  it('ends on our receipt when the merchant named no address', async () => {
    const { page, reference, uuid } = await openCheckout(api, payer)
    const receipt = await payer.payByCard(page, 'card_success')
    assert.match(
      wordsOf(receipt),
      new RegExp(`^Paid Amount KES 1,250\\.50 To Demo Shop Reference ${reference} `),
    )
    assert.ok(wordsOf(receipt).includes(uuid))
    assert.ok(!/<a |<form|http-equiv/.test(receipt.html))
  })
})

describe('one checkout', () => {
  const choices = (page: Page, times: number) =>
    Promise.all(Array.from({ length: times }, () => payer.press(page, '/attempts', { choice: 'card' })))

  it('does not start a second attempt by a second press, one after the other or at once', async () => {
    const { page, read } = await openCheckout(api, payer)
    for (const answer of await choices(page, 5)) assert.equal(answer.http, 303)
    const again = await payer.press(page, '/attempts', { choice: 'mobile_money:mobile_success' })
    assert.equal(again.http, 303)
    const { attempts } = await read()
    assert.equal(attempts.length, 1)
    assert.equal(attempts[0].channel, 'card')
  })

  it('can be paid another way after the first was given up', async () => {
    const { page, checkoutUrl, read } = await openCheckout(api, payer)
    await payer.goToCardPage(page)
    const open = await payer.submit(await payer.open(checkoutUrl), '/other')
    assert.equal(open.url, checkoutUrl)
    assert.match(wordsOf(await payer.payByCard(open, 'card_success')), /^Paid /)
    assert.deepEqual(
      (await read()).attempts.map(({ status }: { status: string }) => status),
      ['declined', 'succeeded'],
    )
  })

  it('fails for good when the attempts are used up', async () => {
    const { page, read, checkoutUrl } = await openCheckout(api, payer, {
      redirectUrl: 'https://shop.example/',
    })
    let current = page
    for (let n = 0; n < 5; n += 1) current = await payer.payByCard(current, 'card_declined')
    assert.match(
      wordsOf(current),
      /^Payment did not go through Your bank declined this payment\. You have not been charged\./,
    )
    assert.ok(!current.html.includes('<form'))
    assert.match(linkOf(current), /&status=failed$/)
    const payment = await read()
    assert.deepEqual([payment.status, payment.failure.code], ['failed', 'do_not_honor'])
    await payer.press({ ...page, url: checkoutUrl }, '/attempts', { choice: 'card' })
    assert.equal((await read()).attempts.length, 5)
  })

  it('shows a check of the status at once', async () => {
    const { page, checkoutUrl, uuid, read } = await openCheckout(api, payer)
    await payer.submit(page, '/attempts', { choice: 'bank_transfer:transfer_success' })
    const waiting = await payer.open(checkoutUrl)
    clock.advance(3_000)
    const checked = await payer.submit(waiting, '/check')
    assert.match(wordsOf(checked), /^Paid /, `${uuid} ${(await read()).status}`)
  })

  it('tells its state as JSON to the page’s script', async () => {
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

  it('is over when its time has passed', async () => {
    const { page, checkoutUrl, read } = await openCheckout(api, payer, {
      redirectUrl: 'https://shop.example/',
    })
    clock.advance(61 * 60_000)
    const early = await payer.press(page, '/attempts', { choice: 'card' })
    assert.ok(early.http === 303 || early.http === 409, 'also before anybody has noticed')
    const over = await eventually(
      () => payer.open(checkoutUrl),
      (one) => wordsOf(one).startsWith('This payment has expired'),
      10_000,
    )
    assert.ok(!over.html.includes('<form'))
    assert.match(linkOf(over), /&status=expired$/)
    const pressed = await payer.submit(page, '/attempts', { choice: 'card' })
    assert.match(wordsOf(pressed), /^This payment has expired/)
    const payment = await read()
    assert.deepEqual([payment.status, payment.attempts], ['expired', []])
  })
})
