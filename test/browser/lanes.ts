// A few pages that take turns looking at screens: opening a page costs more than looking at one.

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { Language } from '../../src/core/languages.ts'
import { fontScript } from './fonts.ts'

export interface Lane {
  page: Page
  /** Opens the address as somebody who was never here, on the narrowest phone, with all that is folded unfolded. */
  visit(url: string, language: Language): Promise<void>
  /** Asks look.js, which stands in every page. */
  ask<Answer = string[]>(question: string): Promise<Answer>
}

export type InLane = <Result>(work: (lane: Lane) => Promise<Result>) => Promise<Result>

// What 400 % of zoom leaves of a common screen, and the narrowest phone.
export const NARROW = { width: 320, height: 256 }

/**
 * Pages that lead on by themselves to the blocked address stay where they are. Lanes without one are faster: a browser
 * whose requests are looked at keeps nothing.
 */
export async function openLanes(browser: Browser, count: number, blocked?: string): Promise<InLane> {
  const [axe, look, font] = await Promise.all([
    readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8'),
    readFile(new URL('./look.js', import.meta.url), 'utf8'),
    fontScript('own'),
  ])
  const open = async () => {
    const context = await browser.newContext({ viewport: NARROW })
    context.setDefaultTimeout(30_000)
    await context.addInitScript({ content: `${axe};${look};${font}` })
    if (blocked) await context.route(blocked, (route) => route.fulfill({ status: 204 }))
    return laneOf(context, await context.newPage())
  }
  const free = await Promise.all(Array.from({ length: count }, open))
  const waiting: ((lane: Lane) => void)[] = []
  return async (work) => {
    const lane = free.pop() ?? (await new Promise<Lane>((resolve) => waiting.push(resolve)))
    try {
      return await work(lane)
    } finally {
      const next = waiting.shift()
      if (next) next(lane)
      else free.push(lane)
    }
  }
}

function laneOf(context: BrowserContext, page: Page): Lane {
  const ask: Lane['ask'] = (question) => page.evaluate(`look.${question}`)
  return {
    page,
    ask,
    async visit(url, language) {
      await context.clearCookies()
      await page.emulateMedia({ colorScheme: 'light' })
      await page.setViewportSize(NARROW)
      const address = new URL(url)
      address.searchParams.set('lang', language)
      await page.goto(address.href)
      await ask('prepare()')
    },
  }
}
