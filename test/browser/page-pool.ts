// A few pages that check screens in turn: opening a page costs more than checking a screen.

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { Language } from '../../src/core/languages.ts'
import type { Cleanup } from '../support/database.ts'
import { fontScript } from './fonts.ts'

export interface PooledPage {
  page: Page
  /** Opens the address as a first-time visitor, on the narrowest phone, with all details expanded. */
  visit(url: string, language: Language): Promise<void>
  /** Calls page-checks.js, which is loaded in every page. */
  evaluate<Answer = string[]>(expression: string): Promise<Answer>
}

export type WithPage = <Result>(work: (pooledPage: PooledPage) => Promise<Result>) => Promise<Result>

// The width that 400 % zoom leaves of a common screen, and the narrowest phone.
export const NARROW = { width: 320, height: 256 }

/**
 * Blocks the address, so that pages that redirect to it stay where they are. A pool without a blocked address is faster,
 * because the browser disables its cache when requests are intercepted.
 */
export async function createPagePool(
  t: Cleanup,
  browser: Browser,
  count: number,
  blocked?: string,
): Promise<WithPage> {
  const [axe, pageChecks, font] = await Promise.all([
    readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8'),
    readFile(new URL('./page-checks.js', import.meta.url), 'utf8'),
    fontScript('own'),
  ])
  const open = async () => {
    const context = await browser.newContext({ viewport: NARROW })
    t.after(() => context.close())
    context.setDefaultTimeout(30_000)
    await context.addInitScript({ content: `${axe};${pageChecks};${font}` })
    if (blocked) await context.route(blocked, (route) => route.fulfill({ status: 204 }))
    return pooledPageOf(context, await context.newPage())
  }
  const free = await Promise.all(Array.from({ length: count }, open))
  const waiting: ((pooledPage: PooledPage) => void)[] = []
  return async (work) => {
    const pooledPage = free.pop() ?? (await new Promise<PooledPage>((resolve) => waiting.push(resolve)))
    try {
      return await work(pooledPage)
    } finally {
      const next = waiting.shift()
      if (next) next(pooledPage)
      else free.push(pooledPage)
    }
  }
}

function pooledPageOf(context: BrowserContext, page: Page): PooledPage {
  const evaluate: PooledPage['evaluate'] = (expression) => page.evaluate(`pageChecks.${expression}`)
  return {
    page,
    evaluate,
    async visit(url, language) {
      await context.clearCookies()
      await page.emulateMedia({ colorScheme: 'light' })
      await page.setViewportSize(NARROW)
      const address = new URL(url)
      address.searchParams.set('lang', language)
      await page.goto(address.href)
      await evaluate('prepare()')
    },
  }
}
