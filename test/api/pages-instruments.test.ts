import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { SANDBOX_INSTRUMENTS } from '../../src/gateways/sandbox/index.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { choiceOf, createPayer, headingOf, mainTextOf, openCheckout, type Page } from '../support/payer.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const clock = tickingClock()
const service = await testService({ after }, { clock })
const { api } = service
const payer = createPayer()

const MINUTE_MS = 60_000

const isPaid = (page: Page) => headingOf(page).startsWith('Paid')

/** False for the instruments that the tests below decline or leave unknown. */
const collectsAtOnce = (name: string) =>
  !['card_declined', 'card_insufficient_funds', 'card_unknown_status'].includes(name)

/** Reloads, as a waiting page does by itself. */
const reloadUntil = (url: string, isWanted: (page: Page) => boolean, withinMs = 15_000) =>
  eventually(() => payer.open(url), isWanted, withinMs)

describe('the checkout page without JavaScript', () => {
  it('offers every instrument without JavaScript, cards on the gateway’s page', async () => {
    const { page } = await openCheckout(api, payer)
    const cardPage = await payer.goToCardPage(page)
    for (const { name, channel, label } of SANDBOX_INSTRUMENTS) {
      const place = channel === 'card' ? cardPage : page
      assert.ok(place.html.includes(`value="${name}"`), name)
      assert.ok(place.html.includes(label), label)
    }
    assert.equal([...page.html.matchAll(/ checked/g)].length, 1)
    const fields = [...(page.html + cardPage.html).matchAll(/<(?:input|textarea)[^>]*>/g)].map(([tag]) => tag)
    const asked = fields.filter((tag) => !/type="(radio|hidden)"/.test(tag))
    assert.equal(asked.length, 1, 'no field for a card number')
    assert.match(asked[0] ?? '', /type="tel" id="phone"/)
  })

  for (const { name } of SANDBOX_INSTRUMENTS.filter(({ channel }) => channel === 'card')) {
    if (!collectsAtOnce(name)) continue
    it(`collects with ${name} without JavaScript`, async () => {
      const { page, reference, read, checkoutUrl } = await openCheckout(api, payer)
      const receipt = await payer.payByCard(page, name)
      assert.ok(isPaid(receipt), mainTextOf(receipt))
      assert.equal(receipt.url, checkoutUrl)
      assert.match(
        mainTextOf(receipt),
        new RegExp(`KSh 1,250\\.50.*Demo Shop.*Visa •••• \\d{4}.*${reference}`),
      )
      const payment = await read()
      assert.equal(payment.status, 'successful')
      assert.match(payment.paymentMethod.recurringToken, /^rtk_/)
    })
  }

  it('asks the payer to wait with card_unknown_status, and offers no second payment', async () => {
    const { page, read } = await openCheckout(api, payer)
    const waiting = await payer.payByCard(page, 'card_unknown_status')
    assert.match(mainTextOf(waiting), /We do not know yet whether this payment went through/)
    assert.equal((await read()).status, 'processing')
  })

  for (const [name, message] of [
    [
      'card_declined',
      'Your bank declined this payment. You have not been charged. Try a different card or another way to pay.',
    ],
    [
      'card_insufficient_funds',
      'There is not enough money for KSh 1,250.50 and the fee of your bank or operator. You have not been charged. Top up and try again, or pay another way.',
    ],
  ] as const) {
    it(`shows why ${name} was declined, and lets the payer retry`, async () => {
      const { page, read } = await openCheckout(api, payer)
      const declined = await payer.payByCard(page, name)
      assert.ok(mainTextOf(declined).includes(message), mainTextOf(declined))
      assert.match(declined.html, /role="alert"/)
      assert.equal((await read()).status, 'pending')
      assert.ok(isPaid(await payer.payByCard(declined, 'card_success')))
      assert.deepEqual(
        (await read()).attempts.map(({ status }: { status: string }) => status),
        ['declined', 'succeeded'],
      )
    })
  }

  it('asks for approval on another page with card_3ds, and treats a refusal there as a decline', async () => {
    const { page, read } = await openCheckout(api, payer)
    const cardPage = await payer.goToCardPage(page)
    const approval = await payer.submit(cardPage, '', { instrument: 'card_3ds', action: 'pay' })
    assert.match(mainTextOf(approval), /Your bank asks whether it is you who pays/)
    assert.equal((await read()).status, 'processing')
    const back = await payer.submit(approval, '/approval', { action: 'refuse' })
    assert.ok(mainTextOf(back).includes('Your bank could not confirm that it was you.'), mainTextOf(back))
    assert.equal((await read()).attempts[0].failureCode, 'authentication_failed')
  })

  it('asks the payer to check the phone, and then shows the result of mobile_success', async () => {
    const { page, checkoutUrl, read } = await openCheckout(api, payer)
    const waiting = await payer.choose(page, 'mobile_success')
    assert.match(mainTextOf(waiting), /Check your phone/)
    assert.match(waiting.html, /<noscript><meta http-equiv="refresh"/)
    await reloadUntil(checkoutUrl, isPaid)
    assert.equal((await read()).paymentMethod, null, 'mobile money is not saved')
  })

  it('keeps the number and the network after a decline on the phone, for this browser alone', async () => {
    const { page, checkoutUrl } = await openCheckout(api, payer)
    const typed = { ...choiceOf('mobile_cancelled'), phone: '0733 555 001', network: 'airtel_ke' }
    await payer.submit(page, '/attempts', typed)
    const declined = await reloadUntil(checkoutUrl, ({ html }) => html.includes('role="alert"'))
    assert.match(declined.html, /<input type="tel" [^>]*value="0733 555 001"/)
    assert.match(declined.html, /value="airtel_ke" checked>/)
    const elsewhere = await createPayer().open(checkoutUrl)
    assert.doesNotMatch(elsewhere.html, /555 001/)
  })

  it('marks the ways that only the sandbox has in that place, on the page and in the routes', async () => {
    const marksOf = async (currency: string, country: string) => {
      const { page } = await openCheckout(api, payer, { currency, country })
      return page.html.match(/<small class="test-only">test only<\/small>/g)?.length ?? 0
    }
    const waysOf = async (currency: string, country: string) => {
      const { body } = await api.get(`/api/v1/misc/routes?currency=${currency}&country=${country}`)
      const sandbox = body.data[0].gateways.find(({ name }: { name: string }) => name === 'sandbox')
      return sandbox.ways as { channel: string; testOnly: boolean; networks: { testOnly: boolean }[] }[]
    }
    // No gateway has mobile money or transfers in Botswana; foreign cards are taken there.
    const botswana = await waysOf('BWP', 'BW')
    assert.deepEqual(
      botswana.map(({ channel, testOnly }) => [channel, testOnly]),
      [
        ['card', false],
        ['mobile_money', true],
        ['bank_transfer', true],
      ],
    )
    assert.ok(botswana[1]?.networks.every(({ testOnly }) => testOnly))
    assert.equal(await marksOf('BWP', 'BW'), 2)

    const kenya = await waysOf('KES', 'KE')
    const channels = kenya.filter(({ testOnly }) => testOnly)
    const networks = kenya.flatMap((way) => (way.testOnly ? [] : way.networks.filter((one) => one.testOnly)))
    assert.equal(await marksOf('KES', 'KE'), channels.length + networks.length)
    assert.equal(kenya.find(({ channel }) => channel === 'mobile_money')?.testOnly, false)
  })

  it('says that a request of another payment waits on the phone, keeps the form, and takes it when that one ended', async () => {
    const typed = { ...choiceOf('mobile_timeout'), phone: '0733 555 002', network: 'airtel_ke' }
    const first = await openCheckout(api, payer)
    const waiting = await payer.submit(first.page, '/attempts', typed)
    assert.match(mainTextOf(waiting), /Check your phone/)
    const second = await openCheckout(api, payer)
    const busy = await payer.submit(second.page, '/attempts', typed)
    assert.match(
      mainTextOf(busy),
      /already waiting on this phone\. Approve or decline it there, or let it end\. You can try again here in 5 minutes at the latest\./,
    )
    assert.match(busy.html, /<input type="tel" [^>]*value="0733 555 002"/)
    assert.match(busy.html, /value="airtel_ke" checked>/)
    assert.deepEqual((await second.read()).attempts, [])

    const cancelled = await api.post(`/api/v1/checkout/payments/${(await first.read()).uuid}/cancel`, {})
    assert.equal(cancelled.http, 200, cancelled.text)
    const sent = await payer.submit(busy, '/attempts', typed)
    assert.match(mainTextOf(sent), /Check your phone/)
  })

  it('says what is wrong with a number, with the name of the country in the payer’s language', async () => {
    const { page, checkoutUrl, read } = await openCheckout(api, payer)
    const messages = {
      '': 'Enter your mobile number.',
      '0712 34': 'This number is too short. Write all of it, like 0712 123 456.',
      '0712 345 678 9': 'This number is too long. Write it like 0712 123 456.',
      'my phone': 'Write the number in figures, like 0712 123 456.',
      '020 234 5678': 'This is not a mobile number. Use one like 0712 123 456.',
      '+256 772 345 678': 'Use a mobile number from Kenya, like 0712 123 456.',
    }
    for (const [phone, message] of Object.entries(messages)) {
      const answer = await payer.submit(page, '/attempts', { ...choiceOf('mobile_success'), phone })
      assert.ok(mainTextOf(answer).includes(message), `${phone}: ${mainTextOf(answer)}`)
    }
    const french = await createPayer().open(`${checkoutUrl}?problem=phone&reason=foreign&lang=fr`)
    assert.match(
      mainTextOf(french),
      /Utilisez un numéro mobile de ce pays\s: Kenya\. Par exemple 0712 123 456\./,
    )
    assert.deepEqual((await read()).attempts, [])
  })

  it('shows that mobile_cancelled was not approved', async () => {
    const { page, checkoutUrl } = await openCheckout(api, payer)
    await payer.choose(page, 'mobile_cancelled')
    const open = await reloadUntil(checkoutUrl, (one) => one.html.includes('role="alert"'))
    assert.ok(
      mainTextOf(open).includes('The payment was not approved. You have not been charged.'),
      mainTextOf(open),
    )
    assert.ok(isPaid(await payer.payByCard(open, 'card_success')))
  })

  it('shows where to send transfer_success, and then its result', async () => {
    const { page, checkoutUrl } = await openCheckout(api, payer)
    const waiting = await payer.choose(page, 'transfer_success')
    assert.equal(headingOf(waiting), 'Send exactly KSh 1,250.50')
    assert.match(
      mainTextOf(waiting),
      /Bank Sandbox Bank Account number \d{10} .*Account name Demo Shop Write this reference \S{8} /,
    )
    await reloadUntil(checkoutUrl, isPaid)
  })

  it('shows the received amount of transfer_underpaid, and credits nothing', async () => {
    const { page, checkoutUrl, read } = await openCheckout(api, payer)
    await payer.choose(page, 'transfer_underpaid')
    const short = await reloadUntil(checkoutUrl, (one) => headingOf(one).startsWith('We received'))
    assert.equal(headingOf(short), 'We received KSh 1,125.45 of KSh 1,250.50')
    assert.match(
      mainTextOf(short),
      /ask Demo Shop how to send the rest or get your money back\. Do not pay again/,
    )
    const payment = await read()
    assert.deepEqual([payment.statusReason, payment.amountPaid], ['amount_mismatch', null])
  })

  it('lets the payer retry after mobile_timeout', async () => {
    const { page, checkoutUrl } = await openCheckout(api, payer)
    await payer.choose(page, 'mobile_timeout')
    clock.advance(5 * MINUTE_MS)
    const open = await reloadUntil(checkoutUrl, (one) => one.html.includes('role="alert"'))
    assert.ok(
      mainTextOf(open).includes('We did not get your approval in time. You have not been charged.'),
      mainTextOf(open),
    )
  })

  it('accepts the payment of mobile_late_success after the checkout expired', async () => {
    const { page, checkoutUrl, read } = await openCheckout(api, payer)
    await payer.choose(page, 'mobile_late_success')
    clock.advance(60 * MINUTE_MS)
    await reloadUntil(checkoutUrl, (one) => isPaid(one) || headingOf(one).includes('expired'))
    const paid = await reloadUntil(checkoutUrl, isPaid)
    assert.equal(headingOf(paid), 'Paid after the time was up')
    assert.equal((await read()).status, 'successful')
  })
})
