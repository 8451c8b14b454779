// The dashboard of the demo merchant, for the pictures in docs/screens. Its history ends at the time of the run, so the
// pictures differ from run to run in dates and amounts.

import assert from 'node:assert/strict'
import type { Browser } from 'playwright-core'
import { runCommandLine } from '../../src/cli/program.ts'
import { ENTRY_POINTS } from '../../src/entry-points.ts'
import { signInAs, signInAsOperator, type Visitor } from '../support/dashboard.ts'
import type { Cleanup } from '../support/database.ts'
import { type TestService, testService } from '../support/service.ts'
import { fontScript, takaFontScript } from './fonts.ts'
import { capture, DEVICES, type ScreenshotOptions } from './screenshots.ts'

/** Screens by name: an address, or the first record of a list. */
const SCREENS = {
  home: '/app',
  payments: '/app/payments',
  payment: { list: '/app/payments?status=partially_refunded', records: '/app/payments/' },
  wallet: '/app/wallet?currency=KES',
  reports: '/app/reports',
  event: { list: '/app/developers/events?type=refund.successful', records: '/app/developers/events/' },
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
  const person = await signInAs(service, await fillDemo(service))
  await signInAsOperator(service, person)
  const profile = { name: 'Wanjiru Kamau', language: 'en' }
  const named = await person.submit('/app/account', '/app/account/profile', profile)
  assert.equal(named.http, 303, named.text)
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

async function fillDemo({ databaseUrl, dataDir }: TestService): Promise<string> {
  let out = ''
  const write = (text: string) => {
    out += text
  }
  const terminal = { out: write, err: () => undefined }
  const env = { DATABASE_URL: databaseUrl, COWRY_DATA_DIR: dataDir }
  await runCommandLine(['demo', '--json', '--payments', '1500'], { entryPoints: ENTRY_POINTS, terminal, env })
  return JSON.parse(out).data.merchant.uuid
}

async function addressOf(person: Visitor, screen: DashboardScreen): Promise<string> {
  const place = SCREENS[screen]
  if (typeof place === 'string') return place
  const { text } = await person.get(place.list)
  const found = new RegExp(`class="row" href="(${place.records}[\\da-f-]{36})"`).exec(text)?.[1]
  assert.ok(found, `${place.list} has a record`)
  return found
}
