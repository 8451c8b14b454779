// The files of a month for an accountant: few columns, the same for payments and refunds. They are made of the exports of the
// API, line by line, so their size does not matter for the memory.

import { BYTE_ORDER_MARK, csvLine } from '../../../kit/http/csv.ts'

/** docs/lists-and-reports.md says what each means. */
const COLUMNS = [
  'date',
  'reference',
  'customer',
  'kind',
  'gross',
  'fee',
  'net',
  'currency',
  'gateway',
  'gatewayReference',
  'status',
] as const

type Line = Record<(typeof COLUMNS)[number], string>

/** The value of a column of the export, without quotes; empty if it is null. */
type Read = (name: string) => string

/** Undefined for a record that is left out. */
export type ToLine = (read: Read) => Line | undefined

export const paymentLine: ToLine = (read) => ({
  date: dayOf(read('paidAt')),
  reference: read('reference'),
  customer: `${read('customer.firstname')} ${read('customer.lastname')}`.trim(),
  kind: 'payment',
  gross: read('amountPaid'),
  fee: read('fee'),
  net: read('netAmount'),
  currency: read('sourceCurrency'),
  gateway: read('paymentGateway'),
  gatewayReference: read('gatewayReference'),
  status: read('status'),
})

/** A duplicate payment that was returned is in no figure of the merchant, nor is its refund. */
export const refundLine: ToLine = (read) =>
  read('isDuplicate') === 'true'
    ? undefined
    : {
        date: dayOf(read('createdAt')),
        reference: read('paymentReference'),
        customer: '',
        kind: 'refund',
        gross: `-${read('amount')}`,
        // Fees are not returned.
        fee: '0.00',
        net: `-${read('amount')}`,
        currency: read('currency'),
        gateway: read('paymentGateway'),
        gatewayReference: read('gatewayReference'),
        status: read('status'),
      }

/** Times of exports are local. */
const dayOf = (localTime: string) => localTime.slice(0, 10)

/** The export with these columns instead of its own. It ends when the reader leaves. */
export function withAccountantColumns(pieces: AsyncIterable<string>, toLine: ToLine): AsyncIterable<string> {
  const iterator = pieces[Symbol.asyncIterator]()
  const convert = createConverter(toLine)
  return {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        const result = await iterator.next()
        return result.done ? result : { done: false, value: convert(result.value) }
      },
      return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
    }),
  }
}

/** Every piece of an export has whole lines, and the first is its header. */
function createConverter(toLine: ToLine): (piece: string) => string {
  let header: string[] | undefined
  return (piece) => {
    if (header === undefined) {
      header = piece.replace(BYTE_ORDER_MARK, '').trimEnd().split(',')
      return BYTE_ORDER_MARK + csvLine(COLUMNS)
    }
    const names = header
    return linesOf(piece)
      .map((cells) => toLine((name) => cells[names.indexOf(name)] ?? ''))
      .map((line) => (line === undefined ? '' : csvLine(COLUMNS.map((name) => `"${line[name]}"`))))
      .join('')
  }
}

/** The cells of each line without their outer quotes. Their content stays written as CSV: quotes in it are doubled. */
function linesOf(piece: string): string[][] {
  const lines: string[][] = [[]]
  for (const [, cell = '', end] of piece.matchAll(/"((?:[^"]|"")*)"(,|\r\n)/g)) {
    lines.at(-1)?.push(cell)
    if (end !== ',') lines.push([])
  }
  return lines.slice(0, -1)
}
