// A payer whose browser has no JavaScript: it opens pages, keeps their cookies, submits their forms and follows 303s.

import assert from 'node:assert/strict'
import { SANDBOX_INSTRUMENTS } from '../../src/gateways/sandbox/index.ts'
import type { Api } from './api.ts'
import { initiateBody } from './builders.ts'

export interface Page {
  http: number
  url: string
  html: string
  headers: Headers
  /** The target of a redirect. */
  location: string | null
}

export interface Payer {
  open(url: string, headers?: Record<string, string>): Promise<Page>
  /** Submits the form on this page whose action ends so, without following the redirect. */
  postForm(page: Page, action: string, fields?: Record<string, string>): Promise<Page>
  /** Submits the form and follows redirects. */
  submit(page: Page, action: string, fields?: Record<string, string>): Promise<Page>
  /** Submits the open checkout with the instrument, or with a card that is chosen later. */
  choose(checkout: Page, instrument: string): Promise<Page>
  /** From the open checkout to the gateway's page for cards. */
  goToCardPage(checkout: Page): Promise<Page>
  /** From the open checkout through the gateway's pages, and back. */
  payByCard(checkout: Page, instrument: string): Promise<Page>
}

const MAX_REDIRECTS = 5

export function createPayer(): Payer {
  const cookies = createCookies()
  const ask = async (url: string, init: RequestInit = {}): Promise<Page> => {
    const answer = await fetch(url, {
      redirect: 'manual',
      ...init,
      headers: { ...init.headers, ...cookies.headerFor(url) },
    })
    cookies.store(answer)
    const location = answer.headers.get('location')
    return {
      http: answer.status,
      url,
      html: await answer.text(),
      headers: answer.headers,
      location: location === null ? null : new URL(location, url).href,
    }
  }

  const follow = async (page: Page): Promise<Page> => {
    let current = page
    for (let hops = 0; current.location !== null; hops += 1) {
      assert.equal(current.http, 303)
      assert.ok(hops < MAX_REDIRECTS, `too many redirects at ${current.url}`)
      current = await ask(current.location)
    }
    return current
  }

  const payer: Payer = {
    open: async (url, headers) => follow(await ask(url, { headers })),
    async postForm(page, action, fields = {}) {
      const form = formsOf(page).find((one) => one.action.endsWith(action))
      assert.ok(form, `there is no form to ${action} on the page:\n${page.html}`)
      const body = new URLSearchParams({ ...form.hidden, ...fields }).toString()
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      return ask(new URL(form.action, page.url).href, { method: 'POST', body, headers })
    },
    submit: async (page, action, fields) => follow(await payer.postForm(page, action, fields)),
    choose: (checkout, instrument) => payer.submit(checkout, '/attempts', choiceOf(instrument)),
    async goToCardPage(checkout) {
      return payer.open(linkOf(await payer.choose(checkout, 'card')))
    },
    async payByCard(checkout, instrument) {
      const cardPage = await payer.goToCardPage(checkout)
      assert.ok(cardPage.html.includes(`value="${instrument}"`), 'the page offers the instrument')
      const next = await payer.submit(cardPage, '', { instrument, action: 'pay' })
      return next.url.endsWith('/approval') ? payer.submit(next, '/approval', { action: 'approve' }) : next
    },
  }
  return payer
}

interface Cookies {
  store(answer: Response): void
  headerFor(url: string): { cookie: string } | undefined
}

/** Cookies by name and path; no test runs long enough for them to expire. */
function createCookies(): Cookies {
  const kept = new Map<string, { pair: string; path: string }>()
  return {
    store(answer) {
      for (const text of answer.headers.getSetCookie()) {
        const [pair = ''] = text.split(';')
        const path = /; Path=([^;]+)/.exec(text)?.[1] ?? '/'
        kept.set(`${pair.split('=')[0]} ${path}`, { pair, path })
      }
    },
    headerFor(url) {
      const { pathname } = new URL(url)
      const fitting = [...kept.values()].filter(({ path }) => isWithin(pathname, path))
      return fitting.length === 0 ? undefined : { cookie: fitting.map(({ pair }) => pair).join('; ') }
    },
  }
}

