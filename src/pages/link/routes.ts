// The routes of a payment link: the form, and the payment that it creates.

import { ApiError } from '../../core/errors.ts'
import { base62 } from '../../core/ids.ts'
import { isLanguage } from '../../core/languages.ts'
import { paletteOf } from '../../kit/http/accent.ts'
import type { PageResponse, PageRoute } from '../../kit/http/route.ts'
import type { LinksApp } from '../../links/app.ts'
import { openLink, startLinkPayment } from '../../links/pay.ts'
import { openAccessCode } from '../../payments/views.ts'
import { chooseLanguage, languageCookies, languagesFromCookies } from '../language.ts'
import { renderPage } from '../layout.ts'
import type { PageRequest } from '../page-request.ts'
import { translatorFor } from '../translator.ts'
import { clearTypedCookie, type Problem, readForm, readPayer, redirectWithProblem } from './form.ts'
import { createFormLimits, type FormLimits } from './limits.ts'
import { type LinkFacts, linkScreen } from './screens.ts'

export function linkPageRoutes(app: LinksApp): PageRoute[] {
  const limits = createFormLimits(app)
  return [
    { method: 'GET', path: '/l/{slug}', handle: async (request) => show(app, request) },
    { method: 'POST', path: '/l/{slug}', handle: (request) => startPayment(app, request, limits) },
  ]
}

function pathOf({ params }: PageRequest): string {
  return `/l/${encodeURIComponent(params.slug ?? '')}`
}

async function show(app: LinksApp, request: PageRequest): Promise<PageResponse> {
  const facts = await factsOf(app, request)
  const { merchant, translator, path } = facts
  const { http, title, body } = linkScreen(facts)
  return {
    http,
    html: renderPage({
      title,
      translator,
      styleNonce: request.styleNonce,
      isTest: app.settings.mode === 'test',
      palette: paletteOf(merchant.accentColor),
      merchant,
      languageLinks: `${path}${problemQuery(facts.form.problems)}`,
      hasScript: true,
      body,
    }),
    cookies: isLanguage(request.query.lang) ? languageCookies(request.query.lang, path) : [],
  }
}

/** A change of language must keep the problems. */
function problemQuery(problems: readonly Problem[]): string {
  return problems.length === 0 ? '' : `?problem=${problems.join('.')}`
}

const TOKEN_BYTES = 16
const TOKEN_CHARACTERS = 22

async function factsOf(app: LinksApp, request: PageRequest): Promise<LinkFacts> {
  const opened = await openLink(app, request.params.slug ?? '')
  const { country, merchantId } = opened.link
  const merchant = await app.merchantProfile(merchantId)
  const { chosen, last } = languagesFromCookies(request.cookies)
  const language = chooseLanguage({
    chosen: isLanguage(request.query.lang) ? request.query.lang : chosen,
    merchant: merchant.locale,
    last,
    accept: request.headers['accept-language'],
    country,
  })
  return {
    ...opened,
    merchant,
    translator: translatorFor(language, country),
    path: pathOf(request),
    form: readForm(request.query, request.cookies),
    formToken: base62(app.random.bytes(TOKEN_BYTES), TOKEN_CHARACTERS),
  }
}

async function startPayment(app: LinksApp, request: PageRequest, limits: FormLimits): Promise<PageResponse> {
  const opened = await openLink(app, request.params.slug ?? '')
  const { link, state } = opened
  const path = pathOf(request)
  // The page shows the reason.
  if (state !== 'active') return { http: 303, redirectTo: path }
  const payer = readPayer(opened, request.form)
  if (Array.isArray(payer)) return redirectWithProblem(path, request.form, payer)
  limits({ linkId: link.id, visitor: request.visitor, email: payer.email })
  try {
    const payment = await startLinkPayment(app, link, { ...payer, formToken: request.form.token ?? '' })
    const accessCode = payment && openAccessCode(app, payment)
    // The payment of this form has ended since, so the next one is a new payment.
    if (!accessCode) return { http: 303, redirectTo: path, cookies: [clearTypedCookie(path)] }
    return { http: 303, redirectTo: checkoutPath(accessCode, request), cookies: [clearTypedCookie(path)] }
  } catch (error) {
    const problem = error instanceof ApiError ? PROBLEM_OF[error.code] : undefined
    if (!problem) throw error
    return redirectWithProblem(path, request.form, [problem])
  }
}

const PROBLEM_OF: Readonly<Record<string, Problem>> = {
  customer_blocked: 'refused',
  no_route_available: 'closed',
}

/** Keeps the language that the payer chose here. */
function checkoutPath(accessCode: string, { cookies }: PageRequest): string {
  const { chosen } = languagesFromCookies(cookies)
  return `/pay/${accessCode}${isLanguage(chosen) ? `?lang=${chosen}` : ''}`
}
