// The tasks of each role in the dashboard, in a real browser: all without JavaScript, and those of support by keyboard alone.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { after, describe, it, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { sql } from '../../src/kit/db/db.ts'
import type { Role } from '../../src/people/roles.ts'
import { payWith } from '../support/builders.ts'
import { caseCalls } from '../support/cases.ts'
import { PASSWORD, signInAs, signInAsOperator, type Visitor } from '../support/dashboard.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'
import { totpCode } from '../support/totp-code.ts'
import { newVisitor, startBrowser, type VisitorOptions } from './browser.ts'

const service = await testService({ after })
const browser = await startBrowser({ after })
const merchant = await service.newMerchant()

const WITHOUT_SCRIPT = { javaScript: false } as const
const PHONE = { ...WITHOUT_SCRIPT, width: 360 }

// The browser reports the page that asks again who the person is.
const CONFIRMATION = 'Failed to load resource: the server responded with a status of 403 (Forbidden)'

/** A browser without a session. No task may cause another message in its console or a report of its policies. */
async function open(t: TestContext, options: Partial<VisitorOptions> = WITHOUT_SCRIPT): Promise<Page> {
  const { page, problems } = await newVisitor(t, browser, { origins: [service.url], ...options })
  t.after(() =>
    assert.deepEqual(
      problems.filter((one) => one !== CONFIRMATION),
      [],
    ),
  )
  return page
}

async function openFor(t: TestContext, { cookies }: Visitor, options?: Partial<VisitorOptions>) {
  const page = await open(t, options)
  await page.context().addCookies([...cookies].map(([name, value]) => ({ name, value, url: service.url })))
  return page
}

async function openAs(t: TestContext, role: Role, options?: Partial<VisitorOptions>): Promise<Page> {
  return openFor(t, await signInAs(service, merchant.uuid, role), options)
}

const go = (page: Page, path: string) => page.goto(`${service.url}${path}`)
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const follow = (page: Page, name: string) => page.getByRole('link', { name, exact: true }).click()
const menu = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Menu' }).getByRole('link', { name, exact: true }).click()

async function find(page: Page, text: string): Promise<void> {
  await go(page, '/app')
  await page.locator('#find').fill(text)
  await page.locator('.find button').click()
}

const signOut = (page: Page) => page.locator('form[action="/app/sign-out"] button:visible').click()

async function signInWithPassword(page: Page, email: string): Promise<void> {
  await go(page, '/app/sign-in')
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await press(page, 'Sign in')
}

async function refundsOf(reference: string): Promise<string[]> {
  const listed = await merchant.api.get(`/api/v1/refunds?search=${reference}`)
  return listed.body.data.map(({ amount }: { amount: string }) => amount)
}

describe('support without JavaScript', () => {
  it('finds a payment by its M-Pesa code on a phone, asks for half of it, and finance approves it', async (t) => {
    const { reference, receiptNumber } = await payWith(merchant.api, 'mobile_success', { amount: 1_000 })
    const [page, finance] = [await openAs(t, 'support', PHONE), await openAs(t, 'finance')]
    await find(page, receiptNumber)
    await follow(page, reference)
    await page.getByLabel('Amount to refund').fill('500')
    await page.getByLabel('Reason, for the person who approves').fill('Half of it was broken')
    await press(page, 'Ask for the refund')
    await page.getByRole('status').getByText('The refund waits for the approval').waitFor()
    assert.deepEqual(await refundsOf(reference), [])
    await go(finance, '/app')
    await finance.locator('li', { hasText: 'approval of a second person' }).getByRole('link').click()
    await finance.getByRole('row', { name: reference }).getByRole('link').first().click()
    await press(finance, 'Approve and refund')
    await finance.getByRole('status').getByText('Approved').waitFor()
    assert.deepEqual(await refundsOf(reference), ['500.00'])
  })

  it('sees the first payment on a phone without scrolling, and opens it by a tap anywhere on its card', async (t) => {
    const { uuid } = await payWith(merchant.api, 'mobile_success')
    const page = await openAs(t, 'support', PHONE)
    await go(page, '/app/payments')
    assert.equal(await page.getByLabel('Status').isVisible(), false)
    const box = await page.locator('tbody tr').first().boundingBox()
    assert.ok(box && box.y < 320, `the list begins at ${box?.y}`)
    await page.mouse.click(box.x + box.width / 2, box.y + box.height - 8)
    await page.waitForURL(new RegExp(uuid))
    await go(page, '/app/payments')
    await page.locator('summary', { hasText: 'Filters' }).first().click()
    await page.getByLabel('Status').selectOption('failed')
    await press(page, 'Show')
    await page.locator('summary', { hasText: 'Filters (1)' }).waitFor()
  })

  it('writes a note, and gives the payer the link of the receipt', async (t) => {
    const { uuid } = await payWith(merchant.api, 'mobile_success')
    const page = await openAs(t, 'support')
    await go(page, `/app/payments/${uuid}`)
    await page.getByLabel('New note').fill('She called twice.')
    await press(page, 'Save the note')
    await page.locator('#notes').getByText('She called twice.').waitFor()
    await press(page, 'Get the link of the receipt')
    const link = page.getByRole('link', { name: /\/receipt$/ })
    assert.match((await link.getAttribute('href')) ?? '', /\/pay\/.+\/receipt$/)
  })

  it('saves filters as a view, and opens it again', async (t) => {
    const page = await openAs(t, 'support')
    await go(page, '/app/payments')
    await page.getByLabel('Status').selectOption('failed')
    await press(page, 'Show')
    await page.locator('summary', { hasText: 'Save these filters' }).click()
    await page.getByLabel('Name of the view').fill('Failed ones')
    await press(page, 'Save these filters')
    await menu(page, 'Payments')
    await follow(page, 'Failed ones')
    await page.waitForURL(/\/app\/payments\?status=failed$/)
  })
})

