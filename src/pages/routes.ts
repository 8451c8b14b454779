// The addresses of our pages. Every step of the payer is a form: POST, 303, GET.

import { mayGiveUp, refreshCheckout } from '../checkout/checkout.ts'
import { Refusal } from '../core/errors.ts'
import { isUuid } from '../core/ids.ts'
import { labelOf } from '../customers/schema.ts'
import { findSavedMethod } from '../customers/service.ts'
import type { PageAnswer, PageRoute } from '../kit/route.ts'
import type { LinksApp } from '../links/app.ts'
import { lookForPlace } from '../links/places.ts'
import type { Admission, PaymentsApp } from '../payments/app.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { SCRIPT } from './assets.ts'
import { receiptScreen, returnsNow } from './checkout/end-screens.ts'
import { type CheckoutFacts, shownState } from './checkout/facts.ts'
import { networkOfNumber, readFormState } from './checkout/form.ts'
import { checkoutScreen, renderCheckout } from './checkout/page.ts'
import type { Screen } from './checkout/pieces.ts'
import { backToCheckout, redirectOf, stepRoutes } from './checkout/steps.ts'
import { continueScreen } from './checkout/waiting-screens.ts'
import { landingPage } from './landing-page.ts'
import { chooseLanguage, languageCookies, rememberedLanguages } from './language.ts'
import { linkPageRoutes } from './link/routes.ts'
import { speechOf } from './speech.ts'
import { offerOf, open, pathOf, returnUrlOf, transferOf, type Visit } from './visit.ts'
import { isLanguage } from './words.ts'

// With the routes these are what the composition root and the documentation take from here.

export function pageRoutes(app: LinksApp): PageRoute[] {
  return [
    { method: 'GET', path: '/', handle: async ({ styleNonce }) => landingPage(app, styleNonce) },
    { method: 'GET', path: SCRIPT.path, handle: async () => SCRIPT_ANSWER },
    { method: 'GET', path: '/assets/logos/{merchant}/{digest}', handle: (visit) => showLogo(app, visit) },
    {
      method: 'GET',
      path: '/pay/{accessCode}',
      handle: async (visit) => {
        const facts = await factsOf(app, visit)
        return show(facts, checkoutScreen(facts), visit)
      },
    },
    {
      method: 'GET',
      path: '/pay/{accessCode}/receipt',
      handle: async (visit) => {
        const facts = await factsOf(app, visit)
        if (facts.payment.paidAt === null) return backToCheckout(visit)
        return show(facts, receiptScreen(facts), visit, '/receipt')
      },
    },
    {
      method: 'GET',
      path: '/pay/{accessCode}/continue',
      handle: async (visit) => {
        const facts = await factsOf(app, visit)
        const step = redirectOf(facts)
        if (!step) return backToCheckout(visit)
        return show(facts, continueScreen(facts, step.url), visit)
      },
    },
    {
      method: 'GET',
      path: '/pay/{accessCode}/return',
      handle: async (visit) => {
        await refreshCheckout(app, await open(app, visit), 'return')
        return backToCheckout(visit)
      },
    },
    {
      method: 'GET',
      path: '/pay/{accessCode}/status',
      handle: async (visit) => {
        const view = await open(app, visit)
        const now = app.clock.now()
        const [place, transfer] = await Promise.all([placeOf(app, view.payment), transferOf(app, view)])
        return json({ status: view.payment.status, shown: shownState({ ...view, now, place, transfer }) })
      },
    },
    {
      method: 'POST',
      path: '/pay/{accessCode}/network',
      handle: async (visit) => {
        const { payment } = await open(app, visit)
        return json({ network: networkOfNumber(visit.form.phone ?? '', payment.country) })
      },
    },
    ...stepRoutes(app),
    ...linkPageRoutes(app),
  ]
}

const SCRIPT_ANSWER: PageAnswer = {
  http: 200,
  cache: 'immutable',
  content: { type: 'text/javascript; charset=utf-8', body: SCRIPT.source },
}

