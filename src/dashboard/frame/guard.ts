// Every request of the dashboard passes here: the session, the merchant that was chosen, forged forms, the rights of the role,
// and errors as screens.

import { API_ERRORS, ApiError } from '../../core/errors.ts'
import { isUuid } from '../../core/ids.ts'
import { hmacSha256 } from '../../kit/crypto.ts'
import { runAudited } from '../../kit/db/audit-context.ts'
import { runAsMerchant } from '../../kit/db/tenant-isolation.ts'
import { type Html, html } from '../../kit/http/html.ts'
import type { PageCookie, PageResponse, PageRoute } from '../../kit/http/route.ts'
import { accountOf } from '../../people/accounts.ts'
import type { Origin } from '../../people/app.ts'
import { PeopleError } from '../../people/errors.ts'
import { auditOf, type Principal, principalOf } from '../../people/sessions.ts'
import type { AreaApp, DashboardApp, OpsApp } from '../app.ts'
import { signInPathOf } from './area.ts'
import { notice } from './components.ts'
import { cookie, cookieName } from './cookies.ts'
import { APP, renderFrame } from './layout.ts'
import type { AreaRequest, Person, Screen, ScreenResponse } from './screen.ts'
import { CONFIRM_PATH, stepUp } from './step-up.ts'
import { isDashboardLanguage, type Texts, textsFor } from './texts.ts'

export type PageRequest = Parameters<PageRoute['handle']>[0]

export const APP_PATH = APP.path
export const SIGN_IN_PATH = signInPathOf(APP)
const CHOOSE_PATH = `${APP_PATH}/choose`
const LANGUAGE_COOKIE = 'cowry_app_language'
const YEAR_SECONDS = 31_536_000

export function originOf(app: AreaApp, request: PageRequest): Origin {
  const { address, visitor, headers, requestId, cookies } = request
  return {
    address,
    visitor,
    userAgent: headers['user-agent'] ?? '',
    requestId,
    deviceToken: cookies[cookieName(app, 'device')],
    sessionToken: cookies[cookieName(app, 'session')],
  }
}

/** Undefined also for a session of the other area: its people have no rights here. */
export async function readPrincipal(
  app: AreaApp,
  { cookies }: Pick<PageRequest, 'cookies'>,
  options?: { isPassive: boolean },
): Promise<Principal | undefined> {
  const principal = await principalOf(app, cookies[cookieName(app, 'session')], options)
  return principal?.user.kind === app.area.kind ? principal : undefined
}

/** The language of the link in the footer, of an earlier visit, of the account or of the browser. */
export function languageOf({ cookies, headers }: PageRequest, own?: string | null) {
  const accepted = (headers['accept-language'] ?? '')
    .split(',')
    .map((tag) => tag.trim().slice(0, 2).toLowerCase())
  return [cookies[LANGUAGE_COOKIE], own, ...accepted].find(isDashboardLanguage) ?? 'en'
}

/**
 * A form of another site is refused: browsers name the site that sends it. The token is for those that do not, and a session
 * has its own.
 */
export function isForged(app: AreaApp, { headers, form }: PageRequest, token?: string): boolean {
  const { origin, 'sec-fetch-site': site } = headers
  if (origin !== undefined && origin !== new URL(app.publicUrl()).origin) return true
  if (site !== undefined && site !== 'same-origin') return true
  return token !== undefined && form.csrf !== token
}

/** Also for the merchant: a form that another tab still shows of the one chosen before must not act on this one. */
function csrfToken({ peopleKey }: AreaApp, { sessionId, merchant }: Principal): string {
  return hmacSha256(peopleKey, `csrf:${sessionId}:${merchant?.id ?? ''}`).toString('base64url')
}

/** The page route of a screen of a merchant's people. */
export function guarded(app: DashboardApp, screen: Screen): PageRoute {
  return routeOf(app, screen, async (request, principal) => {
    if (!principal.merchant || principal.role === null || principal.role === 'operator')
      return { http: 303, redirectTo: CHOOSE_PATH }
    const zone = await app.timeZoneOf(principal.merchant.id)
    const texts = textsFor(languageOf(request, principal.user.language), zone)
    const person = personOf(principal, principal.merchant, principal.role, request)
    const visit: Visit = {
      ...{ request, principal, texts, brand: person.merchant.name },
      call: (operationId, input) => app.operations.call(person, operationId, input),
      allows: (operationId) => app.operations.allows(person, operationId),
    }
    return handle(app, screen, visit, (shared) => ({ ...shared, person }))
  })
}

/**
 * The page route of a screen of operators, who may do everything. Its times are in UTC: it shows many merchants. In
 * production a password alone is not enough for that.
 */
