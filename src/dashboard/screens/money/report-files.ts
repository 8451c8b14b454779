// The files of finance: the report that is shown, and what an accountant needs of one month.

import { BYTE_ORDER_MARK, csvLine, trustedCell } from '../../../kit/http/csv.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import type { OperationId } from '../../../kit/http/route.ts'
import { dayIn, endOfDay, startOfDay } from '../../../kit/time-zone.ts'
import { addressWith } from '../../frame/components.ts'
import { isAbout } from '../../frame/issues.ts'
import type { Screen, ScreenRequest, ScreenResponse } from '../../frame/screen.ts'
import type { TextId } from '../../locales/en.ts'
import { paymentLine, refundLine, type ToLine, withAccountantColumns } from './accountant-file.ts'
import { type Collection, loadCollections, periodLabels, readChoices } from './collections.ts'

const MONTH_PATH = '/app/reports/month'

export const reportFileScreens: Screen[] = [
  { method: 'GET', path: '/reports/export', needs: ['reports.collections'], handle: exportReport },
  { method: 'GET', path: '/reports/month', needs: ['reports.collections'], handle: exportMonth },
]

const COLUMNS = [
  'day',
  'currency',
  'paymentGateway',
  'channel',
  'status',
  'payments',
  'paidPayments',
  'amountPaid',
  'fees',
  'unknownFees',
  'netAmount',
  'refundedAmount',
] as const satisfies (keyof Collection)[]

/** What is wrong with the period is said by the screen. */
async function exportReport(request: ScreenRequest): Promise<ScreenResponse> {
  try {
    return await reportFile(request)
  } catch (error) {
    if (!isAbout(error, periodLabels(request.texts))) throw error
    return { redirectTo: addressWith('/app/reports', request.query, {}) }
  }
}

async function reportFile(request: ScreenRequest): Promise<ScreenResponse> {
  const { period, by } = readChoices(request)
  const rows = await loadCollections(request, period, `currency,${by}`)
  // The names of gateways, channels and states are ours.
  const lines = rows.map((row) => csvLine(COLUMNS.map((name) => trustedCell(String(row[name] ?? '')))))
  const name = `collections-${by}-${period.from}-${period.to}.csv`
  return { file: { name, pieces: piecesOf([BYTE_ORDER_MARK + csvLine(COLUMNS), ...lines]) } }
}

async function* piecesOf(pieces: readonly string[]): AsyncGenerator<string> {
  yield pieces.join('')
}

interface MonthFile {
  operation: OperationId
  text: TextId
  /** The query parameters of the first and the last moment. */
  from: string
  to: string
  status?: string
  /** The columns of an accountant, where the export has every field of the API. */
  toLine?: ToLine
}

const MONTH_FILES = {
  payments: {
    ...{ operation: 'payments.exportAll', text: 'monthPayments' },
    ...{ from: 'paidFrom', to: 'paidTo', toLine: paymentLine },
  },
  refunds: {
    ...{ operation: 'refunds.export', text: 'monthRefunds', status: 'successful' },
    ...{ from: 'createdFrom', to: 'createdTo', toLine: refundLine },
  },
  statement: {
    ...{ operation: 'wallet.exportTransactions', text: 'monthStatement' },
    ...{ from: 'createdFrom', to: 'createdTo' },
  },
} as const satisfies Record<string, MonthFile>

interface MonthChoice {
  month: string
  name: string
  file: MonthFile
}

/** By default the payments of the last month, in the merchant's zone. Undefined: there is no such month or file. */
function readMonth({ query, texts, now }: ScreenRequest): MonthChoice | undefined {
  const months = monthsBefore(now, texts.zone)
  const month = query.month ? months.find((one) => one === query.month) : months[1]
  const [name, file] = Object.entries(MONTH_FILES).find(([one]) => one === (query.file || 'payments')) ?? []
  return month && name && file ? { month, name, file } : undefined
}

export const namesUnknownMonth = (request: ScreenRequest) => readMonth(request) === undefined

/** What is wrong with the month or the file is said by the screen. */
async function exportMonth(request: ScreenRequest): Promise<ScreenResponse> {
  const chosen = readMonth(request)
  return chosen ? monthFile(request, chosen) : { redirectTo: addressWith('/app/reports', request.query, {}) }
}

async function monthFile(
  { call, texts: { zone } }: ScreenRequest,
  { month, name, file: { operation, from, to, status, toLine } }: MonthChoice,
): Promise<ScreenResponse> {
  const period = { [from]: startOfDay(`${month}-01`, zone), [to]: endOfDay(lastDayOf(month), zone) }
  const { file } = await call(operation, { query: { ...period, status } })
  if (!file) throw new Error(`${operation} returned no file`)
  const pieces = toLine ? withAccountantColumns(file.pieces, toLine) : file.pieces
  return { file: { name: `${name}-${month}.csv`, pieces } }
}

/** One form for a whole month: the last one is chosen. */
export function monthForm({ allows, texts, now }: ScreenRequest): Html | null {
  const { t } = texts
  const files = Object.entries(MONTH_FILES).filter(([, { operation }]) => allows(operation))
  if (files.length === 0) return null
  const options = monthsBefore(now, texts.zone).map(
    (month, index) =>
      html`<option value="${month}"${index === 1 && html` selected`}>${texts.month(month)}</option>`,
  )
  const buttons = files.map(
    ([name, { text }], index) =>
      html`<button name="file" value="${name}"${index > 0 && html` class="plain"`}>${t(text)}</button>`,
  )
  return html`<section class="card"><h2>${t('monthTitle')}</h2><p>${t('monthText')}</p><form action="${MONTH_PATH}" method="get">
<div class="field"><label for="month">${t('month')}</label><select id="month" name="month">${options}</select></div><div class="buttons">${buttons}</div></form></section>`
}

const MONTHS = 24

/** This month and those before, such as 2026-03. */
function monthsBefore(now: Date, zone: string): string[] {
  const [year = 0, month = 1] = dayIn(now.toISOString(), zone).split('-').map(Number)
  return Array.from({ length: MONTHS }, (_, ago) => isoDay(year, month - 1 - ago, 1).slice(0, 7))
}

/** The day before the first one of the next month. */
function lastDayOf(month: string): string {
  const [year = 0, number = 1] = month.split('-').map(Number)
  return isoDay(year, number, 0)
}

const isoDay = (year: number, monthIndex: number, day: number) =>
  new Date(Date.UTC(year, monthIndex, day)).toISOString().slice(0, 10)
