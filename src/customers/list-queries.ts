// The list of customers, with keyset pagination.

import type { Db } from '../kit/db/db.ts'
import { countRows, listStatements, readPage } from '../kit/db/list-statements.ts'
import { type CappedLists, type CountedRows, countUpToCap, type ListWindow } from '../kit/db/pagination.ts'
import { CUSTOMER, type CustomerRow } from './customer.ts'

const ALL = listStatements<CustomerRow>({ columns: CUSTOMER.select('c'), table: 'customers', alias: 'c' })

export async function listCustomerRows(
  db: Db,
  merchantId: string,
  window: ListWindow,
  cappedLists?: CappedLists,
): Promise<CountedRows<CustomerRow>> {
  const count = () => countRows(db, ALL, merchantId, window)
  // Customers are never deleted, so a full list stays above the cap. A period may hold few.
  const isUnfiltered = window.createdFrom === null && window.createdTo === null
  const [rows, counted] = await Promise.all([
    readPage(db, ALL, merchantId, window),
    isUnfiltered ? countUpToCap(cappedLists, `customers:${merchantId}`, count) : count(),
  ])
  return { rows, counted }
}
