import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { tickingClock } from '../support/fake-clock.ts'
import { fillIn, makeLink, payAt, VISITOR } from '../support/links.ts'
import { choiceOf, createPayer, headingOf, mainTextOf, newPhone } from '../support/payer.ts'
import { eventually } from '../support/process.ts'
import { LARGER_FORM_ONLY } from '../support/scale.ts'
import { testService } from '../support/service.ts'

const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS

const clock = tickingClock()
const service = await testService(
  { after },
  { clock, env: { COWRY_RATE_LIMIT: '0', COWRY_TRUST_PROXY: 'true', COWRY_PROMPTS_PER_VISITOR: '2' } },
)
const { api } = service

const paymentsOf = async (uuid: string) =>
  (await api.get(`/api/v1/payment-links/${uuid}/payments`)).body.data as { uuid: string; status: string }[]

/** The page of a new link, opened by a first-time visitor. */
async function visit(changes: Record<string, unknown> = {}) {
  const link = await makeLink(api, changes)
  const payer = createPayer()
  return { link, payer, page: await payer.open(link.url) }
}

const openPage = (url: string) => createPayer().open(url)

describe('the page of a payment link', () => {
  it('shows merchant, purpose and amount of a link, and opens a checkout with them', async () => {
    const { link, payer, page } = await visit({
      description: 'Saturday\nat ten',
      redirectUrl: 'https://shop.example/x',
    })
    assert.equal(page.http, 200)
    assert.equal(headingOf(page), 'Pay KSh 1,250.50 to Demo Shop')
    assert.match(
      mainTextOf(page),
      /For A ticket Saturday at ten First name Last name E-mail Continue to payment/,
    )
    assert.doesNotMatch(page.html, /id="amount"/)
    const checkout = await payer.open((await fillIn(payer, page)).location ?? '')
    assert.equal(headingOf(checkout), 'Pay KSh 1,250.50 to Demo Shop')
    const paid = await payer.payByCard(checkout, 'card_success')
    assert.equal(headingOf(paid), 'Paid')
    const [payment] = (await api.get(`/api/v1/payment-links/${link.uuid}/payments`)).body.data
    assert.equal(payment.status, 'successful')
    assert.equal(payment.redirectUrl, 'https://shop.example/x')
    const { firstname, lastname, email } = payment.customer
    assert.deepEqual({ firstname, lastname, email }, VISITOR)
  })

  it('shows the merchant’s texts on a link as text, never as markup', async () => {
    const { page } = await visit({
      title: '<img src=x onerror=alert(1)>',
      description: '"><script>1</script>\u202e',
    })
    assert.doesNotMatch(page.html, /<img src=x|<script>1|\u202e/)
    assert.match(page.html, /&lt;img src=x onerror=alert\(1\)&gt;/)
  })

  it('does not rename a known customer, because anyone can type an e-mail', async () => {
    const email = 'known@example.com'
    const known = { email, firstname: 'Wanjiku', lastname: 'Kamau', country: 'KE' }
    const { uuid } = (await api.post('/api/v1/customers', known)).body.data
    const { link, payer, page } = await visit()
    await fillIn(payer, page, { email: email.toUpperCase(), firstname: 'Mickey', lastname: 'Mouse' })
    const { body } = await api.get(`/api/v1/customers/${uuid}`)
    assert.deepEqual([body.data.firstname, body.data.lastname, body.data.email], ['Wanjiku', 'Kamau', email])
    const [payment] = (await api.get(`/api/v1/payment-links/${link.uuid}/payments`)).body.data
    assert.deepEqual([payment.customer.uuid, payment.customer.firstname], [uuid, 'Mickey'])
  })

  it('creates one payment per form, however often it is sent, and another for a new form', async () => {
    const { link, payer, page } = await visit()
    const sent = await Promise.all(Array.from({ length: 5 }, () => fillIn(payer, page)))
    assert.equal(new Set(sent.map(({ location }) => location)).size, 1)
    assert.equal((await paymentsOf(link.uuid)).length, 1)
    const corrected = await fillIn(payer, page, { email: 'amina.odhiambo@example.com' })
    assert.notEqual(corrected.location, sent[0]?.location)
    await fillIn(payer, await payer.open(link.url))
    assert.equal((await paymentsOf(link.uuid)).length, 3)
  })

  it('creates a new payment when the form is sent again after its end, but not after a cancellation or a success', async () => {
    const { link, payer, page } = await visit()
    const { location } = await fillIn(payer, page)
    await payer.submit(await payer.open(location ?? ''), '/cancel')
    assert.equal((await fillIn(payer, page)).location, location)
    const [payment] = await paymentsOf(link.uuid)
    await api.post(`/api/v1/checkout/payments/${payment?.uuid}/cancel`, {})
    assert.equal((await fillIn(payer, page)).location, link.url)
    const fresh = await payer.open(link.url)
    const again = await fillIn(payer, fresh)
    await payer.payByCard(await payer.open(again.location ?? ''), 'card_success')
    assert.equal((await fillIn(payer, fresh)).location, again.location)
  })

  it('keeps the language chosen on the link’s page', async () => {
    const { link, payer } = await visit()
    const page = await payer.open(`${link.url}?lang=sw`)
    assert.match(page.html, /<html lang="sw"/)
    const { location } = await fillIn(payer, page)
    assert.match(location ?? '', /\?lang=sw$/)
    assert.match((await payer.open(location ?? '')).html, /<html lang="sw"/)
    assert.match(
      (await payer.open((await makeLink(api)).url)).html,
      /<html lang="sw"/,
      'the next link uses it too',
    )
  })
})

