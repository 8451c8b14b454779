// The checkout page: the summary of the payment beside the current screen, with the merchant's name and colours.

import { paletteOf } from '../../kit/http/accent.ts'
import { type Html, html } from '../../kit/http/html.ts'
import { renderPage } from '../layout.ts'
import { amountOf, factList, ltr, type Screen } from './components.ts'
import {
  cancelledOpenScreen,
  cancelledScreen,
  expiredScreen,
  failedScreen,
  linkBusyScreen,
  linkEndedScreen,
  mismatchScreen,
  paidScreen,
  suspendedScreen,
} from './end-screens.ts'
import { type CheckoutFacts, type ScreenName, screenOf } from './facts.ts'
import { openScreen } from './open-screen.ts'
import { waitingScreen } from './waiting-screens.ts'

const SCREENS: Readonly<Record<ScreenName, (facts: CheckoutFacts) => Screen>> = {
  open: openScreen,
  prompt: waitingScreen,
  transfer: waitingScreen,
  direct: waitingScreen,
  direct_checking: waitingScreen,
  direct_underpaid: waitingScreen,
  redirect: waitingScreen,
  confirming: waitingScreen,
  slow: waitingScreen,
  mismatch: mismatchScreen,
  paid: paidScreen,
  already_paid: paidScreen,
  paid_late: paidScreen,
  failed: failedScreen,
  expired: expiredScreen,
  cancelled: cancelledScreen,
  cancelled_open: cancelledOpenScreen,
  suspended: suspendedScreen,
  link_busy: linkBusyScreen,
  link_ended: linkEndedScreen,
}

export function checkoutScreen(facts: CheckoutFacts): Screen {
  return SCREENS[screenOf(facts)](facts)
}

/** `here` is the URL of this screen, which the language switcher keeps. */
export function renderCheckout(
  facts: CheckoutFacts,
  screen: Screen,
  { styleNonce, here }: { styleNonce: string; here: string },
): string {
  const { merchant, translator, isTest } = facts
  return renderPage({
    title: screen.title,
    head: screen.head,
    styleNonce,
    translator,
    isTest,
    merchant,
    palette: paletteOf(merchant.accentColor),
    languageLinks: here,
    hasScript: true,
    body: html`<div class="columns"><section class="summary">${lead(facts)}</section>
<section class="sheet">${screen.body}</section>${summary(facts)}</div>`,
  })
}

/** The page heading while the payment is open; a screen with its own heading gets only the amount. */
function lead(facts: CheckoutFacts): Html {
  const { translator, merchant } = facts
  const amount = html`<span class="amount">${amountOf(facts)}</span>`
  return screenOf(facts) === 'open'
    ? html`<h1>${translator.withMarkup('payTitle', { merchant: merchant.name }, 'amount', amount)}</h1>`
    : html`<p>${amount}</p>`
}

/** On a small screen below the form, so that the button is on the first screen. The receipt of a paid payment lists it. */
function summary({ translator, payment }: CheckoutFacts): Html | null {
  if (payment.paidAt !== null) return null
  return html`<section class="about">${factList([
    [translator.t('paymentFor'), payment.description],
    [translator.t('reference'), ltr(payment.reference)],
  ])}</section>`
}
