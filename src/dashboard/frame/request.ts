// What a request of a page says: the session, the language, whether its form is forged, and its address.

import type { PageCookie, PageResponse, PageRoute } from '../../kit/http/route.ts'
import type { Origin } from '../../people/app.ts'
import { type Principal, principalOf } from '../../people/sessions.ts'
import type { AreaApp } from '../app.ts'
import { type Address, signInPathOf } from './area.ts'
import { cookieName } from './cookies.ts'
import { APP } from './layout.ts'
import { isDashboardLanguage } from './texts.ts'

export type PageRequest = Parameters<PageRoute['handle']>[0]
/** Without the body. */
export type PageHead = Pick<PageRequest, 'path' | 'query' | 'headers' | 'cookies'>

export const APP_PATH = APP.path
export const SIGN_IN_PATH = signInPathOf(APP)
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
export function languageOf(
  { cookies, headers }: Pick<PageRequest, 'cookies' | 'headers'>,
  own?: string | null,
) {
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

/** The link in the footer sets a cookie and returns to the same address without it. */
export function changeLanguage({ query, path }: Address): PageResponse | undefined {
  const { lang, ...others } = query
  if (!isDashboardLanguage(lang)) return undefined
  return {
    http: 303,
    redirectTo: addressOf({ path, query: others }),
    cookies: [languageCookie(lang)],
  }
}

export function languageCookie(language: string): PageCookie {
  return { name: LANGUAGE_COOKIE, value: language, path: '/', maxAgeSeconds: YEAR_SECONDS }
}

export function addressOf({ path, query }: Address): string {
  const text = new URLSearchParams(query).toString()
  return text === '' ? path : `${path}?${text}`
}
