// The payer's flow in a real browser, with and without JavaScript: every test instrument to its end, and the return to
// the shop.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { serveSandbox } from '../../src/gateways/sandbox/provider/serve.ts'
import { addMs, systemClock } from '../../src/kit/clock.ts'
import { createLog } from '../../src/kit/observability/log.ts'
import { systemRandom } from '../../src/kit/random.ts'
import { sandboxWebhookSecretOf } from '../../src/secrets/secrets.ts'
import { initiateBody } from '../support/builders.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { newPhone } from '../support/payer.ts'
import { eventually, tempFolder } from '../support/process.ts'
import { LARGER_FORM_ONLY } from '../support/scale.ts'
import { testService } from '../support/service.ts'
import {
  alertText,
  choose,
  clickButton,
  labelOf,
  type OpenedCheckout,
  PAY,
  payWith,
  startRig,
  waitForHeading,
} from './payers.ts'

// Slower than the default, so that also a busy machine shows the waiting page.
const clock = tickingClock(1 / 3)
let stoppedAt: Date | undefined
const now = () => stoppedAt ?? clock.now()
const { open, visit, shop, service } = await startRig({ after }, { clock: { ...clock, now } })

interface Expected {
  instrument: string
  /** The waiting page, if there is one. */
  waiting?: string
  ends: string | RegExp
  says: RegExp
  executions: number
  /** The way back to the shop, and the status in the address. */
  leaves: (checkout: OpenedCheckout) => Promise<void>
  status: string
}

const byLink = ({ page }: OpenedCheckout) => page.getByRole('link', { name: 'Return to Demo Shop' }).click()
const byCancelling = ({ page }: OpenedCheckout) => clickButton(page, 'Cancel and return')

const paid = {
  ends: 'Paid',
  says: /You paid KSh 1,250\.50 to Demo Shop\./,
  executions: 1,
  leaves: byLink,
  status: 'successful',
} as const
const declined = {
  ends: PAY,
  executions: 0,
  leaves: byCancelling,
  status: 'cancelled',
} as const
const underpaid = {
  ends: 'We received KSh 1,125.45 of KSh 1,250.50',
  says: /ask Demo Shop how to send the rest or get your money back\. Do not pay again before that\./,
  executions: 1,
  leaves: byLink,
  status: 'processing',
} as const

/** The element that redirects to the shop, with or without JavaScript. */
const LEADS_AWAY = /http-equiv="refresh"|data-return/

const onPhone = { waiting: 'Check your phone' }
const byTransfer = { waiting: 'Send exactly KSh 1,250.50' }

// The two instruments that end after an hour are tested below, where the clock moves.
const EXPECTED: Expected[] = [
  { instrument: 'card_success', ...paid },
  { instrument: 'card_3ds', ...paid },
  {
    instrument: 'card_declined',
    ...declined,
    says: /^Your bank declined this payment\. You have not been charged\. Try a different card/,
  },
  {
    instrument: 'card_insufficient_funds',
    ...declined,
    says: /^There is not enough money .* You have not been charged\. Top up and try again/,
  },
  { instrument: 'card_declined_later', ...paid },
  { instrument: 'card_auth_required_later', ...paid },
  { instrument: 'card_lost_answer_later', ...paid },
  { instrument: 'card_slow_later', ...paid },
  { instrument: 'mobile_success', ...paid, ...onPhone },
  {
    instrument: 'mobile_cancelled',
    ...declined,
    ...onPhone,
    says: /^The payment was not approved\. You have not been charged\. Try again/,
  },
  { instrument: 'transfer_success', ...paid, ...byTransfer },
  { instrument: 'transfer_underpaid', ...underpaid, ...byTransfer },
]

// The quick form runs one of each channel; test/api/pages-instruments.test.ts pays with each, without a browser.
const QUICK = { script: new Set(['card_3ds', 'mobile_success']), noScript: new Set(['transfer_success']) }

