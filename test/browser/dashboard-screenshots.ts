// The dashboard of the demo merchant, for the pictures in docs/screens. Its history ends at the time of the run, so the
// pictures differ from run to run in dates and amounts.

import assert from 'node:assert/strict'
import type { Browser } from 'playwright-core'
import { runCommandLine } from '../../src/cli/program.ts'
import { ENTRY_POINTS } from '../../src/entry-points.ts'
import { newVisitor, type Visitor } from '../support/dashboard.ts'
import type { Cleanup } from '../support/database.ts'
import { type TestService, testService } from '../support/service.ts'
import { fontScript, takaFontScript } from './fonts.ts'
import { capture, DEVICES, type ScreenshotOptions } from './screenshots.ts'

/** Screens by name: an address, or a record of a list. */
const SCREENS = {
  home: '/app',
  payments: '/app/payments',
  payment: { list: '/app/payments?status=partially_refunded', records: '/app/payments/' },
  wallet: '/app/wallet?currency=KES',
  reports: '/app/reports',
  // One of the last night, with several attempts.
  event: {
    ...{ list: '/app/developers/events?type=wallet.settled', records: '/app/developers/events/' },
    index: 8,
  },
  case: { list: '/ops/cases?owner=operator', records: '/ops/cases/' },
} as const

// The fonts of the test browser have no ₦ and no ₵.
const WRITE_CODES = `{
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (texts.nextNode())
    texts.currentNode.data = texts.currentNode.data.replaceAll('GH₵', 'GHS ').replaceAll('₦', 'NGN ')
}`

export type DashboardScreen = keyof typeof SCREENS

export interface DashboardScreenshotter {
  take(screen: DashboardScreen, options: ScreenshotOptions): Promise<Buffer>
}

export async function prepareDashboard(t: Cleanup, browser: Browser): Promise<DashboardScreenshotter> {
  const service = await testService(t, { isOwn: true })
  const person = await enterDemo(service)
  const cookies = [...person.cookies].map(([name, value]) => ({ name, value, url: service.url }))
  const script = `${await fontScript('all')};${await takaFontScript()}`
  return {
    async take(screen, { device, scheme, language }) {
      const context = await browser.newContext({ ...DEVICES[device], colorScheme: scheme })
      try {
        await context.addCookies(cookies)
        await context.addInitScript({ content: script })
        const page = await context.newPage()
        const address = new URL(await addressOf(person, screen), service.url)
        address.searchParams.set('lang', language)
        await page.goto(address.href)
        await page.evaluate('document.fonts.ready.then(() => undefined)')
        await page.evaluate(WRITE_CODES)
        return await capture(page)
      } finally {
        await context.close()
      }
    },
  }
}

/** One browser of the owner and of an operator of the demo. */
async function enterDemo(service: TestService): Promise<Visitor> {
  let out = ''
  const write = (text: string) => {
    out += text
  }
  const terminal = { out: write, err: () => undefined }
  const env = { DATABASE_URL: service.databaseUrl, COWRY_DATA_DIR: service.dataDir }
  await runCommandLine(['demo', '--json', '--payments', '1500'], { entryPoints: ENTRY_POINTS, terminal, env })
  const person = newVisitor(service)
  for (const wanted of ['owner', 'operator']) {
    const found = JSON.parse(out).data.people.find(({ role }: { role: string }) => role === wanted)
    const { pathname } = new URL(found.link)
    assert.equal((await person.submit(pathname, pathname)).http, 303)
  }
  return person
}

async function addressOf(person: Visitor, screen: DashboardScreen): Promise<string> {
  const place = SCREENS[screen]
  if (typeof place === 'string') return place
  const { text } = await person.get(place.list)
  const rows = [...text.matchAll(new RegExp(`class="row" href="(${place.records}[\\da-f-]{36})"`, 'g'))]
  const found = rows.at('index' in place ? place.index : 0)?.[1]
  assert.ok(found, `${place.list} has a record`)
  return found
}
