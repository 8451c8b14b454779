// Takes screenshots of pages that are identical in every run.

import { readFile } from 'node:fs/promises'
import type { Browser, Page } from 'playwright-core'
import type { Language } from '../../src/core/languages.ts'
import { fontScript } from './fonts.ts'

export interface ScreenshotOptions {
  language: Language
  scheme: 'light' | 'dark'
  device: keyof typeof DEVICES
}

// A phone's picture is shown small, so it has fewer pixels than the phone.
export const DEVICES = {
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 1.5 },
  // Tall enough for the main button of each screen.
  'tall phone': { viewport: { width: 390, height: 1100 }, deviceScaleFactor: 1.5 },
  desktop: { viewport: { width: 1280, height: 800 }, deviceScaleFactor: 1 },
} as const

// A lower quality blurs letters; a higher one only makes larger files.
const QUALITY = 72

export interface Screenshotter {
  /** The page as the device shows it without scrolling, as WebP. */
  take(url: string, options: ScreenshotOptions): Promise<Buffer>
  /** Phones side by side, the first where the language starts to read. */
  takeRow(urls: readonly string[], options: ScreenshotOptions): Promise<Buffer>
}

interface ScreenshotContext {
  /** The time on the payer's phone. */
  now: Date
  /** The service's address, which differs in every run. */
  origin: string
}

/** Random and machine-dependent values, and their replacements on the screenshots. */
const stableReplacements = (origin: string) => [
  [origin, 'http://127.0.0.1:8080'],
  ['[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}', '019ce9d2-7c41-7e65-9a3b-51f0c8d4e27a'],
  ['^\\d{10}$', '2209417735'],
  ['^(?=.*\\d)[\\dA-Z]{8}$', 'K7F3CQX2'],
]

export async function createScreenshotter(
  browser: Browser,
  { now, origin }: ScreenshotContext,
): Promise<Screenshotter> {
  const pageChecks = await readFile(new URL('./page-checks.js', import.meta.url), 'utf8')
  const script = `${pageChecks};${await fontScript('all')}`
  const replacements = JSON.stringify(stableReplacements(origin))

  const withPage = async <Result>(
    { device, scheme }: ScreenshotOptions,
    work: (page: Page) => Promise<Result>,
  ) => {
    const context = await browser.newContext({ ...DEVICES[device], colorScheme: scheme })
    try {
      await context.clock.setFixedTime(now)
      await context.addInitScript({ content: script })
      await context.route(/^https?:\/\/localhost\//, (route) => route.fulfill({ status: 204 }))
      return await work(await context.newPage())
    } finally {
      await context.close()
    }
  }
  const capturePage = (url: string, options: ScreenshotOptions, quality: number) =>
    withPage(options, async (page) => {
      const address = new URL(url)
      address.searchParams.set('lang', options.language)
      await page.goto(address.href)
      await page.evaluate('document.fonts.ready.then(() => undefined)')
      await page.evaluate(`pageChecks.replace(${replacements})`)
      return capture(page, quality)
    })

  return {
    take: (url, options) => capturePage(url, options, QUALITY),
    async takeRow(urls, options) {
      const screenshots = await Promise.all(urls.map((url) => capturePage(url, options, 100)))
      return withPage({ ...options, device: 'desktop' }, (page) => captureRow(page, screenshots, options))
    },
  }
}

const GAP = 24

/** Transparent, so that it fits a light and a dark page. */
async function captureRow(
  page: Page,
  screenshots: readonly Buffer[],
  { device, language, scheme }: ScreenshotOptions,
): Promise<Buffer> {
  const { width, height } = DEVICES[device].viewport
  const edge = scheme === 'light' ? '#c5cfcc' : '#4a5955'
  const images = screenshots.map((bytes) => `<img src="data:image/webp;base64,${bytes.toString('base64')}">`)
  await page.setViewportSize({
    width: screenshots.length * width + (screenshots.length - 1) * GAP,
    height,
  })
  await page.setContent(
    `<style>body{margin:0;display:flex;gap:${GAP}px}img{width:${width}px;box-sizing:border-box;border:2px solid ${edge};border-radius:28px}</style>
<body dir="${language === 'ar' ? 'rtl' : 'ltr'}">${images.join('')}`,
  )
  return capture(page, QUALITY, { r: 0, g: 0, b: 0, a: 0 })
}

export async function capture(
  page: Page,
  quality: number = QUALITY,
  color?: { r: number; g: number; b: number; a: number },
): Promise<Buffer> {
  const session = await page.context().newCDPSession(page)
  if (color) await session.send('Emulation.setDefaultBackgroundColorOverride', { color })
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality })
  return Buffer.from(data, 'base64')
}
