import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import { assertApiError } from '../support/assertions.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { fillIn, makeLink } from '../support/links.ts'
import { dataOf, PAYMENTS, p2pBody, p2pMerchant, WALLET } from '../support/p2p.ts'
import { createPayer, headingOf, mainTextOf } from '../support/payer.ts'
import { eventsOf, pathOf, postingsOf } from '../support/payment-records.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const clock = tickingClock()
const service = await testService({ after }, { clock })
const { db } = service
const DAY_MS = 24 * 3_600_000
const { api, requestTransfer, act, confirm, read } = await p2pMerchant(service, WALLET)

const selectDue = sql<{ dueAt: Date | null; polls: number }>`
select due_at as "dueAt", polls
from attempts
where payment_id = $1`

describe('transfers to the merchant on the checkout page', () => {
  const payer = createPayer()
  const INITIATE = '/api/v1/checkout/initiate-payment'
  const openPage = async (changes: Record<string, unknown> = {}) => {
    const { uuid, checkoutUrl } = await dataOf(api.post(INITIATE, p2pBody(changes)))
    return { uuid, checkoutUrl, page: await payer.open(checkoutUrl) }
  }
  const chooseDirect = async () => {
    const opened = await openPage()
    return {
      ...opened,
      page: await payer.submit(opened.page, '/attempts', { channel: 'direct_mobile_money' }),
    }
  }

  it('offers a transfer only where the merchant has a receiving account', async () => {
    const { page } = await openPage()
    assert.match(mainTextOf(page), /Mobile money to Another Shop/)
    assert.doesNotMatch(mainTextOf(page), /Bank transfer to Another Shop/)
    const other = await openPage({ currency: 'KES' })
    assert.doesNotMatch(mainTextOf(other.page), /to Another Shop You send/)
    const refused = await payer.submit(other.page, '/attempts', { channel: 'direct_mobile_money' })
    assert.match(mainTextOf(refused), /Choose how you would like to pay/)
    const [route] = await dataOf(api.get('/api/v1/misc/routes?currency=SSP&country=SS'))
    assert.deepEqual(
      route.gateways.map(({ name, channels }: { name: string; channels: string[] }) => `${name} ${channels}`),
      ['sandbox card,mobile_money,bank_transfer', 'p2p direct_mobile_money'],
    )
  })

  it('shows the account, and records the reports of payer and merchant', async () => {
    const { uuid, page } = await chooseDirect()
    assert.equal(headingOf(page), 'Send exactly SSP 5,000')
    assert.match(mainTextOf(page), /m-Gurush .*091 234 5678|m-Gurush .*0912 345 678/)
    const { instructions } = await read(uuid)
    assert.ok(mainTextOf(page).includes(instructions.narration))
    const sent = await payer.submit(page, '/sent')
    assert.equal(headingOf(sent), 'Another Shop is checking your transfer')
    assert.doesNotMatch(sent.html, /\/other"/, 'no second method while the first transfer is being confirmed')
    assert.equal((await read(uuid)).transferStatus, 'marked_paid')
    await dataOf(confirm(uuid, 3000))
    const short = await payer.open(page.url)
    assert.equal(headingOf(short), 'SSP 3,000 of SSP 5,000 arrived')
    assert.match(mainTextOf(short), /missing SSP 2,000/)
    await dataOf(confirm(uuid, 6000))
    const paid = await payer.open(page.url)
    assert.equal(headingOf(paid), 'Paid')
    assert.match(mainTextOf(paid), /You sent SSP 1,000 more/)
  })

  it('lets a payer who sent nothing choose another method, and accepts a transfer that still arrives', async () => {
    const { uuid, page } = await chooseDirect()
    const open = await payer.submit(page, '/other')
    assert.match(headingOf(open), /^Pay SSP/)
    const again = await payer.submit(open, '/attempts', { channel: 'direct_mobile_money' })
    assert.equal(headingOf(again), 'Send exactly SSP 5,000')
    const first = await eventually(
      async () => (await dataOf(api.get(`/api/v1/checkout/payments/${uuid}`))).attempts,
      (attempts) => attempts[0].status === 'declined',
      10_000,
    )
    assert.equal(first.length, 2)
    assert.equal((await eventsOf(db, uuid)).filter(({ type }) => type === 'p2p.awaiting_payment').length, 1)
    const card = await payer.submit(await payer.submit(again, '/other'), '/attempts', { channel: 'card' })
    assert.match(headingOf(card), /Continue/)
    const confirmed = await dataOf(confirm(uuid, 5000))
    assert.deepEqual([confirmed.status, confirmed.paymentGateway], ['successful', 'p2p'])
  })

  it('rejects cancelling and other methods while the payer reports the money as sent, or a part of it arrived', async () => {
    const states: [string, (uuid: string) => Promise<unknown>, string][] = [
      ['marked_paid', (uuid) => dataOf(act(uuid, 'mark-paid')), 'Another Shop is checking your transfer'],
      ['underpaid', (uuid) => dataOf(confirm(uuid, 3000)), 'SSP 3,000 of SSP 5,000 arrived'],
    ]
    for (const [word, enterState, heading] of states) {
      // The page was open before the payer reported the transfer.
      const { uuid, page } = await chooseDirect()
      await enterState(uuid)
      for (const step of ['/other', '/cancel']) {
        assert.equal(headingOf(await payer.submit(page, step)), heading, step)
        const { status, statusReason, transferStatus } = await read(uuid)
        assert.deepEqual([status, statusReason, transferStatus], ['processing', word, word], step)
      }
      const { reference } = await read(uuid)
      const card = `/api/v1/sandbox/payments/${reference}/complete`
      assertApiError(await api.post(card, { instrument: 'card_success' }), 'invalid_state')
      assert.equal((await dataOf(confirm(uuid, 5000))).status, 'successful')
    }
  })

  it('keeps the reported transfer when the payer chooses this method again', async () => {
    const { uuid, page } = await chooseDirect()
    const open = await payer.submit(page, '/other')
    await dataOf(confirm(uuid, 3000))
    const { expiresAt: before } = await read(uuid)
    const again = await payer.submit(open, '/attempts', { channel: 'direct_mobile_money' })
    assert.equal(headingOf(again), 'SSP 3,000 of SSP 5,000 arrived')
    const held = await read(uuid)
    assert.deepEqual([held.status, held.statusReason], ['processing', 'underpaid'])
    assert.ok(Date.parse(held.expiresAt) > Date.parse(before) + 6 * DAY_MS)
    for (const step of ['/other', '/cancel'])
      assert.equal(headingOf(await payer.submit(page, step, { attempt: '2' })), headingOf(again), step)
    assert.equal((await read(uuid)).status, 'processing')
  })

  it('ignores reports about a transfer that its payer has left', async () => {
    const { uuid, page } = await chooseDirect()
    await payer.submit(await payer.submit(page, '/other'), '/attempts', { channel: 'card' })
    const facts = async () => {
      const { status, statusReason, expiresAt, paymentGateway, transferStatus } = await read(uuid)
      return { payment: { status, statusReason, expiresAt, paymentGateway }, transferStatus }
    }
    const before = await facts()
    await dataOf(act(uuid, 'mark-paid'))
    assert.deepEqual(await facts(), { ...before, transferStatus: 'marked_paid' })
    await dataOf(confirm(uuid, 3000))
    assert.deepEqual(await facts(), { ...before, transferStatus: 'underpaid' })
    const { reference, amountMissing } = await read(uuid)
    assert.equal(amountMissing, '2000.00')
    await dataOf(api.post(`/api/v1/sandbox/payments/${reference}/complete`, { instrument: 'card_success' }))
    const paid = await read(uuid)
    assert.deepEqual(
      [paid.status, paid.amountPaid, paid.amountReceived, paid.amountMissing, paid.amountExcess],
      ['successful', '5000.00', '3000.00', '0.00', '3000.00'],
    )
    assert.match(mainTextOf(await payer.open(page.url)), /You sent SSP 3,000 more/)
    const { data } = (await api.get(`${PAYMENTS}?narration=${paid.instructions.narration}`)).body
    assert.deepEqual([data[0].amountMissing, data[0].amountExcess], ['0.00', '3000.00'])
  })

  it('accepts the payer’s report only for the current method', async () => {
    const { uuid, page } = await chooseDirect()
    const open = await payer.submit(page, '/other')
    await payer.submit(open, '/attempts', { channel: 'bank_transfer' })
    await payer.submit(page, '/sent')
    assert.equal((await read(uuid)).transferStatus, 'awaiting_payment')
  })

  it('reserves a link’s slot for a day on the payer’s report, and releases it on the merchant’s', async () => {
    const hold = async (email: string) => {
      const link = await makeLink(api, { usage: 'single', currency: 'SSP', country: 'SS', amount: 5000 })
      const visitor = createPayer()
      const { location } = await fillIn(visitor, await visitor.open(link.url), { email })
      const chosen = await visitor.submit(await visitor.open(location ?? ''), '/attempts', {
        channel: 'direct_mobile_money',
      })
      await visitor.submit(chosen, '/sent')
      const [payment] = await dataOf(api.get(`/api/v1/payment-links/${link.uuid}/payments`))
      const state = async () => (await createPayer().open(link.url)).http
      return { uuid: payment.uuid, state }
    }
    const rejected = await hold('one@example.com')
    assert.equal(await rejected.state(), 409)
    await dataOf(act(rejected.uuid, 'reject'))
    assert.equal(await rejected.state(), 200)
    const silent = await hold('two@example.com')
    const looked = await hold('three@example.com')
    await dataOf(confirm(looked.uuid, 3000))
    clock.advance(DAY_MS + 3_600_000)
    await eventually(silent.state, (http) => http === 200, 15_000)
    assert.equal(await looked.state(), 409, 'the merchant has found a part of it')
    const late = await dataOf(confirm(silent.uuid, 5000))
    assert.deepEqual([late.status, late.transferStatus], ['successful', 'confirmed'])
  })

  it('records a transfer that arrives after another method paid as a duplicate', async () => {
    const { uuid, page } = await chooseDirect()
    await payer.submit(page, '/other')
    const { reference } = await read(uuid)
    const card = await dataOf(
      api.post(`/api/v1/sandbox/payments/${reference}/complete`, { instrument: 'card_success' }),
    )
    assert.deepEqual([card.status, card.paymentGateway], ['successful', 'sandbox'])
    const twice = await dataOf(confirm(uuid, 5000))
    assert.deepEqual(
      [twice.status, twice.paymentGateway, twice.transferStatus, twice.attempts[0].status],
      ['successful', 'sandbox', 'confirmed', 'duplicate_success'],
    )
    assert.ok((await postingsOf(db, uuid)).includes('duplicate_capture direct SSP 500000'))
  })

  it('routes to the merchant alone where no gateway serves, and nowhere when the operator disabled P2P', async () => {
    const alone = await p2pMerchant(service, WALLET)
    const route = async (exclude: string[]) => {
      const settings = { routing: [{ exclude }] }
      const changed = await service.admin.send('PATCH', `/admin/v1/merchants/${alone.uuid}`, {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ settings }),
      })
      assert.equal(changed.http, 200, changed.text)
      clock.advance(60_000)
    }
    await route(['sandbox'])
    const payment = await dataOf(alone.api.post(INITIATE, p2pBody()))
    assert.deepEqual([payment.paymentGateway, payment.status], ['p2p', 'pending'])
    const ways = (await payer.open(payment.checkoutUrl)).html.match(/name="channel"/g)
    assert.equal(ways?.length, 1)
    assertApiError(await alone.api.post(INITIATE, p2pBody({ currency: 'KES' })), 'no_route_available')
    await route(['sandbox', 'p2p'])
    assertApiError(await alone.api.post(INITIATE, p2pBody()), 'no_route_available')
    assertApiError(await alone.api.post(PAYMENTS, p2pBody()), 'p2p_account_required')
  })

  it('does not poll in between: the merchant’s confirmation wakes the attempt', async () => {
    const { uuid } = await requestTransfer()
    const [attempt] = await db.query(selectDue, [uuid])
    assert.deepEqual(attempt, { dueAt: null, polls: 0 })
  })

  it('shows the payer that the merchant did not find the transfer', async () => {
    const { uuid, page } = await chooseDirect()
    await payer.submit(page, '/sent')
    await dataOf(act(uuid, 'reject'))
    const failed = await payer.open(page.url)
    assert.equal(headingOf(failed), 'Payment did not go through')
    assert.match(mainTextOf(failed), /did not find your transfer/)
    assert.doesNotMatch(mainTextOf(failed), /not been charged/)
  })
})

