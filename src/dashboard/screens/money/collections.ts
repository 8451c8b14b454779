// The sums of payments by group, as reports and home show them.

import { type Html, html } from '../../../kit/http/html.ts'
import { dayIn, shiftDay } from '../../../kit/time-zone.ts'
import { P2P } from '../../../p2p/app.ts'
import { barChart } from '../../frame/chart.ts'
import { addressWith } from '../../frame/components.ts'
import type { ScreenRequest } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
import { PAYMENTS_PATH } from '../payments.ts'

export interface Collection {
  day: string | null
  currency: string
  paymentGateway: string | null
  channel: string | null
  status: string | null
  payments: number
  paidPayments: number
  amountPaid: string
  fees: string
  unknownFees: number
  netAmount: string
  refundedAmount: string
}

export interface Period {
  from: string
  to: string
}

const DAY_MS = 86_400_000

/** The day in the merchant's zone, so many days ago. */
export function daysAgo({ now, texts }: Pick<ScreenRequest, 'now' | 'texts'>, days: number): string {
  return shiftDay(dayIn(now.toISOString(), texts.zone), -days)
}

export const GROUPS = ['day', 'gateway', 'channel', 'status', 'currency'] as const
export type Group = (typeof GROUPS)[number]

export interface Choices {
  period: Period
  by: Group
}

/** The report that the address names: by default the last 30 days, by day. */
export function readChoices(request: ScreenRequest): Choices {
  const { query } = request
  return {
    period: { from: query.from || daysAgo(request, 29), to: query.to || daysAgo(request, 0) },
    by: GROUPS.find((group) => group === query.by) ?? 'day',
  }
}

export const periodLabels = ({ t }: Texts) => ({ from: t('from'), to: t('to') })

export async function loadCollections(
  { call, texts }: ScreenRequest,
  { from, to }: Period,
  groupBy: string,
): Promise<Collection[]> {
  const query = { from, to, timeZone: texts.zone, groupBy }
  // A boundary: the operation returns records of its schema.
  return (await call('reports.collections', { query })).data as Collection[]
}

/** A figure of paid payments with a link to the list of them: their sum is the figure. */
export function collectedLink(
  { allows, texts }: ScreenRequest,
  { currency, amountPaid, paidPayments, paymentGateway, channel, status }: Collection,
  { from, to }: Period,
): Html | string {
  const amount = texts.amount(amountPaid, currency)
  if (paidPayments === 0 || !allows('payments.listAll')) return amount
  const filters = {
    ...{ currency, paidFrom: from, paidTo: to, paymentGateway: paymentGateway ?? undefined },
    ...{ channel: channel ?? undefined, status: status ?? undefined },
  }
  return html`<a href="${addressWith(PAYMENTS_PATH, {}, filters)}">${amount}</a>`
}

/** What payers sent straight to accounts of the merchant, by currency: it is in no balance of the wallet. */
export async function loadOwnAccounts(request: ScreenRequest, period: Period) {
  const rows = await loadCollections(request, period, 'currency,gateway')
  const direct = rows.filter(({ paymentGateway, paidPayments }) => paymentGateway === P2P && paidPayments > 0)
  return new Map(direct.map((row) => [row.currency, row]))
}

/** The currencies, the one with the most payments first. */
export function currenciesOf(rows: readonly Collection[]): string[] {
  const counts = new Map<string, number>()
  for (const { currency, payments } of rows) counts.set(currency, (counts.get(currency) ?? 0) + payments)
  return [...counts].sort(([, a], [, b]) => b - a).map(([currency]) => currency)
}

/** "98 / 120 (81.7%)" */
export function paidText(
  row: Pick<Collection, 'payments' | 'paidPayments'> | undefined,
  { ratio, percent }: Texts,
): Html | null {
  if (!row || row.payments === 0) return null
  return html`${ratio(row.paidPayments, row.payments)} (${percent(row.paidPayments / row.payments)})`
}

/** What was collected on each day of the period in one currency, also on days without payments. */
export function dailyChart(
  rows: readonly Collection[],
  currency: string,
  { from, to }: Period,
  texts: Texts,
): Html {
  const byDay = new Map(rows.filter((row) => row.currency === currency).map((row) => [row.day, row]))
  const count = Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1
  const days = Array.from({ length: count }, (_, index) => shiftDay(from, index))
  const points = days.map((day) => {
    const amountPaid = byDay.get(day)?.amountPaid ?? '0'
    const title = `${texts.day(day)}: ${texts.amount(amountPaid, currency)}`
    return { amountPaid, value: Number(amountPaid), title }
  })
  const highest = points.reduce((most, point) => (point.value > most.value ? point : most))
  return barChart({
    title: texts.t('chartTitle', { currency }),
    bars: points,
    highest: texts.t('chartHighest', { amount: texts.amount(highest.amountPaid, currency) }),
    first: texts.day(from),
    last: texts.day(to),
  })
}