describe('finance without JavaScript', () => {
  it('sees what was collected today, and why the balance is this', async (t) => {
    const shop = await service.newMerchant()
    const { reference } = await payWith(shop.api, 'card_success', { amount: 1_000 })
    const page = await openFor(t, await signInAs(service, shop.uuid, 'finance'))
    await go(page, '/app')
    const today = page.getByRole('row', { name: 'KES' }).first()
    assert.match(await today.innerText(), /1,000/)
    await menu(page, 'Wallet')
    await follow(page, 'Why this balance, KES')
    await page.getByRole('heading', { name: 'Why this balance, KES' }).waitFor()
    const pending = await page.getByRole('row', { name: 'At the end' }).innerText()
    const payment = page.getByRole('row').filter({ hasText: reference }).filter({ hasText: 'Payment' })
    assert.match(pending, /KSh\s?\d/)
    await payment.getByRole('link', { name: reference }).click()
    await page.getByRole('heading', { name: 'Ledger lines' }).waitFor()
  })

  it('downloads the payments of a month', async (t) => {
    const { reference } = await payWith(merchant.api, 'card_success')
    const page = await openAs(t, 'finance')
    await go(page, '/app')
    await menu(page, 'Reports')
    await page.getByLabel('Month', { exact: true }).selectOption({ index: 0 })
    const [download] = await Promise.all([page.waitForEvent('download'), press(page, 'Paid payments')])
    assert.match(download.suggestedFilename(), /^payments-\d{4}-\d{2}\.csv$/)
    assert.ok((await readFile(await download.path(), 'utf8')).includes(reference))
  })
})

it('finance downloads one file after another from a form, with the script', async (t) => {
  const page = await openAs(t, 'finance', {})
  await go(page, '/app/reports')
  for (const name of ['Paid payments', 'Refunds', 'Wallet statement']) {
    // A locked button would be waited for until the script unlocks it, after 15 seconds.
    const button = page.getByRole('main').getByRole('button', { name, exact: true })
    const [download] = await Promise.all([
      page.waitForEvent('download', { timeout: 10_000 }),
      button.click({ timeout: 5_000 }),
    ])
    assert.match(download.suggestedFilename(), /-\d{4}-\d{2}\.csv$/)
  }
})

it('an owner on a phone without JavaScript sees the last order first, and signs out', async (t) => {
  const paid = await payWith(merchant.api, 'mobile_success', { amount: 4_321 })
  const page = await openAs(t, 'owner', PHONE)
  await go(page, '/app')
  await page.locator('label[for="menu-open"]').click()
  await menu(page, 'Payments')
  const first = page.locator('tbody tr').first()
  assert.match(await first.innerText(), /4,321/)
  assert.match(await first.innerText(), /Paid/)
  await first.getByRole('link', { name: paid.reference }).click()
  await page.locator('[data-part="status"]').getByText('Paid').waitFor()
  await signOut(page)
  await go(page, '/app/payments')
  assert.equal(new URL(page.url()).pathname, '/app/sign-in')
})

