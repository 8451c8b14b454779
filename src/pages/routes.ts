// The page routes. Every action of the payer is a form: POST, 303, GET.

import { findOffer } from '../checkout/offer.ts'
import { canCancelAttempt, refreshCheckout } from '../checkout/payer-actions.ts'
import { consentFormFor } from '../consents/consent.ts'
import { ApiError } from '../core/errors.ts'
import { isUuid } from '../core/ids.ts'
import { isLanguage } from '../core/languages.ts'
import { readTimeZone } from '../core/text/display-time.ts'
import type { MethodRow } from '../customers/method.ts'
import { displayLabel } from '../customers/schema.ts'
import { findSavedMethod } from '../customers/service.ts'
import { html } from '../kit/http/html.ts'
import type { PageResponse, PageRoute } from '../kit/http/route.ts'
import type { LinksApp } from '../links/app.ts'
import { checkSlot } from '../links/slots.ts'
import type { Capacity, PaymentsApp } from '../payments/app.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { listOfferedMethods } from '../returning-payers/offered-methods.ts'
import { SCRIPT } from './assets.ts'
import type { Screen } from './checkout/components.ts'
import { receiptScreen, returnsAutomatically } from './checkout/end-screens.ts'
import { type CheckoutFacts, screenFingerprint } from './checkout/facts.ts'
import { networkOfPhone, readFormState } from './checkout/form.ts'
import { checkoutScreen, renderCheckout } from './checkout/page.ts'
import { LEAVE, redirectOf, redirectToCheckout, stepRoutes } from './checkout/steps.ts'
import { continueScreen } from './checkout/waiting-screens.ts'
import { chooseLanguage, languageCookies, languagesFromCookies } from './language.ts'
import { linkPageRoutes } from './link/routes.ts'
import { loadCheckout, type PageRequest, pathOf, returnUrlOf, transferOf } from './page-request.ts'
import { translatorFor } from './translator.ts'

export function pageRoutes(app: LinksApp): PageRoute[] {
  return [
    { method: 'GET', path: SCRIPT.path, handle: async () => SCRIPT_ANSWER },
    { method: 'GET', path: '/assets/logos/{merchant}/{digest}', handle: (request) => showLogo(app, request) },
    {
      method: 'GET',
      path: '/pay/{accessCode}',
      handle: async (request) => {
        const facts = await factsOf(app, request)
        return show(facts, checkoutScreen(facts), request)
      },
    },
    {
      method: 'GET',
      path: '/pay/{accessCode}/receipt',
      handle: async (request) => {
        const facts = await factsOf(app, request)
        if (facts.payment.paidAt === null) return redirectToCheckout(request)
        return show(facts, receiptScreen(facts), request, '/receipt')
      },
    },
    {
      method: 'GET',
      path: '/pay/{accessCode}/continue',
      handle: async (request) => {
        const facts = await factsOf(app, request)
        const step = redirectOf(facts)
        if (!step) return redirectToCheckout(request)
        return show(facts, continueScreen(facts, step.url), request)
      },
    },
    {
      method: 'GET',
      path: `/pay/{accessCode}${LEAVE}`,
      handle: async (request) => {
        const facts = await factsOf(app, request)
        if (!facts.isCancelled || facts.returnUrl === null) return redirectToCheckout(request)
        const head = html`<meta http-equiv="refresh" content="0;url=${facts.returnUrl}">`
        return show(facts, { ...checkoutScreen(facts), head }, request)
      },
    },
    // Providers send the payer back with a query or a form of theirs. A status check says how the payment ended.
    ...(['GET', 'POST'] as const).map((method) => ({
      method,
      path: '/pay/{accessCode}/return',
      ignoresInput: true as const,
      handle: async (request: PageRequest) => {
        await refreshCheckout(app, await loadCheckout(app, request), 'return')
        return redirectToCheckout(request)
      },
    })),
    {
      method: 'GET',
      path: '/pay/{accessCode}/status',
      handle: async (request) => {
        const view = await loadCheckout(app, request)
        const now = app.clock.now()
        const [capacity, transfer, isSuspended] = await Promise.all([
          capacityOf(app, view.payment),
          transferOf(app, view),
          isSuspendedFor(app, view.payment),
        ])
        return json({
          status: view.payment.status,
          shown: screenFingerprint({ ...view, now, capacity, transfer, isSuspended }),
        })
      },
    },
    {
      method: 'POST',
      path: '/pay/{accessCode}/network',
      handle: async (request) => {
        const { payment } = await loadCheckout(app, request)
        return json({ network: networkOfPhone(await findOffer(app, payment), request.form.phone ?? '') })
      },
    },
    ...stepRoutes(app),
    ...linkPageRoutes(app),
  ]
}

