// Today on home, by currency: what was collected, the same part of the day a week ago, and how many of the decided are paid.

import { type Html, html } from '../../kit/http/html.ts'
import { type Column, table } from '../frame/components.ts'
import type { ScreenRequest } from '../frame/screen.ts'
import {
  type Collection,
  collectedLink,
  currenciesOf,
  dailyChart,
  daysAgo,
  loadCollections,
  loadOwnAccounts,
  type Period,
  paidText,
} from './money/collections.ts'

export async function today(request: ScreenRequest): Promise<Html | null> {
  const { allows, texts } = request
  if (!allows('reports.collections')) return null
  const { t } = texts
  const period = { from: daysAgo(request, 29), to: daysAgo(request, 0) }
  const rows = await loadCollections(request, period, 'day,currency')
  const currencies = currenciesOf(rows)
  const [most] = currencies
  if (most === undefined)
    return html`<section class="card"><h2>${t('todayTitle')}</h2><p class="dim">${t('todayNone')}</p></section>`
  const columns = await columnsOf(request, rows)
  return html`<h2>${t('todayTitle')}</h2>${table(t('todayTitle'), columns, currencies)}<p class="dim">${t('todayNote')}</p><section class="card">${dailyChart(rows, most, period, texts)}</section>`
}

async function columnsOf(request: ScreenRequest, rows: readonly Collection[]): Promise<Column<string>[]> {
  const { texts } = request
  const { t } = texts
  const [current, earlier] = [daysAgo(request, 0), daysAgo(request, 7)]
  const period = { from: current, to: current }
  const [own, decided, weekAgo] = await Promise.all([
    loadOwnAccounts(request, period),
    loadDecided(request, period),
    loadWeekAgo(request),
  ])
  const collected = (day: string, currency: string) => {
    const row = rows.find((one) => one.day === day && one.currency === currency)
    return row ? collectedLink(request, row, { from: day, to: day }) : texts.amount('0', currency)
  }
  const straight = (row: Collection | undefined) =>
    row && html`<span class="sub">${t('ownAccounts')}: ${collectedLink(request, row, period)}</span>`
  return [
    { label: t('currency'), isTitle: true, cell: (currency) => currency },
    {
      ...{ label: t('collectedToday'), isNumber: true },
      cell: (currency) => html`<span>${collected(current, currency)}${straight(own.get(currency))}</span>`,
    },
    {
      ...{ label: t('collectedBefore', { time: texts.timeOfDay(weekAgo.until) }), isNumber: true },
      cell: (currency) =>
        html`<span>${texts.amount(weekAgo.amounts.get(currency) ?? '0', currency)}<span class="sub">${t('wholeDay')} ${collected(earlier, currency)}</span></span>`,
    },
    { label: t('paidOf'), isNumber: true, cell: (currency) => paidText(decided.get(currency), texts) },
  ]
}

const OPEN: readonly (string | null)[] = ['pending', 'processing']

/** How many payments have an outcome, and how many of them were paid, by currency. */
async function loadDecided(request: ScreenRequest, period: Period) {
  const counts = new Map<string, Pick<Collection, 'payments' | 'paidPayments'>>()
  for (const row of await loadCollections(request, period, 'currency,status')) {
    if (OPEN.includes(row.status)) continue
    const { payments, paidPayments } = counts.get(row.currency) ?? { payments: 0, paidPayments: 0 }
    counts.set(row.currency, {
      payments: payments + row.payments,
      paidPayments: paidPayments + row.paidPayments,
    })
  }
  return counts
}

/** What was collected a week ago up to this time of the day, by currency. */
async function loadWeekAgo({ call, texts }: ScreenRequest) {
  // A boundary: the operation returns these fields.
  const { until, collections } = (await call('reports.weekAgo', { query: { timeZone: texts.zone } }))
    .data as { until: string; collections: Collection[] }
  return { until, amounts: new Map(collections.map(({ currency, amountPaid }) => [currency, amountPaid])) }
}
