// Every screen in every language, in light and dark, on the narrowest phone and on a desktop: layout, touch targets,
// screen readers, and right-to-left languages.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { LANGUAGE_CODES, type Language } from '../../src/core/languages.ts'
import { networksOf } from '../../src/core/networks.ts'
import { HAS_LARGER_FORM, LARGER_FORM_ONLY, shareOf, sized } from '../support/scale.ts'
import { BRAND } from './brand.ts'
import { startBrowser } from './browser.ts'
import { createPagePool, NARROW, type PooledPage } from './page-pool.ts'
import { DESCRIPTION, type PreparedScreen, prepareScreens } from './screen-harness.ts'

// The larger form runs the others, the dark scheme and the desktop.
const LANGUAGES = sized<readonly Language[]>({
  quick: ['en'],
  rest: LANGUAGE_CODES,
  long: LANGUAGE_CODES,
})
// All languages share the colours, and the two directions their places.
const DARK_LANGUAGES = sized<readonly Language[]>({ quick: [], rest: ['en', 'ar'], long: LANGUAGE_CODES })

const DESK = { width: 1280, height: 800 }
// One more than the usual two cores: while one page waits for the service, another computes.
const POOL_SIZE = 3

const browser = await startBrowser({ after })
const { screens } = await prepareScreens({ after })
const withPage = await createPagePool({ after }, browser, POOL_SIZE)
// The page between ours and the provider's redirects at once.
const withStaticPage = await createPagePool({ after }, browser, 1, '**/sandbox/pay/**')

/** All problems of the screen, and all its texts. */
async function inspect(pooledPage: PooledPage, { url }: PreparedScreen, language: Language) {
  const { evaluate, visit } = pooledPage
  await visit(url, language)
  const { problems, words } = await evaluate<{ problems: string[]; words: string[] }>('everything()')
  if (DARK_LANGUAGES.includes(language)) problems.push(...(await inspectDark(pooledPage, language)))
  return { words, problems: problems.map((problem) => `${language}: ${problem}`) }
}

async function inspectDark({ page, evaluate }: PooledPage, language: Language): Promise<string[]> {
  await page.emulateMedia({ colorScheme: 'dark' })
  // Two columns in each direction; the other languages would only repeat them.
  if (language === 'en' || language === 'ar') await page.setViewportSize(DESK)
  // Both schemes share the page, so only colours can differ.
  return evaluate(`broken(['color-contrast', 'link-in-text-block'])`)
}

// Texts of others and codes are the same in every language.
const NETWORKS = ['KE', 'NG'].flatMap((country) => networksOf(country)).map(({ name }) => name)
const NAMES = [
  ...Object.values(BRAND),
  DESCRIPTION,
  ...NETWORKS,
  'Visa',
  'Sandbox Bank',
  'Demo Shop',
  'Cowry',
]
const CODES =
  /KSh|US\$|EAT|ref-[\w-]+|^[\dA-Z]{8,10}$|^(?:[\dA-Z]{4}-){2}[\dA-Z]{4}$|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g

function leftInEnglish(language: Language, english: readonly string[], words: readonly string[]): string[] {
  const isEnglish = (text: string) => {
    const rest = NAMES.reduce((left, name) => left.replaceAll(name, ''), text).replaceAll(CODES, '')
    return /[a-z]{2}/i.test(rest)
  }
  return words
    .filter((text) => english.includes(text) && isEnglish(text))
    .map((text) => `${language}: "${text}" is in English`)
}

// The harness opens every screen in each form; the quick form checks every third one.
const quickScreens = new Set(shareOf(screens, 0))

describe('the accessibility of every screen', { concurrency: POOL_SIZE }, () => {
  for (const screen of screens) {
    const form = quickScreens.has(screen) ? HAS_LARGER_FORM : LARGER_FORM_ONLY
    const languages = screen.isEnglishOnly ? (['en'] as const) : LANGUAGES
    it(`has an accessible screen "${screen.name}", in ${languages.join(', ')}`, form, async () => {
      const problems: string[] = []
      let english: string[] = []
      for (const language of languages) {
        const choose = screen.name === 'continue' ? withStaticPage : withPage
        const seen = await choose((pooledPage) => inspect(pooledPage, screen, language))
        if (language === 'en') english = seen.words
        else problems.push(...leftInEnglish(language, english, seen.words))
        problems.push(...seen.problems)
      }
      assert.deepEqual(problems, [])
      assert.ok(english.length > 3, 'the screen has text')
    })
  }
})

