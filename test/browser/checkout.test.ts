// The payer's way in a real browser, with JavaScript and without it.

import assert from 'node:assert/strict'
import { after, afterEach, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { SANDBOX_INSTRUMENTS } from '../../src/gateways/sandbox/index.ts'
import { serveSandbox } from '../../src/gateways/sandbox/serve.ts'
import { addMs, systemClock } from '../../src/kit/clock.ts'
import { createLog } from '../../src/kit/log.ts'
import { systemRandom } from '../../src/kit/random.ts'
import { sandboxWebhookSecretOf } from '../../src/merchants/service.ts'
import { initiateBody } from '../support/builders.ts'
import type { Ending } from '../support/database.ts'
import { movingClock } from '../support/moving-clock.ts'
import { eventually, tempFolder } from '../support/process.ts'
import { testService } from '../support/service.ts'
import { newVisitor, startBrowser, startShop, type Visitor } from './browser.ts'

const clock = movingClock()
let stoppedAt: Date | undefined
const now = () => stoppedAt ?? clock.now()
const service = await testService({ after }, { clock: { ...clock, now } })
const shop = await startShop({ after })
const browser = await startBrowser({ after })

const visitors: Visitor[] = []
afterEach(() => {
  const complaints = visitors.flatMap((visitor) => visitor.complaints)
  assert.deepEqual(complaints, [], 'no error in the console, no broken policy, no request to a stranger')
})

interface Opened extends Visitor {
  reference: string
  checkoutUrl: string
  expiresAt: string
}

async function openCheckout(
  t: Ending,
  {
    javaScript = true,
    width = 1024,
    changes = {},
  }: { javaScript?: boolean; width?: number; changes?: object } = {},
): Promise<Opened> {
  const body = initiateBody({ redirectUrl: `${shop}/back?cart=7#top`, ...changes })
  const initiated = await service.api.post('/api/v1/checkout/initiate-payment', body)
  assert.equal(initiated.http, 201, initiated.text)
  const { checkoutUrl, expiresAt } = initiated.body.data
  const payer = await newVisitor(t, browser, { javaScript, width, origins: [service.url, shop] })
  visitors.push(payer)
  await payer.page.goto(checkoutUrl)
  return { ...payer, reference: body.reference, checkoutUrl, expiresAt }
}

const labelOf = (instrument: string) =>
  SANDBOX_INSTRUMENTS.find(({ name }) => name === instrument)?.label ?? ''

async function pressPay(page: Page, label: string): Promise<void> {
  await page.getByLabel(label, { exact: true }).check()
  await page.getByRole('button', { name: /^Pay KES/ }).click()
}

/** From the open checkout over the gateway's page, where it has one, to the screen that follows. */
async function payWith(page: Page, instrument: string): Promise<void> {
  if (!instrument.startsWith('card_')) return pressPay(page, labelOf(instrument))
  await pressPay(page, 'Card')
  await page.getByText('Choose a test card').waitFor()
  await pressPay(page, labelOf(instrument))
  if (instrument === 'card_3ds') await page.getByRole('button', { name: 'Approve' }).click()
}

const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { name }).waitFor()
const alertOf = (page: Page) => page.getByRole('alert').textContent()
const press = (page: Page, name: string) => page.getByRole('button', { name }).click()

const statusOf = async (reference: string): Promise<string> =>
  (await service.api.get(`/api/v1/checkout/verify-payment?reference=${reference}`)).body.data.status

async function executionsOf(reference: string): Promise<number> {
  const answer = await service.api.get(`/api/v1/sandbox/executions?reference=${reference}`)
  return answer.body.data.length
}

interface Expected {
  instrument: string
  /** What the payer sees while they wait, if they do. */
  waiting?: string
  ends: 'Paid' | 'We received a different amount' | RegExp
  says?: RegExp
  status: string
  executions: number
}

const paid = { ends: 'Paid', status: 'successful', executions: 1 } as const
const declined = { ends: /^Pay KES/, status: 'pending', executions: 0 } as const

const underpaid = { ends: 'We received a different amount', status: 'processing', executions: 1 } as const

