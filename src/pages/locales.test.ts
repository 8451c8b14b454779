import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { IntlMessageFormat } from 'intl-messageformat'
import { CONSENT_WORDING } from '../consents/consent.ts'
import { LANGUAGE_CODES, LANGUAGES, type Language } from '../core/languages.ts'
import type { MessageValues } from '../kit/http/messages.ts'
import { EN, type MessageId } from './locales/en.ts'
import { LOCALES, translate } from './locales.ts'

// A boundary: Object.keys of a constant object returns exactly the keys of its type.
const MESSAGE_IDS = Object.keys(EN) as MessageId[]
const TRANSLATIONS = LANGUAGE_CODES.filter((language) => language !== 'en')
/** Together they select every plural form of the seven languages. */
const COUNTS = [0, 1, 2, 3, 11, 100, 1_000_000]

const FIRST_STRONG_ISOLATE = '\u2068'
const END_OF_ISOLATE = '\u2069'
const DIRECTION_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
const isolate = (text: string) => `${FIRST_STRONG_ISOLATE}${text}${END_OF_ISOLATE}`

type Elements = ReturnType<IntlMessageFormat['getAst']>

interface Plural {
  name: string
  branches: string[]
}

/** The parsed elements of a message. */
interface Message {
  literals: string[]
  /** The names of the values that are inserted unchanged. */
  values: string[]
  plurals: Plural[]
}

// The parser's own numbers: its package is not a dependency of ours.
const LITERAL = 0
const ARGUMENT = 1
const PLURAL = 6
const COUNT_SIGN = 7

function readMessage(language: Language, id: MessageId): Message {
  const { messages } = LOCALES[language]
  const { locale } = LANGUAGES[language]
  const text: string = messages[id]
  const message: Message = { literals: [], values: [], plurals: [] }
  collect(message, new IntlMessageFormat(text, locale, undefined, { ignoreTag: true }).getAst())
  return message
}

function collect(message: Message, elements: Elements): void {
  for (const element of elements) {
    if ('pluralType' in element && element.type === PLURAL) {
      message.plurals.push({ name: element.value, branches: Object.keys(element.options).toSorted() })
      for (const { value } of Object.values(element.options)) collect(message, value)
    } else if ('value' in element && element.type === LITERAL) {
      message.literals.push(element.value)
    } else if ('value' in element && element.type === ARGUMENT) {
      message.values.push(element.value)
    } else {
      assert.equal(element.type, COUNT_SIGN, 'a text has values, plurals and nothing else')
    }
  }
}

function everyText(
  languages: readonly Language[],
): { language: Language; id: MessageId; message: Message }[] {
  return languages.flatMap((language) =>
    MESSAGE_IDS.map((id) => ({ language, id, message: readMessage(language, id) })),
  )
}

const TEXTS = everyText(LANGUAGE_CODES)
const TRANSLATED = everyText(TRANSLATIONS)

/** The texts that break a rule, by name, so that one run reports all of them. */
function assertNone<Text extends { language: Language; id: MessageId }>(broken: readonly Text[]): void {
  assert.deepEqual(
    broken.map(({ language, id }) => `${language}.${id}: ${LOCALES[language].messages[id]}`),
    [],
  )
}

/** A value for every name in the message: its own name, or the count. */
function valuesFor({ values, plurals }: Message, count: number): MessageValues {
  return Object.fromEntries([
    ...values.map((name) => [name, `value of ${name}`]),
    ...plurals.map(({ name }) => [name, count]),
  ])
}

