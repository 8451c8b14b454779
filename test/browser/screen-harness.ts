// One real payment for every screen of the payer, created over the API and the page's own forms. The clock
// is stopped between the steps, so that a screen does not change during the checks.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createApi } from '../support/api.ts'
import type { Cleanup } from '../support/database.ts'
import { frozenClock } from '../support/fake-clock.ts'
import {
  choiceOf,
  createPayer,
  headingOf,
  linkOf,
  newPhone,
  openCheckout,
  type Page,
  type Payer,
} from '../support/payer.ts'
import { eventually } from '../support/process.ts'
import { canShare, sharedValue } from '../support/process-values.ts'
import { type TestService, testService } from '../support/service.ts'
import { brandedMerchant } from './brand.ts'

export interface PreparedScreen {
  /** "prompt", or "prompt, a minute later". */
  name: string
  url: string
  /** The start of its heading in English. */
  heading: string
  /** The provider's own pages and the one for developers. */
  isEnglishOnly?: true
}

export interface ScreenHarness {
  service: TestService
  shop: string
  screens: PreparedScreen[]
}

/** The merchant's texts, which are the same in every language. */
export const DESCRIPTION = 'Kamusi ya Kiswahili, 2'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const SANDBOX_SECRET = 'a-secret-of-the-stage-0123456789abcdef'
// A number above this limit has to wait. No other screen exceeds it by accident.
const PROMPTS_PER_NUMBER = 1

/** The screens, and the shop to which they return. The files of a process share them, because no check changes one. */
export async function prepareScreens(t: Cleanup): Promise<ScreenHarness> {
  // Awaited here: a file that awaits a promise of another file would register its tests there.
  const harness = await (canShare() ? sharedValue('screens', prepare) : prepare(t))
  return harness
}

/** A shop that shows nothing, so that a redirected page stays where it is. */
async function startQuietShop(t: Cleanup): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(204).end())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(async () => {
    server.closeAllConnections()
    server.close()
  })
  // A boundary: a server that listens on TCP has such an address.
  return `http://localhost:${(server.address() as AddressInfo).port}`
}

async function prepare(t: Cleanup): Promise<ScreenHarness> {
  const shop = await startQuietShop(t)
  const clock = frozenClock()
  const service = await testService(t, {
    clock,
    env: {
      COWRY_RATE_LIMIT: '0',
      COWRY_SANDBOX_SECRET: SANDBOX_SECRET,
      COWRY_PROMPTS_PER_NUMBER: String(PROMPTS_PER_NUMBER),
    },
  })
  const provider = createApi(`${service.url}/sandbox`, { authorization: `Bearer ${SANDBOX_SECRET}` })
  const actor: Actor = {
    service,
    api: await brandedMerchant(service),
    payer: createPayer(),
    redirectUrl: `${shop}/back`,
    advance: (ms) => clock.advance(ms),
    async injectProviderFault(kind, on, times = 1) {
      const answer = await provider.post('/v1/faults', { kind, on, times })
      assert.equal(answer.http, 201, answer.text)
    },
    async clearProviderFaults() {
      await provider.send('DELETE', '/v1/faults')
    },
  }
  const screens: PreparedScreen[] = []
  const endMs = clock.now().getTime() + (SCREEN_STEPS[0]?.beforeMs ?? 0)
  for (const step of SCREEN_STEPS) {
    clock.advance(endMs - step.beforeMs - clock.now().getTime())
    screens.push(...(await step.prepare(actor, screens)))
  }
  for (const screen of screens) await assertHeading(screen)
  return { service, shop, screens }
}

/** Background jobs need a moment. */
async function assertHeading({ name, url, heading }: PreparedScreen): Promise<void> {
  const read = async () => headingOf(await createPayer().open(url, { 'accept-language': 'en' }))
  await eventually(read, (shown) => shown.startsWith(heading), 15_000).catch((error: unknown) => {
    throw new Error(`the screen "${name}" did not reach "${heading}"`, { cause: error })
  })
}

