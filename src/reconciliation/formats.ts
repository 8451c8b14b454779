// Settlement files as providers export them, read into one kind of row. Which column means what is a table; what a file says
// that cannot be read exactly is complained of with its line, and then nothing of it is taken.

import { isCurrency } from '../core/currency.ts'
import { type Money, readDecimal } from '../core/money.ts'
import { type CsvIssue, type CsvRow, readCsv } from '../kit/csv-reader.ts'

export const FORMATS = ['neutral', 'paystack', 'stripe'] as const
export type Format = (typeof FORMATS)[number]

/** A line about one payment or refund. */
export interface FileRow {
  line: number
  type: 'payment' | 'refund'
  /** Our key at the gateway, and the gateway's own reference; at least one of them. */
  key: string | null
  reference: string | null
  /** As the file writes it, and exactly, where it is in a currency of ours. */
  amountText: string
  currency: string
  amount: Money | null
  /** What the provider kept, where the file says so in the same currency. */
  fee: Money | null
  /** The file's own word, and whether it means that the money was moved. */
  status: string | null
  isDone: boolean
}

export type SettlementFile =
  /** `ignored` lines are about something else than payments and refunds, such as a payout. */
  { rows: FileRow[]; ignored: number } | { issues: CsvIssue[] }

type Field =
  | 'type'
  | 'key'
  | 'refundKey'
  | 'reference'
  | 'refundReference'
  | 'amount'
  | 'currency'
  | 'fee'
  | 'status'

interface FormatSpec {
  /** The names that a column may have, in lower case; the first one that the file has counts. */
  columns: Partial<Record<Field, readonly string[]>>
  required: readonly Field[]
  /** What the words of the type column mean; without such a column every line is a payment. */
  types: Readonly<Record<string, 'payment' | 'refund'>>
  /** A column of the amount in the payer's own currency goes before that of the payout. */
  presentment?: { amount: string; currency: string }
}

const FORMAT_SPECS: Readonly<Record<Format, FormatSpec>> = {
  neutral: {
    columns: {
      type: ['type'],
      key: ['key'],
      refundKey: ['key'],
      reference: ['reference'],
      refundReference: ['reference'],
      amount: ['amount'],
      currency: ['currency'],
      fee: ['fee'],
      status: ['status'],
    },
    required: ['amount', 'currency'],
    types: { payment: 'payment', refund: 'refund' },
  },
  paystack: {
    columns: {
      key: ['reference', 'reference number', 'transaction reference'],
      reference: ['transaction id', 'id'],
      amount: ['amount paid', 'transaction amount', 'amount'],
      currency: ['currency'],
      fee: ['paystack fees', 'paystack fee', 'transaction fees', 'fees', 'fee'],
      status: ['status', 'transaction status'],
    },
    required: ['key', 'amount', 'currency'],
    types: {},
  },
  stripe: {
    columns: {
      type: ['reporting_category'],
      key: ['payment_metadata[cowry_key]'],
      refundKey: ['refund_metadata[cowry_refund_key]'],
      reference: ['payment_intent_id'],
      refundReference: ['source_id'],
      amount: ['gross'],
      currency: ['currency'],
      fee: ['fee'],
    },
    required: ['type', 'amount', 'currency'],
    types: { charge: 'payment', refund: 'refund' },
    presentment: { amount: 'customer_facing_amount', currency: 'customer_facing_currency' },
  },
}

// More than a day of a busy account; a longer file is split by time.
const MAX_ROWS = 50_000
const MAX_ISSUES = 20

export function readSettlementFile(format: Format, content: string): SettlementFile {
  const file = readCsv(content)
  if ('issues' in file) return file
  if (file.rows.length > MAX_ROWS) {
    const message = `The file has more than ${MAX_ROWS} lines; split it by time.`
    return { issues: [{ line: MAX_ROWS + 2, message }] }
  }
  const header = file.header.map((name) => name.trim().toLowerCase())
  const missing = missingColumns(format, header)
  if (missing.length > 0) return { issues: missing }
  const read = file.rows.map((row) => readRow(FORMAT_SPECS[format], header, row))
  const issues = read.filter((one) => one !== null && 'message' in one)
  if (issues.length > 0) return { issues: issues.slice(0, MAX_ISSUES) }
  const rows = read.filter((one): one is FileRow => one !== null && !('message' in one))
  return { rows, ignored: read.length - rows.length }
}

