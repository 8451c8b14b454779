// The routes of the provider's pages. Every step is a form, a 303 and a page, so no JavaScript is needed, and a reload
// always shows the current state of the payment.

import { approvalPage, CARD_NAMES, expiredPage, type FormPage, notFoundPage, payPage } from './page.ts'
import { approveOnPage, cancelOnPage, type ProviderNeeds, payOnPage, readByPage } from './provider.ts'
import type { SandboxRecord } from './record.ts'
import type { ProviderRoute, Reply, RouteRequest } from './router.ts'

export interface PageNeeds extends ProviderNeeds {
  readonly pagesUrl: string
}

const PAY_PATH = /^\/pay\/(\w+)$/
const APPROVAL_PATH = /^\/pay\/(\w+)\/approval$/

export function pageRoutes(app: PageNeeds): ProviderRoute[] {
  return [
    { method: 'GET', path: PAY_PATH, handle: (request) => renderPage(app, 'open', request) },
    { method: 'POST', path: PAY_PATH, handle: (request) => handlePay(app, request) },
    { method: 'GET', path: APPROVAL_PATH, handle: (request) => renderPage(app, 'authenticating', request) },
    { method: 'POST', path: APPROVAL_PATH, handle: (request) => handleApproval(app, request) },
    // Payers also open truncated or mistyped links, so they get a page too.
    { method: 'GET', path: /^\/pay(?:\/.*)?$/, handle: async () => notFoundPage() },
  ]
}

/** The states in which a page has a form. */
const FORM_PAGES = { open: payPage, authenticating: approvalPage } as const
type FormStatus = keyof typeof FORM_PAGES

/** The requested page if the payment is in that state; otherwise a redirect to the page of its state. */
async function renderPage(app: PageNeeds, expected: FormStatus, request: RouteRequest): Promise<Reply> {
  const record = await readByPage(app, tokenOf(request))
  if (record && isExpired(record)) return expiredPage(record)
  if (record?.status !== expected) return redirectToCurrentPage(app, record)
  const formPage: FormPage = { action: currentUrl(app, record), hasError: request.query.has('problem') }
  return FORM_PAGES[expected](record, formPage)
}

async function handlePay(app: PageNeeds, request: RouteRequest): Promise<Reply> {
  const token = tokenOf(request)
  const form = new URLSearchParams(request.text)
  const action = form.get('action')
  const card = CARD_NAMES.find((name) => name === form.get('instrument'))
  if (action === 'cancel') return redirectToCurrentPage(app, await cancelOnPage(app, token))
  if (action === 'pay' && card) return redirectToCurrentPage(app, await payOnPage(app, token, card))
  return redirectWithError(app, 'open', token)
}

async function handleApproval(app: PageNeeds, request: RouteRequest): Promise<Reply> {
  const token = tokenOf(request)
  const action = new URLSearchParams(request.text).get('action')
  if (action === 'approve') return redirectToCurrentPage(app, await approveOnPage(app, token, true))
  if (action === 'refuse') return redirectToCurrentPage(app, await approveOnPage(app, token, false))
  return redirectWithError(app, 'authenticating', token)
}

/** The form does not offer this answer: nothing changes, and the page shows an error. */
async function redirectWithError(app: PageNeeds, expected: FormStatus, token: string): Promise<Reply> {
  const record = await readByPage(app, token)
  if (record?.status !== expected) return redirectToCurrentPage(app, record)
  return { kind: 'redirect', url: `${currentUrl(app, record)}?problem=choice` }
}

function redirectToCurrentPage(app: PageNeeds, record: SandboxRecord | undefined): Reply {
  return record?.checkout ? { kind: 'redirect', url: currentUrl(app, record) } : notFoundPage()
}

const tokenOf = ({ params: [token = ''] }: RouteRequest): string => token

/**
 * The payer did not act in time. After paying, refusing or cancelling, the payer is redirected at once, because the
 * shop's page shows the result. A payer who is too late first sees a page that says so.
 */
function isExpired({ declineCode }: SandboxRecord): boolean {
  return declineCode === 'customer_timeout'
}

/** The URL for the payment's state. */
function currentUrl(app: PageNeeds, record: SandboxRecord): string {
  const { pageToken = '', returnUrl = '' } = record.checkout ?? {}
  switch (record.status) {
    case 'open':
      return `${app.pagesUrl}/${pageToken}`
    case 'authenticating':
      return `${app.pagesUrl}/${pageToken}/approval`
    case 'pending':
    case 'on_hold':
    case 'succeeded':
      return returnUrl
    case 'declined':
      return isExpired(record) ? `${app.pagesUrl}/${pageToken}` : returnUrl
  }
}
