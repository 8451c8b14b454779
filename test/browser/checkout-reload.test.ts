// Every screen stays what it is: when it is loaded again, and for a browser that was never there, as after the phone has
// killed the first one. All that makes a screen lies in its address and on the server.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { newVisitor, startBrowser } from './browser.ts'
import { prepareScreens } from './screen-harness.ts'

// Nobody answers there: the shop is only named.
const SHOP = 'http://localhost:9'

const browser = await startBrowser({ after })
const { service, screens } = await prepareScreens({ after }, SHOP)

interface PageState {
  heading: string
  words: string
}

/** All that the screen says. The seconds that are left, and the one return by itself, are not the screen. */
async function readPage(page: Page): Promise<PageState> {
  // One question instead of many: there are a hundred screens to look at.
  const texts: unknown = await page.evaluate(
    `[document.querySelector('h1').innerText, document.title, document.body.innerText]`,
  )
  const [heading = '', ...words] = (texts as string[]).map((text) => text.replaceAll(/\s+/g, ' '))
  const volatileText = /Time left \d+:\d\d|You return to .* seconds\. Stay here |Request [\w-]+/g
  return { heading, words: words.join(' ').replaceAll(volatileText, '') }
}

// This one leads on to the provider by itself.
const stableScreens = screens.filter(({ name }) => name !== 'continue')

const visitorWith = (javaScript: boolean) =>
  newVisitor({ after }, browser, { javaScript, origins: [service.url, SHOP] })
const visitors = { with: await visitorWith(true), without: await visitorWith(false) }

describe('the screen stays after a reload and in another browser', { concurrency: 2 }, () => {
  for (const [manner, { page, problems }] of Object.entries(visitors)) {
    describe(`${manner} JavaScript`, { concurrency: 1 }, () => {
      for (const { name, url, heading } of stableScreens) {
        it(`"${name}"`, async () => {
          await page.goto(url)
          const first = await readPage(page)
          assert.ok(first.heading.startsWith(heading), first.heading)
          await page.reload()
          assert.deepEqual(await readPage(page), first)
          assert.equal(page.url(), url)
        })
      }

      it('and nothing is wrong with any of them', () => {
        assert.ok(stableScreens.length > 30, `${stableScreens.length} screens`)
        // The browser itself says in the console when there was no page, or not for looking.
        const wrong = problems.filter((problem) => !/status of 40[04]/.test(problem))
        assert.deepEqual(wrong, [])
      })
    })
  }
})