const ageSessions = sql<unknown>`
update sessions
set authenticated_at = authenticated_at - interval '6 minutes'
where user_id = (select id from users where email = $1)`

describe('a developer without JavaScript', () => {
  it('sees why a webhook failed, and sends it again', async (t) => {
    const shop = await service.newMerchant()
    // A page that does not exist answers with 404.
    const url = `${service.url}/no-such-hook`
    await shop.api.post('/api/v1/webhooks/endpoints', { url })
    const paid = await payWith(shop.api, 'card_success')
    const page = await openFor(t, await signInAs(service, shop.uuid, 'developer'))
    // The first one: later events of a payment wait for it.
    const event = (await shop.api.get(`/api/v1/events?resource=${paid.uuid}`)).body.data.at(-1)
    const attempts = async () =>
      (await shop.api.get(`/api/v1/events/${event.id}/deliveries`)).body.data[0]?.attempts.length ?? 0
    await eventually(attempts, (count) => count > 0, 20_000)
    await go(page, '/app')
    await menu(page, 'Developers')
    await follow(page, 'Events')
    await page.locator(`a[href="/app/developers/events/${event.id}"]`).click()
    await page.getByText('HTTP 404').first().waitFor()
    const before = await attempts()
    await press(page, 'Send again')
    await page.getByRole('status').getByText('sent again').waitFor()
    await eventually(attempts, (count) => count > before, 20_000)
  })

  it('creates a key after confirming the password, and finds its refused request', async (t) => {
    const developer = await signInAs(service, merchant.uuid, 'developer')
    const page = await openFor(t, developer)
    await go(page, '/app/developers/keys')
    await service.db.query(ageSessions, [developer.email])
    await follow(page, 'Create a key')
    await page.getByLabel('Password').fill(PASSWORD)
    await press(page, 'Confirm and go on')
    await page.getByLabel('What the key is for').fill('Shop')
    await page.getByLabel('webhooks:read').check()
    await press(page, 'Create the key')
    const shown = await page.locator('main').innerText()
    const key = /cowry_test_\w+/.exec(shown)?.[0] ?? ''
    const requestId = `task-${randomUUID()}`
    const headers = { 'x-request-id': requestId }
    const refused = await service.apiWith(key).get('/api/v1/refunds', headers)
    assert.equal(refused.http, 403)
    const isLogged = async () => (await go(page, `/app/developers/requests?requestId=${requestId}`))?.text()
    await eventually(isLogged, (text) => text?.includes('HTTP 403') === true, 20_000)
    await page.getByRole('link', { name: 'GET /api/v1/refunds' }).click()
    await page.getByText('insufficient_scope').first().waitFor()
  })
})

describe('operators without JavaScript', () => {
  it('decide a payment of unknown outcome, one proposing and another approving', async (t) => {
    const shop = await service.newMerchant()
    const settings = { caseApprovals: [{ currency: 'KES', from: 1 }] }
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ settings })
    await service.admin.send('PATCH', `/admin/v1/merchants/${shop.uuid}`, { body, headers })
    const { uuid } = await payWith(shop.api, 'card_unknown_status')
    const { operatorCaseOf } = caseCalls(service)
    const operators = [await signInAsOperator(service), await signInAsOperator(service)] as const
    const openCase = async (operator: Visitor) => {
      const page = await openFor(t, operator)
      await go(page, '/ops')
      await page.locator('p', { hasText: 'for an operator' }).getByRole('link').click()
      await page.locator(`a[href="/ops/cases/${(await operatorCaseOf(uuid)).uuid}"]`).click()
      return page
    }
    const first = await openCase(operators[0])
    await first.getByLabel('It was paid').check()
    await first.getByLabel('Reference that proves it').fill(`ch_${uuid}`)
    await first.getByLabel('Note').fill('Seen in the records of the provider.')
    await press(first, 'Decide')
    await first.getByText('The decision was proposed.').waitFor()
    assert.equal((await operatorCaseOf(uuid)).state, 'awaiting_approval')
    const second = await openCase(operators[1])
    await press(second, 'Approve and carry out')
    await second.getByText('The decision was carried out.').waitFor()
    assert.equal((await operatorCaseOf(uuid)).state, 'resolved')
    assert.equal((await shop.api.get(`/api/v1/checkout/payments/${uuid}`)).body.data.status, 'successful')
  })
})

