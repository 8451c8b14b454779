// Signing in and out: password, code of the authenticator app, the demo link, and the choice of a merchant.

import { withoutControls } from '../../core/text/direction.ts'
import { html } from '../../kit/http/html.ts'
import type { PageResponse, PageRoute } from '../../kit/http/route.ts'
import { signInByDemoLink } from '../../people/accounts.ts'
import { PeopleError } from '../../people/errors.ts'
import { chooseMerchant, signOut } from '../../people/sessions.ts'
import { completeSignIn, signIn } from '../../people/sign-in.ts'
import { listOwnMemberships } from '../../people/team.ts'
import type { DashboardApp } from '../app.ts'
import { field } from '../frame/components.ts'
import {
  begin,
  entryGet,
  entryPost,
  type Refusal,
  refusalOf,
  safeNext,
  showEntryPage,
  textsOf,
} from '../frame/entry-page.ts'
import {
  APP_PATH,
  cookie,
  cookieName,
  originOf,
  type PageRequest,
  readPrincipal,
  SIGN_IN_PATH,
} from '../frame/guard.ts'

const CODE_PATH = `${SIGN_IN_PATH}/code`
const CHOOSE_PATH = `${APP_PATH}/choose`

export function signInRoutes(app: DashboardApp): PageRoute[] {
  const toSignIn = (request: PageRequest, refusal: Refusal) => signInPage(app, request, refusal)
  const toCode = (request: PageRequest, refusal: Refusal) => codePage(app, request, refusal)
  return [
    entryGet(SIGN_IN_PATH, (request) => showSignIn(app, request)),
    entryPost(app, SIGN_IN_PATH, (request) => enter(app, request), toSignIn),
    entryGet(CODE_PATH, (request) => codePage(app, request)),
    entryPost(app, CODE_PATH, (request) => enterCode(app, request), toCode),
    entryGet(`${APP_PATH}/enter/{token}`, (request) => enterByLink(app, request)),
    entryGet(CHOOSE_PATH, (request) => showChoice(app, request)),
    entryPost(app, CHOOSE_PATH, (request) => choose(app, request), toSignIn),
    entryPost(app, `${APP_PATH}/sign-out`, (request) => leave(app, request), toSignIn),
  ]
}

async function signInPage(app: DashboardApp, request: PageRequest, refusal?: Refusal): Promise<PageResponse> {
  const texts = textsOf(request)
  const { t } = texts
  const next = request.form.next ?? request.query.next ?? ''
  const body = html`<form method="post" action="${SIGN_IN_PATH}"><input type="hidden" name="next" value="${next}">
${field('email', t('email'), { type: 'email', value: request.form.email ?? '', isRequired: true, autocomplete: 'username' })}
${field('password', t('password'), { type: 'password', isRequired: true, autocomplete: 'current-password' })}
<button>${t('signIn')}</button></form>`
  return showEntryPage(app, { title: t('signInTitle'), texts, body, refusal })
}

async function showSignIn(app: DashboardApp, request: PageRequest): Promise<PageResponse> {
  const principal = await readPrincipal(app, request)
  return principal ? { http: 303, redirectTo: safeNext(request.query.next) } : signInPage(app, request)
}

async function enter(app: DashboardApp, request: PageRequest): Promise<PageResponse> {
  const { email = '', password = '', next } = request.form
  const result = await signIn(app, { email, password, kind: 'member' }, originOf(app, request))
  if (result.kind === 'session') return begin(app, result, safeNext(next))
  const cookies = [cookie(app, 'pending', result.pendingToken)]
  return { http: 303, redirectTo: `${CODE_PATH}?next=${encodeURIComponent(safeNext(next))}`, cookies }
}

async function codePage(app: DashboardApp, request: PageRequest, refusal?: Refusal): Promise<PageResponse> {
  const texts = textsOf(request)
  const { t } = texts
  const next = request.form.next ?? request.query.next ?? ''
  const body = html`<p>${t('codeText')}</p><form method="post" action="${CODE_PATH}"><input type="hidden" name="next" value="${next}">
${field('code', t('code'), { isRequired: true, autocomplete: 'one-time-code' })}<button>${t('signIn')}</button></form>`
  return showEntryPage(app, { title: t('codeTitle'), texts, body, refusal })
}

async function enterCode(app: DashboardApp, request: PageRequest): Promise<PageResponse> {
  const pendingToken = request.cookies[cookieName(app, 'pending')]
  const { code = '', next } = request.form
  const session = await completeSignIn(app, { pendingToken, code }, originOf(app, request))
  return begin(app, session, safeNext(next))
}

/** Staging only: the printed link signs the demo owner in. */
async function enterByLink(app: DashboardApp, request: PageRequest): Promise<PageResponse> {
  try {
    const session = await signInByDemoLink(app, request.params.token ?? '', originOf(app, request))
    return begin(app, session, APP_PATH)
  } catch (error) {
    if (!(error instanceof PeopleError)) throw error
    return signInPage(app, request, refusalOf(error, textsOf(request)))
  }
}

/** A person of one merchant has nothing to choose. */
async function showChoice(app: DashboardApp, request: PageRequest): Promise<PageResponse> {
  const principal = await readPrincipal(app, request)
  if (!principal) return { http: 303, redirectTo: SIGN_IN_PATH }
  const texts = textsOf(request, principal.user.language)
  const { t } = texts
  const memberships = await listOwnMemberships(app, principal)
  const [only] = memberships
  if (only && memberships.length === 1 && !principal.merchant) {
    await chooseMerchant(app, principal, only.merchantId)
    return { http: 303, redirectTo: APP_PATH }
  }
  const body = html`${memberships.length === 0 && html`<p>${t('chooseNone')}</p>`}${memberships.map(
    ({ merchantId, merchantName }) =>
      html`<form method="post" action="${CHOOSE_PATH}"><input type="hidden" name="merchant" value="${merchantId}"><button class="plain"><bdi>${withoutControls(merchantName)}</bdi></button></form>`,
  )}<form method="post" action="${APP_PATH}/sign-out"><button class="plain">${t('signOut')}</button></form>`
  return showEntryPage(app, { title: t('chooseTitle'), texts, body })
}

async function choose(app: DashboardApp, request: PageRequest): Promise<PageResponse> {
  const principal = await readPrincipal(app, request)
  if (!principal) return { http: 303, redirectTo: SIGN_IN_PATH }
  await chooseMerchant(app, principal, request.form.merchant ?? '')
  return { http: 303, redirectTo: APP_PATH }
}

async function leave(app: DashboardApp, request: PageRequest): Promise<PageResponse> {
  const principal = await readPrincipal(app, request)
  if (principal) await signOut(app, principal, originOf(app, request))
  return { http: 303, redirectTo: SIGN_IN_PATH, cookies: [cookie(app, 'session', '', 0)] }
}
