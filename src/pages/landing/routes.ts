// The landing page. In staging a visitor can pay a test payment at the test shop, and sees this one payment and its
// events. The page of the payment has an unguessable token; the form needs the visitor's cookie, which browsers do not send
// with forms of other sites.

import { base62 } from '../../core/ids.ts'
import type { Merchant } from '../../core/merchant.ts'
import type { PageResponse, PageRoute } from '../../kit/http/route.ts'
import { isOpen } from '../../payments/states.ts'
import { openAccessCode } from '../../payments/views.ts'
import type { SandboxApiApp } from '../../sandbox-api/service.ts'
import {
  payTestPayment,
  requireTestPayment,
  startTestPayment,
  type TestPayment,
} from '../../sandbox-api/test-payment.ts'
import { createActionLimit } from '../action-limit.ts'
import type { PageRequest } from '../page-request.ts'
import { createLandingPage, TEST_PAYMENTS } from './page.ts'
import { fingerprintOf, testPaymentPage } from './test-payment-page.ts'

export function landingRoutes(app: SandboxApiApp, testShop: Merchant | null): PageRoute[] {
  const landingPage = createLandingPage()
  return [
    { method: 'GET', path: '/', handle: async (request) => showLanding(app, testShop, request, landingPage) },
    ...(testShop ? testPaymentRoutes(app, testShop) : []),
  ]
}

const VISITOR = 'cowry_visitor'
const VISITOR_SECONDS = 86_400
const TOKEN_BYTES = 16
const TOKEN_CHARACTERS = 22
const TOKEN = /^[0-9A-Za-z]{22}$/

function newToken({ random }: SandboxApiApp): string {
  return base62(random.bytes(TOKEN_BYTES), TOKEN_CHARACTERS)
}

/** Undefined for a visitor without a cookie. */
function visitorOf({ cookies }: PageRequest): string | undefined {
  const visitor = cookies[VISITOR] ?? ''
  return TOKEN.test(visitor) ? visitor : undefined
}

function showLanding(
  app: SandboxApiApp,
  testShop: Merchant | null,
  request: PageRequest,
  landingPage: ReturnType<typeof createLandingPage>,
): PageResponse {
  const publicUrl = app.settings.publicUrl()
  const { styleNonce } = request
  if (!testShop) return { http: 200, html: landingPage({ publicUrl, styleNonce, form: null }) }
  const visitor = visitorOf(request) ?? newToken(app)
  const form = {
    visitor,
    token: newToken(app),
    isRejected: request.query.problem === 'cookie',
  }
  return {
    http: 200,
    html: landingPage({ publicUrl, styleNonce, form }),
    cookies: [{ name: VISITOR, value: visitor, path: '/', maxAgeSeconds: VISITOR_SECONDS }],
  }
}

// A visitor who looks around starts a few. Each payment stays in the database.
const PER_VISITOR = 10
// Against many addresses at once.
const PER_PROCESS = 120

function testPaymentRoutes(app: SandboxApiApp, merchant: Merchant): PageRoute[] {
  const limitVisitor = createActionLimit(app, PER_VISITOR)
  const limitAll = createActionLimit(app, PER_PROCESS)
  return [
    {
      method: 'POST',
      path: TEST_PAYMENTS,
      handle: async (request) => {
        const { visitor, token = '', pay } = request.form
        if (visitor === undefined || visitor !== visitorOf(request) || !TOKEN.test(token))
          return { http: 303, redirectTo: '/?problem=cookie' }
        limitVisitor(request.visitor)
        limitAll('all')
        return startPayment(app, merchant, { token, isOneClick: pay !== 'checkout' })
      },
    },
    // A reload or a shared URL of the form.
    { method: 'GET', path: TEST_PAYMENTS, handle: async () => ({ http: 303, redirectTo: '/' }) },
    {
      method: 'GET',
      path: `${TEST_PAYMENTS}/{token}`,
      handle: async (request) => {
        const found = await requireTestPayment(app, merchant, request.params.token ?? '')
        return { http: 200, html: testPaymentPage(viewOf(app, found, request)) }
      },
    },
    {
      method: 'GET',
      path: `${TEST_PAYMENTS}/{token}/status`,
      handle: async (request) => {
        const shown = fingerprintOf(await requireTestPayment(app, merchant, request.params.token ?? ''))
        const body = JSON.stringify({ shown })
        return { http: 200, content: { type: 'application/json; charset=utf-8', body } }
      },
    },
  ]
}

/** With one click the payment is paid by a test card; otherwise, and where the sandbox cannot do that, the checkout opens. */
async function startPayment(
  app: SandboxApiApp,
  merchant: Merchant,
  { token, isOneClick }: { token: string; isOneClick: boolean },
): Promise<PageResponse> {
  const path = `${TEST_PAYMENTS}/${token}`
  const started = await startTestPayment(app, merchant, {
    token,
    redirectUrl: `${app.settings.publicUrl()}${path}`,
  })
  const payment = isOneClick ? await payTestPayment(app, merchant, started) : started
  // If the outcome of the test card is not known yet, the page of the payment waits for it.
  const accessCode = payment.status === 'pending' ? openAccessCode(app, payment) : null
  return { http: 303, redirectTo: accessCode === null ? path : `/pay/${accessCode}` }
}

function viewOf(app: SandboxApiApp, found: TestPayment, { params, styleNonce }: PageRequest) {
  const accessCode = isOpen(found.payment.status) ? openAccessCode(app, found.payment) : null
  return {
    ...found,
    styleNonce,
    path: `${TEST_PAYMENTS}/${params.token ?? ''}`,
    checkoutPath: accessCode && `/pay/${accessCode}`,
  }
}