/** The URL contains the digest of the script, so that a browser requests it once. */
const SCRIPT_ANSWER: PageResponse = {
  http: 200,
  cache: 'immutable',
  content: { type: 'text/javascript; charset=utf-8', body: SCRIPT.source },
}

function json(body: unknown): PageResponse {
  return { http: 200, content: { type: 'application/json; charset=utf-8', body: JSON.stringify(body) } }
}

async function showLogo(app: PaymentsApp, { params }: PageRequest): Promise<PageResponse> {
  const { merchant = '', digest } = params
  const logo = isUuid(merchant) ? (await app.merchantProfile(merchant)).logo : null
  if (logo?.digest !== digest || !logo) throw new ApiError('route_not_found')
  return {
    http: 200,
    cache: 'immutable',
    content: { type: logo.type, body: logo.bytes },
  }
}

/** Redirects automatically once: a payer who returns with the back button stays. */
const RETURNED = 'cowry_returned'

async function factsOf(app: PaymentsApp, request: PageRequest): Promise<CheckoutFacts> {
  const view = await loadCheckout(app, request)
  const { payment } = view
  const now = app.clock.now()
  const merchant = await app.merchantProfile(payment.merchantId)
  const { chosen, last } = languagesFromCookies(request.cookies)
  const language = chooseLanguage({
    chosen: isLanguage(request.query.lang) ? request.query.lang : chosen,
    merchant: merchant.locale,
    last,
    accept: request.headers['accept-language'],
    country: payment.country,
  })
  const offer = await findOffer(app, payment)
  return {
    ...view,
    ...offer,
    consentForm: offer.savesCards ? await consentFormFor(app, payment) : null,
    numberConsentForm: offer.savesMobileMoney ? await consentFormFor(app, payment, 'mobile_money') : null,
    transfer: await transferOf(app, view),
    merchant,
    now,
    savedMethods: await savedMethodsOf(app, payment),
    methodLabel: await methodLabelOf(app, payment),
    path: pathOf(request),
    returnUrl: await returnUrlOf(app, view),
    canCancelAttempt: canCancelAttempt(view, now),
    capacity: await capacityOf(app, payment),
    isSuspended: await isSuspendedFor(app, payment),
    isTest: app.settings.mode === 'test',
    form: readFormState(offer.channels, request.query, request.cookies, now),
    autoReturns: request.cookies[RETURNED] === undefined,
    translator: translatorFor(language, payment.country, readTimeZone(request.cookies.cowry_zone)),
  }
}

/** Checks the capacity of the link before the payer submits; a payer at a gateway already has a slot. */
async function capacityOf(app: PaymentsApp, payment: PaymentRow): Promise<Capacity> {
  const needsCheck = payment.linkId !== null && payment.status === 'pending'
  return needsCheck ? checkSlot(app, payment) : 'available'
}

/** An attempt in progress may still be paid, so only a payment without one asks. */
async function isSuspendedFor(app: PaymentsApp, { status, merchantId }: PaymentRow): Promise<boolean> {
  return status === 'pending' && (await app.isSuspended(merchantId))
}

async function methodLabelOf(app: PaymentsApp, payment: PaymentRow): Promise<string | null> {
  if (payment.paymentMethodId === null) return null
  const method = await findSavedMethod(app, payment.merchantId, payment.paymentMethodId)
  return method ? displayLabel(method) : null
}

/** Only an open payment has a form to choose them. */
async function savedMethodsOf(app: PaymentsApp, payment: PaymentRow): Promise<MethodRow[]> {
  if (payment.status !== 'pending') return []
  return (await listOfferedMethods(app, payment)).map(({ method }) => method)
}

function show(facts: CheckoutFacts, screen: Screen, request: PageRequest, where = ''): PageResponse {
  const { path, translator } = facts
  const isChosen = isLanguage(request.query.lang)
  return {
    http: 200,
    html: renderCheckout(facts, screen, {
      styleNonce: request.styleNonce,
      here: `${path}${where}${screenQuery(request)}`,
    }),
    cookies: [
      ...(isChosen ? languageCookies(translator.language, path) : []),
      ...(returnsAutomatically(facts) ? [{ name: RETURNED, value: '1', path }] : []),
    ],
  }
}

const SCREEN_QUERY: ReadonlySet<string> = new Set(['problem', 'reason', 'until', 'channel', 'network'])

/** The query parameters that select the screen: a change of language must keep the form errors. */
function screenQuery({ query }: PageRequest): string {
  const kept = new URLSearchParams(Object.entries(query).filter(([name]) => SCREEN_QUERY.has(name)))
  return kept.size === 0 ? '' : `?${kept}`
}
