// What a customer is found by: "first last" and the e-mail, in lower case. The line break keeps a search from matching
// across the two, because a search text has no control characters.

export function searchTextOf(customer: { firstname: string; lastname: string; email: string }): string {
  return `${customer.firstname} ${customer.lastname}\n${customer.email}`.toLowerCase()
}

const GRAM = 4

/**
 * What a text is looked up by in the index of search_ngrams (migrations): pieces of four characters that cover it, or the
 * beginning of such a piece where it is shorter. Each begins with the end of the merchant's id, so that nobody reads what
 * others have. Whoever has them all may yet lack the text: it is compared as well.
 */
export function searchQueryOf(merchantId: string, text: string): string {
  const characters = Array.from(selectivePart(text))
  const merchantSuffix = merchantId.slice(-8)
  if (characters.length < GRAM) return `${quoteLexeme(merchantSuffix + characters.join(''))}:*`
  const starts = Array.from({ length: Math.floor(characters.length / GRAM) }, (_, index) => index * GRAM)
  const grams = [...starts, characters.length - GRAM].map((start) =>
    characters.slice(start, start + GRAM).join(''),
  )
  return [...new Set(grams)].map((gram) => quoteLexeme(merchantSuffix + gram)).join(' & ')
}

// Three pieces tell almost all e-mails of a merchant apart; each further one is read as well.
const MAX_SELECTIVE_CHARACTERS = 3 * GRAM

/** Every other e-mail ends like this one: what stands before the @ is found much sooner by itself. */
function selectivePart(text: string): string {
  const end = text.indexOf('@') + 1
  return end > GRAM ? Array.from(text.slice(0, end)).slice(-MAX_SELECTIVE_CHARACTERS).join('') : text
}

const quoteLexeme = (gram: string): string => `'${gram.replaceAll(/['\\]/g, '$&$&')}'`
