// The address of a link: a form, and the payment that it begins.

import { Refusal } from '../../core/errors.ts'
import { base62 } from '../../core/ids.ts'
import type { PageAnswer, PageRoute } from '../../kit/route.ts'
import type { LinksApp } from '../../links/app.ts'
import { openLink, payAtLink } from '../../links/pay.ts'
import { openAccessCode } from '../../payments/views.ts'
import { paletteOf } from '../accent.ts'
import { createActionLimit } from '../action-limit.ts'
import { chooseLanguage, languageCookies, rememberedLanguages } from '../language.ts'
import { renderPage } from '../layout.ts'
import { speechOf } from '../speech.ts'
import type { Visit } from '../visit.ts'
import { isLanguage } from '../words.ts'
import { forgetTyped, type Problem, problemAnswer, readForm, readPayer } from './form.ts'
import { type LinkFacts, linkScreen } from './screens.ts'

export function linkPageRoutes(app: LinksApp): PageRoute[] {
  const limits = {
    // A whole congregation may press at once, and a machine that tries e-mails is slower than it likes.
    perLink: createActionLimit(app, 600),
    perPayer: createActionLimit(app, 20),
  }
  return [
    { method: 'GET', path: '/l/{slug}', handle: async (visit) => show(app, visit) },
    { method: 'POST', path: '/l/{slug}', handle: (visit) => begin(app, visit, limits) },
  ]
}

function pathOf({ params }: Visit): string {
  return `/l/${encodeURIComponent(params.slug ?? '')}`
}

async function show(app: LinksApp, visit: Visit): Promise<PageAnswer> {
  const facts = await factsOf(app, visit)
  const { merchant, speech, path } = facts
  const { http, title, body } = linkScreen(facts)
  return {
    http,
    html: renderPage({
      title,
      speech,
      styleNonce: visit.styleNonce,
      isTest: app.settings.mode === 'test',
      palette: paletteOf(merchant.accentColor),
      merchant,
      languageLinks: `${path}${problemQuery(facts.form.problems)}`,
      hasScript: true,
      body,
    }),
    cookies: isLanguage(visit.query.lang) ? languageCookies(visit.query.lang, path) : [],
  }
}

/** Another language must not lose what has to be corrected. */
function problemQuery(problems: readonly Problem[]): string {
  return problems.length === 0 ? '' : `?problem=${problems.join('.')}`
}

const TOKEN_BYTES = 16
const TOKEN_CHARACTERS = 22

async function factsOf(app: LinksApp, visit: Visit): Promise<LinkFacts> {
  const opened = await openLink(app, visit.params.slug ?? '')
  const { country, merchantId } = opened.link
  const merchant = await app.merchantProfile(merchantId)
  const { chosen, last } = rememberedLanguages(visit.cookies)
  const language = chooseLanguage({
    chosen: isLanguage(visit.query.lang) ? visit.query.lang : chosen,
    merchant: merchant.locale,
    last,
    accept: visit.headers['accept-language'],
    country,
  })
  return {
    ...opened,
    merchant,
    speech: speechOf(language, country),
    path: pathOf(visit),
    form: readForm(visit.query, visit.cookies),
    formToken: base62(app.random.bytes(TOKEN_BYTES), TOKEN_CHARACTERS),
  }
}

interface Limits {
  perLink: (owner: string) => void
  perPayer: (owner: string) => void
}

async function begin(app: LinksApp, visit: Visit, limits: Limits): Promise<PageAnswer> {
  const { link, state } = await openLink(app, visit.params.slug ?? '')
  const path = pathOf(visit)
  limits.perLink(link.id)
  // The page says why.
  if (state !== 'active') return { http: 303, redirectTo: path }
  const payer = readPayer(link, visit.form)
  if (Array.isArray(payer)) return problemAnswer(path, visit.form, payer)
  limits.perPayer(`${link.id} ${payer.email.toLowerCase()}`)
  try {
    const payment = await payAtLink(app, link, { ...payer, formToken: visit.form.token ?? '' })
    const accessCode = payment && openAccessCode(app, payment)
    // What this form began has ended since, so the next one is another payment.
    if (!accessCode) return { http: 303, redirectTo: path, cookies: [forgetTyped(path)] }
    return { http: 303, redirectTo: checkoutPath(accessCode, visit), cookies: [forgetTyped(path)] }
  } catch (error) {
    const problem = error instanceof Refusal ? PROBLEM_OF[error.code] : undefined
    if (!problem) throw error
    return problemAnswer(path, visit.form, [problem])
  }
}

const PROBLEM_OF: Readonly<Record<string, Problem>> = {
  customer_blocked: 'refused',
  no_route_available: 'closed',
}

/** Who has chosen a language here goes on in it. */
function checkoutPath(accessCode: string, { cookies }: Visit): string {
  const { chosen } = rememberedLanguages(cookies)
  return `/pay/${accessCode}${isLanguage(chosen) ? `?lang=${chosen}` : ''}`
}
