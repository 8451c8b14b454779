// Every screen of the dashboard that a person reaches by links, and every form on it: a new screen is found without a change
// here.

import assert from 'node:assert/strict'
import { OPS_SCREENS } from '../../src/dashboard/ops/routes.ts'
import { SCREENS } from '../../src/dashboard/routes.ts'
import { hiddenFields, type Visitor } from './dashboard.ts'

/** The method and the path of a screen, such as `POST /app/payments/{uuid}/refund`. */
export type ScreenName = string

export interface FoundForm {
  /** The address of the screen that has the form. */
  page: string
  action: string
}

export interface Found {
  /** Addresses of each screen, with their queries. */
  pages: Map<ScreenName, string[]>
  forms: Map<ScreenName, FoundForm[]>
  /** Those of the pages that are files to download. */
  files: Set<string>
}

// Records of one kind differ: a paid payment can be refunded, an open one cannot.
const MOST_ADDRESSES = 4

export const SCREEN_NAMES: readonly ScreenName[] = SCREENS.map(({ method, path }) => `${method} /app${path}`)

const EVERY_NAME = [...SCREEN_NAMES, ...OPS_SCREENS.map(({ method, path }) => `${method} /ops${path}`)]

const PATTERNS = EVERY_NAME.map((name) => ({
  name,
  pattern: new RegExp(`^${name.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}))

/** The screen of an address. A fixed path comes before one with an id. */
function screenOf(method: string, address: string): ScreenName | undefined {
  const wanted = `${method} ${address.replace(/[?#].*/, '')}`
  if (EVERY_NAME.includes(wanted)) return wanted
  return PATTERNS.find(({ pattern }) => pattern.test(wanted))?.name
}

const unescaped = (text: string) => text.replaceAll('&amp;', '&')
const addressesIn = (page: string, pattern: RegExp) =>
  [...page.matchAll(pattern)].map(([, address = '']) => unescaped(address))

/** Follows the links from the first screen of the area. Each must lead to a screen that is shown. */
export async function crawl(visitor: Visitor, area: '/app' | '/ops' = '/app'): Promise<Found> {
  const found: Found = { pages: new Map(), forms: new Map(), files: new Set() }
  const waiting: string[] = [area]
  for (let address = waiting.shift(); address !== undefined; address = waiting.shift()) {
    const name = screenOf('GET', address)
    if (name === undefined || !keep(found.pages, name, address)) continue
    const { http, text, headers } = await visitor.get(address)
    if (headers.has('content-disposition')) found.files.add(address)
    assert.equal(http, 200, `${address}: ${text.slice(0, 2_000)}`)
    waiting.push(...addressesIn(text, /<a [^>]*href="(\/(?:app|ops)[^"]*)"/g))
    // A form that only asks, such as the search.
    waiting.push(...addressesIn(text, /<form (?=[^>]*method="get")[^>]*action="(\/(?:app|ops)[^"]*)"/g))
    for (const action of addressesIn(text, /<form [^>]*method="post" action="([^"]*)"/g)) {
      const form = screenOf('POST', action)
      if (form) keep(found.forms, form, { page: address, action })
    }
  }
  return found
}

const pathOf = (one: string | FoundForm) =>
  typeof one === 'string' ? one.replace(/[?#].*/, '') : `${one.page} ${one.action}`

function keep<One extends string | FoundForm>(
  map: Map<ScreenName, One[]>,
  name: ScreenName,
  one: One,
): boolean {
  const known = map.get(name) ?? []
  if (known.length >= MOST_ADDRESSES || known.some((other) => pathOf(other) === pathOf(one))) return false
  map.set(name, [...known, one])
  return true
}

/** The addresses of pages that a browser shows. */
export function shownPages({ pages, files }: Found): string[][] {
  return [...pages.values()].map((addresses) => addresses.filter((one) => !files.has(one)))
}

/** The path of the screen for a record that was found, such as the address to unblock a customer who is not blocked. */
export function addressOf({ pages, forms }: Found, name: ScreenName): string | undefined {
  const [method = '', path = ''] = name.split(' ')
  if (!path.includes('{')) return path
  const known = method === 'GET' ? pages.get(name)?.[0] : forms.get(name)?.[0]?.action
  if (known !== undefined) return known
  const item = path.slice(0, path.lastIndexOf('}') + 1)
  const pattern = new RegExp(`^(${item.replaceAll(/\{\w+\}/g, '[^/?]+')})(?:[/?]|$)`)
  const others = [...pages.values(), ...forms.values()].flat()
  const outer = others
    .map((one) => pattern.exec(typeof one === 'string' ? one : one.action)?.[1])
    .find((one) => one !== undefined && screenOf('GET', one)?.includes('{') !== false)
  return outer && outer + path.slice(item.length)
}

/** Posts nothing but the token of the person to the address. */
export async function force(visitor: Visitor, address: string) {
  const { text } = await visitor.get('/app')
  return visitor.post(address, hiddenFields(text, '/app/sign-out'))
}
