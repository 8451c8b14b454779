// Sanitizes external texts before we store them: replaces control characters and lone surrogates, which PostgreSQL may
// reject and pages should not show.

const MAX_LENGTH = 500
const CONTROL_CHARACTERS = /\p{Cc}/gu

export function sanitizeText(text: string): string {
  // The truncation may split a surrogate pair.
  return replaceControlCharacters(text).slice(0, MAX_LENGTH).toWellFormed()
}

/** Sanitizes every text of a JSON value without truncation, because a truncated URL would be wrong. */
export function sanitizeTexts<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value), (_, part) =>
    typeof part === 'string' ? replaceControlCharacters(part) : part,
  )
}

function replaceControlCharacters(text: string): string {
  return text.toWellFormed().replaceAll(CONTROL_CHARACTERS, ' ')
}