const screenNamed = (name: string): PreparedScreen => {
  const screen = screens.find((one) => one.name === name)
  assert.ok(screen, name)
  return screen
}

/** A page with every defect that the checks look for, which shows that they find them. */
const WRONG = `<!doctype html><html lang="en"><title>Wrong</title><main><h1>Wrong</h1>
<p id="wide" style="width:700px">Wide</p>
<div id="cut" style="height:5px;overflow:hidden">A text</div>
<button id="narrow" style="width:50px;white-space:nowrap">A text that is too long for it</button>
<a id="small" href="#" style="display:block;height:10px;font-size:8px">Small</a>
<p style="color:#ccc">Pale</p><input>
<input type="radio" id="one" name="one"><label for="one">One</label>
<div id="bar" style="position:fixed;bottom:0;height:200px;width:100%;background:#fff">Bar</div>
<a id="under" href="#">Under</a></main>`

describe('reading the screens', { concurrency: POOL_SIZE }, () => {
  for (const name of ['open', 'open, a wrong phone', 'prompt, a minute later']) {
    const form = name === 'open' ? HAS_LARGER_FORM : LARGER_FORM_ONLY
    it(`keeps all text of "${name}" with wide letter and line spacing (WCAG 1.4.12)`, form, async () => {
      for (const language of LANGUAGES) {
        const problems = await withPage(async ({ visit, evaluate }) => {
          await visit(screenNamed(name).url, language)
          const before = await evaluate<number>('height()')
          await evaluate('spaceOut()')
          assert.ok((await evaluate<number>('height()')) > before, 'the spacing took effect')
          return evaluate('layout()')
        })
        assert.deepEqual(problems, [], language)
      }
    })
  }

  it('shows amounts, numbers and codes from left to right in right-to-left languages', async () => {
    const read = async (name: string) =>
      withPage(async ({ visit, evaluate }) => {
        await visit(screenNamed(name).url, 'ar')
        return evaluate<{ text: string; isInOrder: boolean }[]>('ordered()')
      })
    const wanted = {
      open: [/^KSh\u00a01,250\.50$/, /^ref-/, /^0712 123 456$/],
      'prompt, a minute later': [/^0712 ••• \d{3}$/, /^\*334#$/],
      transfer: [/^₦1,250\.50$/, /^\d{10}$/],
      underpaid: [/^KSh\u00a01,125\.45$/],
      receipt: [/^KSh\u00a01,250\.50$/, /^ref-/],
    }
    for (const [name, patterns] of Object.entries(wanted)) {
      const found = await read(name)
      assert.deepEqual(
        found.filter(({ isInOrder }) => !isInOrder),
        [],
        name,
      )
      for (const pattern of patterns)
        assert.ok(
          found.some(({ text }) => pattern.test(text)),
          `${pattern} stands on "${name}": ${JSON.stringify(found)}`,
        )
    }
  })

  it('leaves only names and codes in English', () => {
    const words = ['Receipt', 'Duka la Vitabu', 'M-Pesa', 'KSh\u00a01,250.50']
    assert.deepEqual(leftInEnglish('fr', words, words), ['fr: "Receipt" is in English'])
  })

  it('reports each defect of a page with every defect', async () => {
    const problems = await withPage(async ({ page, evaluate }) => {
      await page.setViewportSize(NARROW)
      await page.goto(`data:text/html;charset=utf-8,${encodeURIComponent(WRONG)}`)
      return [
        ...(await evaluate('layout()')),
        ...(await evaluate('mirrored()')),
        ...(await evaluate('broken()')),
      ].join('\n')
    })
    for (const wrong of [
      /the page is 708 wide in 320/,
      /<p#wide> .* goes from/,
      /<div#cut> .* is cut/,
      /"A text that is too long for it" leaves <button#narrow>/,
      /<a#small> .* is \d+ by 10/,
      /<a#under> .* lies under <div#bar>/,
      /200 of 256 stay covered/,
      /the page is not right to left/,
      /starts at/,
      /has its radio button on the left/,
      /color-contrast:/,
      /label:/,
    ])
      assert.match(problems, wrong)
  })
})