describe('the form of a payment link', () => {
  it('shows each problem beside its field, keeps the input, and accepts the corrected form', async () => {
    const { link, payer, page } = await visit({ amount: null, minAmount: 10, maxAmount: 5000 })
    assert.equal(headingOf(page), 'Pay Demo Shop')
    assert.match(mainTextOf(page), /Amount in KES From KSh 10 to KSh 5,000/)
    const wrong = { firstname: ' ', lastname: 'O’Brien <b>', email: 'no-address', amount: '9.99' }
    const back = await fillIn(payer, page, wrong)
    assert.equal(back.http, 303)
    assert.doesNotMatch(back.location ?? '', /no-address|Brien/, 'no personal data in an address')
    const shown = await payer.open(back.location ?? '')
    assert.match(
      mainTextOf(shown),
      /Please check this Enter KSh 10 or more\. Enter your first name\. Enter your e-mail/,
    )
    for (const field of ['amount', 'firstname', 'email'])
      assert.match(
        shown.html,
        new RegExp(`id="${field}"[^>]* aria-describedby="[^"]*${field}-problem" aria-invalid="true"`),
      )
    assert.match(shown.html, /value="O’Brien &lt;b&gt;"/)
    assert.match(shown.html, /value="9.99"/)
    assert.match(shown.html, /href="[^"]*\?problem=[^"]*&amp;lang=fr"/, 'another language keeps the problems')
    assert.deepEqual(await paymentsOf(link.uuid), [])
    const right = await fillIn(payer, shown, { amount: '1 250,50' })
    assert.equal(headingOf(await payer.open(right.location ?? '')), 'Pay KSh 1,250.50 to Demo Shop')
    const anew = await payer.open(`${link.url}?problem=email`)
    assert.doesNotMatch(anew.html, /9\.99/, 'the input is deleted once it was valid')
  })

  it('rejects every invalid input of a link’s form', async () => {
    const { payer, page } = await visit({ amount: null, maxAmount: 100 })
    const right = { amount: '50' }
    const refused: [Record<string, string>, string][] = [
      [{ amount: '' }, 'amount'],
      [{ amount: 'fifty' }, 'amount'],
      [{ amount: '1.005' }, 'amountHigh'],
      [{ amount: '0' }, 'amount'],
      [{ amount: '100.01' }, 'amountHigh'],
      [{ firstname: '4242 4242 4242 4242' }, 'firstnameCard'],
      [{ lastname: 'x'.repeat(101) }, 'lastname'],
      [{ firstname: '\u200b\u2060' }, 'firstname'],
      [{ lastname: '\u202egnp' }, 'lastname'],
      [{ email: 'a@b' }, 'email'],
      [{ email: '4242424242424242@example.com' }, 'email'],
      [{ email: `${'x'.repeat(250)}@example.com` }, 'email'],
    ]
    for (const [changes, problem] of refused) {
      const { location } = await fillIn(payer, page, { ...right, ...changes })
      assert.equal(new URL(location ?? '').searchParams.get('problem'), problem, JSON.stringify(changes))
      assert.equal((await payer.open(location ?? '')).http, 200)
    }
  })

  it('shows a blocked customer a polite refusal on a link, and charges nothing', async () => {
    const { link, payer, page } = await visit()
    const email = 'blocked@example.com'
    await fillIn(payer, page, { email })
    const [customer] = (await api.get(`/api/v1/customers?search=${email}`)).body.data
    assert.equal((await api.post(`/api/v1/customers/${customer.uuid}/block`, {})).http, 200)
    const shown = await payer.open(
      (await fillIn(payer, await payer.open(link.url), { email })).location ?? '',
    )
    assert.match(mainTextOf(shown), /Demo Shop cannot take this payment from you\. Please contact them\./)
    assert.equal((await paymentsOf(link.uuid)).length, 1)
  })

  it('survives forged input on a link’s form: no token, no field, an invented problem and an invented cookie', async () => {
    const { link } = await visit()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const post = (body: string) => fetch(link.url, { method: 'POST', body, headers, redirect: 'manual' })
    assert.match((await post('')).headers.get('location') ?? '', /problem=firstname\.lastname\.email$/)
    const bare = await post(new URLSearchParams(VISITOR).toString())
    assert.match(bare.headers.get('location') ?? '', /^\/pay\//)
    for (const cookie of ['{', '{"a":1}', '[1,null,"x"]', '%']) {
      const answer = await fetch(`${link.url}?problem=email.__proto__.nothing`, {
        headers: { cookie: `cowry_payer=${cookie}` },
      })
      assert.equal(answer.status, 200)
    }
  })

  it('counts only complete forms, and each for the address of its visitor', LARGER_FORM_ONLY, async () => {
    const { link } = await visit()
    const submit = async (address: string, fields: Record<string, string>) => {
      const body = new URLSearchParams({ token: 'of-one-form', ...fields })
      const headers = { 'x-forwarded-for': address }
      return (await fetch(link.url, { method: 'POST', body, headers, redirect: 'manual' })).status
    }
    for (let n = 0; n < 610; n += 1) assert.equal(await submit('203.0.113.9', {}), 303)
    const sent: number[] = []
    for (let n = 0; n < 121; n += 1)
      sent.push(await submit('203.0.113.9', { ...VISITOR, email: `payer-${n}@example.com` }))
    assert.deepEqual(sent, [...Array.from({ length: 120 }, () => 303), 429])
    assert.equal(await submit('203.0.113.10', VISITOR), 303)
  })

  it('lets one visitor prompt some phones only, besides those that have paid', async () => {
    const link = await makeLink(api)
    const prompt = async (at: { url: string }, phone: string, address = '203.0.113.21') => {
      const payer = createPayer()
      const opened = await payer.open((await fillIn(payer, await payer.open(at.url))).location ?? '')
      const answer = await fetch(`${opened.url}/attempts`, {
        method: 'POST',
        body: new URLSearchParams({ ...choiceOf('mobile_timeout'), phone, network: 'mpesa_ke' }),
        headers: { 'x-forwarded-for': address },
        redirect: 'manual',
      })
      assert.equal(answer.status, 303)
      const next = new URL(answer.headers.get('location') ?? '', opened.url)
      return { problem: next.searchParams.get('problem'), show: () => payer.open(next.href) }
    }
    const [first, second, third] = [newPhone(), newPhone(), newPhone()]
    assert.equal((await prompt(link, first)).problem, null)
    const [{ reference }] = (await api.get(`/api/v1/payment-links/${link.uuid}/payments?limit=1`)).body.data
    assert.equal((await prompt(link, second)).problem, null)
    const limited = await prompt(link, third)
    assert.equal(limited.problem, 'visitor')
    assert.match(
      mainTextOf(await limited.show()),
      /Too many different numbers were entered from this internet connection\. Try again in 15 minutes, or/,
    )
    assert.equal((await prompt(link, second)).problem, 'busy', 'the same number again')
    assert.equal((await prompt(link, third, '203.0.113.22')).problem, null, 'another visitor')
    assert.equal((await prompt(await makeLink(api), newPhone())).problem, null, 'another link')

    await api.post(`/api/v1/sandbox/payments/${reference}/complete`, { instrument: 'mobile_success' })
    const read = async () => (await api.get(`/api/v1/payment-links/${link.uuid}`)).body.data
    await eventually(read, ({ paymentsCount }) => paymentsCount === 1, 10_000)
    assert.equal((await prompt(link, newPhone())).problem, null, 'in place of the one who has paid')
    assert.equal((await prompt(link, newPhone())).problem, 'visitor')
    clock.advance(15 * MINUTE_MS)
    assert.equal((await prompt(link, newPhone())).problem, null)
  })

  it('rate limits the form of a link per payer and minute', async () => {
    const { payer, page } = await visit()
    const sent: number[] = []
    for (let n = 0; n < 21; n += 1) sent.push((await fillIn(payer, page, { firstname: `Amina ${n}` })).http)
    assert.deepEqual(sent, [...Array.from({ length: 20 }, () => 303), 429])
    assert.equal((await fillIn(payer, page, { email: 'somebody.else@example.com' })).http, 303)
    clock.advance(MINUTE_MS)
    assert.equal((await fillIn(payer, page)).http, 303)
  })
})

describe('a payment link that accepts no payments', () => {
  const assertEnded = async (url: string, http: number, heading: string) => {
    const page = await openPage(url)
    assert.equal(page.http, http)
    assert.equal(headingOf(page), heading)
    assert.doesNotMatch(page.html, /<form/)
  }

  it('shows why a link accepts no payments, with the matching HTTP status', async () => {
    const [off, late, paid] = [
      await makeLink(api),
      await makeLink(api, { expiresAt: new Date(clock.now().getTime() + DAY_MS).toISOString() }),
      await makeLink(api, { usage: 'single' }),
    ]
    const { payer, page } = await visit({ maxPayments: 1 })
    await api.post(`/api/v1/payment-links/${off.uuid}/deactivate`, {})
    await payAt(service, paid, 'card_success')
    await payAt(
      service,
      { url: page.url, uuid: (await api.get('/api/v1/payment-links?limit=1')).body.data[0].uuid },
      'card_success',
    )
    await assertEnded(off.url, 410, 'This link is not in use any more')
    await assertEnded(paid.url, 410, 'This has been paid already')
    assert.equal((await fillIn(payer, page)).location, page.url, 'an old form leads there')
    clock.advance(2 * DAY_MS)
    await assertEnded(late.url, 410, 'This payment link has expired')
    await assertEnded(`${service.url}/l/nothing`, 404, 'We cannot find this link')
  })

  it('rejects payments at a link while the merchant is suspended', async () => {
    const { uuid, api: own } = await service.newMerchant()
    const link = await makeLink(own)
    const payer = createPayer()
    const page = await payer.open(link.url)
    await service.admin.post(`/admin/v1/merchants/${uuid}/suspend`, {})
    await assertEnded(link.url, 503, 'This cannot be paid at the moment')
    assert.equal((await fillIn(payer, page)).location, link.url)
  })
})

describe('a checkout whose link has no free slot', () => {
  it('waits while another payer uses the last slot, opens when it is released, and says when it was paid', async () => {
    const { link, payer, page } = await visit({ usage: 'single' })
    const mine = (await fillIn(payer, page)).location ?? ''
    const opened = await payer.open(mine)
    const theirs = await payAt(service, link, null)
    assert.equal(headingOf(await openPage(link.url)), 'Somebody is paying at this moment')
    const pressed = await payer.choose(opened, 'card')
    assert.equal(headingOf(pressed), 'Somebody is paying at this moment')
    assert.match(mainTextOf(pressed), /You have not been charged\./)
    const status = async () =>
      (await (await fetch(`${mine}/status`)).json()) as { status: string; shown: string }
    const before = await status()
    assert.equal(before.status, 'pending')

    const declined = `/api/v1/sandbox/payments/${theirs.reference}/complete`
    await api.post(declined, { instrument: 'card_declined' })
    // The provider sends a webhook for the decline too, and one more status check runs before the slot is released.
    await eventually(status, ({ shown }) => shown !== before.shown, 10_000)
    assert.equal(headingOf(await payer.open(mine)), 'Pay KSh 1,250.50 to Demo Shop')

    await api.post(declined, { instrument: 'card_success' })
    const ended = await payer.open(mine)
    assert.equal(headingOf(ended), 'This link takes no more payments')
    assert.match(
      mainTextOf(ended),
      /You have not been charged\. If you still want to pay, ask Demo Shop for a new link\./,
    )
  })

  it('expires a checkout that is paid too late for its link, and reports the reason to the merchant', async () => {
    const { link, payer, page } = await visit({ usage: 'single' })
    const opened = await payer.open((await fillIn(payer, page)).location ?? '')
    await payAt(service, link, 'card_success')
    const ended = await payer.choose(opened, 'card')
    assert.equal(headingOf(ended), 'This link takes no more payments')
    const mine = (await paymentsOf(link.uuid)).find(({ status }) => status !== 'successful')
    const { body } = await api.get(`/api/v1/checkout/payments/${mine?.uuid}`)
    assert.deepEqual(
      [body.data.status, body.data.statusReason, body.data.attempts],
      ['expired', 'payment_link_ended', []],
    )
    const played = await api.post(`/api/v1/sandbox/payments/${body.data.reference}/complete`, {
      instrument: 'card_success',
    })
    assert.equal(played.http, 409)
  })

  it('lets a payer who is approving finish when the merchant deactivates the link, and no other', async () => {
    const { link, payer, page } = await visit()
    const waiting = await payer.open((await fillIn(payer, page)).location ?? '')
    const paying = await payAt(service, link, null)
    await api.post(`/api/v1/payment-links/${link.uuid}/deactivate`, {})
    assert.equal(headingOf(await payer.choose(waiting, 'card')), 'This link takes no more payments')
    const path = `/api/v1/sandbox/payments/${paying.reference}/complete`
    assert.equal((await api.post(path, { instrument: 'card_success' })).body.data.status, 'successful')
    const read = async () => (await api.get(`/api/v1/payment-links/${link.uuid}`)).body.data
    assert.deepEqual([(await read()).status, (await read()).paymentsCount], ['inactive', 1])
  })

  it('lets a payer who is approving finish when the link expires, and no other', async () => {
    const expiresAt = new Date(clock.now().getTime() + 10 * MINUTE_MS).toISOString()
    const { link, payer, page } = await visit({ expiresAt })
    const waiting = await payer.open((await fillIn(payer, page)).location ?? '')
    const paying = await payAt(service, link, null)
    clock.advance(11 * MINUTE_MS)
    assert.equal(headingOf(await payer.choose(waiting, 'card')), 'This link takes no more payments')
    const path = `/api/v1/sandbox/payments/${paying.reference}/complete`
    assert.equal((await api.post(path, { instrument: 'card_success' })).body.data.status, 'successful')
    const [late] = (await paymentsOf(link.uuid)).filter(({ uuid }) => uuid !== paying.uuid)
    assert.equal(late?.status, 'expired')
  })

  it('accepts a payment that arrives after its slot was released', async () => {
    const link = await makeLink(api, { usage: 'single' })
    const late = await payAt(service, link, 'mobile_late_success')
    assert.equal((await late.read()).status, 'successful', 'it was paid after the checkout had expired')
    const record = (await api.get(`/api/v1/payment-links/${link.uuid}`)).body.data
    assert.deepEqual([record.paymentsCount, record.status], [1, 'completed'])
  })
})
