// Reads the settlement files of providers into one row type. A table defines the columns of each format. If any line cannot
// be read exactly, the whole file is rejected with the line numbers.

import { isCurrency } from '../core/currency.ts'
import { type Money, readDecimal } from '../core/money.ts'
import { type CsvIssue, type CsvRow, readCsv } from '../kit/csv-reader.ts'

export const FORMATS = ['neutral', 'paystack', 'stripe'] as const
export type Format = (typeof FORMATS)[number]

/** A line about one payment or refund. */
export interface FileRow {
  line: number
  type: 'payment' | 'refund'
  /** Our key at the gateway, and the gateway's own reference; at least one is present. */
  key: string | null
  reference: string | null
  /** The text in the file. `amount` is its exact value, or null in an unsupported currency. */
  amountText: string
  currency: string
  amount: Money | null
  /** The provider's fee, if the file has it in the same currency. */
  fee: Money | null
  /** The status in the file. `isDone` is whether it means that the money moved. */
  status: string | null
  isDone: boolean
}

export type SettlementFile =
  /** `ignored` counts the lines that are neither payments nor refunds, such as payouts. */
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
  /** The possible names of a column, in lower case; the first one that the file has is used. */
  columns: Partial<Record<Field, readonly string[]>>
  required: readonly Field[]
  /** Maps the values of the type column; without that column every line is a payment. */
  types: Readonly<Record<string, 'payment' | 'refund'>>
  /** The amount in the payer's currency, which has precedence over the payout amount. */
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

// More than a day of a busy account; an operator splits a longer file by time.
const MAX_ROWS = 50_000
const MAX_ISSUES = 20

export function readSettlementFile(format: Format, content: string): SettlementFile {
  const file = readCsv(content, MAX_ROWS)
  if ('issues' in file) return file
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
    .map((field) => `The ${format} format requires a column ${(columns[field] ?? []).join(' or ')}.`)
  if (!has('key') && !has('reference')) issues.push('No column names the payments.')
  return issues.map((message) => ({ line: 1, message }))
}

/** Returns null for a line that is neither a payment nor a refund. */
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
  // The provider deducts the fee from the payout, in the payout's currency.
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
// The statuses of money that has moved, at any provider. Every other status means that it has not.
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
  if (names.key === '' && names.reference === '')
    return { line, message: `The ${type} has neither a key nor a reference.` }
  const tooLong = [names.key, names.reference, status].some((text) => text.length > MAX_NAME_LENGTH)
  if (tooLong || !isPlain(names.key + names.reference + status)) {
    return {
      line,
      message: 'The key, the reference or the status is not plain text of at most 200 characters.',
    }
  }
  if (!/^[A-Z]{3}$/.test(money.currency)) return { line, message: 'The currency is not a three-letter code.' }
  const parsed = amountOf(money.amount, money.currency)
  const amount = type === 'refund' ? parsed && absolute(parsed) : parsed
  const parsedFee = money.fee === '' ? null : amountOf(money.fee, money.currency)
  const fee = parsedFee && absolute(parsedFee)
  if (amount === undefined)
    return { line, message: `The amount ${quoted(money.amount)} is not an exact amount.` }
  if (fee === undefined) return { line, message: `The fee ${quoted(money.fee)} is not an exact amount.` }
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

/** Keeps the sign: a negative payment is a reversal. Null in an unsupported currency, undefined if it is not exact. */
function amountOf(text: string, currency: string): Money | null | undefined {
  if (!AMOUNT.test(text)) return undefined
  return isCurrency(currency) ? readDecimal(text, currency) : null
}

/** Some providers write refunds and fees with a minus sign, others without. */
function absolute(amount: Money): Money {
  return amount.minor < 0n ? { ...amount, minor: -amount.minor } : amount
}

function isPlain(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for control characters.
  return text.isWellFormed() && !/[\u0000-\u001f\u007f-\u009f]/.test(text)
}

const quoted = (text: string) => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)
