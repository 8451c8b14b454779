// Texts that come from elsewhere and are kept: without what PostgreSQL cannot store or a page should not show.

const MAX_LENGTH = 500
const CONTROL_CHARACTERS = /\p{Cc}/gu

export function sanitizeText(text: string): string {
  // The cut may fall between the two halves of a character.
  return replaceControlCharacters(text).slice(0, MAX_LENGTH).toWellFormed()
}

/** The same for every text of a JSON value, without the cut: an address must stay whole. */
export function sanitizeTexts<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value), (_, part) =>
    typeof part === 'string' ? replaceControlCharacters(part) : part,
  )
}

function replaceControlCharacters(text: string): string {
  return text.toWellFormed().replaceAll(CONTROL_CHARACTERS, ' ')
}
