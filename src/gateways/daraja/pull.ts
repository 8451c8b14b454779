// Pull Transactions: the list of payments to a paybill, for about 48 hours. It finds a payment whose prompt's answer was lost
// by the account number, which is unique for each attempt.

import { type Static, Type } from 'typebox'
import { addMs } from '../../kit/clock.ts'
import { parseExactJson, schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { StatusQuery } from '../gateway.ts'
import { fromUnexpectedBody, Maybe, type Unknown, unknown, unrecognized, withoutResponse } from '../reply.ts'
import { type DarajaApi, isOutcome, readError } from './api.ts'
import { accountReferenceOf } from './push.ts'
import { toListTime } from './times.ts'

export const PULL_QUERY_PATH = '/pulltransactions/v1/query'
export const PULL_REGISTER_PATH = '/pulltransactions/v1/register'

/** How far back the list goes. */
const LIST_HOURS = 48
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

// A prompt ends within minutes, so its payment is in this part of the list.
const BEFORE_MS = 5 * MINUTE_MS
const AFTER_MS = 30 * MINUTE_MS
// A paybill has some hundred payments in that time, unless it is one of the largest.
const MAX_PAGES = 10

const Text = (maxLength: number) => Type.String({ maxLength })

const Payment = Type.Object({
  transactionId: Type.String({ minLength: 1, maxLength: 50 }),
  trxDate: Maybe(Text(50)),
  transactiontype: Maybe(Text(100)),
  billreference: Maybe(Text(100)),
  amount: Maybe(Text(50)),
})
export type ListedPayment = Static<typeof Payment>

const Rows = Type.Array(Type.Union([Payment, Type.Array(Payment)]))
const readList = schemaReader(
  Type.Object({
    ResponseCode: Type.Union([Type.Literal('1000'), Type.Literal('1001')]),
    // Also text that contains the list, when there is nothing in the period.
    Response: Maybe(Type.Union([Rows, Type.Literal('[[]]'), Type.Literal('[]'), Type.Literal('')])),
  }),
)

export interface Listing {
  api: DarajaApi
  shortcode: string
  now: Date
}

/** The payment of this attempt; null if the list has none and is complete. */
export async function findListed(
  { api, shortcode, now }: Listing,
  { key, startedAt }: Pick<StatusQuery, 'key' | 'startedAt'>,
): Promise<ListedPayment | null | Unknown> {
  const from = addMs(startedAt, -BEFORE_MS)
  if (addMs(from, LIST_HOURS * HOUR_MS) <= now)
    return unrecognized('M-Pesa does not list payments of that time any more')
  const latest = addMs(startedAt, AFTER_MS)
  const period = { StartDate: toListTime(from), EndDate: toListTime(latest < now ? latest : now) }
  const reference = accountReferenceOf(key)
  let offset = 0
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const body = { ShortCode: shortcode, ...period, OffSetValue: offset }
    const rows = readPage(await api.query(PULL_QUERY_PATH, body))
    if (!Array.isArray(rows)) return rows
    const found = rows.find((row) => isPayment(row, reference))
    if (found) return found
    if (rows.length === 0) return null
    offset += rows.length
  }
  return unrecognized('M-Pesa lists more payments of that time than can be read')
}

function isPayment({ billreference, transactiontype }: ListedPayment, reference: string): boolean {
  const isReversal = /revers/i.test(transactiontype ?? '')
  return billreference?.trim().toUpperCase() === reference && !isReversal
}

function readPage(result: HttpResult | Unknown): ListedPayment[] | Unknown {
  if (isOutcome(result)) return result
  if (result.kind !== 'answered') return withoutResponse(result)
  const error = readError(result)
  const message = `Daraja answered to the list of payments ${error?.code ?? `HTTP ${result.status}`}`
  if (result.status >= 500 || result.status === 429) return unknown('no_answer', message)
  const list = result.status === 200 ? readList(parseExactJson(result.body.toString())) : undefined
  if (!list) return fromUnexpectedBody(result.body, message)
  const { ResponseCode: code, Response: rows } = list
  if (Array.isArray(rows)) return rows.flat()
  // Without its list a success says nothing.
  return code === '1001' ? [] : unknown('unrecognized', message)
}