const EXPECTED: Expected[] = [
  { instrument: 'card_success', ...paid },
  { instrument: 'card_3ds', ...paid },
  { instrument: 'card_declined', ...declined, says: /declined this payment/ },
  { instrument: 'card_insufficient_funds', ...declined, says: /not enough money/ },
  { instrument: 'card_declined_later', ...paid },
  { instrument: 'card_auth_required_later', ...paid },
  { instrument: 'card_lost_answer_later', ...paid },
  { instrument: 'card_slow_later', ...paid },
  { instrument: 'mobile_success', ...paid, waiting: 'Check your phone' },
  { instrument: 'mobile_cancelled', ...declined, waiting: 'Check your phone', says: /did not approve/ },
  { instrument: 'transfer_success', ...paid, waiting: 'Send exactly KES 1,250.50' },
  { instrument: 'transfer_underpaid', ...underpaid, waiting: 'Send exactly KES 1,250.50' },
]

for (const javaScript of [true, false]) {
  describe(`a payer ${javaScript ? 'with' : 'without'} JavaScript`, { concurrency: 8 }, () => {
    for (const { instrument, waiting, ends, says, status, executions } of EXPECTED) {
      it(`uses ${instrument} and sees by itself what became of it`, async (t) => {
        const { page, reference } = await openCheckout(t, { javaScript })
        await payWith(page, instrument)
        if (waiting) await heading(page, waiting)
        await heading(page, ends)
        if (says) assert.match((await alertOf(page)) ?? '', says)
        assert.equal(await statusOf(reference), status)
        assert.equal(await executionsOf(reference), executions)
      })
    }

    it('is declined, tries again and pays', async (t) => {
      const { page, reference } = await openCheckout(t, { javaScript })
      await payWith(page, 'card_declined')
      await page.getByRole('alert').waitFor()
      await payWith(page, 'card_success')
      await heading(page, 'Paid')
      assert.equal(await executionsOf(reference), 1)
    })

    it('refuses at the bank and may choose again', async (t) => {
      const { page } = await openCheckout(t, { javaScript })
      await pressPay(page, 'Card')
      await pressPay(page, labelOf('card_3ds'))
      await press(page, 'Refuse')
      await page.getByRole('alert').waitFor()
      assert.match((await alertOf(page)) ?? '', /could not confirm that it was you/)
    })

    it('returns to the shop after paying, by itself', async (t) => {
      const { page, reference } = await openCheckout(t, { javaScript })
      await payWith(page, 'card_success')
      await page.waitForURL(`${shop}/**`)
      assert.equal(page.url(), `${shop}/back?cart=7&reference=${reference}&status=successful#top`)
    })

    it('cancels on our page and returns to the shop', async (t) => {
      const { page, reference } = await openCheckout(t, { javaScript })
      await press(page, 'Cancel and return')
      await page.waitForURL(`${shop}/**`)
      assert.equal(page.url(), `${shop}/back?cart=7&reference=${reference}&status=abandoned#top`)
    })

    it("cancels on the gateway's page and may choose again", async (t) => {
      const { page, reference } = await openCheckout(t, { javaScript })
      await pressPay(page, 'Card')
      await press(page, 'Cancel and return')
      await heading(page, /^Pay KES/)
      assert.equal(await statusOf(reference), 'pending')
    })

    it('gives a phone prompt up for a card', async (t) => {
      const { page, reference } = await openCheckout(t, { javaScript })
      await payWith(page, 'mobile_timeout')
      await heading(page, 'Check your phone')
      await press(page, 'Pay another way')
      await payWith(page, 'card_success')
      await heading(page, 'Paid')
      assert.equal(await executionsOf(reference), 1)
    })

    it('pays in one tab and sees it in the other', async (t) => {
      const { page, newTab, checkoutUrl, reference } = await openCheckout(t, { javaScript })
      const other = await newTab()
      await other.goto(checkoutUrl)
      await payWith(page, 'card_success')
      await heading(page, 'Paid')
      await pressPay(other, 'Card')
      await heading(other, 'Paid')
      assert.equal(await executionsOf(reference), 1)
    })

    it('goes back after paying and is not asked to pay again', async (t) => {
      const { page, reference } = await openCheckout(t, { javaScript, changes: { redirectUrl: undefined } })
      await payWith(page, 'card_success')
      await heading(page, 'Paid')
      await page.goBack()
      await heading(page, 'Paid')
      assert.equal(await executionsOf(reference), 1)
    })

    it('leaves the page of the gateway by the back button and finds the way on', async (t) => {
      const { page } = await openCheckout(t, { javaScript })
      await pressPay(page, 'Card')
      await page.getByText('Choose a test card').waitFor()
      await page.goto(page.url().replace(/\/sandbox.*/, '/'))
      await page.goBack()
      await page.getByText('Choose a test card').waitFor()
    })
  })
}