describe('the checkout in a browser', { concurrency: 2 }, () => {
  for (const javaScript of [true, false]) {
    const repeated = javaScript ? {} : LARGER_FORM_ONLY
    describe(`${javaScript ? 'with' : 'without'} JavaScript`, { concurrency: 5 }, () => {
      for (const { instrument, waiting, ends, says, executions, leaves, status } of EXPECTED) {
        const isQuick = (javaScript ? QUICK.script : QUICK.noScript).has(instrument)
        const form = isQuick ? {} : LARGER_FORM_ONLY
        it(
          `pays or declines with ${instrument}, shows the result without a reload, and returns to the shop`,
          form,
          async (t) => {
            const checkout = await open(t, { javaScript })
            const { page } = checkout
            await payWith(page, instrument)
            if (waiting) await waitForHeading(page, waiting)
            await waitForHeading(page, ends)
            const words = ends === PAY ? await alertText(page) : await page.locator('main').innerText()
            assert.match(words.replaceAll('\u00a0', ' '), says)
            await leaves(checkout)
            await page.waitForURL(`${shop}/**`)
            assert.equal(page.url(), checkout.returnUrlWith(status))
            assert.equal((await checkout.read()).status, leaves === byCancelling ? 'pending' : status)
            assert.equal(await checkout.executions(), executions)
          },
        )
      }

      it('offers the methods again after a refusal at the bank', LARGER_FORM_ONLY, async (t) => {
        const { page, read } = await open(t, { javaScript })
        await choose(page, 'card')
        await clickButton(page, PAY)
        await page.getByRole('radio', { name: labelOf('card_3ds'), exact: true }).check()
        await clickButton(page, PAY)
        await clickButton(page, 'Refuse')
        await waitForHeading(page, PAY)
        assert.match(await alertText(page), /could not confirm that it was you\. You have not been charged\./)
        assert.equal((await read()).status, 'pending')
      })

      it('redirects to the shop after a payment, only once', repeated, async (t) => {
        const { page, checkoutUrl, returnUrlWith } = await open(t, { javaScript })
        await payWith(page, 'card_success')
        await page.getByText('You return to Demo Shop in 5 seconds.').waitFor()
        await page.waitForURL(`${shop}/**`)
        assert.equal(page.url(), returnUrlWith('successful'))
        await page.goBack()
        assert.notEqual(new URL(page.url()).origin, shop)
        await page.goto(checkoutUrl)
        await waitForHeading(page, 'Paid')
        assert.equal(await page.getByText('You return to').count(), 0)
      })

      it('stays on the receipt when the payer asks for it', LARGER_FORM_ONLY, async (t) => {
        const { page, checkoutUrl, reference } = await open(t, { javaScript })
        await payWith(page, 'card_success')
        await page.getByRole('link', { name: 'Stay here' }).click()
        await waitForHeading(page, 'Receipt')
        assert.equal(page.url(), `${checkoutUrl}/receipt`)
        await page.getByText(reference).waitFor()
        assert.doesNotMatch(await page.content(), LEADS_AWAY)
        await page.getByRole('link', { name: 'Back to the payment' }).click()
        await waitForHeading(page, 'Paid')
        assert.doesNotMatch(await page.content(), LEADS_AWAY)
      })

      it('returns to the shop after a cancellation on our page', LARGER_FORM_ONLY, async (t) => {
        const { page, read, returnUrlWith } = await open(t, { javaScript })
        await clickButton(page, 'Cancel and return')
        await page.waitForURL(`${shop}/**`)
        assert.equal(page.url(), returnUrlWith('cancelled'))
        assert.equal((await read()).status, 'pending')
      })

      it('stays on our page after a cancellation without redirectUrl', LARGER_FORM_ONLY, async (t) => {
        const { page, checkoutUrl, read } = await open(t, { javaScript, changes: { redirectUrl: undefined } })
        await clickButton(page, 'Cancel payment')
        await waitForHeading(page, 'Payment cancelled')
        await page.getByText('You have not been charged.').waitFor()
        assert.equal(page.url(), checkoutUrl)
        assert.equal((await read()).status, 'pending')
      })

      it('stays on the receipt after a payment without redirectUrl', LARGER_FORM_ONLY, async (t) => {
        const { page, checkoutUrl } = await open(t, { javaScript, changes: { redirectUrl: undefined } })
        await payWith(page, 'card_success')
        await waitForHeading(page, 'Paid')
        assert.equal(await page.getByRole('link', { name: /^Return to/ }).count(), 0)
        assert.doesNotMatch(await page.content(), LEADS_AWAY)
        await page.getByRole('link', { name: 'Show the receipt' }).click()
        await waitForHeading(page, 'Receipt')
        assert.equal(page.url(), `${checkoutUrl}/receipt`)
      })

      it('sends one prompt when the payer presses Pay in two tabs', LARGER_FORM_ONLY, async (t) => {
        const { page, newTab, checkoutUrl, read, executions } = await open(t, { javaScript })
        const other = await newTab()
        await other.goto(checkoutUrl)
        const phone = newPhone()
        for (const tab of [page, other]) await choose(tab, 'mobile_success', phone)
        await Promise.all([page, other].map((tab) => clickButton(tab, PAY)))
        await Promise.all([page, other].map((tab) => waitForHeading(tab, 'Paid')))
        assert.equal((await read()).attempts.length, 1)
        assert.equal(await executions(), 1)
      })

      it(
        'shows the result in another browser when the first is lost during the PIN',
        LARGER_FORM_ONLY,
        async (t) => {
          const { page, checkoutUrl, read } = await open(t, { javaScript })
          await payWith(page, 'mobile_success')
          await waitForHeading(page, 'Check your phone')
          await page.context().close()
          const { page: another } = await visit(t, { javaScript })
          await another.goto(checkoutUrl)
          await waitForHeading(another, 'Paid')
          assert.equal((await read()).attempts.length, 1)
        },
      )

      it('keeps the input and the error after a reload', LARGER_FORM_ONLY, async (t) => {
        const { page, read } = await open(t, { javaScript })
        await choose(page, 'mobile_success', '0712 34')
        await clickButton(page, PAY)
        await page.getByRole('alert').waitFor()
        await page.reload()
        assert.match(await alertText(page), /This number is too short\. Write all of it, like 0712 123 456\./)
        assert.equal(await page.getByLabel('Mobile money number').inputValue(), '0712 34')
        assert.deepEqual((await read()).attempts, [])
      })
    })
  }
})

