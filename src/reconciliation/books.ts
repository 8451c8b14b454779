// What our books say about the lines of a settlement file: payments and refunds, found by our key at the gateway or by the
// gateway's own reference.

import { money } from '../core/money.ts'
import type { Db } from '../kit/db.ts'
import { type CollectedRow, findCollected, type GatewayAccount } from './collected-queries.ts'
import type { FileRow } from './formats.ts'
import type { Found, Ours } from './judge.ts'

/** A refund by our books; refunds stand beside this slice, so the root hands in how they are found. */
export interface GivenRefund {
  merchantId: string
  paymentId: string
  refundId: string
  key: string
  reference: string | null
  status: string
  amountMinor: bigint
  currency: NonNullable<Ours['amount']>['currency']
}

interface Books {
  db: Db
  findRefunds(
    account: GatewayAccount,
    keys: readonly string[],
    references: readonly string[],
  ): Promise<GivenRefund[]>
}

export async function findOurs(
  app: Books,
  account: GatewayAccount,
  rows: readonly FileRow[],
): Promise<(row: FileRow) => Found> {
  const namesOf = (type: FileRow['type']): [string[], string[]] => {
    const wanted = rows.filter((row) => row.type === type)
    return [wanted.flatMap(({ key }) => key ?? []), wanted.flatMap(({ reference }) => reference ?? [])]
  }
  const [payments, refunds] = await Promise.all([
    findCollected(app.db, account, ...namesOf('payment')),
    app.findRefunds(account, ...namesOf('refund')),
  ])
  const known = { payment: byName(payments.map(toOurs)), refund: byName(refunds.map(toOurRefund)) }
  return (row) => foundBy(row, known[row.type])
}

/**
 * Our own key goes before the provider's reference: it names one attempt and no other. A reference that we do not know does
 * not speak against it, because some providers' files name a payment otherwise than their API.
 */
function foundBy({ key, reference }: FileRow, known: ReadonlyMap<string, Ours>): Found {
  const byKey = known.get(`key ${key}`)
  const byReference = known.get(`reference ${reference}`)
  const ours = byKey ?? byReference
  const isOtherKey = key !== null && ours !== undefined && ours.key !== key
  const isOtherReference =
    byReference !== undefined && byReference.key !== ours?.key && ours?.reference !== reference
  return { ours, namesDiffer: isOtherKey || isOtherReference }
}

function byName(all: readonly Ours[]): Map<string, Ours> {
  const named = all.flatMap((ours): [string, Ours][] => [
    [`key ${ours.key}`, ours],
    ...(ours.reference === null ? [] : ([[`reference ${ours.reference}`, ours]] as [string, Ours][])),
  ])
  return new Map(named)
}

// Money of another amount came too, and a second success is money as well.
const MONEY_CAME: ReadonlySet<string> = new Set(['succeeded', 'duplicate_success', 'amount_mismatch'])

export function toOurs(row: CollectedRow): Ours {
  const { paidMinor, paidCurrency, feeMinor } = row
  return {
    ...row,
    refundId: null,
    isDone: MONEY_CAME.has(row.status),
    isCredited: row.status === 'succeeded',
    amount: paidMinor === null || paidCurrency === null ? null : money(paidMinor, paidCurrency),
    fee: feeMinor === null || paidCurrency === null ? null : money(feeMinor, paidCurrency),
  }
}

function toOurRefund(row: GivenRefund): Ours {
  const amount = money(row.amountMinor, row.currency)
  return { ...row, isDone: row.status === 'successful', isCredited: false, amount, fee: null }
}