function json(body: unknown): PageAnswer {
  return { http: 200, content: { type: 'application/json; charset=utf-8', body: JSON.stringify(body) } }
}

/** Under the digest of its bytes, so that a browser asks for it once. */
async function showLogo(app: PaymentsApp, { params }: Visit): Promise<PageAnswer> {
  const { merchant = '', digest } = params
  const logo = isUuid(merchant) ? (await app.merchantProfile(merchant)).logo : null
  if (logo?.digest !== digest || !logo) throw new Refusal('route_not_found')
  return {
    http: 200,
    cache: 'immutable',
    content: { type: logo.type, body: logo.bytes },
  }
}

/** Shown once by itself: a payer who comes back with the back button stays. */
const RETURNED = 'cowry_returned'

async function factsOf(app: PaymentsApp, visit: Visit): Promise<CheckoutFacts> {
  const view = await open(app, visit)
  const { payment } = view
  const now = app.clock.now()
  const merchant = await app.merchantProfile(payment.merchantId)
  const { chosen, last } = rememberedLanguages(visit.cookies)
  const language = chooseLanguage({
    chosen: isLanguage(visit.query.lang) ? visit.query.lang : chosen,
    merchant: merchant.locale,
    last,
    accept: visit.headers['accept-language'],
    country: payment.country,
  })
  const offer = await offerOf(app, payment)
  return {
    ...view,
    ...offer,
    transfer: await transferOf(app, view),
    merchant,
    now,
    methodLabel: await methodLabelOf(app, payment),
    path: pathOf(visit),
    returnUrl: await returnUrlOf(app, payment),
    mayGiveUp: mayGiveUp(view, now),
    place: await placeOf(app, payment),
    isTest: app.settings.mode === 'test',
    form: readFormState(offer.channels, visit.query, visit.cookies, now),
    returnsByItself: visit.cookies[RETURNED] === undefined,
    speech: speechOf(language, payment.country),
  }
}

/** Before anybody presses in vain; who is at a gateway has a place. */
async function placeOf(app: PaymentsApp, payment: PaymentRow): Promise<Admission> {
  const isAsked = payment.linkId !== null && payment.status === 'pending'
  return isAsked ? lookForPlace(app, payment) : 'admitted'
}

async function methodLabelOf(app: PaymentsApp, payment: PaymentRow): Promise<string | null> {
  if (payment.paymentMethodId === null) return null
  const method = await findSavedMethod(app, payment.merchantId, payment.paymentMethodId)
  // The provider writes the brand in small letters.
  return method ? labelOf(method).replace(/^[a-z]/, (letter) => letter.toUpperCase()) : null
}

function show(facts: CheckoutFacts, screen: Screen, visit: Visit, where = ''): PageAnswer {
  const { path, speech, returnUrl } = facts
  const isChosen = isLanguage(visit.query.lang)
  return {
    http: 200,
    // A cancelled payment leads its form to the merchant, who may lead on to another address of theirs.
    formActions: returnUrl === null ? [] : ['https:', new URL(returnUrl).origin],
    html: renderCheckout(facts, screen, {
      styleNonce: visit.styleNonce,
      here: `${path}${where}${screenQuery(visit)}`,
    }),
    cookies: [
      ...(isChosen ? languageCookies(speech.language, path) : []),
      ...(returnsNow(facts) ? [{ name: RETURNED, value: '1', path }] : []),
    ],
  }
}

const SCREEN_QUERY: ReadonlySet<string> = new Set(['problem', 'until', 'channel', 'network'])

/** What of the query makes the screen: another language must not lose what has to be corrected. */
function screenQuery({ query }: Visit): string {
  const kept = new URLSearchParams(Object.entries(query).filter(([name]) => SCREEN_QUERY.has(name)))
  return kept.size === 0 ? '' : `?${kept}`
}