export function guardedForOperators(app: OpsApp, screen: Screen<AreaRequest>): PageRoute {
  return routeOf(app, screen, async (request, principal) => {
    const { user, sessionId } = principal
    const { address, requestId } = request
    const operator = { userId: user.id, name: user.name, role: 'operator', sessionId, address, requestId }
    if (app.mode === 'live' && !user.hasTotp && !isOfAccount(screen))
      return { http: 303, redirectTo: `${app.area.path}/account?needs=totp` }
    const texts = textsFor(languageOf(request, user.language), 'UTC')
    const visit: Visit = {
      ...{ request, principal, texts, brand: texts.t('opsBrand') },
      call: (operationId, input) => app.operations.call(operator, operationId, input),
      allows: (operationId) => app.operations.has(operationId),
    }
    return handle(app, screen, visit, (shared) => shared)
  })
}

/** The screens with which an operator sets up the authenticator app, which production needs. */
const isOfAccount = ({ path }: Pick<Screen, 'path'>) =>
  path === CONFIRM_PATH || /^\/account(?:\/|$)/.test(path)

function routeOf(
  app: AreaApp,
  { method, path, uploadLimitBytes }: Pick<Screen, 'method' | 'path' | 'uploadLimitBytes'>,
  show: (request: PageRequest, principal: Principal) => Promise<PageResponse>,
): PageRoute {
  return {
    method,
    path: `${app.area.path}${path}`,
    ...(uploadLimitBytes !== undefined && { upload: uploadOf(app, uploadLimitBytes) }),
    handle: async (request) => {
      const changed = changeLanguage(request)
      if (changed) return changed
      // The script loads live parts again.
      const principal = await readPrincipal(app, request, { isPassive: 'x-live' in request.headers })
      return principal
        ? show(request, principal)
        : { http: 303, redirectTo: signInAddress(app, request, method) }
    },
  }
}

/** A large body is read only for a session. */
function uploadOf(app: AreaApp, limitBytes: number): NonNullable<PageRoute['upload']> {
  return {
    limitBytes,
    reject: async (cookies) =>
      (await readPrincipal(app, { cookies })) ? undefined : { http: 303, redirectTo: signInPathOf(app.area) },
  }
}

function personOf(
  { user, scopes, sessionId, authenticatedAt }: Principal,
  merchant: NonNullable<Principal['merchant']>,
  role: string,
  { address, requestId }: PageRequest,
): Person {
  return {
    ...{ merchant, role, sessionId, scopes, address, requestId, authenticatedAt },
    ...{ userId: user.id, name: user.name, email: user.email },
  }
}

interface Visit extends Pick<AreaRequest, 'texts' | 'call' | 'allows'> {
  request: PageRequest
  principal: Principal
  brand: string
}

async function handle<Request extends AreaRequest>(
  app: AreaApp,
  screen: Screen<Request>,
  visit: Visit,
  complete: (shared: AreaRequest) => Request,
): Promise<PageResponse> {
  const csrf = csrfToken(app, visit.principal)
  const request = complete(toAreaRequest(app, screen, visit, csrf))
  // A new token of the session must reach the browser, whatever the screen does then.
  const cookies: PageCookie[] = []
  try {
    // Every form of ours has a submission: without one, different forms would share an idempotency key.
    if (screen.method === 'POST' && (isForged(app, visit.request, csrf) || !isUuid(request.form.submission)))
      throw new ApiError('browser_not_allowed')
    // As for the keys of the merchant. The person's own account stays: it leads to their other merchants.
    if (visit.principal.merchant?.status === 'suspended' && !screen.isOwn)
      throw new ApiError('merchant_suspended')
    if (!mayUse(screen, request)) throw new ApiError('insufficient_scope')
    const step = screen.stepUp && (await stepUp(screen, request, addressOf(visit.request)))
    if (step && 'ask' in step) return send(visit, request, step.ask)
    if (step) cookies.push(cookie(app, 'session', step.token))
    const confirmed = step ? { ...request, principal: step.principal } : request
    const response = await app.running.run(visit.principal.user.id, () => handleOnce(screen, confirmed))
    return send(visit, request, response, cookies)
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof PeopleError)) throw error
    const { retryAfterSeconds: seconds } = error
    const response = send(visit, request, errorScreen(visit.texts, error), cookies)
    return seconds === undefined ? response : { ...response, headers: { 'retry-after': String(seconds) } }
  }
}

/** A submission that was refused, or that failed, may be sent again. */
async function handleOnce<Request extends AreaRequest>(
  screen: Screen<Request>,
  request: Request,
): Promise<ScreenResponse> {
  if (!screen.once) return screen.handle(request)
  const { app, principal, origin, form } = request
  const used = await accountOf(app, principal, origin).useSubmission(form.submission ?? '')
  if (!used) return { redirectTo: `${screen.once(request)}?done=repeated` }
  try {
    const response = await screen.handle(request)
    if ('http' in response && (response.http ?? 200) >= 400) await used.release()
    return response
  } catch (error) {
    await used.release()
    throw error
  }
}

