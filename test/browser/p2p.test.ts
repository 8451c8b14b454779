// A transfer to the merchant in a real browser, from request to confirmation: the payer uses the page, the merchant
// its key. The page shows the merchant's confirmation without a reload.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { LANGUAGE_CODES, type Language } from '../../src/core/languages.ts'
import { dataOf, p2pBody, p2pMerchant, WALLET } from '../support/p2p.ts'
import { createPayer, headingOf } from '../support/payer.ts'
import { HAS_LARGER_FORM, LARGER_FORM_ONLY, sized } from '../support/scale.ts'
import { createPagePool } from './page-pool.ts'
import { clickButton, startRig, waitForHeading } from './payers.ts'

const { service, shop, browser, visit } = await startRig({ after })
// A long name without line breaks is the worst case for a narrow phone.
const { api, requestTransfer, act, confirm, read } = await p2pMerchant(service, WALLET, {
  channel: 'bank_transfer',
  currency: 'SSP',
  accountName: 'Juba Books and Stationery Wholesalers Ltd',
  accountNumber: '0011-2233-4455-6677',
  bankName: 'Equity Bank South Sudan',
})
const NARROW = { width: 320 }
const redirectUrl = `${shop}/back`

/** A payer on a narrow phone with the instructions, and the merchant's record. */
async function openTransfer(t: Parameters<typeof visit>[0]) {
  const payment = await requestTransfer({ redirectUrl })
  const visitor = await visit(t, NARROW)
  await visitor.page.goto(payment.checkoutUrl)
  await waitForHeading(visitor.page, 'Send exactly SSP 5,000')
  return { ...visitor, uuid: payment.uuid, payment }
}

describe('a transfer to the merchant in a browser', { concurrency: 3 }, () => {
  it('shows a transfer in SSP from request to confirmation to payer and merchant', async (t) => {
    const { page, uuid, payment } = await openTransfer(t)
    const { narration } = payment.instructions
    await page.getByText('m-Gurush', { exact: true }).waitFor()
    const copies = async (what: string) =>
      page.getByRole('button', { name: `Copy: ${what}` }).getAttribute('data-copy')
    assert.deepEqual(
      [await copies('Amount'), await copies('Mobile money number'), await copies('Write this reference')],
      ['5000.00', '0912345678', narration],
    )
    await page.context().grantPermissions(['clipboard-write'])
    await clickButton(page, 'Copy: Write this reference')
    await page.getByText('Copied').first().waitFor()
    await clickButton(page, 'I have sent the money')
    await waitForHeading(page, 'Another Shop is checking your transfer')
    assert.equal(await page.getByRole('button', { name: 'Pay another way' }).count(), 0)
    const [waiting] = await dataOf(api.get(`/api/v1/p2p/payments?narration=${narration}`))
    assert.deepEqual([waiting.uuid, waiting.transferStatus], [uuid, 'marked_paid'])
    await dataOf(confirm(uuid, 5000))
    await waitForHeading(page, 'Paid')
    await page.waitForURL(`${redirectUrl}?reference=${payment.reference}&status=successful`)
    assert.equal((await read(uuid)).status, 'successful')
  })

  it(
    'shows the missing amount of an underpaid transfer, and completes when the rest arrives',
    LARGER_FORM_ONLY,
    async (t) => {
      const { page, uuid } = await openTransfer(t)
      await clickButton(page, 'I have sent the money')
      await dataOf(confirm(uuid, 3000))
      await waitForHeading(page, 'SSP 3,000 of SSP 5,000 arrived')
      await page.getByText('Please send the missing SSP 2,000').waitFor()
      await page.getByRole('button', { name: 'Copy: Amount' }).waitFor()
      await dataOf(confirm(uuid, 5000))
      await waitForHeading(page, 'Paid')
    },
  )

  it('completes an overpaid transfer, and shows the excess to the payer', LARGER_FORM_ONLY, async (t) => {
    const { page, uuid } = await openTransfer(t)
    await dataOf(confirm(uuid, 5250.5))
    await waitForHeading(page, 'Paid')
    await page.getByText('You sent SSP 250.50 more than asked for.').waitFor()
  })

  it(
    'offers a transfer in a checkout, also without JavaScript, and cancels it before it was sent',
    LARGER_FORM_ONLY,
    async (t) => {
      const { checkoutUrl, uuid } = await dataOf(api.post('/api/v1/checkout/initiate-payment', p2pBody()))
      const { page } = await visit(t, { ...NARROW, javaScript: false })
      await page.goto(checkoutUrl)
      await page.getByRole('radio', { name: 'Bank transfer to Another Shop' }).check()
      await page.getByText('You send the money yourself').filter({ visible: true }).waitFor()
      await clickButton(page, /^Pay SSP/)
      await waitForHeading(page, 'Send exactly SSP 5,000')
      await page.getByText('0011-2233-4455-6677').waitFor()
      await clickButton(page, 'Pay another way')
      await waitForHeading(page, /^Pay SSP/)
      await page.getByRole('radio', { name: 'Mobile money to Another Shop' }).check()
      await clickButton(page, /^Pay SSP/)
      await waitForHeading(page, 'Send exactly SSP 5,000')
      await clickButton(page, 'I have sent the money')
      await waitForHeading(page, 'Another Shop is checking your transfer')
      assert.equal((await read(uuid)).instructions.network, 'm-Gurush')
    },
  )
})

