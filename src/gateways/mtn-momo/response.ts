// What the responses of MTN MoMo share. Numbers are read as text, because the documentation has ids and amounts in both
// forms. From errors and reasons we keep only MTN's code: its messages quote the request, including phone numbers.

import { type Static, Type } from 'typebox'
import { isCurrency } from '../../core/currency.ts'
import { formatAmount, type Money, readDecimal } from '../../core/money.ts'
import { parseExactJson, schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import {
  fromUnexpectedBody,
  isAcceptedWithoutBody,
  isJsonBody,
  Maybe,
  type Unknown,
  unknown,
  withoutResponse,
} from '../reply.ts'
import { readProbeReply } from '../token-calls.ts'

const Text = Type.String({ maxLength: 200 })
const Identity = Type.String({ minLength: 1, maxLength: 100 })

/** A code alone, or with a message. */
const Reason = Type.Union([Text, Type.Object({ code: Maybe(Text) })])

/** The state of a request to pay or of a refund. */
const Transaction = Type.Object({
  externalId: Identity,
  status: Text,
  amount: Type.String({ pattern: '^[0-9]{1,15}(\\.[0-9]{1,10})?$' }),
  currency: Text,
  financialTransactionId: Maybe(Text),
  reason: Maybe(Reason),
})
export type Transaction = Static<typeof Transaction>

const readTransaction = schemaReader(Transaction)
const readError = schemaReader(Type.Object({ code: Text }))

const CODE = /^[A-Z][A-Z_]{0,79}$/

/** The code of an error or a reason; empty if there is none. */
function plainCode(text: string | null | undefined): string {
  return text && CODE.test(text) ? text : ''
}

export function reasonOf({ reason }: Transaction): string {
  return plainCode(typeof reason === 'string' ? reason : reason?.code)
}

function errorCodeOf(body: Buffer): string {
  return plainCode(readError(parseExactJson(body.toString()))?.code)
}

/** The transaction with this id, or why its state is unknown. */
export function readStatus(result: HttpResult): Transaction | Unknown {
  return readRecord(result, readTransaction)
}

/** A record, or why it is unknown. An error says nothing about the record, whatever its code. */
export function readRecord<Body>(
  result: HttpResult,
  read: (value: unknown) => Body | undefined,
): Body | Unknown {
  if (result.kind !== 'answered') return withoutResponse(result)
  const { status, body } = result
  const code = errorCodeOf(body)
  const message = describe(status, code)
  if (status === 404 && code === 'RESOURCE_NOT_FOUND') return unknown('not_found', message)
  if (status >= 500 || status === 429) return unknown('no_answer', message)
  const record = status === 200 ? read(parseExactJson(body.toString())) : undefined
  return record ?? fromUnexpectedBody(body, message)
}

/**
 * accepted: with 202 and nothing else. repeated: this id was accepted before. rejected: nothing was begun. busy: the same,
 * because of too many requests. denied: with an HTTP 500 and a code that denies it, so that only the status tells whether
 * something was begun.
 */
export type SubmissionReply =
  | { kind: 'accepted' | 'repeated' }
  | { kind: 'rejected' | 'denied'; http: number; code: string; message: string }
  | Busy
  | Unknown

export interface Busy {
  kind: 'busy'
  message: string
}

// MTN checks these before it begins, but reports them as its own failure.
const DENIALS: readonly string[] = [
  'INVALID_CALLBACK_URL_HOST',
  'INVALID_CURRENCY',
  'NOT_ALLOWED',
  'NOT_ALLOWED_TARGET_ENVIRONMENT',
  'PAYER_NOT_FOUND',
]

const REJECTIONS: readonly number[] = [400, 403, 404]

export function readSubmission(result: HttpResult): SubmissionReply {
  if (result.kind !== 'answered') return withoutResponse(result)
  if (isAcceptedWithoutBody(result)) return { kind: 'accepted' }
  const { status: http, body } = result
  const code = errorCodeOf(body)
  const message = describe(http, code)
  if (http === 409)
    return code === 'RESOURCE_ALREADY_EXIST' ? { kind: 'repeated' } : unknown('no_answer', message)
  if (isDenied(http, code)) return { kind: 'denied', http, code, message }
  if (http === 429) return { kind: 'busy', message }
  if (http >= 500) return unknown('no_answer', message)
  if (REJECTIONS.includes(http) && isJsonBody(body)) return { kind: 'rejected', http, code, message }
  return fromUnexpectedBody(body, message)
}

const isDenied = (http: number, code: string) => http === 500 && DENIALS.includes(code)

/** An account that may not read its balance is denied it, which is an answer too. */
export function fromProbe(result: HttpResult): 'works' | 'unreachable' {
  const isAnswered = result.kind === 'answered' && isDenied(result.status, errorCodeOf(result.body))
  return isAnswered ? 'works' : readProbeReply(result)
}

function describe(http: number, code: string): string {
  const advice = ADVICE[code] ?? (http === 403 ? ADVICE.FORBIDDEN_IP : undefined)
  return `MTN MoMo answered HTTP ${http}${code && `, ${code}`}${advice ? `: ${advice}` : ''}`
}

/** What an operator can do about an error. */
const ADVICE: Readonly<Record<string, string>> = {
  FORBIDDEN_IP: 'MTN accepts calls only from registered addresses; register those of this service',
  INVALID_CALLBACK_URL_HOST: 'the host of COWRY_PUBLIC_URL is not the callback host of the API user',
  INVALID_CURRENCY: 'the API user collects in another currency; check its target environment',
  NOT_ALLOWED_TARGET_ENVIRONMENT: 'the API user belongs to another target environment',
}

/** Whole amounts without decimals. */
export function toAmount(amount: Money): string {
  return formatAmount(amount).replace(/\.00$/, '')
}

/** Undefined for a currency that we do not know, and for decimals that it does not have. */
export function readPaid({ amount, currency }: Pick<Transaction, 'amount' | 'currency'>): Money | undefined {
  return isCurrency(currency) ? readDecimal(amount, currency) : undefined
}
