// npm run screens: retakes the screenshots in docs/screens, from real payments in a real browser.

import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startBrowser } from './browser/browser.ts'
import {
  type DashboardScreen,
  type DashboardScreenshotter,
  prepareDashboard,
} from './browser/dashboard-screenshots.ts'
import { prepareSubjects, type ScreenshotSubjects, type SubjectName } from './browser/screenshot-subjects.ts'
import { createScreenshotter, type ScreenshotOptions, type Screenshotter } from './browser/screenshots.ts'
import { exitWithUsageError, parseOptions } from './support/command-line.ts'

const FOLDER = join(import.meta.dirname, '../docs/screens')
const KILOBYTE = 1_024
// Maximum sizes: a reader of the repository loads all pictures, a reader of the README the two framed ones.
const MAX_BYTES = 40 * KILOBYTE
const MAX_FRAMED_BYTES = 100 * KILOBYTE

const HELP = `npm run screens [-- --only <part of a name>]

Takes the screenshots of the payer's pages and of the dashboard anew and writes them to docs/screens: starts services
with a private PostgreSQL and a browser from npm, makes payments in the sandbox, fills the demo merchant, and ends
everything again.

  --only  only the screenshots with this in their name
  --help  this text
`

interface Screenshot {
  file: string
  maxBytes: number
  take(subjects: Subjects): Promise<Buffer>
}

/** Each is prepared when the first screenshot needs it. */
interface Subjects {
  checkout(): Promise<{ screenshotter: Screenshotter; subjects: ScreenshotSubjects['subjects'] }>
  dashboard(): Promise<DashboardScreenshotter>
}

function screenshots(
  device: ScreenshotOptions['device'],
  language: ScreenshotOptions['language'],
  scheme: ScreenshotOptions['scheme'],
  names: SubjectName[],
): Screenshot[] {
  return names.map((name) => ({
    file: `${name}-${device}-${language}-${scheme}.webp`,
    maxBytes: MAX_BYTES,
    take: async ({ checkout }) => {
      const { screenshotter, subjects } = await checkout()
      return screenshotter.take(subjects[name], { device, language, scheme })
    },
  }))
}

function framedScreenshot(
  file: string,
  language: ScreenshotOptions['language'],
  scheme: ScreenshotOptions['scheme'],
): Screenshot {
  return {
    file,
    maxBytes: MAX_FRAMED_BYTES,
    take: async ({ checkout }) => {
      const { screenshotter, subjects } = await checkout()
      const { open, prompt, paid } = subjects
      return screenshotter.takeRow([open, prompt, paid], { device: 'tall phone', language, scheme })
    },
  }
}

function dashboardScreenshot(
  screen: DashboardScreen,
  device: ScreenshotOptions['device'] = 'desktop',
  language: ScreenshotOptions['language'] = 'en',
  scheme: ScreenshotOptions['scheme'] = 'light',
): Screenshot {
  return {
    file: `dashboard-${screen}-${device}-${language}-${scheme}.webp`,
    maxBytes: MAX_FRAMED_BYTES,
    take: async ({ dashboard }) => (await dashboard()).take(screen, { device, language, scheme }),
  }
}

const SCREENSHOTS: readonly Screenshot[] = [
  framedScreenshot('checkout.webp', 'en', 'light'),
  framedScreenshot('checkout-rtl-dark.webp', 'ar', 'dark'),
  ...screenshots('phone', 'en', 'light', ['open', 'prompt', 'transfer', 'paid', 'receipt']),
  ...screenshots('phone', 'en', 'dark', ['open', 'transfer', 'paid']),
  ...screenshots('phone', 'ar', 'light', ['open', 'prompt', 'transfer', 'receipt']),
  ...screenshots('phone', 'ar', 'dark', ['transfer']),
  ...screenshots('phone', 'am', 'light', ['open']),
  ...screenshots('phone', 'bn', 'light', ['open']),
  ...screenshots('desktop', 'en', 'light', ['open', 'transfer', 'paid']),
  ...screenshots('desktop', 'en', 'dark', ['open']),
  ...screenshots('desktop', 'ar', 'light', ['open']),
  ...screenshots('phone', 'en', 'light', ['card-page', 'three-d-secure']),
  ...screenshots('desktop', 'en', 'light', ['landing']),
  dashboardScreenshot('home'),
  dashboardScreenshot('payment'),
  dashboardScreenshot('wallet'),
  dashboardScreenshot('event'),
  dashboardScreenshot('case'),
  dashboardScreenshot('payments', 'phone'),
  dashboardScreenshot('payments', 'phone', 'ar', 'dark'),
  dashboardScreenshot('reports', 'desktop', 'fr', 'dark'),
]

const { only = '' } = parseOptions(HELP, { only: { type: 'string' } })
const wanted = SCREENSHOTS.filter(({ file }) => file.includes(only))
if (wanted.length === 0)
  exitWithUsageError(`--only must be part of one of: ${SCREENSHOTS.map(({ file }) => file).join(', ')}`)
await takeScreenshots()

async function takeScreenshots(): Promise<void> {
  const cleanups: (() => Promise<void>)[] = []
  const t = { after: (ending: () => Promise<void>) => void cleanups.push(ending) }
  try {
    console.log('» starting a browser and services')
    const browser = await startBrowser(t)
    const subjects: Subjects = {
      checkout: once(async () => {
        const prepared = await prepareSubjects(t)
        return { screenshotter: await createScreenshotter(browser, prepared), subjects: prepared.subjects }
      }),
      dashboard: once(() => prepareDashboard(t, browser)),
    }
    await mkdir(FOLDER, { recursive: true })
    let bytes = 0
    for (const [index, screenshot] of wanted.entries()) {
      const taken = await screenshot.take(subjects)
      bytes += taken.length
      await writeFile(join(FOLDER, screenshot.file), taken)
      console.log(`» ${index + 1} of ${wanted.length}: ${screenshot.file}, ${kilobytes(taken.length)}`)
      if (taken.length > screenshot.maxBytes)
        reportFailure(`${screenshot.file} is larger than ${kilobytes(screenshot.maxBytes)}`)
    }
    await removeStale()
    console.log(`✔ ${wanted.length} screenshots, ${kilobytes(bytes)}, in docs/screens`)
  } finally {
    for (const ending of cleanups) await ending()
  }
}

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined
  return () => {
    made ??= make()
    return made
  }
}

function kilobytes(bytes: number): string {
  return `${(bytes / KILOBYTE).toFixed(1)} KB`
}

function reportFailure(words: string): void {
  console.error(`✖ ${words}`)
  process.exitCode = 1
}

/** Deletes pictures of screens that no longer exist. */
async function removeStale(): Promise<void> {
  const known = SCREENSHOTS.map(({ file }) => file)
  for (const file of await readdir(FOLDER)) if (!known.includes(file)) await rm(join(FOLDER, file))
}