function mayUse(
  { needs, scope }: Pick<Screen, 'needs' | 'scope'>,
  { allows, principal: { scopes } }: AreaRequest,
): boolean {
  return needs.every(allows) && (scope === undefined || scopes.includes(scope))
}

function toAreaRequest(
  app: AreaApp,
  { method, path }: Pick<Screen, 'method' | 'path'>,
  { request, principal, texts, call, allows }: Visit,
  csrf: string,
): AreaRequest {
  const { params, query, form, files, cookies, styleNonce } = request
  const origin = originOf(app, request)
  const target = Object.values(params).at(-1) ?? null
  const context = { operation: `${method} ${app.area.path}${path}`, target }
  return {
    ...{ files, styleNonce },
    ...{ base: app.area.path, app, principal, origin, texts, params, query, form, cookies, call, allows },
    now: app.clock.now(),
    isTest: app.mode === 'test',
    change: (work) => {
      const audited = () => runAudited(auditOf(principal, origin, { ...context, at: app.clock.now() }), work)
      return principal.merchant ? runAsMerchant(principal.merchant.id, audited) : audited()
    },
    postForm: (action, fields, submission = app.random.uuid()) =>
      postForm(action, fields, { csrf, submission, hasFiles: false }),
    uploadForm: (action, fields) =>
      postForm(action, fields, { csrf, submission: app.random.uuid(), hasFiles: true }),
    submission: `app:${form.submission ?? ''}`,
  }
}

function postForm(
  action: string,
  fields: Html,
  { csrf, submission, hasFiles }: { csrf: string; submission: string; hasFiles: boolean },
): Html {
  return html`<form${hasFiles && html` enctype="multipart/form-data"`} method="post" action="${action}"><input type="hidden" name="csrf" value="${csrf}"><input type="hidden" name="submission" value="${submission}">
${fields}</form>`
}

function send(
  { request, principal, texts, brand }: Visit,
  { app, postForm: formOf, allows }: AreaRequest,
  response: ScreenResponse,
  before: readonly PageCookie[] = [],
): PageResponse {
  const cookies = [...before, ...(response.cookies ?? [])]
  if ('redirectTo' in response) return { http: 303, redirectTo: response.redirectTo, cookies }
  if ('file' in response)
    return { http: 200, file: { ...response.file, type: 'text/csv; charset=utf-8' }, cookies }
  const signOut = formOf(
    `${app.area.path}/sign-out`,
    html`<button class="plain small">${texts.t('signOut')}</button>`,
  )
  const { path, query } = request
  const inside = { brand, person: principal.user, path, search: query.q ?? '', allows, signOut }
  const { title, body, http = 200 } = response
  const isRepeated = query.done === 'repeated' && notice('wait', html`<p>${texts.t('done_repeated')}</p>`)
  const isTest = app.mode === 'test'
  const page = { area: app.area, title, texts, isTest, body: html`${isRepeated}${body}`, inside }
  return { http, html: renderFrame(page), cookies, allowsPasskeys: true }
}

function errorScreen({ t }: Texts, error: ApiError | PeopleError): ScreenResponse {
  const http = error instanceof ApiError ? API_ERRORS[error.code].http : error.http
  const title = http === 403 ? t('noRightTitle') : http === 404 ? t('notFoundTitle') : t('problemTitle')
  const isOfRole = error.code === 'insufficient_scope' || error.code === 'not_allowed'
  const isForgery = error.code === 'browser_not_allowed'
  const isTooMany = error.code === 'rate_limited'
  const own = isOfRole
    ? t('noRightText')
    : isForgery
      ? t('problemForged')
      : isTooMany
        ? t('problemTooMany')
        : undefined
  const text = own ?? (http === 404 ? t('notFoundText') : error.message)
  return {
    title,
    http,
    body: html`<div class="head"><h1>${title}</h1></div>${notice('bad', html`<p>${text}</p>`)}`,
  }
}

/** The link in the footer sets a cookie and returns to the same address without it. */
export function changeLanguage({ query, path }: PageRequest): PageResponse | undefined {
  const { lang, ...others } = query
  if (!isDashboardLanguage(lang)) return undefined
  return {
    http: 303,
    redirectTo: addressOf({ path, query: others }),
    cookies: [{ name: LANGUAGE_COOKIE, value: lang, path: '/', maxAgeSeconds: YEAR_SECONDS }],
  }
}

function signInAddress({ area }: AreaApp, request: PageRequest, method: Screen['method']): string {
  if (method !== 'GET' || request.path === area.path) return signInPathOf(area)
  return `${signInPathOf(area)}?next=${encodeURIComponent(addressOf(request))}`
}

function addressOf({ path, query }: Pick<PageRequest, 'path' | 'query'>): string {
  const text = new URLSearchParams(query).toString()
  return text === '' ? path : `${path}?${text}`
}
