import type { Channel, CheckoutChoice } from '../gateways/gateway.ts'
import type { PageAnswer, PageRoute } from '../kit/route.ts'
import {
  type CheckoutView,
  cancelCheckout,
  channelsOf,
  giveUpAttempt,
  type PaymentRow,
  type PaymentsApp,
  refreshCheckout,
  requireCheckout,
  startAttempt,
} from '../payments/service.ts'
import {
  type CheckoutFacts,
  checkoutScreen,
  continueScreen,
  type Screen,
  shownState,
} from './checkout-page.ts'
import { CHECKOUT_SCRIPT } from './checkout-script.ts'
import { landingScreen } from './landing-page.ts'
import { renderPage } from './layout.ts'
import { returnAddress } from './return-address.ts'

export function pageRoutes(app: PaymentsApp): PageRoute[] {
  return [
    { method: 'GET', path: '/', handle: async ({ styleNonce }) => show(app, landingScreen(app), styleNonce) },
    { method: 'GET', path: '/assets/checkout.js', handle: async () => CHECKOUT_SCRIPT_ANSWER },
    {
      method: 'GET',
      path: '/pay/{accessCode}',
      handle: async ({ params, styleNonce }) => showCheckout(app, params, styleNonce),
    },
    {
      method: 'GET',
      path: '/pay/{accessCode}/continue',
      handle: async ({ params, styleNonce }) => {
        const { attempt } = await open(app, params)
        const step = attempt?.status === 'awaiting_customer' ? attempt.nextStep : null
        if (step?.kind !== 'redirect') return backToCheckout(params)
        return show(app, continueScreen(step.url), styleNonce)
      },
    },
    {
      method: 'GET',
      path: '/pay/{accessCode}/return',
      handle: async ({ params }) => {
        await refreshCheckout(app, await open(app, params), 'return')
        return backToCheckout(params)
      },
    },
    {
      method: 'GET',
      path: '/pay/{accessCode}/status',
      handle: async ({ params }) => {
        const view = await open(app, params)
        const body = JSON.stringify({ status: view.payment.status, shown: shownState(view) })
        return { http: 200, content: { type: 'application/json; charset=utf-8', body } }
      },
    },
    ...formRoutes(app),
  ]
}

/** Every step of the payer is a form: POST, 303, GET. */
function formRoutes(app: PaymentsApp): PageRoute[] {
  return [
    {
      method: 'POST',
      path: '/pay/{accessCode}/attempts',
      handle: async ({ params, form }) => {
        const view = await open(app, params)
        if (view.payment.status !== 'pending') return backToCheckout(params)
        const choice = readChoice(app, view.payment, form.choice ?? '')
        if (!choice) return backToCheckout(params)
        const { attempt } = await startAttempt(app, view, choice)
        const isRedirect = attempt?.status === 'awaiting_customer' && attempt.nextStep?.kind === 'redirect'
        return backToCheckout(params, isRedirect ? '/continue' : '')
      },
    },
    {
      method: 'POST',
      path: '/pay/{accessCode}/check',
      handle: async ({ params }) => {
        await refreshCheckout(app, await open(app, params), 'checkout')
        return backToCheckout(params)
      },
    },
    {
      method: 'POST',
      path: '/pay/{accessCode}/other',
      handle: async ({ params }) => {
        await giveUpAttempt(app, await open(app, params))
        return backToCheckout(params)
      },
    },
    {
      method: 'POST',
      path: '/pay/{accessCode}/cancel',
      handle: async ({ params }) => {
        const { payment } = await cancelCheckout(app, await open(app, params))
        const returnUrl = payment.status === 'abandoned' ? returnUrlOf(payment) : null
        return returnUrl === null ? backToCheckout(params) : { http: 303, redirectTo: returnUrl }
      },
    },
  ]
}

const CHECKOUT_SCRIPT_ANSWER: PageAnswer = {
  http: 200,
  content: { type: 'text/javascript; charset=utf-8', body: CHECKOUT_SCRIPT },
}

type Params = Record<string, string>

const open = (app: PaymentsApp, params: Params): Promise<CheckoutView> =>
  requireCheckout(app, params.accessCode ?? '')

function backToCheckout(params: Params, where = ''): PageAnswer {
  return { http: 303, redirectTo: `/pay/${encodeURIComponent(params.accessCode ?? '')}${where}` }
}

async function showCheckout(app: PaymentsApp, params: Params, styleNonce: string): Promise<PageAnswer> {
  const { payment, attempt } = await open(app, params)
  const gateway = app.gateways.all().find((one) => one.name === payment.gateway)
  const facts: CheckoutFacts = {
    payment,
    attempt,
    merchantName: (await app.merchantProfile(payment.merchantId)).name,
    channels: channelsOf(app, payment),
    instruments: gateway?.instruments ?? [],
    path: `/pay/${encodeURIComponent(params.accessCode ?? '')}`,
    returnUrl: returnUrlOf(payment),
  }
  const formActions = payment.redirectUrl === null ? [] : [new URL(payment.redirectUrl).origin]
  return show(app, checkoutScreen(facts), styleNonce, formActions)
}

function show(app: PaymentsApp, screen: Screen, styleNonce: string, formActions: string[] = []): PageAnswer {
  return {
    http: 200,
    formActions,
    html: renderPage({ ...screen, styleNonce, isTest: app.settings.mode === 'test' }),
  }
}

function returnUrlOf(payment: PaymentRow): string | null {
  return payment.redirectUrl === null
    ? null
    : returnAddress(payment.redirectUrl, payment.reference, payment.status)
}

/**
 * The chosen way to pay, as the page offers it: a channel, and with a sandbox the instrument to play. Undefined for
 * anything else, and then the page is shown again.
 */
function readChoice(app: PaymentsApp, payment: PaymentRow, text: string): CheckoutChoice | undefined {
  const [name = '', instrument] = text.split(':')
  const channel = channelsOf(app, payment).find((one) => one === name)
  if (!channel) return undefined
  if (instrument !== undefined && !isOffered(app, payment, channel, instrument)) return undefined
  return { channel, instrument }
}

function isOffered(app: PaymentsApp, payment: PaymentRow, channel: Channel, instrument: string): boolean {
  const { instruments = [] } = app.gateways.get(payment.gateway)
  return instruments.some((one) => one.name === instrument && one.channel === channel)
}
