// The report of collections: which sums it reads for a period, and its rows.

import { type Currency, isCurrency } from '../core/currency.ts'
import { errorFromIssues } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import { formatAmount, money } from '../core/money.ts'
import type { Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db/db.ts'
import { type CollectionRow, selectCollections } from './queries.ts'

export const GROUPS = ['day', 'currency', 'gateway', 'channel', 'status'] as const
export type Group = (typeof GROUPS)[number]

export interface CollectionsQuery {
  from?: string
  to?: string
  groupBy?: Group[]
}

/** Longer periods are several reports. */
const MAX_DAYS = 366
const DEFAULT_DAYS = 30
const DAY_MS = 86_400_000

export interface DayRange {
  grain: 'day' | 'day_total' | 'month'
  from: string
  to: string
}

export async function reportCollections(
  app: { db: Db; clock: Clock },
  merchant: Merchant,
  query: CollectionsQuery,
) {
  const to = query.to ?? app.clock.now().toISOString().slice(0, 10)
  const from = query.from ?? shifted(to, 1 - DEFAULT_DAYS)
  const groups = new Set<Group>(query.groupBy ?? ['day'])
  requirePeriod(from, to)
  const ranges = rangesOf(from, to, groups)
  const rows = await app.db.query(selectCollections, [
    merchant.id,
    ranges.map(({ grain }) => grain),
    ranges.map((range) => range.from),
    ranges.map((range) => range.to),
    groups.has('day'),
    groups.has('gateway'),
    groups.has('channel'),
    groups.has('status'),
  ])
  return rows.map(toRecord)
}

function requirePeriod(from: string, to: string): void {
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  const message =
    days < 1
      ? 'to must not be before from.'
      : days > MAX_DAYS
        ? `to must be at most ${MAX_DAYS} days after from.`
        : undefined
  if (message) throw errorFromIssues([{ field: 'to', code: 'out_of_range', message }])
}

/** Whole months are read as months, unless the report has a row for each day. */
export function rangesOf(from: string, to: string, groups: ReadonlySet<Group>): DayRange[] {
  const isDetailed = groups.has('gateway') || groups.has('channel') || groups.has('status')
  if (!isDetailed) return [{ grain: 'day_total', from, to }]
  if (groups.has('day')) return [{ grain: 'day', from, to }]
  const firstMonth = from.endsWith('-01') ? from : monthAfter(from)
  const endOfMonths = `${dayAfter(to).slice(0, 7)}-01`
  if (firstMonth >= endOfMonths) return [{ grain: 'day', from, to }]
  const ranges: DayRange[] = [{ grain: 'month', from: firstMonth, to: monthBefore(endOfMonths) }]
  if (from < firstMonth) ranges.push({ grain: 'day', from, to: dayBefore(firstMonth) })
  if (endOfMonths <= to) ranges.push({ grain: 'day', from: endOfMonths, to })
  return ranges
}

const shifted = (day: string, days: number) =>
  new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)
const dayAfter = (day: string) => shifted(day, 1)
const dayBefore = (day: string) => shifted(day, -1)
/** The first days of the months before and after. A month has at least 28 days, and at most 31. */
const monthBefore = (firstDay: string) => `${dayBefore(firstDay).slice(0, 7)}-01`
const monthAfter = (day: string) => `${shifted(`${day.slice(0, 7)}-01`, 31).slice(0, 7)}-01`

function toRecord(row: CollectionRow) {
  const { currency } = row
  if (!isCurrency(currency)) throw new Error(`${currency} is no currency of the API`)
  const amount = (minor: bigint) => formatAmount(money(minor, currency satisfies Currency))
  return {
    day: row.day,
    currency,
    paymentGateway: row.gateway,
    channel: row.channel === '' ? null : row.channel,
    status: row.status,
    payments: Number(row.payments),
    paidPayments: Number(row.paidPayments),
    amount: amount(row.amountMinor),
    amountPaid: amount(row.paidMinor),
    fees: amount(row.feeMinor),
    unknownFees: Number(row.unknownFees),
    netAmount: amount(row.paidMinor - row.feeMinor),
    refundedAmount: amount(row.refundedMinor),
  }
}
