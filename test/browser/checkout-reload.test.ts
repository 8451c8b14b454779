// Every screen is the same after a reload and in a new browser, as after the phone has killed the first one. The address
// and the server hold the whole state of a screen.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { newVisitor, startBrowser } from './browser.ts'
import { prepareScreens } from './screen-harness.ts'

const browser = await startBrowser({ after })
const { service, shop, screens } = await prepareScreens({ after })

interface PageState {
  heading: string
  words: string
}

/** The whole text of the screen, without the countdown and the single automatic redirect. */
async function readPage(page: Page): Promise<PageState> {
  // One evaluation instead of many, because there are a hundred screens.
  const texts: unknown = await page.evaluate(
    `[document.querySelector('h1').innerText, document.title, document.body.innerText]`,
  )
  const [heading = '', ...words] = (texts as string[]).map((text) => text.replaceAll(/\s+/g, ' '))
  const volatileText = /Time left \d+:\d\d|You return to .* seconds\. Stay here |Request [\w-]+/g
  return { heading, words: words.join(' ').replaceAll(volatileText, '') }
}

// This page redirects to the provider by itself.
const stableScreens = screens.filter(({ name }) => name !== 'continue')

const visitorWith = (javaScript: boolean) =>
  newVisitor({ after }, browser, { javaScript, origins: [service.url, shop] })
const visitors = {
  with: await visitorWith(true),
  without: await visitorWith(false),
}

describe('a screen after a reload and in another browser', { concurrency: 2 }, () => {
  for (const [manner, { page, problems }] of Object.entries(visitors)) {
    describe(`${manner} JavaScript`, { concurrency: 1 }, () => {
      for (const { name, url, heading } of stableScreens) {
        it(`keeps the screen "${name}" ${manner} JavaScript`, async () => {
          await page.goto(url)
          const first = await readPage(page)
          assert.ok(first.heading.startsWith(heading), first.heading)
          await page.reload()
          assert.deepEqual(await readPage(page), first)
          assert.equal(page.url(), url)
        })
      }

      it(`records no violation on any screen ${manner} JavaScript`, () => {
        assert.ok(stableScreens.length > 30, `${stableScreens.length} screens`)
        // The browser logs 400 and 404 responses to its console.
        const wrong = problems.filter((problem) => !/status of 40[04]/.test(problem))
        assert.deepEqual(wrong, [])
      })
    })
  }
})