interface Actor {
  service: TestService
  api: TestService['api']
  payer: Payer
  redirectUrl: string
  advance(ms: number): void
  /** The provider's next responses are lost or wrong. */
  injectProviderFault(kind: string, on: 'checkout' | 'verify', times?: number): Promise<void>
  clearProviderFaults(): Promise<void>
}

interface ScreenStep {
  /** How long before the checks of the screens. */
  beforeMs: number
  prepare(actor: Actor, prepared: readonly PreparedScreen[]): Promise<PreparedScreen[]>
}

// In this order, the oldest first. The last step but one disconnects the provider for good, so that no later status check
// finds an outcome.
const SCREEN_STEPS: readonly ScreenStep[] = [
  { beforeMs: 90 * MINUTE, prepare: receiveWrongAmounts },
  { beforeMs: 80 * MINUTE, prepare: payLate },
  { beforeMs: 61 * MINUTE, prepare: letExpire },
  { beforeMs: 55 * MINUTE, prepare: openNearExpiry },
  { beforeMs: 5 * MINUTE, prepare: end },
  { beforeMs: 4 * MINUTE, prepare: payTestPayment },
  { beforeMs: 3 * MINUTE, prepare: promptTooOften },
  { beforeMs: 130 * SECOND, prepare: waitLong },
  { beforeMs: 70 * SECOND, prepare: waitAMinute },
  { beforeMs: 59 * SECOND, prepare: loseResponse },
  { beforeMs: 0, prepare: waitNow },
  { beforeMs: 0, prepare: open },
  { beforeMs: 0, prepare: openOtherPages },
]

const PAYS = 'Pay KSh 1,250.50'
const EXPIRED = 'This payment link has expired'
const PAID_LATE = 'Paid after the time was up'

const checkout = ({ api, payer, redirectUrl }: Actor, changes: Record<string, unknown> = {}) =>
  openCheckout(api, payer, { description: DESCRIPTION, redirectUrl, ...changes })

/** Opens a checkout and presses Pay with the instrument. */
async function start(actor: Actor, instrument: string, changes: Record<string, unknown> = {}) {
  const opened = await checkout(actor, changes)
  return { ...opened, page: await actor.payer.choose(opened.page, instrument) }
}

/** Wrong responses come first, while no other payment could receive them. */
async function receiveWrongAmounts(actor: Actor): Promise<PreparedScreen[]> {
  const pay = async (fault?: string) => {
    const { page, checkoutUrl } = await checkout(actor)
    if (fault) await actor.injectProviderFault(fault, 'verify', 10)
    await actor.payer.payByCard(page, 'card_success')
    await actor.clearProviderFaults()
    return checkoutUrl
  }
  const overpaid = await pay('wrong_amount')
  const another = await pay('wrong_currency')
  const { checkoutUrl } = await start(actor, 'transfer_underpaid')
  actor.advance(3 * SECOND)
  const underpaid = { name: 'underpaid', url: checkoutUrl, heading: 'We received KSh 1,125.45 of' }
  // Before the hour is over: a checkout without an attempt would just expire then.
  await assertHeading(underpaid)
  return [
    { name: 'overpaid', url: overpaid, heading: 'We received KSh 1,250.51 instead of' },
    { name: 'paid in another currency', url: another, heading: 'We received a different amount' },
    underpaid,
  ]
}

async function payLate(actor: Actor): Promise<PreparedScreen[]> {
  const { checkoutUrl: late } = await start(actor, 'mobile_late_success')
  const { checkoutUrl: already, reference } = await checkout(actor)
  await complete(actor, reference, 'card_success')
  return [
    { name: 'paid late', url: late, heading: PAID_LATE },
    { name: 'already paid', url: already, heading: 'Already paid on' },
  ]
}

async function complete({ api }: Actor, reference: string, instrument: string): Promise<void> {
  const answer = await api.post(`/api/v1/sandbox/payments/${reference}/complete`, { instrument })
  assert.equal(answer.http, 200, answer.text)
  assert.notEqual(answer.body.data.status, 'processing', answer.text)
}

async function letExpire(actor: Actor): Promise<PreparedScreen[]> {
  const { checkoutUrl: unused } = await checkout(actor)
  // Its payment would arrive after the expiry; by then the provider is disconnected.
  const { checkoutUrl: perhapsPaid } = await start(actor, 'mobile_late_success')
  return [
    { name: 'expired', url: unused, heading: EXPIRED },
    { name: 'expired, perhaps paid', url: perhapsPaid, heading: EXPIRED },
  ]
}

