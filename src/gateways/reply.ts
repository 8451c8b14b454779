// What the connectors share when they read a provider's response: the schemas of optional fields, and the outcomes that
// do not depend on the provider.

import { type TSchema, Type } from 'typebox'
import type { FailureCode } from '../core/failures.ts'
import type { Money } from '../core/money.ts'
import { parseJson } from '../kit/exact-json.ts'
import type { HttpResult } from '../kit/http/http-client.ts'
import type { GatewayCheck, Outcome, RefundOutcome } from './gateway.ts'

export type Succeeded = Extract<Outcome, { kind: 'succeeded' }>
export type Declined = Extract<Outcome, { kind: 'declined' }>
export type Unknown = Extract<Outcome, { kind: 'unknown' }>

/** Providers omit a field or write null. */
export const Maybe = <Schema extends TSchema>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]))

/** Undefined if the text is absent or is not a time. */
export function readTime(text: string | null | undefined): Date | undefined {
  const time = new Date(text ?? Number.NaN)
  return Number.isNaN(time.getTime()) ? undefined : time
}

/** Patterns of the texts of banks and networks, in lower case. The first match decides: specific patterns come first. */
export type MessagePatterns = readonly (readonly [RegExp, FailureCode])[]

/** The reason that a text means; a code such as insufficient_funds is matched as text too. */
export function findByMessage(
  patterns: MessagePatterns,
  text: string | null | undefined,
): FailureCode | undefined {
  const normalized = text?.toLowerCase().replaceAll('_', ' ') ?? ''
  return patterns.find(([pattern]) => pattern.test(normalized))?.[1]
}

export function unknown(reason: Unknown['reason'], message: string): Unknown {
  return { kind: 'unknown', reason, message }
}

/** The response is well formed, but has a value that we do not know. */
export function unrecognized(message: string): Unknown {
  return unknown('unrecognized', message)
}

/** The outcome of a body without the expected shape: JSON is the provider's, anything else may be a proxy's page. */
export function fromUnexpectedBody(body: Buffer, message: string): Unknown {
  return unknown(isJsonBody(body) ? 'unrecognized' : 'unreadable', message)
}

/** False for the page of a proxy or a firewall, which says nothing about our request and our credentials. */
export function isJsonBody(body: Buffer): boolean {
  const value = parseJson(body.toString())
  return typeof value === 'object' && value !== null
}

export function declined(gatewayReference: string | null, code: Declined['code'], message: string): Declined {
  return { kind: 'declined', code, message, gatewayReference }
}

/** The gateway refused the request itself and provably began nothing. */
export function refused(code: Declined['code'], message: string): Declined {
  return { ...declined(null, code, message), refused: true }
}

/** The receipt number of a success, if the provider has one. */
export function receipt(number: string | null | undefined): { receiptNumber?: string } {
  return number ? { receiptNumber: number } : {}
}

/** The provider's fee of a success, if it says it. It is part of what was paid. */
export function reportedFee(fee: Money | undefined, paid: Money): { fee?: Money } {
  const isPart = fee?.currency === paid.currency && fee.minor >= 0n && fee.minor <= paid.minor
  return fee && isPart ? { fee } : {}
}

/**
 * The outcome of a status check after a request that the provider has, as its response proves. A check that was not sent does
 * not mean that the request was not. `ifNotFound`: the outcome if the provider does not find it.
 */
export function assumeSubmitted<Result extends Outcome | RefundOutcome>(
  checked: Result,
  ifNotFound: Result = checked,
): Result {
  if (checked.kind !== 'unknown') return checked
  if (checked.reason === 'not_found') return ifNotFound
  return checked.reason === 'not_sent' ? { ...checked, reason: 'no_answer' } : checked
}

/** The outcome of a request without a response: it may have arrived unless no byte was sent. */
export function withoutResponse(result: Exclude<HttpResult, { kind: 'answered' }>): Unknown {
  return unknown(result.kind === 'not_sent' ? 'not_sent' : 'no_answer', result.error)
}

/**
 * Some providers accept a request with a 2xx response without a body. Any other body is not theirs: it may be the page
 * of a proxy.
 */
export function isAcceptedWithoutBody(result: HttpResult): boolean {
  const isSuccess = result.kind === 'answered' && result.status >= 200 && result.status < 300
  return isSuccess && result.body.toString().trim() === ''
}

export const checkOk = (name: string, detail = ''): GatewayCheck => ({ name, result: 'ok', detail })
export const checkFailed = (name: string, detail: string): GatewayCheck => ({
  name,
  result: 'failed',
  detail,
})
/** The provider cannot be asked, or did not answer. */
export const checkByHand = (name: string, detail: string): GatewayCheck => ({
  name,
  result: 'by_hand',
  detail,
})
