// The few cookies of our pages. Reading bears everything, because anything may stand in a Cookie header; writing bears
// nothing, because a wrong name or path there is our own mistake.

import type { PageCookie } from '../../kit/route.ts'
import { findCharacterIssue } from '../input/characters.ts'

/** A token of HTTP. */
const NAME = /^[\w!#$%&'*+.^`|~-]+$/
const PATH = /^\/[\x21-\x3a\x3c-\x7e]*$/

/**
 * Without a prototype, so that a cookie called __proto__ is a cookie. Of two with one name the first counts: browsers
 * send the one of the longest path first. What is no pair, or holds control characters, is left out.
 */
export function readCookies(header: string | undefined): Record<string, string> {
  const cookies: Record<string, string> = Object.create(null)
  for (const piece of header?.split(';') ?? []) {
    const at = piece.indexOf('=')
    const name = piece.slice(0, at).trim()
    if (at < 0 || !NAME.test(name) || name in cookies) continue
    const value = decoded(unquoted(piece.slice(at + 1).trim()))
    if (!findCharacterIssue(value, [name], false)) cookies[name] = value
  }
  return cookies
}

function unquoted(text: string): string {
  return /^"(.*)"$/.exec(text)?.[1] ?? text
}

/** Somebody else's cookie on this host may hold a bare percent sign; it is then taken as it stands. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** SameSite is Lax and not Strict: a payer comes back from the gateway's site and keeps the chosen language. */
export function cookieText(cookie: PageCookie, isSecure: boolean): string {
  const { name, value, path, maxAgeSeconds } = cookie
  if (!NAME.test(name)) throw new Error(`${JSON.stringify(name)} cannot be the name of a cookie`)
  if (!PATH.test(path)) throw new Error(`${JSON.stringify(path)} cannot be the path of a cookie`)
  return [
    `${name}=${encodeURIComponent(value)}`,
    `Path=${path}`,
    ...(maxAgeSeconds === undefined ? [] : [`Max-Age=${Math.max(0, Math.floor(maxAgeSeconds))}`]),
    'HttpOnly',
    'SameSite=Lax',
    ...(isSecure ? ['Secure'] : []),
  ].join('; ')
}