async function openNearExpiry(actor: Actor): Promise<PreparedScreen[]> {
  const { checkoutUrl } = await checkout(actor)
  return [{ name: 'open, with little time left', url: checkoutUrl, heading: PAYS }]
}

async function end(actor: Actor): Promise<PreparedScreen[]> {
  const paid = await checkout(actor)
  await complete(actor, paid.reference, 'card_success')
  const declined = await checkout(actor)
  await complete(actor, declined.reference, 'card_insufficient_funds')
  const failed = await checkout(actor)
  for (let round = 1; round <= 5; round += 1) await complete(actor, failed.reference, 'card_declined')
  const cancelled = await checkout(actor, { redirectUrl: undefined })
  await actor.payer.submit(cancelled.page, '/cancel')
  return [
    { name: 'paid', url: paid.checkoutUrl, heading: 'Paid' },
    { name: 'receipt', url: `${paid.checkoutUrl}/receipt`, heading: 'Receipt' },
    { name: 'open, after a decline', url: declined.checkoutUrl, heading: PAYS },
    { name: 'failed', url: failed.checkoutUrl, heading: 'Payment did not go through' },
    { name: 'cancelled', url: cancelled.checkoutUrl, heading: 'Payment cancelled' },
  ]
}

/** The same phone: immediately after it refused, and above its rate limit. */
async function promptTooOften(actor: Actor): Promise<PreparedScreen[]> {
  const { payer } = actor
  const choice = { ...choiceOf('mobile_cancelled'), phone: newPhone() }
  const { page: opened, checkoutUrl } = await checkout(actor)
  await payer.submit(opened, '/attempts', choice)
  actor.advance(2 * SECOND)
  const refused = await eventually(
    () => payer.open(checkoutUrl),
    (page) => page.html.includes('role="alert"'),
    10_000,
  )
  const soon = await submitInvalid(actor, refused, choice)
  const { page: another } = await checkout(actor)
  const often = await submitInvalid(actor, another, choice)
  const waiting = { ...choiceOf('mobile_timeout'), phone: newPhone() }
  await payer.submit((await checkout(actor)).page, '/attempts', waiting)
  const busy = await submitInvalid(actor, (await checkout(actor)).page, waiting)
  return [
    { name: 'open, a request waits on the phone', url: busy, heading: PAYS },
    { name: 'open, a phone was asked a moment ago', url: soon, heading: PAYS },
    { name: 'open, a phone was asked too often', url: often, heading: PAYS },
  ]
}

/** The address at which the form shows the problem. */
async function submitInvalid({ payer }: Actor, page: Page, fields: Record<string, string>): Promise<string> {
  const { location } = await payer.postForm(page, '/attempts', fields)
  assert.match(location ?? '', /\?problem=/)
  return location ?? ''
}

async function waitLong(actor: Actor): Promise<PreparedScreen[]> {
  const { checkoutUrl } = await start(actor, 'mobile_timeout')
  return [{ name: 'slow', url: checkoutUrl, heading: 'This is taking longer than usual' }]
}

async function waitAMinute(actor: Actor): Promise<PreparedScreen[]> {
  const { checkoutUrl } = await start(actor, 'mobile_timeout')
  return [{ name: 'prompt, a minute later', url: checkoutUrl, heading: 'Check your phone' }]
}

/** From here on no status check succeeds, so final payments must be final already. */
async function loseResponse(actor: Actor, prepared: readonly PreparedScreen[]): Promise<PreparedScreen[]> {
  for (const screen of prepared.filter(({ heading }) => [EXPIRED, PAID_LATE].includes(heading)))
    await assertHeading(screen)
  await actor.injectProviderFault('drop_after', 'checkout')
  const { checkoutUrl } = await start(actor, 'mobile_success')
  await actor.injectProviderFault('500_before', 'verify', 1_000_000)
  return [{ name: 'slow, outcome unknown', url: checkoutUrl, heading: 'This is taking longer than usual' }]
}

