// Searches payments for a text (search-queries.ts), in one of three ways by how frequent it is.

import { readReceiptCode } from '../core/text/receipt-code.ts'
import { findCustomersByPhone } from '../customers/service.ts'
import type { Db } from '../kit/db/db.ts'
import { periodValues } from '../kit/db/list-statements.ts'
import { type ListWindow, substringPattern } from '../kit/db/pagination.ts'
import type { PaymentFilter } from './filters.ts'
import { sampleText } from './sample-queries.ts'
import {
  findCustomerOf,
  findExact,
  findOfCustomers,
  findText,
  lookForText,
  MOST_OF_CALLERS,
  type Searched,
  type SearchText,
} from './search-queries.ts'

export type Search =
  | { searched: Searched }
  /** The exact matches of a text that more payments have than are read, the payments of a phone number, or the customer. */
  | { exact: readonly string[]; customerId: string | null; isPartial: boolean }

export async function searchPayments(
  db: Db,
  merchantId: string,
  filter: PaymentFilter,
  values: readonly unknown[],
  window: ListWindow,
): Promise<Search> {
  const text = searchTextOf(filter)
  const findWhole = () => findExact(db, merchantId, window, values, text)
  const called = await findOfCustomers(db, merchantId, await findCustomersByPhone(db, merchantId, text.text))
  if (called.length > 0) {
    const isPartial = called.length === Number(MOST_OF_CALLERS)
    return { exact: [...(await findWhole()), ...called], customerId: null, isPartial }
  }
  const end = selectivePart(text.text)
  const patterns = { text: substringPattern(text.text), end: substringPattern(end) }
  const period = periodValues(merchantId, window)
  const { isSmall, isFrequent, isEndFrequent } = await sampleText(db, period, filter.kinds, patterns)
  if (isSmall) return { searched: await lookForText(db, merchantId, window, values, await findWhole()) }
  const selective = isEndFrequent ? patterns.text : patterns.end
  const find = (own: ListWindow) => findText(db, merchantId, own, values, { ...text, selective })
  const searched = !isFrequent && HAS_TRIGRAM.test(text.text) ? await find(window) : undefined
  if (!searched)
    return {
      exact: await findWhole(),
      customerId: await findCustomerOf(db, merchantId, text.text),
      isPartial: true,
    }
  const isComplete = searched.lastId === null && window.after === null
  if (isComplete && searched.total > 0) return { searched }
  const exact = await findWhole()
  if (exact.length === 0) return { searched }
  // A text in lower case may not fit the reference that it was: of İ, ς and decomposed letters.
  if (isComplete) return { exact, customerId: null, isPartial: false }
  // The first page decides for those after it.
  const first = window.after === null ? searched : await find({ ...window, after: null })
  return first?.lastId === null ? { searched } : { exact, customerId: null, isPartial: true }
}

function searchTextOf({ search }: PaymentFilter): SearchText {
  const text = search ?? ''
  const { first = null, last = null, tail = null } = readReceiptCode(text) ?? {}
  return { text, receipt: [first, last, tail] }
}

// References mostly have the same beginning, so their last characters have the rare trigrams. A longer end often has the
// beginning of a word, and many words have the same beginning. Where all references have the same end, the whole text is used.
const SELECTIVE_LENGTH = 6
// A shorter text has no trigram, and a database with the C collation has trigrams of ASCII letters only. Without one, the index
// would read all of its entries.
const HAS_TRIGRAM = /[a-z0-9]{3}/

function selectivePart(search: string): string {
  const end = Array.from(search).slice(-SELECTIVE_LENGTH).join('')
  return HAS_TRIGRAM.test(end) ? end : search
}
