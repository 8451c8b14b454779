import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { IntlMessageFormat } from 'intl-messageformat'
import { CASE_KIND_NAMES, kindFacts, RESOLUTION_NAMES } from '../../cases/case-kinds.ts'
import { EVENT_PATTERNS, EVENT_TYPE_NAMES } from '../../core/event-types.ts'
import { FAILURES } from '../../core/failures.ts'
import { LANGUAGES } from '../../core/languages.ts'
import { CHANNELS } from '../../gateways/gateway.ts'
import { ATTEMPT_STATUSES, PAYMENT_STATUSES, STATUS_REASONS } from '../../payments/states.ts'
import { AR } from './ar.ts'
import { EN, type TextId, type Texts } from './en.ts'
import { FR } from './fr.ts'
import { PT } from './pt.ts'
import { SW } from './sw.ts'

// A boundary: Object.keys of a constant object returns exactly the keys of its type.
const IDS = Object.keys(EN) as TextId[]
const TRANSLATIONS = { fr: FR, pt: PT, sw: SW, ar: AR } as const
const EVERY = Object.entries({ en: EN, ...TRANSLATIONS }) as [keyof typeof TRANSLATIONS | 'en', Texts][]
const TRANSLATED = EVERY.filter(([language]) => language !== 'en')

/** Texts that are the same word in both languages, or that no language translates. */
const SAME: Readonly<Record<string, readonly string[]>> = {
  fr: [
    'actions',
    'code',
    'description',
    'documentation',
    'instrument',
    'invariant',
    'logo',
    'menu',
    'mobile money',
  ].concat([
    'mode',
    'net',
    'note',
    'pages',
    'test',
    'type',
    'url',
    'violations',
    '1 minute',
    '{count, number} ms',
  ]),
  pt: ['gateways: {names}', 'menu', 'url', '{count, number} ms'],
  sw: ['data', 'metadata', 'url'],
  ar: [],
}

type Elements = ReturnType<IntlMessageFormat['getAst']>

interface Message {
  literals: string[]
  /** The values that the text shows, and those that choose a plural form. */
  names: string[]
  plurals: string[][]
}

function readMessage(text: string, locale: string): Message {
  const message: Message = { literals: [], names: [], plurals: [] }
  const collect = (elements: Elements) => {
    for (const element of elements) {
      if ('options' in element) {
        message.plurals.push(Object.keys(element.options))
        for (const { value } of Object.values(element.options)) collect(value)
      }
      if (!('value' in element)) continue
      if (element.type === LITERAL) message.literals.push(element.value)
      else message.names.push(element.value)
    }
  }
  collect(new IntlMessageFormat(text, locale, undefined, { ignoreTag: true }).getAst())
  message.names = [...new Set(message.names)].toSorted()
  return message
}

// The parser's own number: its package is not a dependency of ours.
const LITERAL = 0

/** The texts that break a rule, so that one run reports all of them. */
function assertNone(
  languages: readonly (readonly [keyof typeof LANGUAGES, Texts])[],
  isBroken: (text: string, id: TextId, language: keyof typeof LANGUAGES) => boolean,
): void {
  const broken = languages.flatMap(([language, texts]) =>
    IDS.filter((id) => isBroken(texts[id], id, language)).map((id) => `${language}.${id}: ${texts[id]}`),
  )
  assert.deepEqual(broken, [])
}

/** The names in the files of a language, as they are written: of two equal ones the object keeps only the last. */
async function writtenIds(language: string): Promise<string[]> {
  const files = await readdir(import.meta.dirname, { recursive: true })
  const own = files.filter((file) => new RegExp(`^${language}(?:[-.].*|/.+)ts$`).test(file))
  const sources = await Promise.all(own.map((file) => readFile(`${import.meta.dirname}/${file}`, 'utf8')))
  return sources.flatMap((source) => [...source.matchAll(/^ {2}(\w+):/gm)].map(([, id = '']) => id))
}

describe('the texts of the dashboard', () => {
  it('writes every text of the dashboard once in each language', async () => {
    for (const [language] of EVERY) {
      const ids = await writtenIds(language)
      assert.deepEqual(ids.toSorted(), IDS.toSorted(), language)
    }
  })

  it('has words for every value of the API that people see', () => {
    const ids = [
      ...PAYMENT_STATUSES.map((status) => `status_${status}`),
      ...[...CHANNELS, 'saved'].map((channel) => `channel_${channel}`),
      ...STATUS_REASONS.map((reason) => `reason_${reason}`),
      ...ATTEMPT_STATUSES.map((status) => `status_${status}`),
      ...CASE_KIND_NAMES.flatMap((kind) => [`case_${kind}`, `meaning_${kind}`]),
      ...[...EVENT_TYPE_NAMES, ...EVENT_PATTERNS].map(
        (type) => `event_${type.replace('*', 'all').replace('.', '_')}`,
      ),
      ...Object.keys(FAILURES).map((code) => `failure_${code}`),
      ...RESOLUTION_NAMES.flatMap((one) => [`resolution_${one}`, `effect_${one}`]),
    ]
    assert.deepEqual(
      ids.filter((id) => !Object.hasOwn(EN, id)),
      [],
    )
    for (const kind of CASE_KIND_NAMES) assert.equal(EN[`meaning_${kind}`], kindFacts(kind).meaning)
  })

  it('has every text of the dashboard in every language, and no other', () => {
    for (const [language, texts] of TRANSLATED)
      assert.deepEqual(Object.keys(texts).toSorted(), IDS.toSorted(), language)
  })

  it('translates every text of the dashboard from English', () => {
    assertNone(TRANSLATED, (text, id, language) => {
      const isSame = text.toLowerCase() === EN[id].toLowerCase()
      return isSame && SAME[language]?.includes(text.toLowerCase()) !== true
    })
  })

  it('shows the same values in every language', () => {
    const namesOf = (text: string, language: keyof typeof LANGUAGES) =>
      readMessage(text, LANGUAGES[language].locale).names.join(' ')
    assertNone(TRANSLATED, (text, id, language) => namesOf(text, language) !== namesOf(EN[id], 'en'))
  })

  it('has a branch for every plural form of a language', () => {
    assertNone(EVERY, (text, _id, language) => {
      const { locale } = LANGUAGES[language]
      const forms = new Intl.PluralRules(locale).resolvedOptions().pluralCategories
      return readMessage(text, locale).plurals.some((branches) =>
        forms.some((form) => !branches.includes(form)),
      )
    })
  })

  it('has no apostrophe that the message syntax would read as a quote', () => {
    assertNone(EVERY, (text) => text.includes("'") || text.trim() === '')
  })

  it('has no French punctuation that can wrap to the start of a line', () => {
    assertNone([['fr', FR]], (text) => readMessage(text, 'fr').literals.some((part) => / [:;?!]/.test(part)))
  })
})
