// Signing in and out: password, code of the authenticator app, the demo link, and the choice of a merchant.

import { withoutControls } from '../../core/text/direction.ts'
import { type Html, html } from '../../kit/http/html.ts'
import type { PageResponse, PageRoute } from '../../kit/http/route.ts'
import { accountOf } from '../../people/accounts.ts'
import { signInByDemoLink } from '../../people/demo/people.ts'
import { completeSignIn, signIn } from '../../people/sign-in.ts'
import type { AreaApp, DashboardApp } from '../app.ts'
import { signInPathOf } from '../frame/area.ts'
import { field, notice } from '../frame/components.ts'
import { cookie, cookieName } from '../frame/cookies.ts'
import {
  begin,
  entryGet,
  entryPost,
  type Refusal,
  safeNext,
  showEntryPage,
  textsOf,
} from '../frame/entry-page.ts'
import { offersPasskeys } from '../frame/passkey-form.ts'
import { APP_PATH, originOf, type PageRequest, readPrincipal, SIGN_IN_PATH } from '../frame/request.ts'
import { LOST_PATH } from './lost-password.ts'

export const PROVIDER_PATH = `${SIGN_IN_PATH}/oidc`
const CHOOSE_PATH = `${APP_PATH}/choose`

// Of the demo owner the start of the service prints the first link.
const STAGING_COMMANDS = {
  member: { text: 'signInDemo', command: 'npm run cowry -- people demo-link' },
  operator: {
    text: 'opsSignInInvitation',
    command: 'npm run cowry -- people invite-operator --email you@example.com',
  },
} as const

/** Signing in with a passkey. */
export const passkeyPathOf = ({ area }: AreaApp) => `${signInPathOf(area)}/passkey`
const enterPathOf = ({ area }: AreaApp) => `${area.path}/enter/{token}`
const codePathOf = ({ area }: AreaApp) => `${signInPathOf(area)}/code`

/** Signing in and out, in either area. */
export function signInRoutes(app: AreaApp): PageRoute[] {
  const signInPath = signInPathOf(app.area)
  const toSignIn = (request: PageRequest, refusal: Refusal) => signInPage(app, request, refusal)
  const toCode = (request: PageRequest, refusal: Refusal) => codePage(app, request, refusal)
  return [
    entryGet(signInPath, (request) => showSignIn(app, request)),
    entryPost(app, signInPath, (request) => enter(app, request), toSignIn),
    entryGet(codePathOf(app), (request) => codePage(app, request)),
    entryGet(enterPathOf(app), async (request) => enterPage(app, request)),
    entryPost(app, enterPathOf(app), (request) => enterByLink(app, request), toSignIn),
    entryPost(app, codePathOf(app), (request) => enterCode(app, request), toCode),
    entryPost(app, `${app.area.path}/sign-out`, (request) => leave(app, request), toSignIn),
  ]
}

/** What only the people of merchants have: the choice of a merchant. */
export function memberEntryRoutes(app: DashboardApp): PageRoute[] {
  const toSignIn = (request: PageRequest, refusal: Refusal) => signInPage(app, request, refusal)
  return [
    entryGet(CHOOSE_PATH, (request) => showChoice(app, request)),
    entryPost(app, CHOOSE_PATH, (request) => choose(app, request), toSignIn),
  ]
}

export async function signInPage(
  app: AreaApp,
  request: PageRequest,
  refusal?: Refusal,
): Promise<PageResponse> {
  const texts = textsOf(request)
  const { t } = texts
  const next = request.form.next ?? request.query.next ?? ''
  const staging = STAGING_COMMANDS[app.area.kind]
  const done = request.query.done === 'reset' && notice('good', html`<p>${t('done_reset')}</p>`)
  const body = html`${done}<form method="post" action="${signInPathOf(app.area)}"><input type="hidden" name="next" value="${next}">
${field('email', t('email'), { type: 'email', value: request.form.email ?? '', isRequired: true, autocomplete: 'username' })}
${field('password', t('password'), { type: 'password', isRequired: true, autocomplete: 'current-password' })}
<button>${t('signIn')}</button></form>${passkeyLink(app, next, t('passkeySignIn'))}${app.area.kind === 'member' && app.oidc && html`<p><a class="button plain" href="${PROVIDER_PATH}?next=${encodeURIComponent(next)}">${t('signInProvider')}</a></p>`}${app.area.kind === 'member' && html`<p><a href="${LOST_PATH}">${t('lostLink')}</a></p>`}${app.mode === 'test' && html`<p class="dim">${t(staging.text)}<br>${commandOf(staging.command)}</p>`}`
  return showEntryPage(app, request, {
    title: t(app.area.kind === 'operator' ? 'opsSignInTitle' : 'signInTitle'),
    texts,
    body,
    refusal,
    // Also where this page answers another address, such as that of a link that is not valid any more.
    address: { path: signInPathOf(app.area), query: next === '' ? {} : { next } },
  })
}

/** A command, which a narrow page breaks only at its spaces: an option such as --email stays whole. */
function commandOf(command: string): Html {
  const [first = '', ...words] = command.split(' ')
  const whole = (word: string) => html`<span>${word}</span>`
  return html`<code class="command">${whole(first)}${words.map((word) => html` ${whole(word)}`)}</code>`
}

