// Searches payments for a text (search-queries.ts), in one of three ways by how frequent it is.

import { readReceiptCode } from '../core/text/receipt-code.ts'
import type { Db } from '../kit/db/db.ts'
import { periodValues } from '../kit/db/list-statements.ts'
import { type ListWindow, substringPattern } from '../kit/db/pagination.ts'
import type { PaymentFilter } from './filters.ts'
import { sampleText } from './sample-queries.ts'
import { findExact, findText, lookForText, type Searched, type SearchText } from './search-queries.ts'

/** Either what was found, or the exact matches of a frequent text: a list of their own, if there are any. */
export type Search = { searched: Searched } | { exact: readonly string[] }

export async function searchPayments(
  db: Db,
  merchantId: string,
  filter: PaymentFilter,
  values: readonly unknown[],
  window: ListWindow,
): Promise<Search> {
  const text = searchTextOf(filter)
  const period = periodValues(merchantId, window)
  const pattern = substringPattern(text.text)
  const { isSmall, isFrequent } = await sampleText(db, period, filter.kinds, pattern)
  if (isSmall) {
    const exact = await findExact(db, merchantId, text)
    return { searched: await lookForText(db, merchantId, window, values, exact) }
  }
  const canFind = !isFrequent && HAS_TRIGRAM.test(text.text)
  const selective = substringPattern(selectivePart(text.text))
  const searched = canFind
    ? await findText(db, merchantId, window, values, { ...text, selective })
    : undefined
  return searched ? { searched } : { exact: await findExact(db, merchantId, text) }
}

function searchTextOf({ search, providerReferences }: PaymentFilter): SearchText {
  const text = search ?? ''
  const { first = null, last = null, tail = null } = readReceiptCode(text) ?? {}
  return { text, references: providerReferences ?? [], receipt: [first, last, tail] }
}

// References mostly have the same beginning, so their last characters have the rare trigrams. A longer end often has the
// beginning of a word, and many words have the same beginning.
const SELECTIVE_LENGTH = 6
// A shorter text has no trigram, and a database with the C collation has trigrams of ASCII letters only. Without one, the index
// would read all of its entries.
const HAS_TRIGRAM = /[a-z0-9]{3}/

function selectivePart(search: string): string {
  const end = Array.from(search).slice(-SELECTIVE_LENGTH).join('')
  return HAS_TRIGRAM.test(end) ? end : search
}