describe('people without JavaScript', () => {
  it('invite a person, who joins by the link', async (t) => {
    const owner = await openAs(t, 'owner')
    const email = `${randomUUID()}@example.com`
    await go(owner, '/app/team')
    await owner.getByLabel('E-mail').fill(email)
    await owner.locator('form[action$="/invite"]').getByLabel('Role').selectOption('finance')
    await press(owner, 'Create the invitation')
    const link = await owner.locator('code', { hasText: '/app/join/' }).innerText()
    const page = await open(t)
    await page.goto(link)
    await page.getByLabel('Your name').fill('Achieng')
    await page.getByLabel('Password').fill(PASSWORD)
    await press(page, 'Join')
    await page.waitForURL(`${service.url}/app`)
    await menu(owner, 'Team')
    assert.match(await owner.getByRole('row', { name: email }).innerText(), /Finance/)
  })

  it('set up an authenticator app, and sign in with password and code', async (t) => {
    const member = await signInAs(service, merchant.uuid, 'viewer')
    const page = await open(t)
    await signInWithPassword(page, member.email)
    await page.locator('.who a').click()
    await page.locator('form[action="/app/account/totp"] button').click()
    const secret = await page.locator('code.mono').innerText()
    await page.locator('#code').fill(totpCode(secret, Date.now()))
    await page.locator('form[action$="/totp/confirm"] button').click()
    await page
      .getByText(/recovery codes/i)
      .first()
      .waitFor()
    await go(page, '/app')
    await signOut(page)
    await signInWithPassword(page, member.email)
    // Each code works once.
    await page.locator('#code').fill(totpCode(secret, Date.now() + 30_000))
    await press(page, 'Sign in')
    await page.waitForURL(`${service.url}/app`)
    await signOut(page)
    await page.waitForURL(`${service.url}/app/sign-in`)
  })
})

describe('support by keyboard', () => {
  it('searches, opens and refunds a payment, and signs out', async (t) => {
    const { reference } = await payWith(merchant.api, 'card_success', { amount: 1_000 })
    const page = await openAs(t, 'owner', {})
    const { keyboard } = page
    await go(page, '/app')
    await keyboard.press('/')
    await keyboard.type(reference)
    await keyboard.press('Enter')
    await page.waitForURL(/\/app\/search/)
    await keyboard.press('j')
    await keyboard.press('Enter')
    await page.waitForURL(/\/app\/payments\//)
    await tabTo(page, '#amount')
    await keyboard.press('Control+A')
    await keyboard.type('500')
    await keyboard.press('Enter')
    await page.waitForURL(/done=refund/)
    assert.deepEqual(await refundsOf(reference), ['500.00'])
    await keyboard.press('g')
    await keyboard.press('p')
    await page.waitForURL(`${service.url}/app/payments`)
    await tabTo(page, 'form[action="/app/sign-out"] button')
    await keyboard.press('Enter')
    await page.waitForURL(`${service.url}/app/sign-in`)
  })

  it('does the same by Tab and Enter alone, without JavaScript', async (t) => {
    const { reference } = await payWith(merchant.api, 'card_success', { amount: 1_000 })
    const page = await openAs(t, 'owner')
    const { keyboard } = page
    await go(page, '/app')
    await tabTo(page, '#find')
    await keyboard.type(reference)
    await keyboard.press('Enter')
    await page.waitForURL(/\/app\/search/)
    await tabTo(page, 'main a.row')
    await keyboard.press('Enter')
    await page.waitForURL(/\/app\/payments\//)
    await tabTo(page, '#amount')
    await keyboard.press('Control+A')
    await keyboard.type('500')
    await keyboard.press('Enter')
    await page.waitForURL(/done=refund/)
    assert.deepEqual(await refundsOf(reference), ['500.00'])
    await tabTo(page, 'form[action="/app/sign-out"] button')
    await keyboard.press('Enter')
    await page.waitForURL(`${service.url}/app/sign-in`)
  })
})

const MAX_STOPS = 80

/** Presses Tab until the element has the focus, which must be visible at every stop. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let stop = 0; stop < MAX_STOPS; stop++) {
    await page.keyboard.press('Tab')
    const [isThere, outline, text] = await page.evaluate<[boolean, string, string]>(
      `(() => {
        const { activeElement: at } = document
        const { outlineStyle, outlineWidth } = getComputedStyle(at)
        return [at.matches(${JSON.stringify(selector)}), outlineStyle + ' ' + outlineWidth, at.outerHTML]
      })()`,
    )
    assert.equal(outline, 'solid 3px', `the focus is visible on ${text}`)
    if (isThere) return
  }
  assert.fail(`Tab did not reach ${selector}`)
}