describe('the expiry of a transfer', () => {
  it('expires a transfer that was not reported as sent, and a late payment is accepted', async () => {
    const { uuid } = await requestTransfer({ expiresInMinutes: 10 })
    const { uuid: sent } = await requestTransfer({ expiresInMinutes: 10 })
    await dataOf(act(sent, 'mark-paid'))
    clock.advance(11 * 60_000)
    const expired = await eventually(
      () => read(uuid),
      ({ status, transferStatus }) => status === 'expired' && transferStatus === 'expired',
      15_000,
    )
    assert.equal(expired.attempts[0].status, 'awaiting_customer')
    assertApiError(await act(uuid, 'mark-paid'), 'invalid_state')
    assertApiError(await act(uuid, 'cancel'), 'invalid_state')
    const late = await dataOf(confirm(uuid, 5000))
    assert.deepEqual([late.status, late.transferStatus], ['successful', 'confirmed'])
    assert.deepEqual(await pathOf(db, uuid), ['pending', 'processing', 'expired', 'successful'])
    assert.equal((await read(sent)).status, 'processing', 'the merchant is still checking')
    clock.advance(7 * DAY_MS)
    const over = await eventually(
      () => read(sent),
      ({ status }) => status === 'expired',
      15_000,
    )
    assert.equal(over.transferStatus, 'marked_paid')
    const part = await dataOf(confirm(sent, 3000))
    assert.deepEqual(
      [part.status, part.transferStatus],
      ['expired', 'underpaid'],
      'late, and a partial amount',
    )
    assert.equal((await dataOf(confirm(sent, 5000))).status, 'successful')
  })
})
