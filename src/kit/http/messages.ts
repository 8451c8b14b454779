// Texts of pages in several languages, in ICU message syntax.

import { IntlMessageFormat } from 'intl-messageformat'
import { LANGUAGES, type Language, latinDigits } from '../../core/languages.ts'
import { isolated } from '../../core/text/direction.ts'

export type MessageValues = Readonly<Record<string, string | number>>

/** A text of the language with its values. Values are plain text: the HTML template escapes them. */
export type Translate<Id extends string, Languages extends Language> = (
  language: Languages,
  id: Id,
  values?: MessageValues,
) => string

export function createTranslate<Id extends string, Languages extends Language>(
  texts: Readonly<Record<Languages, Readonly<Record<Id, string>>>>,
): Translate<Id, Languages> {
  const compiled = new Map<string, IntlMessageFormat>()
  // Parsed once and cached: a page has some thirty texts, and parsing costs more than rendering.
  const compile = (language: Languages, id: Id): IntlMessageFormat => {
    const key = `${language}.${id}`
    const known = compiled.get(key)
    if (known) return known
    const locale = latinDigits(LANGUAGES[language].locale)
    const message = new IntlMessageFormat(texts[language][id], locale, undefined, { ignoreTag: true })
    compiled.set(key, message)
    return message
  }
  return (language, id, values = {}) => {
    const { direction } = LANGUAGES[language]
    const shown = Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'string' ? isolated(value, direction) : value,
    ])
    return String(compile(language, id).format(Object.fromEntries(shown)))
  }
}