function isWithin(pathname: string, path: string): boolean {
  return path === '/' || `${pathname}/`.startsWith(`${path}/`)
}

let phones = 0

/** A new Kenyan phone number in local notation for every prompt, because prompts per number are limited. */
export function newPhone(): string {
  phones += 1
  return `0712 ${String(phones)
    .padStart(6, '0')
    .replace(/^(...)/, '$1 ')}`
}

/** The form fields of an open checkout when the payer has chosen 'card' or a test instrument. */
export function choiceOf(instrument: string): Record<string, string> {
  const found = SANDBOX_INSTRUMENTS.find(({ name }) => name === instrument)
  const channel = found?.channel ?? instrument
  const untouched = {
    mobile_money_instrument: 'mobile_success',
    bank_transfer_instrument: 'transfer_success',
  }
  return {
    channel,
    phone: channel === 'mobile_money' ? newPhone() : '',
    network: '',
    ...untouched,
    ...(found && { [`${channel}_instrument`]: found.name }),
  }
}

/** The forms of a page, each with its hidden fields. */
function formsOf(page: Page): { action: string; hidden: Record<string, string> }[] {
  const forms = page.html.matchAll(/<form method="post" action="([^"]+)"[^>]*>([\s\S]*?)<\/form>/g)
  return [...forms].map(([, action = '', content = '']) => {
    const fields = content.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)
    const hidden = [...fields].map(([, name = '', value = '']) => [name, unescapeHtml(value)])
    return { action: unescapeHtml(action), hidden: Object.fromEntries(hidden) }
  })
}

/** The target of the main link of a page. */
export function linkOf(page: Page): string {
  const [, href] = /<a class="button[^"]*" href="([^"]+)"/.exec(page.html) ?? []
  assert.ok(href, `there is no link on the page:\n${page.html}`)
  return unescapeHtml(href)
}

const ENTITIES = { '&quot;': '"', '&#39;': "'", '&lt;': '<', '&gt;': '>', '&amp;': '&' }

function unescapeHtml(text: string): string {
  return Object.entries(ENTITIES).reduce(
    (read, [entity, character]) => read.replaceAll(entity, character),
    text,
  )
}

/** The text of an HTML fragment, without markup. */
function textOf(html: string): string {
  return unescapeHtml(html.replaceAll(/<[^>]+>/g, ' '))
    .replaceAll(/[\s\u00a0]+/g, ' ')
    .trim()
}

/** The text of a page between the merchant's name and the footer. */
export function mainTextOf(page: Page): string {
  return textOf(/<main[^>]*>([\s\S]*)<\/main>/.exec(page.html)?.[1] ?? '')
}

/** The one heading, which identifies the screen. */
export function headingOf(page: Page): string {
  const headings = [...page.html.matchAll(/<h1[^>]*>([\s\S]*?)<\/h1>/g)]
  assert.equal(headings.length, 1, page.html)
  return textOf(headings[0]?.[1] ?? '')
}

/** A new payment, its open page, and a function that reads the merchant's record of it. */
export async function openCheckout(api: Api, payer: Payer, changes: Record<string, unknown> = {}) {
  const made = await api.post('/api/v1/checkout/initiate-payment', initiateBody(changes))
  assert.equal(made.http, 201, made.text)
  const { uuid, checkoutUrl, reference } = made.body.data
  const page = await payer.open(checkoutUrl)
  assert.equal(page.http, 200, page.html)
  const read = async () => (await api.get(`/api/v1/checkout/payments/${uuid}`)).body.data
  return { uuid, reference, checkoutUrl: String(checkoutUrl), page, read }
}
