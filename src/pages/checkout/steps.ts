// The actions of a payer: each is a form that is posted, a 303, and a page again.

import { findOffer } from '../../checkout/offer.ts'
import {
  cancelAttempt,
  cancelCheckout,
  extendCheckout,
  markPayerSent,
  refreshCheckout,
  resumeCheckout,
} from '../../checkout/payer-actions.ts'
import { startAttempt } from '../../checkout/start-attempt.ts'
import type { CheckoutView } from '../../checkout/view.ts'
import { readConsent } from '../../consents/consent.ts'
import { ApiError } from '../../core/errors.ts'
import { isLanguage } from '../../core/languages.ts'
import type { CheckoutChoice } from '../../gateways/gateway.ts'
import type { PageResponse, PageRoute } from '../../kit/http/route.ts'
import { markSent } from '../../p2p/transfers.ts'
import type { PaymentsApp } from '../../payments/app.ts'
import { payWithSavedMethod } from '../../returning-payers/start.ts'
import { createActionLimit } from '../action-limit.ts'
import { loadCheckout, type PageRequest, pathOf } from '../page-request.ts'
import { screenOf } from './facts.ts'
import { readChoice, redirectWithProblem, typedCookies } from './form.ts'
import { createPromptLimit, type PromptLimit } from './prompt-limit.ts'
import { readSavedMethod } from './saved-options.ts'

/**
 * The page that sends a payer who has cancelled back to the merchant. A redirect of the form itself would need the
 * merchant's origin in form-action, and every origin to which the merchant's site redirects.
 */
export const LEAVE = '/leave'

type Step = (
  app: PaymentsApp,
  view: CheckoutView,
  request: PageRequest,
  limitPrompts: PromptLimit,
) => Promise<PageResponse>

const STEPS: Readonly<Record<string, Step>> = {
  attempts: startPayment,
  check: async (app, view, request) => {
    await refreshCheckout(app, view, 'checkout')
    return redirectToCheckout(request)
  },
  sent: async (app, view, request) => {
    if (!(await markSent(app, view))) await markPayerSent(app, view)
    await refreshCheckout(app, view, 'checkout')
    return redirectToCheckout(request)
  },
  extend: async (app, view, request) => {
    await extendCheckout(app, view)
    return redirectToCheckout(request)
  },
  other: async (app, view, request) => {
    if (!isStale(view, request)) await cancelAttempt(app, view)
    return redirectToCheckout(request)
  },
  resume: async (app, view, request) => {
    await resumeCheckout(app, view)
    return redirectToCheckout(request)
  },
  cancel: async (app, view, request) => {
    if (isStale(view, request)) return redirectToCheckout(request)
    const { isCancelled } = await cancelCheckout(app, view)
    return redirectToCheckout(request, isCancelled ? LEAVE : '')
  },
}

// Five attempts, each with a mistake and a status check, twice over; no payer reaches it.
const ACTIONS_PER_MINUTE = 20

export function stepRoutes(app: PaymentsApp): PageRoute[] {
  const limit = createActionLimit(app, ACTIONS_PER_MINUTE)
  const limitPrompts = createPromptLimit(app)
  return Object.entries(STEPS).flatMap(([name, step]): PageRoute[] => [
    {
      method: 'POST',
      path: `/pay/{accessCode}/${name}`,
      handle: async (request) => {
        const view = await loadCheckout(app, request)
        limit(view.payment.id)
        return step(app, view, request, limitPrompts)
      },
    },
    // A reload or a shared URL of an action redirects to its page.
    {
      method: 'GET',
      path: `/pay/{accessCode}/${name}`,
      handle: async (request) => redirectToCheckout(request),
    },
  ])
}

const SHOWN_BY_PAGE: ReadonlySet<string> = new Set([
  'invalid_state',
  'merchant_suspended',
  'payment_link_busy',
  'payment_link_ended',
])

async function startPayment(
  app: PaymentsApp,
  view: CheckoutView,
  request: PageRequest,
  limitPrompts: PromptLimit,
): Promise<PageResponse> {
  const now = app.clock.now()
  // A payer who submits the form in another tab pays after all.
  const screen = screenOf({ ...view, now })
  if (screen !== 'open' && screen !== 'cancelled_open') return redirectToCheckout(request)
  const savedMethodId = readSavedMethod(request.form)
  const choice = savedMethodId ?? readChoice(await findOffer(app, view.payment), request.form)
  if (typeof choice !== 'string' && 'kind' in choice)
    return redirectWithProblem(pathOf(request), request.form, choice)
  const phone = typeof choice !== 'string' && choice.channel === 'mobile_money' ? choice.phone : undefined
  const { payment } = view
  const until = phone && (await limitPrompts({ payment, visitor: request.visitor, phone }))
  if (until) return redirectWithProblem(pathOf(request), request.form, { kind: 'visitor', until })
  try {
    const started =
      typeof choice === 'string'
        ? await payWithSavedMethod(app, view, choice)
        : await startAttempt(app, view, await withConsent(app, view, choice, request))
    const next = redirectToCheckout(request, redirectOf(started) ? '/continue' : '')
    return { ...next, cookies: typedCookies(pathOf(request), request.form) }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    // The payment changed meanwhile, it expired, or its link has no free slot: the page shows its state.
    if (SHOWN_BY_PAGE.has(error.code)) return redirectToCheckout(request)
    // The method was revoked meanwhile, or was never offered on this page.
    if (error.code === 'payment_method_not_found')
      return redirectWithProblem(pathOf(request), request.form, { kind: 'choice' })
    if (error.code === 'customer_blocked')
      return redirectWithProblem(pathOf(request), request.form, { kind: 'refused' })
    if (error.code !== 'rate_limited' && error.code !== 'phone_busy') throw error
    const waitMs = (error.retryAfterSeconds ?? 60) * 1_000
    return redirectWithProblem(pathOf(request), request.form, {
      kind: error.code === 'phone_busy' ? 'busy' : 'wait',
      until: new Date(now.getTime() + waitMs),
    })
  }
}

/** Cards and mobile money numbers are saved, with the consent that the payer gave in this form. */
async function withConsent(
  app: PaymentsApp,
  { payment }: CheckoutView,
  choice: CheckoutChoice,
  { form }: PageRequest,
): Promise<CheckoutChoice> {
  const { channel: saved } = choice
  if (saved !== 'card' && saved !== 'mobile_money') return { ...choice, consent: null }
  const [shown, ticked] = saved === 'card' ? [form.consent, form.save] : [form.numberConsent, form.saveNumber]
  const consent = await readConsent(app, payment, {
    saved,
    seen: shown === 'notice' || shown === 'checkbox' ? shown : undefined,
    isTicked: ticked === 'yes',
    language: isLanguage(form.language) ? form.language : 'en',
    source: payment.linkId === null ? 'checkout' : 'payment_link',
  })
  return { ...choice, consent }
}

/** The URL where the payer must act, while the payment is open; never after it has ended. */
export function redirectOf({ payment, attempt }: Pick<CheckoutView, 'payment' | 'attempt'>) {
  const isExpected = payment.status === 'processing' && attempt?.status === 'awaiting_customer'
  const step = isExpected ? attempt.nextStep : null
  return step?.kind === 'redirect' ? step : null
}

/** The form belongs to an attempt that is no longer current, because another tab has continued. */
function isStale({ payment }: CheckoutView, { form }: PageRequest): boolean {
  return form.attempt !== undefined && form.attempt !== String(payment.attemptsUsed)
}

export function redirectToCheckout(request: PageRequest, where = ''): PageResponse {
  return { http: 303, redirectTo: `${pathOf(request)}${where}` }
}
