// Every screen stays what it is: when it is loaded again, and for a browser that was never there, as after the phone has
// killed the first one. All that makes a screen lies in its address and on the server.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { newVisitor, startBrowser } from './browser.ts'
import { setStage } from './stage.ts'

// Nobody answers there: the shop is only named.
const SHOP = 'http://localhost:9'

const browser = await startBrowser({ after })
const { service, screens } = await setStage({ after }, SHOP)

const ending = { after }
const visitors = await Promise.all(
  [true, false].map((javaScript) =>
    newVisitor(ending, browser, { javaScript, origins: [service.url, SHOP] }),
  ),
)

/** All that the screen says. The seconds that are left, and the one return by itself, are not the screen. */
async function wordsOn(page: Page): Promise<string> {
  const text = await page.locator('body').innerText()
  return `${await page.title()} ${text}`
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/Time left \d+:\d\d|You return to .* seconds\. Stay here |Request [\w-]+/g, '')
}

const headingOn = async (page: Page) => (await page.locator('h1').innerText()).replaceAll(/\s+/g, ' ')

// This one leads on to the provider by itself.
const staying = screens.filter(({ name }) => name !== 'continue')

describe('the screen stays after a reload and in another browser', { concurrency: 4 }, () => {
  for (const { name, url, heading } of staying) {
    it(`"${name}"`, async () => {
      for (const { newTab } of visitors) {
        const page = await newTab()
        await page.goto(url)
        const [before, first] = [await headingOn(page), await wordsOn(page)]
        assert.ok(before.startsWith(heading), before)
        await page.reload()
        assert.equal(await headingOn(page), before)
        assert.equal(await wordsOn(page), first)
        assert.equal(page.url(), url)
        await page.close()
      }
    })
  }

  it('for as many screens as there are', () => {
    assert.ok(staying.length > 30, `${staying.length} screens`)
  })
})

it('complains of nothing on the way', () => {
  // The browser itself says in the console when there was no page, or not for looking.
  const complaints = visitors.flatMap((visitor) => visitor.complaints)
  assert.deepEqual(
    complaints.filter((complaint) => !/status of 40[45]/.test(complaint)),
    [],
  )
})
