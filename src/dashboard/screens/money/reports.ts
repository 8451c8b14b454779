// Reports: what was collected in a period, by day, gateway, channel, status or currency. The choice stands in the address.

import { type Html, html } from '../../../kit/http/html.ts'
import { shareBar } from '../../frame/chart.ts'
import {
  addressWith,
  type Column,
  empty,
  facts,
  notice,
  problemNotice,
  select,
  table,
  textFilter,
} from '../../frame/components.ts'
import { fieldErrors } from '../../frame/form-input.ts'
import { isAbout, type Labels, NO_FIELDS } from '../../frame/issues.ts'
import type { Screen, ScreenRequest, ScreenResponse } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
import {
  type Choices,
  type Collection,
  collectedLink,
  currenciesOf,
  dailyChart,
  daysAgo,
  GROUPS,
  type Group,
  loadCollections,
  loadOwnAccounts,
  type Period,
  paidText,
  periodLabels,
  readChoices,
} from './collections.ts'
import { monthForm, namesUnknownMonth } from './report-files.ts'

const PATH = '/app/reports'
const PRESET_DAYS = [7, 30, 90]

export const reportScreen: Screen = {
  method: 'GET',
  path: '/reports',
  needs: ['reports.collections'],
  handle: show,
}

/** With a wrong period the choices stay, with the reason beside the field. The export of a month leads here too. */
async function show(request: ScreenRequest): Promise<ScreenResponse> {
  const chosen = readChoices(request)
  const labels = periodLabels(request.texts)
  try {
    const shown = page(request, chosen, await figuresOf(request, chosen))
    return namesUnknownMonth(request) ? { ...shown, http: 422 } : shown
  } catch (error) {
    if (!isAbout(error, labels)) throw error
    return { ...page(request, chosen, problemNotice(error, labels), fieldErrors(error, labels)), http: 422 }
  }
}

function page(
  request: ScreenRequest,
  { period, by }: Choices,
  figures: Html | null,
  errors: Labels = NO_FIELDS,
): { title: string; body: Html } {
  const { query, texts } = request
  const { t } = texts
  const file = addressWith(`${PATH}/export`, query, {
    currency: undefined,
    month: undefined,
    file: undefined,
  })
  const body = html`<div class="head"><h1>${t('reportsTitle')}</h1><div class="actions"><a class="button plain" href="${file}">${t('export')}</a></div></div>
${namesUnknownMonth(request) && notice('bad', t('monthUnknown'))}${monthForm(request)}${presets(request, by)}${choices(request, period, by, errors)}
${figures}`
  return { title: t('reportsTitle'), body }
}

async function figuresOf(request: ScreenRequest, { period, by }: Choices): Promise<Html> {
  const { texts } = request
  const { t } = texts
  const [totals, rows, ownAccounts] = await Promise.all([
    loadCollections(request, period, 'currency'),
    loadCollections(request, period, `currency,${by}`),
    loadOwnAccounts(request, period),
  ])
  return html`${totals.length === 0 ? empty(t('noReportTitle'), t('noReportText')) : html`${summaries(request, totals, ownAccounts, period)}${by === 'day' ? byDay(request, rows, period) : byGroup(request, rows, by, period)}`}
${notes(totals, texts)}`
}

/** What the figures mean, and why they may differ from the files. */
function notes(totals: readonly Collection[], { t, zone }: Texts): Html {
  const sentences = [
    ...totals
      .filter(({ unknownFees }) => unknownFees > 0)
      .map(({ currency, unknownFees }) => t('unknownFees', { currency, count: unknownFees })),
    t('reportNote', { zone }),
    t('refundedNote'),
  ]
  return html`${sentences.map((sentence) => html`<p class="dim">${sentence}</p>`)}`
}

function presets(request: ScreenRequest, by: string): Html {
  const { query, texts } = request
  const links = PRESET_DAYS.map((days) => {
    const period = { from: daysAgo(request, days - 1), to: daysAgo(request, 0) }
    const isChosen = query.from === period.from && query.to === period.to
    return html`<li><a href="${addressWith(PATH, {}, { ...period, by })}"${isChosen && html` aria-current="true"`}>${texts.t('lastDays', { days })}</a></li>`
  })
  return html`<ul class="tabs">${links}</ul>`
}

