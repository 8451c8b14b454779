// Finds our records of the payments and refunds in a settlement file, by our key at the gateway or by the gateway's own
// reference.

import { money } from '../core/money.ts'
import { type CellHistory, readEveryCell } from '../kit/cells/cells.ts'
import type { Db } from '../kit/db/db.ts'
import { type CollectedRow, findCollected, type GatewayAccount } from './collected-queries.ts'
import type { InternalRecord, LookupResult } from './compare.ts'
import type { FileRow } from './formats.ts'

/** Our record of a refund. The composition root passes in the function that finds it. */
export interface InternalRefund {
  merchantId: string
  paymentId: string
  refundId: string
  key: string
  reference: string | null
  status: string
  amountMinor: bigint
  currency: NonNullable<InternalRecord['amount']>['currency']
}

interface RecordsApp {
  db: Db
  cells?: CellHistory
  findRefunds(
    account: GatewayAccount,
    keys: readonly string[],
    references: readonly string[],
  ): Promise<InternalRefund[]>
}

export async function findInternalRecords(
  app: RecordsApp,
  account: GatewayAccount,
  rows: readonly FileRow[],
): Promise<(row: FileRow) => LookupResult> {
  const identifiersOf = (type: FileRow['type']): [string[], string[]] => {
    const matching = rows.filter((row) => row.type === type)
    return [matching.flatMap(({ key }) => key ?? []), matching.flatMap(({ reference }) => reference ?? [])]
  }
  const [payments, refunds] = await Promise.all([
    readEveryCell(app.cells, () => findCollected(app.db, account, ...identifiersOf('payment'))),
    app.findRefunds(account, ...identifiersOf('refund')),
  ])
  const records = {
    payment: indexByIdentifier(payments.map(toInternalRecord)),
    refund: indexByIdentifier(refunds.map(toInternalRefundRecord)),
  }
  return (row) => lookUp(row, records[row.type])
}

/**
 * Our own key has precedence over the provider's reference, because it identifies one attempt. An unknown reference is no
 * conflict, because the files of some providers use other references than their APIs.
 */
function lookUp({ key, reference }: FileRow, records: ReadonlyMap<string, InternalRecord>): LookupResult {
  const byKey = records.get(`key ${key}`)
  const byReference = records.get(`reference ${reference}`)
  const ours = byKey ?? byReference
  const isOtherKey = key !== null && ours !== undefined && ours.key !== key
  const isOtherReference =
    byReference !== undefined && byReference.key !== ours?.key && ours?.reference !== reference
  return { ours, referencesConflict: isOtherKey || isOtherReference }
}

function indexByIdentifier(records: readonly InternalRecord[]): Map<string, InternalRecord> {
  const entries = records.flatMap((ours): [string, InternalRecord][] => [
    [`key ${ours.key}`, ours],
    ...(ours.reference === null
      ? []
      : ([[`reference ${ours.reference}`, ours]] as [string, InternalRecord][])),
  ])
  return new Map(entries)
}

// A payment of a wrong amount and a duplicate payment moved money too.
const MONEY_RECEIVED: ReadonlySet<string> = new Set(['succeeded', 'duplicate_success', 'amount_mismatch'])

export function toInternalRecord(row: CollectedRow): InternalRecord {
  const { paidMinor, paidCurrency, feeMinor } = row
  return {
    ...row,
    refundId: null,
    isDone: MONEY_RECEIVED.has(row.status),
    isCredited: row.status === 'succeeded',
    amount: paidMinor === null || paidCurrency === null ? null : money(paidMinor, paidCurrency),
    fee: feeMinor === null || paidCurrency === null ? null : money(feeMinor, paidCurrency),
  }
}

function toInternalRefundRecord(row: InternalRefund): InternalRecord {
  const amount = money(row.amountMinor, row.currency)
  return { ...row, isDone: row.status === 'successful', isCredited: false, amount, fee: null }
}