/** Each screen of a transfer, and the start of its heading. */
async function prepareScreens(): Promise<{ url: string; begins: string }[]> {
  const [open, sending, looking, short, over, rejected] = await Promise.all([
    dataOf(api.post('/api/v1/checkout/initiate-payment', p2pBody())),
    requestTransfer({ channel: 'bank_transfer' }),
    requestTransfer(),
    requestTransfer(),
    requestTransfer(),
    requestTransfer(),
  ])
  await dataOf(act(looking.uuid, 'mark-paid'))
  await dataOf(confirm(short.uuid, 3000))
  await dataOf(confirm(over.uuid, 5250.5))
  await dataOf(act(rejected.uuid, 'mark-paid'))
  await dataOf(act(rejected.uuid, 'reject'))
  return [
    { url: open.checkoutUrl, begins: 'Pay SSP' },
    { url: sending.checkoutUrl, begins: 'Send exactly' },
    { url: looking.checkoutUrl, begins: 'Another Shop is checking' },
    { url: short.checkoutUrl, begins: 'SSP 3,000 of' },
    { url: over.checkoutUrl, begins: 'Paid' },
    { url: rejected.checkoutUrl, begins: 'Payment did not go through' },
  ]
}

const LANGUAGES = sized<readonly Language[]>({
  quick: ['en'],
  rest: LANGUAGE_CODES,
  long: LANGUAGE_CODES,
})

// The last three have the layout of other screens of the checkout.
const CHECKED_SCREENS = sized({ quick: 3, rest: 6, long: 6 })

describe('the screens of a transfer to the merchant', () => {
  it(
    `has accessible transfer screens on the narrowest phone, in ${LANGUAGES.join(', ')}`,
    HAS_LARGER_FORM,
    async (t) => {
      const screens = await prepareScreens()
      const withPage = await createPagePool(t, browser, 2)
      const problems = await Promise.all(
        screens.slice(0, CHECKED_SCREENS).flatMap(({ url }) =>
          LANGUAGES.map((language) =>
            withPage(async ({ visit: open, evaluate }) => {
              await open(url, language)
              // The rules for screen readers and colours give the same result in every language except the right-to-left one.
              const isWhole = language === 'en' || language === 'ar'
              const found = isWhole
                ? (await evaluate<{ problems: string[] }>('everything()')).problems
                : await evaluate('layout()')
              return found.map((problem) => `${language} ${url}: ${problem}`)
            }),
          ),
        ),
      )
      assert.deepEqual(problems.flat(), [])
      for (const { url, begins } of screens) {
        const page = await createPayer().open(url, { 'accept-language': 'en' })
        assert.ok(headingOf(page).startsWith(begins), headingOf(page))
      }
    },
  )
})