function choices({ texts }: ScreenRequest, { from, to }: Period, by: string, errors: Labels): Html {
  const { t } = texts
  const groups = GROUPS.map((value) => ({ value, label: texts.word('by', value) }))
  return html`<form class="filters" method="get" action="${PATH}">${textFilter('from', t('from'), { value: from, type: 'date', error: errors.from })}${textFilter('to', t('to'), { value: to, type: 'date', error: errors.to })}
${select('by', t('reportBy'), by, groups)}<div class="go"><button>${t('filter')}</button></div></form>`
}

/** The whole period, one card for each currency: currencies are never added together. */
function summaries(
  request: ScreenRequest,
  totals: readonly Collection[],
  ownAccounts: ReadonlyMap<string, Collection>,
  period: Period,
): Html {
  const { texts } = request
  const { t, amount } = texts
  const cards = totals.map((total) => {
    const { currency } = total
    const own = ownAccounts.get(currency)
    return html`<section class="card"><h2>${currency}</h2><p class="big">${collectedLink(request, total, period)}</p>${facts(
      [
        [t('ownAccounts'), own && collectedLink(request, own, period)],
        [t('fees'), amount(total.fees, currency)],
        [t('net'), amount(total.netAmount, currency)],
        [t('refundedOfThese'), amount(total.refundedAmount, currency)],
        [t('paidShare'), paidText(total, texts)],
      ],
    )}</section>`
  })
  return html`<div class="columns">${cards}</div>`
}

/** One currency at a time: a year of days is long enough. */
function byDay(request: ScreenRequest, rows: readonly Collection[], period: Period): Html {
  const { query, texts } = request
  const { t } = texts
  const currencies = currenciesOf(rows)
  const chosen = currencies.find((currency) => currency === query.currency) ?? currencies[0] ?? ''
  const tabs = currencies.map(
    (currency) =>
      html`<li><a href="${addressWith(PATH, query, { currency })}"${currency === chosen && html` aria-current="true"`}>${currency}</a></li>`,
  )
  const shown = rows.filter(({ currency }) => currency === chosen)
  const day: Column<Collection> = {
    label: t('by_day'),
    isTitle: true,
    cell: (row) => texts.day(row.day ?? ''),
  }
  return html`${currencies.length > 1 && html`<ul class="tabs">${tabs}</ul>`}
<section class="card">${dailyChart(rows, chosen, period, texts)}</section>
${table(t('reportsTitle'), [day, ...numberColumns(request, period)], shown)}`
}

type Category = Exclude<Group, 'day'>

const NAMES: Readonly<Record<Category, (row: Collection, texts: Texts) => string>> = {
  gateway: ({ paymentGateway }) => paymentGateway ?? '',
  channel: ({ channel }, texts) => (channel === null ? texts.t('noChannel') : texts.word('channel', channel)),
  status: ({ status }, texts) => texts.word('status', status),
  currency: ({ currency }) => currency,
}

function byGroup(request: ScreenRequest, rows: readonly Collection[], by: Category, period: Period): Html {
  const { texts } = request
  const { t } = texts
  const most = Math.max(...rows.map(({ payments }) => payments))
  const name: Column<Collection> = {
    label: texts.word('by', by),
    isTitle: true,
    cell: (row) =>
      html`<b>${NAMES[by](row, texts)}</b>${by !== 'currency' && html`<span class="sub">${row.currency}</span>`}`,
  }
  const bar: Column<Collection> = {
    label: t('linkPayments'),
    cell: (row) =>
      shareBar(
        row.payments / most,
        `${NAMES[by](row, texts)}, ${row.currency}: ${texts.number(row.payments)}`,
      ),
  }
  const sorted = [...rows].sort((a, b) => a.currency.localeCompare(b.currency) || b.payments - a.payments)
  return table(t('reportsTitle'), [name, bar, ...numberColumns(request, period)], sorted)
}

function numberColumns(request: ScreenRequest, period: Period): Column<Collection>[] {
  const { texts } = request
  const { t } = texts
  const periodOf = ({ day }: Collection) => (day === null ? period : { from: day, to: day })
  const amount = (label: string, name: 'fees' | 'netAmount' | 'refundedAmount') => ({
    label,
    isNumber: true,
    cell: (row: Collection) => texts.amount(row[name], row.currency),
  })
  return [
    { label: t('paidShare'), isNumber: true, cell: (row) => paidText(row, texts) },
    {
      ...{ label: t('collected'), isNumber: true },
      cell: (row) => collectedLink(request, row, periodOf(row)),
    },
    amount(t('fees'), 'fees'),
    amount(t('net'), 'netAmount'),
    amount(t('refundedOfThese'), 'refundedAmount'),
  ]
}
