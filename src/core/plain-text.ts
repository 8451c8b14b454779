// Texts that come from elsewhere and are kept: without what PostgreSQL cannot store or a page should not show.

const MAX_LENGTH = 500
const CONTROL_CHARACTERS = /\p{Cc}/gu

export function plainText(text: string): string {
  const plain = text.toWellFormed().replaceAll(CONTROL_CHARACTERS, ' ')
  // The cut may fall between the two halves of a character.
  return plain.slice(0, MAX_LENGTH).toWellFormed()
}