describe('the page', { concurrency: 8 }, () => {
  it('takes a double click for one', async (t) => {
    const { page, reference } = await openCheckout(t)
    await page.getByLabel(labelOf('mobile_success'), { exact: true }).check()
    await page.getByRole('button', { name: /^Pay KES/ }).dblclick()
    await heading(page, 'Paid')
    assert.equal(await executionsOf(reference), 1)
  })

  it('fails for good after five declines', async (t) => {
    const { page, reference } = await openCheckout(t)
    for (let round = 1; round <= 5; round += 1) await payWith(page, 'card_insufficient_funds')
    await heading(page, 'Payment did not go through')
    await page.getByText('You have not been charged.').waitFor()
    assert.equal(await statusOf(reference), 'failed')
  })

  it('fits a narrow screen, whatever the merchant wrote', async (t) => {
    const changes = { amount: 999_999_999_999.99, description: 'W'.repeat(255) }
    const { page } = await openCheckout(t, { width: 320, changes })
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320)
  })
})

it('pays over a gateway on another origin and comes back', async (t) => {
  const secret = 'a-secret-of-the-tests-0123456789abcdef'
  const dataDir = await tempFolder(t, 'gateway')
  const gateway = await serveSandbox({
    host: 'localhost',
    port: 0,
    dataDir,
    secret,
    webhookSecret: sandboxWebhookSecretOf(secret),
    clock: systemClock,
    random: systemRandom(systemClock),
    log: createLog('silent'),
  })
  t.after(() => gateway.close())
  const env = { COWRY_SANDBOX_URL: gateway.url, COWRY_SANDBOX_SECRET: secret }
  const { api, url } = await testService(t, { env })
  const initiated = await api.post('/api/v1/checkout/initiate-payment', initiateBody())
  const payer = await newVisitor(t, browser, { origins: [url, gateway.url] })
  visitors.push(payer)
  await payer.page.goto(initiated.body.data.checkoutUrl)
  await payWith(payer.page, 'card_3ds')
  await heading(payer.page, 'Paid')
})

// These move the clock that all checkouts share, so they come last and one by one.
describe('time', () => {
  it('ends a checkout that nobody paid, also for the one who presses Pay too late', async (t) => {
    const { page, reference } = await openCheckout(t)
    clock.advance(61 * 60_000)
    await eventually(
      () => statusOf(reference),
      (status) => status === 'expired',
      10_000,
    )
    await pressPay(page, 'Card')
    await heading(page, 'This payment has expired')
  })

  it('ends a prompt that nobody answered, and the payer may choose again', async (t) => {
    const { page } = await openCheckout(t)
    await payWith(page, 'mobile_timeout')
    await heading(page, 'Check your phone')
    clock.advance(6 * 60_000)
    await heading(page, /^Pay KES/)
    assert.match((await alertOf(page)) ?? '', /not approved in time/)
  })

  it('shows money that came after the end as paid', async (t) => {
    const { page, reference, expiresAt } = await openCheckout(t)
    await payWith(page, 'mobile_late_success')
    await heading(page, 'Check your phone')
    // The money comes two seconds after the end: time stands still until the page has shown the end.
    stoppedAt = addMs(new Date(expiresAt), 1_000)
    await heading(page, 'This payment has expired')
    stoppedAt = undefined
    clock.advance(120 * 60_000)
    await eventually(
      () => statusOf(reference),
      (status) => status === 'successful',
      10_000,
    )
    await page.reload()
    await heading(page, 'Paid')
    assert.equal(await executionsOf(reference), 1)
  })
})