describe('the checkout with detours', { concurrency: 6 }, () => {
  it('collects after a decline and a retry', async (t) => {
    const { page, executions } = await open(t)
    await payWith(page, 'card_declined')
    await page.getByRole('alert').waitFor()
    await payWith(page, 'card_success')
    await waitForHeading(page, 'Paid')
    assert.equal(await executions(), 1)
  })

  it('shows that the checkout has failed after five declines', LARGER_FORM_ONLY, async (t) => {
    const { page, reference, read, returnUrlWith } = await open(t)
    for (let round = 1; round <= 4; round += 1) {
      const path = `/api/v1/sandbox/payments/${reference}/complete`
      assert.equal((await service.api.post(path, { instrument: 'card_declined' })).http, 200)
    }
    await payWith(page, 'card_insufficient_funds')
    await waitForHeading(page, 'Payment did not go through')
    await page.getByText('You have not been charged.').waitFor()
    assert.equal((await read()).status, 'failed')
    await page.getByRole('link', { name: 'Return to Demo Shop' }).click()
    await page.waitForURL(`${shop}/**`)
    assert.equal(page.url(), returnUrlWith('failed'))
  })

  it('offers the methods again after a cancellation on the gateway’s page', LARGER_FORM_ONLY, async (t) => {
    const { page, read } = await open(t)
    await choose(page, 'card')
    await clickButton(page, PAY)
    await clickButton(page, 'Cancel and return')
    await waitForHeading(page, PAY)
    assert.equal((await read()).status, 'pending')
  })

  it('shows a payment of one tab in the other', LARGER_FORM_ONLY, async (t) => {
    const { page, newTab, checkoutUrl, executions } = await open(t)
    const other = await newTab()
    await other.goto(checkoutUrl)
    await payWith(page, 'card_success')
    await waitForHeading(page, 'Paid')
    await choose(other, 'card')
    await clickButton(other, PAY)
    await waitForHeading(other, 'Paid')
    assert.equal(await executions(), 1)
  })

  it('does not ask for payment again after the back button', async (t) => {
    const { page, executions } = await open(t, { changes: { redirectUrl: undefined } })
    await payWith(page, 'card_success')
    await waitForHeading(page, 'Paid')
    await page.goBack()
    await waitForHeading(page, 'Paid')
    assert.equal(await executions(), 1)
  })

  it('still shows the prompt after the back button', LARGER_FORM_ONLY, async (t) => {
    const { page, read } = await open(t)
    await payWith(page, 'mobile_timeout')
    await waitForHeading(page, 'Check your phone')
    await page.goBack()
    if (await page.getByRole('button', { name: PAY }).isVisible()) await clickButton(page, PAY)
    await waitForHeading(page, 'Check your phone')
    assert.equal((await read()).attempts.length, 1)
  })

  it('continues in another browser when the first is lost at the gateway', LARGER_FORM_ONLY, async (t) => {
    const { page, checkoutUrl, executions } = await open(t)
    await choose(page, 'card')
    await clickButton(page, PAY)
    await page.getByText('Choose a test card').waitFor()
    await page.context().close()
    const { page: another } = await visit(t)
    await another.goto(checkoutUrl)
    await waitForHeading(another, 'Continue on the payment page')
    await another.getByRole('link', { name: /^Continue to / }).click()
    await clickButton(another, PAY)
    await waitForHeading(another, 'Paid')
    assert.equal(await executions(), 1)
  })

  it('continues the checkout after the back button on the gateway’s page', LARGER_FORM_ONLY, async (t) => {
    const { page } = await open(t)
    await choose(page, 'card')
    await clickButton(page, PAY)
    await page.getByText('Choose a test card').waitFor()
    await page.goto(page.url().replace(/\/sandbox.*/, '/'))
    await page.goBack()
    await page.getByText('Choose a test card').waitFor()
  })
})

