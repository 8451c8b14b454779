// Errors below /app and /ops that no screen answers, such as an unknown address, in the frame of the area.

import { html } from '../kit/http/html.ts'
import type { ErrorPage, PageResponse } from '../kit/http/route.ts'
import type { DashboardApp, OpsApp } from './app.ts'
import { showEntryPage, textsOf } from './frame/entry-page.ts'
import {
  describeError,
  errorBody,
  hasMerchant,
  type Insider,
  memberInside,
  operatorInside,
  showInside,
} from './frame/inside.ts'
import { languageCookie, readPrincipal } from './frame/request.ts'
import { isDashboardLanguage } from './frame/texts.ts'

interface Areas {
  app: DashboardApp
  ops: OpsApp
}

type Input = Parameters<ErrorPage>[0]

/** `otherwise` is the page of all other addresses. */
export function dashboardErrorPage({ app, ops }: Areas, otherwise: ErrorPage): ErrorPage {
  return async (input) => {
    if (isBelow(app, input)) return inLanguage(input, (own) => show(app, own, () => findMember(app, own)))
    if (isBelow(ops, input)) return inLanguage(input, (own) => show(ops, own, () => findOperator(ops, own)))
    return otherwise(input)
  }
}

function isBelow({ area }: Areas['app' | 'ops'], { path }: Input): boolean {
  return path === area.path || path.startsWith(`${area.path}/`)
}

/** There is no page that could redirect after a link of a language, so this one has the language already. */
async function inLanguage(
  input: Input,
  render: (input: Input) => Promise<PageResponse>,
): Promise<PageResponse> {
  const { lang, ...query } = input.query
  if (!isDashboardLanguage(lang)) return render(input)
  const cookie = languageCookie(lang)
  const page = await render({ ...input, query, cookies: { ...input.cookies, [cookie.name]: lang } })
  return { ...page, cookies: [cookie] }
}

async function show(
  app: Areas['app' | 'ops'],
  input: Input,
  find: () => Promise<Insider | undefined>,
): Promise<PageResponse> {
  // If we fail, the database may be the cause.
  const insider = input.http < 500 ? await find() : undefined
  const texts = insider?.texts ?? textsOf(input)
  const shown = describeError(texts, input.apiError, input.requestId)
  if (insider) return showInside(app, input, insider, { ...shown, body: errorBody(texts, shown, app.area) })
  const body = html`<p><a href="${app.area.path}">${texts.t('goHome')}</a></p>`
  return showEntryPage(app, input, { title: shown.title, texts, body, refusal: shown })
}

async function findMember(app: DashboardApp, input: Input): Promise<Insider | undefined> {
  const principal = await readPrincipal(app, input)
  return principal && hasMerchant(principal) ? memberInside(app, input, principal) : undefined
}

async function findOperator(ops: OpsApp, input: Input): Promise<Insider | undefined> {
  const principal = await readPrincipal(ops, input)
  return principal && operatorInside(ops, input, principal)
}
