// The search text of a customer: "first last" and the e-mail, in lower case. A query has no control characters, so the
// line break prevents a match across the two.

export function searchTextOf(customer: { firstname: string; lastname: string; email: string }): string {
  return `${customer.firstname} ${customer.lastname}\n${customer.email}`.toLowerCase()
}

const GRAM = 4

/**
 * The tsquery for the index over search_ngrams (migrations): n-grams of four characters that cover the text, or a prefix
 * query for a shorter text. Each n-gram starts with the end of the merchant id, so that a lookup reads only the entries of
 * this merchant. A row may contain all n-grams without the text, so the statement also compares the text.
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

// Three n-grams distinguish almost all e-mails of a merchant; each further one adds an index lookup.
const MAX_SELECTIVE_CHARACTERS = 3 * GRAM

/** Many e-mails share their domain, so the index is much faster for the part before the @ alone. */
function selectivePart(text: string): string {
  const end = text.indexOf('@') + 1
  return end > GRAM ? Array.from(text.slice(0, end)).slice(-MAX_SELECTIVE_CHARACTERS).join('') : text
}

const quoteLexeme = (gram: string): string => `'${gram.replaceAll(/['\\]/g, '$&$&')}'`