describe('robustness of the checkout page', { concurrency: 8 }, () => {
  it('submits once for a double click', async (t) => {
    const { page, read, executions } = await open(t)
    await choose(page, 'mobile_success')
    await page.getByRole('button', { name: PAY }).dblclick()
    await waitForHeading(page, 'Paid')
    assert.equal((await read()).attempts.length, 1)
    assert.equal(await executions(), 1)
  })

  it('lets the payer submit again after a network failure', async (t) => {
    const { page } = await open(t)
    await choose(page, 'card')
    await page.context().setOffline(true)
    await clickButton(page, PAY)
    await page.context().setOffline(false)
    await page.goBack()
    await waitForHeading(page, PAY)
    await payWith(page, 'card_success')
    await waitForHeading(page, 'Paid')
  })

  it('fits a narrow screen, whatever the merchant’s texts', LARGER_FORM_ONLY, async (t) => {
    const changes = { amount: 999_999_999_999.99, description: 'W'.repeat(255) }
    const { page } = await open(t, { width: 320, changes })
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320)
  })
})

it('collects through a gateway on another origin and returns', LARGER_FORM_ONLY, async (t) => {
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
  const { page } = await visit(t, { origins: [url, gateway.url] })
  await page.goto(initiated.body.data.checkoutUrl)
  await payWith(page, 'card_success')
  await waitForHeading(page, 'Paid')
})

// These tests move the clock that all checkouts share, so they run last and sequentially.
describe('the checkout as time passes', () => {
  const SECOND_MS = 1_000
  const MINUTE_MS = 60 * SECOND_MS

  it('expires an unpaid checkout, also when the payer presses Pay too late', async (t) => {
    const { page, read, returnUrlWith } = await open(t)
    await choose(page, 'card')
    clock.advance(61 * MINUTE_MS)
    await eventually(read, ({ status }) => status === 'expired', 10_000)
    await clickButton(page, PAY)
    await waitForHeading(page, 'This payment link has expired')
    await page.getByText('You have not been charged.').waitFor()
    await page.getByRole('link', { name: 'Return to Demo Shop' }).click()
    await page.waitForURL(`${shop}/**`)
    assert.equal(page.url(), returnUrlWith('expired'))
  })

  for (const javaScript of [true, false]) {
    const manner = javaScript ? 'with' : 'without'
    it(
      `ends a prompt without a response (mobile_timeout), ${manner} JavaScript`,
      LARGER_FORM_ONLY,
      async (t) => {
        const { page, read, returnUrlWith } = await open(t, { javaScript })
        await payWith(page, 'mobile_timeout')
        await waitForHeading(page, 'Check your phone')
        clock.advance(5 * MINUTE_MS + SECOND_MS)
        if (!javaScript) await clickButton(page, 'Check status now')
        await waitForHeading(page, PAY)
        assert.match(
          await alertText(page),
          /^We did not get your approval in time\. You have not been charged\./,
        )
        assert.equal((await read()).attempts[0].failureCode, 'customer_timeout')
        await clickButton(page, 'Cancel and return')
        await page.waitForURL(`${shop}/**`)
        assert.equal(page.url(), returnUrlWith('cancelled'))
      },
    )

    it(`shows a late payment, ${manner} JavaScript`, LARGER_FORM_ONLY, async (t) => {
      const { page, read, executions, expiresAt, returnUrlWith } = await open(t, { javaScript })
      await payWith(page, 'mobile_late_success')
      await waitForHeading(page, 'Check your phone')
      // The payment arrives two seconds after the expiry; the clock is stopped until the page has shown the expiry.
      stoppedAt = addMs(new Date(expiresAt), SECOND_MS)
      await eventually(read, ({ status }) => status === 'expired', 10_000)
      if (!javaScript) await clickButton(page, 'Check status now')
      await waitForHeading(page, 'This payment link has expired')
      await page.getByText('If you already approved or sent money, it is matched or returned.').waitFor()
      stoppedAt = undefined
      clock.advance(120 * MINUTE_MS)
      await eventually(read, ({ status }) => status === 'successful', 10_000)
      await page.reload()
      await waitForHeading(page, 'Paid after the time was up')
      assert.equal(await executions(), 1)
      await page.getByRole('link', { name: 'Return to Demo Shop' }).click()
      await page.waitForURL(`${shop}/**`)
      assert.equal(page.url(), returnUrlWith('successful'))
    })
  }
})
