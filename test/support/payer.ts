// A payer whose browser has no JavaScript: opens pages, fills in the forms that stand on them, follows 303s.

import assert from 'node:assert/strict'
import type { Api } from './api.ts'
import { initiateBody } from './builders.ts'

export interface Page {
  http: number
  url: string
  html: string
  headers: Headers
  /** Where a redirect leads. */
  location: string | null
}

export interface Payer {
  open(url: string): Promise<Page>
  /** Presses the button of the form on this page whose action ends so, and stays before where it leads. */
  press(page: Page, action: string, fields?: Record<string, string>): Promise<Page>
  /** Presses, and follows where it leads. */
  submit(page: Page, action: string, fields?: Record<string, string>): Promise<Page>
  /** From the open checkout to the gateway's page for cards. */
  goToCardPage(checkout: Page): Promise<Page>
  /** From the open checkout through the gateway's pages, and back. */
  payByCard(checkout: Page, instrument: string): Promise<Page>
}

const MAX_REDIRECTS = 5

export function createPayer(): Payer {
  const ask = async (url: string, init: RequestInit = {}): Promise<Page> => {
    const answer = await fetch(url, { redirect: 'manual', ...init })
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
    open: async (url) => follow(await ask(url)),
    async press(page, action, fields = {}) {
      const target = actionsOf(page).find((one) => one.endsWith(action))
      assert.ok(target, `there is no form to ${action} on the page:\n${page.html}`)
      const body = new URLSearchParams(fields).toString()
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      return ask(new URL(target, page.url).href, { method: 'POST', body, headers })
    },
    submit: async (page, action, fields) => follow(await payer.press(page, action, fields)),
    async goToCardPage(checkout) {
      const between = await payer.submit(checkout, '/attempts', { choice: 'card' })
      return payer.open(linkOf(between))
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

function actionsOf(page: Page): string[] {
  return [...page.html.matchAll(/<form method="post" action="([^"]+)"/g)].map(([, action = '']) =>
    unescapeHtml(action),
  )
}

/** Where the big link of a page leads. */
export function linkOf(page: Page): string {
  const [, href] = /<a class="button" href="([^"]+)"/.exec(page.html) ?? []
  assert.ok(href, `there is no link on the page:\n${page.html}`)
  return unescapeHtml(href)
}

function unescapeHtml(text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&')
}

/** What a page says, without its markup. */
export function wordsOf(page: Page): string {
  const [, main = ''] = /<main>([\s\S]*)<\/main>/.exec(page.html) ?? []
  return unescapeHtml(main.replaceAll(/<[^>]+>/g, ' '))
    .replaceAll(/[\s\u00a0]+/g, ' ')
    .trim()
}

/** A new payment, its open page, and what the merchant reads of it. */
export async function openCheckout(api: Api, payer: Payer, changes: Record<string, unknown> = {}) {
  const made = await api.post('/api/v1/checkout/initiate-payment', initiateBody(changes))
  assert.equal(made.http, 201, made.text)
  const { uuid, checkoutUrl, reference } = made.body.data
  const page = await payer.open(checkoutUrl)
  assert.equal(page.http, 200, page.html)
  const read = async () => (await api.get(`/api/v1/checkout/payments/${uuid}`)).body.data
  return { uuid, reference, checkoutUrl: String(checkoutUrl), page, read }
}
