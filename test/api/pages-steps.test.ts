// The steps of the payer's page over HTTP without JavaScript: their effects and their errors.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { tickingClock } from '../support/fake-clock.ts'
import { createPayer, headingOf, openCheckout, type Page } from '../support/payer.ts'
import { testService } from '../support/service.ts'

// A transfer arrives after two seconds: on a busy machine this would be before the payer's next step.
const clock = tickingClock(0.05)
const { api } = await testService({ after }, { clock })
const payer = createPayer()

const TRANSFER = { channel: 'bank_transfer', bank_transfer_instrument: 'transfer_success' }

/** The hidden field of the page's forms. */
const attemptOf = (page: Page): string => /name="attempt" value="(\d+)"/.exec(page.html)?.[1] ?? ''

describe('a payer who reports a transfer as sent', () => {
  it('does not ask again for a reported transfer, in any tab, also after a status check', async () => {
    const { page, checkoutUrl, read } = await openCheckout(api, payer)
    const account = await payer.submit(page, '/attempts', TRANSFER)
    assert.match(headingOf(account), /^Send exactly/)
    assert.equal((await read()).status, 'processing')
    const looking = await payer.submit(account, '/sent')
    assert.equal(headingOf(looking), 'We are looking for your transfer')
    assert.equal(headingOf(await payer.submit(looking, '/check')), 'We are looking for your transfer')
    assert.equal(headingOf(await payer.open(checkoutUrl)), 'We are looking for your transfer')
    assert.equal((await read()).status, 'processing', 'the report proves nothing')
  })
})

describe('the form of an outdated tab', () => {
  it('rejects the form of an outdated tab, and leaves the newer attempt unchanged', async () => {
    const { page, checkoutUrl, read } = await openCheckout(api, payer)
    assert.equal(attemptOf(page), '0')
    await payer.goToCardPage(page)
    await payer.submit(page, '/cancel', { attempt: '0' })
    assert.equal((await read()).status, 'processing', 'the old page would have cancelled another attempt')
    const now = await payer.open(checkoutUrl)
    assert.equal(attemptOf(now), '1')
    await payer.submit(now, '/cancel', { attempt: '1' })
    assert.equal((await read()).status, 'pending')
  })
})

describe('a payment in a final state', () => {
  it('redirects no payer of a final payment to the page of a gateway', async () => {
    const { page, checkoutUrl } = await openCheckout(api, payer)
    await payer.goToCardPage(page)
    assert.match((await payer.open(`${checkoutUrl}/continue`)).html, /http-equiv="refresh" content="0;url=/)
    await payer.submit(await payer.open(checkoutUrl), '/cancel', { attempt: '1' })
    const after = await payer.open(`${checkoutUrl}/continue`)
    assert.equal(headingOf(after), 'Payment cancelled')
  })
})

describe('a payment of another amount', () => {
  it('shows a received amount that differs before it asks for anything else', async () => {
    const { page, checkoutUrl, read } = await openCheckout(api, payer, { amount: 100, currency: 'NGN' })
    await payer.submit(page, '/attempts', {
      ...TRANSFER,
      bank_transfer_instrument: 'transfer_underpaid',
    })
    clock.advance(5_000)
    await payer.submit(await payer.open(checkoutUrl), '/check')
    assert.match(headingOf(await payer.open(checkoutUrl)), /^We received ₦90 of ₦100$/)
    clock.advance(2 * 3_600_000)
    await payer.submit(page, '/attempts', { channel: 'card' })
    assert.match(headingOf(await payer.open(checkoutUrl)), /^We received/, 'also after the expiry')
    assert.equal((await read()).attempts.length, 1)
  })
})

describe('the address of a form action', () => {
  it('redirects the address of a form action to the page when it is opened', async () => {
    const { checkoutUrl, page } = await openCheckout(api, payer)
    for (const step of ['attempts', 'check', 'sent', 'extend', 'other', 'cancel']) {
      assert.equal(headingOf(await payer.open(`${checkoutUrl}/${step}`)), headingOf(page), step)
    }
  })
})

describe('the rate limit of a payer’s actions', () => {
  it('rejects more than twenty actions a minute, with a link back', async () => {
    const { checkoutUrl } = await openCheckout(api, payer)
    const many = await Promise.all(
      Array.from({ length: 25 }, () => fetch(`${checkoutUrl}/check`, { method: 'POST', redirect: 'manual' })),
    )
    assert.equal(many.filter(({ status }) => status === 429).length, 5)
    const refused = many.find(({ status }) => status === 429)
    assert.ok(refused)
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    const { pathname } = new URL(checkoutUrl)
    assert.ok((await refused.text()).includes(`class="button" href="${pathname}"`))
    assert.equal((await payer.open(checkoutUrl)).http, 200, 'reading is not an action')
    clock.advance(61_000)
    const again = await fetch(`${checkoutUrl}/check`, { method: 'POST', redirect: 'manual' })
    assert.equal(again.status, 303)
  })
})
