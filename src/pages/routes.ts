// The addresses of our pages. Every step of the payer is a form: POST, 303, GET.

import { Refusal } from '../core/errors.ts'
import { isUuid } from '../core/ids.ts'
import { findSavedMethod, labelOf } from '../customers/service.ts'
import type { PageAnswer, PageRoute } from '../kit/route.ts'
import {
  type CheckoutView,
  cancelCheckout,
  extendCheckout,
  findCandidate,
  giveUpAttempt,
  isAllowedReturn,
  mayGiveUp,
  type PaymentRow,
  type PaymentsApp,
  refreshCheckout,
  requireCheckout,
  startAttempt,
} from '../payments/service.ts'
import { SCRIPT } from './assets.ts'
import { receiptScreen, returnsNow } from './checkout/end-screens.ts'
import { type CheckoutFacts, screenOf, shownState } from './checkout/facts.ts'
import { networkOfNumber, type Offer, problemAnswer, readChoice, readFormState } from './checkout/form.ts'
import { checkoutScreen, renderCheckout } from './checkout/page.ts'
import type { Screen } from './checkout/pieces.ts'
import { continueScreen } from './checkout/waiting-screens.ts'
import { landingPage } from './landing-page.ts'
import { chooseLanguage, languageCookies, rememberedLanguages } from './language.ts'
import { returnAddress } from './return-address.ts'
import { speechOf } from './speech.ts'
import { isLanguage } from './words.ts'

// With the routes these are what the composition root and the documentation take from here.
export { errorPage } from './error-page.ts'
export { LANGUAGES } from './words.ts'

type Visit = Parameters<PageRoute['handle']>[0]

export function pageRoutes(app: PaymentsApp): PageRoute[] {
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
        const { payment, attempt } = await open(app, visit)
        return json({ status: payment.status, shown: shownState({ payment, attempt, now: app.clock.now() }) })
      },
    },
    ...formRoutes(app),
  ]
}

function formRoutes(app: PaymentsApp): PageRoute[] {
  return [
    {
      method: 'POST',
      path: '/pay/{accessCode}/attempts',
      handle: async (visit) => tryToPay(app, await open(app, visit), visit),
    },
    {
      method: 'POST',
      path: '/pay/{accessCode}/network',
      handle: async (visit) => {
        const { payment } = await open(app, visit)
        return json({ network: networkOfNumber(visit.form.phone ?? '', payment.country) })
      },
    },
    {
      method: 'POST',
      path: '/pay/{accessCode}/check',
      handle: async (visit) => {
        await refreshCheckout(app, await open(app, visit), 'checkout')
        return backToCheckout(visit)
      },
    },
    {
      method: 'POST',
      path: '/pay/{accessCode}/sent',
      handle: async (visit) => {
        await refreshCheckout(app, await open(app, visit), 'checkout')
        return backToCheckout(visit, '?sent=1')
      },
    },
    {
      method: 'POST',
      path: '/pay/{accessCode}/extend',
      handle: async (visit) => {
        await extendCheckout(app, await open(app, visit))
        return backToCheckout(visit)
      },
    },
    {
      method: 'POST',
      path: '/pay/{accessCode}/other',
      handle: async (visit) => {
        await giveUpAttempt(app, await open(app, visit))
        return backToCheckout(visit)
      },
    },
    {
      method: 'POST',
      path: '/pay/{accessCode}/cancel',
      handle: async (visit) => {
        const { payment } = await cancelCheckout(app, await open(app, visit))
        const returnUrl = payment.status === 'abandoned' ? await returnUrlOf(app, payment) : null
        return returnUrl === null ? backToCheckout(visit) : { http: 303, redirectTo: returnUrl }
      },
    },
  ]
}

async function tryToPay(app: PaymentsApp, view: CheckoutView, visit: Visit): Promise<PageAnswer> {
  if (screenOf({ ...view, now: app.clock.now() }) !== 'open') return backToCheckout(visit)
  const choice = readChoice(await offerOf(app, view.payment), visit.form)
  if ('kind' in choice) return problemAnswer(pathOf(visit), visit.form, choice)
  try {
    const { attempt } = await startAttempt(app, view, choice)
    return backToCheckout(visit, redirectOf({ attempt }) ? '/continue' : '')
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    // Somebody else moved the payment on, or its time is up: the page shows how it stands.
    if (error.code === 'invalid_state') return backToCheckout(visit)
    if (error.code !== 'rate_limited') throw error
    return problemAnswer(pathOf(visit), visit.form, { kind: 'wait', seconds: error.retryAfterSeconds ?? 60 })
  }
}

function redirectOf({ attempt }: Pick<CheckoutView, 'attempt'>) {
  const step = attempt?.status === 'awaiting_customer' ? attempt.nextStep : null
  return step?.kind === 'redirect' ? step : null
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
    headers: IMAGE_HEADERS,
  }
}

// A drawing that is opened by itself must not act either.
const IMAGE_HEADERS = { 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox" }

const open = (app: PaymentsApp, { params }: Visit): Promise<CheckoutView> =>
  requireCheckout(app, params.accessCode ?? '')

function pathOf({ params }: Visit): string {
  return `/pay/${encodeURIComponent(params.accessCode ?? '')}`
}

function backToCheckout(visit: Visit, where = ''): PageAnswer {
  return { http: 303, redirectTo: `${pathOf(visit)}${where}` }
}

async function offerOf(app: PaymentsApp, payment: PaymentRow): Promise<Offer> {
  const candidate = await findCandidate(app, payment)
  return {
    channels: candidate?.channels ?? [],
    instruments: candidate?.gateway.instruments ?? [],
    country: payment.country,
    asksPhone: candidate?.gateway.promptsPhone ?? false,
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
    merchant,
    now,
    methodLabel: await methodLabelOf(app, payment),
    path: pathOf(visit),
    returnUrl: await returnUrlOf(app, payment),
    mayGiveUp: mayGiveUp(view, now),
    isTest: app.settings.mode === 'test',
    form: readFormState(offer.channels, visit.query, visit.cookies),
    saysSent: visit.query.sent === '1',
    returnsByItself: visit.cookies[RETURNED] === undefined,
    speech: speechOf(language, payment.country),
  }
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
    // A cancelled payment leads its form to the merchant.
    formActions: returnUrl === null ? [] : [new URL(returnUrl).origin],
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

const SCREEN_QUERY: ReadonlySet<string> = new Set(['sent', 'problem', 'seconds', 'channel', 'network'])

/** What of the query makes the screen: another language must not ask for money again that the payer says is sent. */
function screenQuery({ query }: Visit): string {
  const kept = new URLSearchParams(Object.entries(query).filter(([name]) => SCREEN_QUERY.has(name)))
  return kept.size === 0 ? '' : `?${kept}`
}

/** The way back, if the merchant still allows it; the list may have changed since the payment was made. */
async function returnUrlOf(app: PaymentsApp, payment: PaymentRow): Promise<string | null> {
  const { redirectUrl, reference, status } = payment
  if (redirectUrl === null) return null
  const profile = await app.merchantProfile(payment.merchantId)
  if (!isAllowedReturn(profile, redirectUrl, app.settings.mode)) return null
  return returnAddress(redirectUrl, reference, status)
}
