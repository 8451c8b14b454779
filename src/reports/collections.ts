// The report of collections: its period, and its rows.

import { type Currency, isCurrency } from '../core/currency.ts'
import { errorFromIssues } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import { formatAmount, money } from '../core/money.ts'
import type { Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db/db.ts'
import { dayIn, isTimeZone, shiftDay, startOfDay } from '../kit/time-zone.ts'
import { type CollectionRow, selectCollections } from './queries.ts'
import { type Group, type Period, type Ranges, rangesOf, rangesWithin } from './ranges.ts'

export interface CollectionsQuery {
  from?: string
  to?: string
  timeZone?: string
  groupBy?: Group[]
}

/** Longer periods are several reports. */
const MAX_DAYS = 366
const DEFAULT_DAYS = 30
const DAY_MS = 86_400_000

export async function reportCollections(
  app: { db: Db; clock: Clock },
  merchant: Merchant,
  query: CollectionsQuery,
) {
  const groups = new Set<Group>(query.groupBy ?? ['day'])
  return readSums(app.db, merchant, rangesOf(readPeriod(app.clock.now(), query), groups), groups)
}

const WEEK_DAYS = 7
const QUARTER_HOUR_MS = 900_000

/** What was collected a week ago up to the time that it is now, to the last quarter hour: a part of today compares with it. */
export async function reportWeekAgo(app: { db: Db; clock: Clock }, merchant: Merchant, timeZone: string) {
  requireTimeZone(timeZone)
  const now = app.clock.now()
  const today = dayIn(now.toISOString(), timeZone)
  const [startMs, todayMs] = [shiftDay(today, -WEEK_DAYS), today].map((day) =>
    Date.parse(startOfDay(day, timeZone)),
  ) as [number, number]
  const elapsedMs = Math.floor((now.getTime() - todayMs) / QUARTER_HOUR_MS) * QUARTER_HOUR_MS
  const groups = new Set<Group>(['currency'])
  const collections = await readSums(
    app.db,
    merchant,
    rangesWithin(startMs, startMs + elapsedMs, groups),
    groups,
  )
  return { until: new Date(startMs + elapsedMs).toISOString(), collections }
}

async function readSums(db: Db, merchant: Merchant, { ranges, shiftDays }: Ranges, groups: Set<Group>) {
  const rows = await db.query(selectCollections, [
    merchant.id,
    ranges.map(({ grain }) => grain),
    ranges.map(({ fromMs }) => fromMs / 1_000),
    ranges.map(({ toMs }) => toMs / 1_000),
    ranges.map(({ sign }) => sign),
    ranges.map(({ day }) => day),
    shiftDays,
    groups.has('day'),
    groups.has('gateway'),
    groups.has('channel'),
    groups.has('status'),
  ])
  return rows.map(toRecord)
}

function readPeriod(now: Date, { timeZone = 'UTC', ...query }: CollectionsQuery): Period {
  requireTimeZone(timeZone)
  const to = query.to ?? dayIn(now.toISOString(), timeZone)
  const from = query.from ?? shiftDay(to, 1 - DEFAULT_DAYS)
  requirePeriod(from, to)
  return { from, to, timeZone }
}

function requireTimeZone(timeZone: string): void {
  if (isTimeZone(timeZone)) return
  const message = 'timeZone must be the name of a time zone, such as Africa/Nairobi.'
  throw errorFromIssues([{ field: 'timeZone', code: 'invalid_format', message }])
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