function digitsIn({ literals }: Message): string[] {
  return [...new Set(literals.flatMap((text) => text.match(/\p{Nd}+/gu) ?? []))].toSorted()
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

describe('the texts of the payer’s pages', () => {
  it('have the keys of the source in every language, in the same order', () => {
    for (const language of TRANSLATIONS) {
      assert.deepEqual(Object.keys(LOCALES[language].messages), MESSAGE_IDS, language)
    }
  })

  it('are complete in every language', () => {
    assertNone(TEXTS.filter(({ language, id }) => LOCALES[language].messages[id].trim() === ''))
  })

  it('take the same values as the source', () => {
    const names = ({ values, plurals }: Message) => [
      values.toSorted(),
      plurals.map(({ name }) => name).toSorted(),
    ]
    assertNone(TRANSLATED.filter(({ id, message }) => !isSame(names(message), names(readMessage('en', id)))))
  })

  it('have a branch for every plural form of the language', () => {
    const broken = TEXTS.filter(({ language, id, message }) => {
      const forms = new Intl.PluralRules(LANGUAGES[language].locale).resolvedOptions().pluralCategories
      return message.plurals.some(({ name, branches }) => {
        const source = readMessage('en', id).plurals.find((plural) => plural.name === name)
        const exact = source?.branches.filter((branch) => branch.startsWith('=')) ?? []
        return !isSame(branches, [...forms, ...exact].toSorted())
      })
    })
    assertNone(broken)
  })

  it('are tested with every plural form of their language', () => {
    for (const { locale } of Object.values(LANGUAGES)) {
      const rules = new Intl.PluralRules(locale)
      const tried = new Set(COUNTS.map((count) => rules.select(count)))
      assert.deepEqual([...tried].toSorted(), rules.resolvedOptions().pluralCategories.toSorted(), locale)
    }
  })

  it('can be rendered with their values, and show each value', () => {
    const broken = TEXTS.filter(({ language, id, message }) => {
      const values = valuesFor(message, 1)
      const rendered = translate(language, id, values)
      const shown = Object.values(values).filter((value) => typeof value === 'string')
      return /[{}]/.test(rendered) || shown.some((value) => !rendered.includes(value))
    })
    assertNone(broken)
  })

  it('differ for every number, with the number in Latin digits from three on', () => {
    const counted = TEXTS.filter(({ message }) => message.plurals.length > 0)
    assert.ok(counted.length >= LANGUAGE_CODES.length, 'the texts with numbers were found')
    const broken = counted.filter(({ language, id, message }) => {
      const rendered = COUNTS.map((count) => translate(language, id, valuesFor(message, count)))
      const isUnclear = new Set(rendered).size < COUNTS.length
      const isSilent = COUNTS.some(
        (count, index) => count >= 3 && rendered[index]?.replaceAll(/\P{Nd}/gu, '') !== String(count),
      )
      return isUnclear || isSilent
    })
    assertNone(broken)
  })

  it('are translated from English', () => {
    // French speakers use this name too.
    const shared = new Set(['fr.mobileMoney'])
    const isEnglish = ({ language, id }: { language: Language; id: MessageId }) =>
      LOCALES[language].messages[id].toLowerCase() === EN[id].toLowerCase()
    const english = TRANSLATED.filter(isEnglish)
    assertNone(english.filter(({ language, id }) => !shared.has(`${language}.${id}`)))
    assert.equal(english.length, shared.size, 'every exception is needed')
  })

  it('contain only the digits of the source', () => {
    assertNone(
      TRANSLATED.filter(({ id, message }) => !isSame(digitsIn(message), digitsIn(readMessage('en', id)))),
    )
  })

  it('keep the word PIN', () => {
    const hasPin = ({ literals }: Message) => literals.some((text) => text.includes('PIN'))
    assertNone(TRANSLATED.filter(({ id, message }) => hasPin(readMessage('en', id)) && !hasPin(message)))
  })

  it('have no apostrophe that the message syntax would read as a quote', () => {
    assertNone(TEXTS.filter(({ language, id }) => LOCALES[language].messages[id].includes("'")))
  })

  it('have no French punctuation that can wrap to the start of a line', () => {
    assertNone(
      everyText(['fr']).filter(({ message }) =>
        message.literals.some((text) => /(?<!\u00a0)[:;?!]/.test(text)),
      ),
    )
  })
})

describe('a value in a text', () => {
  it('is isolated in Arabic text', () => {
    const arabic = TEXTS.filter(({ language, message }) => language === 'ar' && message.values.length > 0)
    assert.ok(arabic.length > 20, 'the texts with values were found')
    const broken = arabic.filter(({ language, id, message }) => {
      const rendered = translate(language, id, valuesFor(message, 3))
      return message.values.some((name) => !rendered.includes(isolate(`value of ${name}`)))
    })
    assertNone(broken)
  })

  it('is isolated in English text if it is Arabic or Hebrew, and otherwise not', () => {
    assert.equal(
      translate('en', 'returnTo', { merchant: 'متجر أمينة' }),
      `Return to ${isolate('متجر أمينة')}`,
    )
    assert.equal(translate('en', 'returnTo', { merchant: 'החנות 24' }), `Return to ${isolate('החנות 24')}`)
    assert.equal(translate('en', 'returnTo', { merchant: 'አሚና & Co' }), 'Return to አሚና & Co')
  })

  it('loses the control characters that could reverse the text around it', () => {
    const merchant = 'Shop\u202egro.live\u202c\u2069\u2067\u200f\u061c'
    assert.equal(translate('en', 'returnTo', { merchant }), 'Return to Shopgro.live')
    assert.equal(
      translate('en', 'returnTo', { merchant: `${merchant}متجر` }),
      `Return to ${isolate('Shopgro.liveمتجر')}`,
    )
    const arabic = translate('ar', 'returnTo', { merchant })
    assert.ok(arabic.includes(isolate('Shopgro.live')))
    assert.equal(arabic.match(DIRECTION_CONTROLS)?.length, 2)
  })

  it('is shown unchanged, even if it looks like message syntax', () => {
    for (const merchant of [
      '{merchant}',
      '<b>Amina</b>',
      "Amina's {0} '{'",
      '# {n, plural, other {#}}',
      '</script>',
    ]) {
      assert.equal(translate('en', 'returnTo', { merchant }), `Return to ${merchant}`)
      assert.ok(translate('ar', 'returnSoon', { merchant, seconds: 3 }).includes(isolate(merchant)))
    }
  })

  it('never changes the text around it', () => {
    // Values that could confuse message syntax, markup or text direction.
    const unit = fc.constantFrom(
      '{',
      '}',
      '<',
      '>',
      "'",
      '#',
      ',',
      ' ',
      'a',
      '7',
      'م',
      'አ',
      '\u202e',
      '\u2069',
    )
    fc.assert(
      fc.property(fc.string({ unit }), fc.constantFrom(...LANGUAGE_CODES), (merchant, language) => {
        const plain = merchant.replaceAll(DIRECTION_CONTROLS, '')
        const shown = language === 'ar' || plain.includes('م') ? isolate(plain) : plain
        const text: string = LOCALES[language].messages.slowText
        // A function, because replaceAll would interpret dollar signs in a string.
        assert.equal(
          translate(language, 'slowText', { merchant }),
          text.replace('{merchant}', () => shown),
        )
      }),
    )
  })
})

/** Digests of the texts of each version, so that a change of a text does not go without a new version. */
const WORDINGS: Readonly<Record<string, string>> = { 1: '488d9de5154b0889', 2: '4fddfcea05f3ed73' }

describe('the wording of the consent to a saved card', () => {
  it('has a new version when a text of the consent changes', () => {
    const texts = LANGUAGE_CODES.map((language) => {
      const { saveNotice, saveChoice, saveNumberNotice, saveNumberChoice } = LOCALES[language].messages
      return [language, saveNotice, saveChoice, saveNumberNotice, saveNumberChoice]
    })
    const digest = createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 16)
    assert.equal(WORDINGS[CONSENT_WORDING], digest)
  })
})