function missingColumns(format: Format, header: readonly string[]): CsvIssue[] {
  const { columns, required } = FORMAT_SPECS[format]
  const has = (field: Field) => (columns[field] ?? []).some((name) => header.includes(name))
  const issues = required
    .filter((field) => !has(field))
    .map((field) => `The ${format} format wants a column ${(columns[field] ?? []).join(' or ')}.`)
  if (!has('key') && !has('reference')) issues.push('No column names the payments.')
  return issues.map((message) => ({ line: 1, message }))
}

/** Null for a line about something else. */
function readRow(spec: FormatSpec, header: readonly string[], row: CsvRow): FileRow | CsvIssue | null {
  const cell: Cells = (name) => row.cells[header.indexOf(name)]?.trim() ?? ''
  const field = (wanted: Field): string =>
    cell((spec.columns[wanted] ?? []).find((name) => header.includes(name)) ?? '')
  const type = typeOf(spec, field('type').toLowerCase())
  if (type === null) return null
  const names = {
    key: field(type === 'refund' ? 'refundKey' : 'key'),
    reference: field(type === 'refund' ? 'refundReference' : 'reference'),
  }
  const paidOut = { amount: field('amount'), currency: field('currency').toUpperCase() }
  const { amount, currency } = presentmentMoney(spec, cell) ?? paidOut
  // The fee is taken from the payout, in its currency.
  const fee = currency === paidOut.currency ? field('fee') : ''
  return toFileRow(row.line, type, names, { amount, currency, fee }, field('status'))
}

type Cells = (name: string) => string

function presentmentMoney(
  { presentment }: FormatSpec,
  cell: Cells,
): { amount: string; currency: string } | undefined {
  if (!presentment || cell(presentment.amount) === '') return undefined
  return { amount: cell(presentment.amount), currency: cell(presentment.currency).toUpperCase() }
}

function typeOf({ columns, types }: FormatSpec, typeText: string): FileRow['type'] | null {
  if (!columns.type || (typeText === '' && Object.hasOwn(types, 'payment'))) return 'payment'
  return Object.hasOwn(types, typeText) ? (types[typeText] ?? null) : null
}

const MAX_NAME_LENGTH = 200
const AMOUNT = /^-?\d{1,15}(?:\.\d{1,10})?$/
// What providers call money that has moved. Every other word means that it has not.
const DONE_STATUSES: ReadonlySet<string> = new Set([
  '',
  'settled',
  'success',
  'successful',
  'succeeded',
  'paid',
  'processed',
])

function toFileRow(
  line: number,
  type: FileRow['type'],
  names: { key: string; reference: string },
  money: { amount: string; currency: string; fee: string },
  status: string,
): FileRow | CsvIssue {
  if (names.key === '' && names.reference === '') return { line, message: `The ${type} has no name.` }
  const tooLong = [names.key, names.reference, status].some((text) => text.length > MAX_NAME_LENGTH)
  if (tooLong || !isPlain(names.key + names.reference + status)) {
    return { line, message: 'The name or the status is no plain text of at most 200 characters.' }
  }
  if (!/^[A-Z]{3}$/.test(money.currency))
    return { line, message: 'The currency is no code of three letters.' }
  const parsed = amountOf(money.amount, money.currency)
  const amount = type === 'refund' ? parsed && absolute(parsed) : parsed
  const parsedFee = money.fee === '' ? null : amountOf(money.fee, money.currency)
  const fee = parsedFee && absolute(parsedFee)
  if (amount === undefined) return { line, message: `The amount ${quoted(money.amount)} is no exact amount.` }
  if (fee === undefined) return { line, message: `The fee ${quoted(money.fee)} is no exact amount.` }
  return {
    line,
    type,
    key: names.key || null,
    reference: names.reference || null,
    amountText: money.amount,
    currency: money.currency,
    amount,
    fee,
    status: status || null,
    isDone: DONE_STATUSES.has(status.toLowerCase()),
  }
}

/** With its sign: a payment below zero is money that was taken back. Null in a currency that is not ours. */
function amountOf(text: string, currency: string): Money | null | undefined {
  if (!AMOUNT.test(text)) return undefined
  return isCurrency(currency) ? readDecimal(text, currency) : null
}

/** Refunds and fees are written with a sign by some and without by others. */
function absolute(amount: Money): Money {
  return amount.minor < 0n ? { ...amount, minor: -amount.minor } : amount
}

function isPlain(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for.
  return text.isWellFormed() && !/[\u0000-\u001f\u007f-\u009f]/.test(text)
}

const quoted = (text: string) => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)