async function waitNow(actor: Actor): Promise<PreparedScreen[]> {
  const { payer } = actor
  const prompt = await start(actor, 'mobile_timeout')
  const transfer = await start(actor, 'transfer_success', { currency: 'NGN' })
  const other = await start(actor, 'transfer_success', { currency: 'NGN' })
  const sent = await payer.submit(other.page, '/sent')
  const card = await start(actor, 'card')
  const approval = await approvalPageOf(actor)
  await actor.injectProviderFault('drop_after', 'checkout')
  const lost = await start(actor, 'mobile_success')
  const continuing = 'Continue on the payment page'
  return [
    { name: 'prompt', url: prompt.checkoutUrl, heading: 'Check your phone' },
    { name: 'transfer', url: transfer.checkoutUrl, heading: 'Send exactly ₦1,250.50' },
    { name: 'transfer, sent', url: sent.url, heading: 'We are looking for your transfer' },
    { name: 'redirect', url: card.checkoutUrl, heading: continuing },
    { name: 'continue', url: `${card.checkoutUrl}/continue`, heading: continuing },
    { name: 'moment', url: lost.checkoutUrl, heading: 'One moment' },
    { name: 'card page', url: linkOf(card.page), heading: 'Pay Duka la Vitabu', isEnglishOnly: true },
    { name: '3-D Secure page', url: approval, heading: 'Your bank is checking', isEnglishOnly: true },
  ]
}

async function approvalPageOf(actor: Actor): Promise<string> {
  const { page } = await checkout(actor)
  const cardPage = await actor.payer.goToCardPage(page)
  const { url } = await actor.payer.submit(cardPage, '', { instrument: 'card_3ds', action: 'pay' })
  return url
}

async function open(actor: Actor): Promise<PreparedScreen[]> {
  const { checkoutUrl, page } = await checkout(actor)
  const { checkoutUrl: nigerian } = await checkout(actor, { currency: 'NGN' })
  const { checkoutUrl: anywhere } = await checkout(actor, { currency: 'USD' })
  // The demo merchant has no brand, and the payment no description.
  const { checkoutUrl: bare } = await openCheckout(actor.service.api, actor.payer)
  const prompt = choiceOf('mobile_success')
  // The payer has paid by card before.
  const returning = await checkout(actor, { offerSavedMethods: true })
  const submitInvalidWith = (fields: Record<string, string>) =>
    submitInvalid(actor, page, { ...prompt, ...fields })
  return [
    { name: 'open', url: checkoutUrl, heading: PAYS },
    { name: 'open, transfer first', url: nigerian, heading: 'Pay ₦1,250.50' },
    { name: 'open, from any country', url: anywhere, heading: 'Pay US$1,250.50' },
    { name: 'open, without a brand', url: bare, heading: PAYS },
    { name: 'open, with a saved card', url: returning.checkoutUrl, heading: PAYS },
    { name: 'open, nothing chosen', url: await submitInvalidWith({ channel: '' }), heading: PAYS },
    { name: 'open, a wrong phone', url: await submitInvalidWith({ phone: '0712' }), heading: PAYS },
    {
      name: 'open, an unknown network',
      url: await submitInvalidWith({ phone: '+15005550006' }),
      heading: PAYS,
    },
  ]
}

async function payTestPayment({ service, payer }: Actor): Promise<PreparedScreen[]> {
  const { url } = await payer.submit(await payer.open(`${service.url}/`), '/test-payments')
  return [{ name: 'test payment', url, heading: 'The test payment is paid', isEnglishOnly: true }]
}

async function openOtherPages(actor: Actor): Promise<PreparedScreen[]> {
  const { url } = actor.service
  return [
    { name: 'not found', url: `${url}/pay/nothing`, heading: 'We cannot find this payment' },
    { name: 'missing', url: `${url}/assets/nothing`, heading: 'There is nothing here' },
    // A code with a control character, which real codes never have.
    { name: 'refused', url: `${url}/pay/a%01b`, heading: 'This is not possible' },
    { name: 'landing page', url: `${url}/`, heading: 'One API for payments', isEnglishOnly: true },
  ]
}
