// Reads the Cookie header of a page request, and writes the Set-Cookie headers of a page response.

import { parseCookie, stringifySetCookie } from 'cookie'
import type { PageCookie } from '../../kit/http/route.ts'
import { findCharacterIssue } from '../input/characters.ts'

/**
 * The object has no prototype, so that a cookie named __proto__ is data. Of two cookies with one name the first counts,
 * because browsers send the one with the longest path first. Cookies with control characters are dropped.
 */
export function readCookies(header: string | undefined): Record<string, string> {
  const cookies: Record<string, string> = Object.create(null)
  for (const [name, value] of Object.entries(parseCookie(header ?? '')))
    if (value !== undefined && !findCharacterIssue(value, [name], false)) cookies[name] = value
  return cookies
}

/** SameSite is Lax, not Strict: a payer who returns from the gateway's site keeps the chosen language. */
export function cookieText(cookie: PageCookie, isSecure: boolean): string {
  const { name, value, path, maxAgeSeconds: maxAge } = cookie
  if (!path.startsWith('/')) throw new TypeError(`cookie path is invalid: ${path}`)
  return stringifySetCookie({ name, value, path, maxAge, httpOnly: true, sameSite: 'lax', secure: isSecure })
}