function passkeyLink(app: AreaApp, next: string, text: string): Html | false {
  return (
    offersPasskeys(app) &&
    html`<p><a class="button plain" href="${passkeyPathOf(app)}?next=${encodeURIComponent(next)}">${text}</a></p>`
  )
}

async function showSignIn(app: AreaApp, request: PageRequest): Promise<PageResponse> {
  const principal = await readPrincipal(app, request)
  return principal ? { http: 303, redirectTo: safeNext(app, request.query.next) } : signInPage(app, request)
}

async function enter(app: AreaApp, request: PageRequest): Promise<PageResponse> {
  const { email = '', password = '', next } = request.form
  const result = await signIn(app, { email, password, kind: app.area.kind }, originOf(app, request))
  return continueSignIn(app, result, safeNext(app, next))
}

/** After the first factor. */
export function continueSignIn(
  app: AreaApp,
  result: Awaited<ReturnType<typeof signIn>>,
  next: string,
): PageResponse {
  if (result.kind === 'session') return begin(app, result, next)
  const cookies = [cookie(app, 'pending', result.pendingToken)]
  return {
    http: 303,
    redirectTo: `${codePathOf(app)}?next=${encodeURIComponent(next)}`,
    cookies,
  }
}

async function codePage(app: AreaApp, request: PageRequest, refusal?: Refusal): Promise<PageResponse> {
  const texts = textsOf(request)
  const { t } = texts
  const next = request.form.next ?? request.query.next ?? ''
  const body = html`<p>${t('codeText')}</p><form method="post" action="${codePathOf(app)}"><input type="hidden" name="next" value="${next}">
${field('code', t('code'), { isRequired: true, autocomplete: 'one-time-code' })}<button>${t('signIn')}</button></form>${passkeyLink(app, next, t('passkeyInstead'))}`
  const address = { path: codePathOf(app), query: { next } }
  return showEntryPage(app, request, { title: t('codeTitle'), texts, body, refusal, address })
}

async function enterCode(app: AreaApp, request: PageRequest): Promise<PageResponse> {
  const pendingToken = request.cookies[cookieName(app, 'pending')]
  const { code = '', next } = request.form
  const session = await completeSignIn(app, { pendingToken, code }, originOf(app, request))
  return begin(app, session, safeNext(app, next))
}

/**
 * Staging only: a printed link signs a person of the demo in. Previews and browsers open links before people do, so the page
 * has a button. It does not say whether the link is valid: only its use does.
 */
function enterPage(app: AreaApp, request: PageRequest): PageResponse {
  const texts = textsOf(request)
  const { t } = texts
  const body = html`<p>${t('enterText')}</p><form method="post" action="${app.area.path}/enter/${request.params.token}"><button>${t('signIn')}</button></form>`
  return showEntryPage(app, request, { title: t('enterTitle'), texts, body })
}

async function enterByLink(app: AreaApp, request: PageRequest): Promise<PageResponse> {
  const { path, kind } = app.area
  const link = { token: request.params.token ?? '', kind }
  return begin(app, await signInByDemoLink(app, link, originOf(app, request)), path)
}

/** A person of one merchant has nothing to choose. */
async function showChoice(app: DashboardApp, request: PageRequest): Promise<PageResponse> {
  const principal = await readPrincipal(app, request)
  if (!principal) return { http: 303, redirectTo: SIGN_IN_PATH }
  const texts = textsOf(request, principal.user.language)
  const { t } = texts
  const account = accountOf(app, principal, originOf(app, request))
  const memberships = await account.memberships()
  const [only] = memberships
  if (only && memberships.length === 1 && !principal.merchant) {
    await account.choose(only.merchantId)
    return { http: 303, redirectTo: APP_PATH }
  }
  const body = html`${memberships.length === 0 && html`<p>${t('chooseNone')}</p>`}${memberships.map(
    ({ merchantId, merchantName }) =>
      html`<form method="post" action="${CHOOSE_PATH}"><input type="hidden" name="merchant" value="${merchantId}"><button class="plain"><bdi>${withoutControls(merchantName)}</bdi></button></form>`,
  )}<form method="post" action="${APP_PATH}/sign-out"><button class="plain">${t('signOut')}</button></form>`
  return showEntryPage(app, request, { title: t('chooseTitle'), texts, body })
}

async function choose(app: DashboardApp, request: PageRequest): Promise<PageResponse> {
  const principal = await readPrincipal(app, request)
  if (!principal) return { http: 303, redirectTo: SIGN_IN_PATH }
  await accountOf(app, principal, originOf(app, request)).choose(request.form.merchant ?? '')
  return { http: 303, redirectTo: APP_PATH }
}

async function leave(app: AreaApp, request: PageRequest): Promise<PageResponse> {
  const principal = await readPrincipal(app, request)
  if (principal) await accountOf(app, principal, originOf(app, request)).signOut()
  return { http: 303, redirectTo: signInPathOf(app.area), cookies: [cookie(app, 'session', '', 0)] }
}
