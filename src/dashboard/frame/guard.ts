// Every request of the dashboard passes here: the session, the merchant that was chosen, forged forms, the rights of the role,
// and errors as screens.

import { API_ERRORS, ApiError } from '../../core/errors.ts'
import { hmacSha256 } from '../../kit/crypto.ts'
import { type Html, html } from '../../kit/http/html.ts'
import type { PageCookie, PageResponse, PageRoute } from '../../kit/http/route.ts'
import type { Origin } from '../../people/app.ts'
import { PeopleError } from '../../people/errors.ts'
import { type Principal, principalOf } from '../../people/sessions.ts'
import type { DashboardApp } from '../app.ts'
import { notice } from './components.ts'
import { renderFrame } from './layout.ts'
import type { Person, Screen, ScreenRequest, ScreenResponse } from './screen.ts'
import { isDashboardLanguage, type Texts, textsFor } from './texts.ts'

export type PageRequest = Parameters<PageRoute['handle']>[0]

export const APP_PATH = '/app'
export const SIGN_IN_PATH = `${APP_PATH}/sign-in`
const CHOOSE_PATH = `${APP_PATH}/choose`
const LANGUAGE_COOKIE = 'cowry_app_language'
const YEAR_SECONDS = 31_536_000

/** The name of a cookie of the dashboard. In production browsers accept it from this host by https only. */
export function cookieName(
  { mode }: Pick<DashboardApp, 'mode'>,
  name: 'session' | 'device' | 'pending',
): string {
  return mode === 'live' ? `__Host-cowry_${name}` : `cowry_${name}`
}

export function cookie(
  app: DashboardApp,
  name: 'session' | 'device' | 'pending',
  value: string,
  maxAgeSeconds?: number,
): PageCookie {
  return { name: cookieName(app, name), value, path: '/', maxAgeSeconds }
}

export function originOf(app: DashboardApp, { address, headers, requestId, cookies }: PageRequest): Origin {
  return {
    address,
    userAgent: headers['user-agent'] ?? '',
    requestId,
    deviceToken: cookies[cookieName(app, 'device')],
    sessionToken: cookies[cookieName(app, 'session')],
  }
}

export function readPrincipal(app: DashboardApp, { cookies }: PageRequest): Promise<Principal | undefined> {
  return principalOf(app, cookies[cookieName(app, 'session')])
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
export function isForged(app: DashboardApp, { headers, form }: PageRequest, token?: string): boolean {
  const { origin, 'sec-fetch-site': site } = headers
  if (origin !== undefined && origin !== new URL(app.publicUrl()).origin) return true
  if (site !== undefined && site !== 'same-origin') return true
  return token !== undefined && form.csrf !== token
}

function csrfToken({ peopleKey }: DashboardApp, sessionId: string): string {
  return hmacSha256(peopleKey, `csrf:${sessionId}`).toString('base64url')
}

/** The page route of a screen. */
export function guarded(app: DashboardApp, screen: Screen): PageRoute {
  return {
    method: screen.method,
    path: `${APP_PATH}${screen.path}`,
    handle: async (request) => {
      const changed = changeLanguage(request)
      if (changed) return changed
      const principal = await readPrincipal(app, request)
      if (!principal) return { http: 303, redirectTo: signInAddress(request, screen) }
      if (!principal.merchant || principal.role === null || principal.role === 'operator')
        return { http: 303, redirectTo: CHOOSE_PATH }
      const texts = textsFor(
        languageOf(request, principal.user.language),
        await app.timeZoneOf(principal.merchant.id),
      )
      const person = personOf(principal, principal.merchant, principal.role, request)
      return handle(app, screen, { request, person, texts })
    },
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

interface Visit {
  request: PageRequest
  person: Person
  texts: Texts
}

async function handle(app: DashboardApp, screen: Screen, visit: Visit): Promise<PageResponse> {
  const { request, person, texts } = visit
  const csrf = csrfToken(app, person.sessionId)
  const screenRequest = toScreenRequest(app, visit, csrf)
  try {
    if (screen.method === 'POST' && isForged(app, request, csrf)) throw new ApiError('browser_not_allowed')
    if (!screen.needs.every(screenRequest.allows)) throw new ApiError('insufficient_scope')
    return send(app, visit, screenRequest, await screen.handle(screenRequest))
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof PeopleError)) throw error
    return send(app, visit, screenRequest, errorScreen(texts, error))
  }
}

function toScreenRequest(app: DashboardApp, { request, person, texts }: Visit, csrf: string): ScreenRequest {
  const { params, query, form } = request
  return {
    ...{ person, texts, params, query, form },
    now: app.clock.now(),
    isTest: app.mode === 'test',
    call: (operationId, input) => app.operations.call(person, operationId, input),
    allows: (operationId) => app.operations.allows(person, operationId),
    postForm: (action, fields) => postForm(action, fields, csrf, app.random.uuid()),
    submission: `app:${form.submission ?? ''}`,
  }
}

function postForm(action: string, fields: Html, csrf: string, submission: string): Html {
  return html`<form method="post" action="${action}"><input type="hidden" name="csrf" value="${csrf}"><input type="hidden" name="submission" value="${submission}">
${fields}</form>`
}

function send(
  app: DashboardApp,
  { request, person, texts }: Visit,
  screen: ScreenRequest,
  response: ScreenResponse,
): PageResponse {
  if ('redirectTo' in response) return { http: 303, redirectTo: response.redirectTo }
  if ('file' in response) return { http: 200, file: { ...response.file, type: 'text/csv; charset=utf-8' } }
  const signOut = screen.postForm(
    `${APP_PATH}/sign-out`,
    html`<button class="plain small">${texts.t('signOut')}</button>`,
  )
  const inside = { person, path: request.path, search: request.query.q ?? '', allows: screen.allows, signOut }
  const { title, body, http = 200 } = response
  const page = { title, texts, isTest: app.mode === 'test', body, inside }
  return { http, html: renderFrame(page) }
}

function errorScreen({ t }: Texts, error: ApiError | PeopleError): ScreenResponse {
  const http = error instanceof ApiError ? API_ERRORS[error.code].http : error.http
  const title = http === 403 ? t('noRightTitle') : http === 404 ? t('notFoundTitle') : t('problemTitle')
  const text = http === 403 ? t('noRightText') : http === 404 ? t('notFoundText') : error.message
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
  const text = new URLSearchParams(others).toString()
  return {
    http: 303,
    redirectTo: text === '' ? path : `${path}?${text}`,
    cookies: [{ name: LANGUAGE_COOKIE, value: lang, path: APP_PATH, maxAgeSeconds: YEAR_SECONDS }],
  }
}

function signInAddress({ path, query }: PageRequest, { method }: Screen): string {
  if (method !== 'GET' || path === APP_PATH) return SIGN_IN_PATH
  const text = new URLSearchParams(query).toString()
  return `${SIGN_IN_PATH}?next=${encodeURIComponent(text === '' ? path : `${path}?${text}`)}`
}
