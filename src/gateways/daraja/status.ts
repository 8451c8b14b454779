// The status of a prompt (STK query). It says only how the prompt ended: amount and receipt number are in the callback or in
// the list of payments.

import { Type } from 'typebox'
import type { FailureCode } from '../../core/failures.ts'
import { jsonReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Outcome } from '../gateway.ts'
import { declined, fromUnexpectedBody, Maybe, unknown, unrecognized, withoutResponse } from '../reply.ts'
import { type Probed, readProbeReply } from '../token-calls.ts'
import { describe, isThrottled, readError } from './api.ts'
import type { PushReport } from './callbacks.ts'

export const QUERY_PATH = '/mpesa/stkpushquery/v1/query'

const readStatus = jsonReader(
  Type.Object({
    ResponseCode: Type.Literal('0'),
    CheckoutRequestID: Type.String({ minLength: 1, maxLength: 100 }),
    // Text here, a number in callbacks.
    ResultCode: Type.Union([Type.String({ minLength: 1, maxLength: 50 }), Type.Integer()]),
    ResultDesc: Maybe(Type.String({ maxLength: 5_000 })),
  }),
)

// The code is not enough: 4999, 1 and HTTP 500 with 500.001.1001 have been seen with this text.
const IN_PROGRESS = /\b(?:being|under|still)\b.*process/i
const IN_PROGRESS_CODE = '4999'

/** `paid`: M-Pesa has taken the requested amount. */
export type PromptStatus = { kind: 'paid' } | Outcome

export function fromStatus(
  result: HttpResult,
  reference: string,
  report: PushReport | undefined,
): PromptStatus {
  if (result.kind !== 'answered') return withoutResponse(result)
  const error = readError(result)
  if (error?.code === '500.001.1001' && IN_PROGRESS.test(error.text))
    return { kind: 'pending', gatewayReference: reference }
  const message = error ? `Daraja answered ${describe(error)}` : `Daraja answered HTTP ${result.status}`
  if (result.status >= 500 || result.status === 429) return unknown('no_answer', message)
  const status = result.status === 200 ? readStatus(result.body) : undefined
  if (!status) return fromUnexpectedBody(result.body, message)
  if (status.CheckoutRequestID !== reference)
    return unrecognized('Daraja answered about another payment than ours')
  return fromResult(String(status.ResultCode), status.ResultDesc ?? '', reference, report)
}

/** It has the form of their ids, and no prompt has it. */
export const NO_PROMPT = 'ws_CO_01012000000000000000000000'

// What M-Pesa answers about a prompt also has this code if M-Pesa or something before it fails.
const OUTAGE = /internal|server error|unreachable|unavailable|time.?out|try again/i

/** The query checks the shortcode with its passkey, and answers also about a prompt that does not exist. */
export function fromProbe(result: HttpResult): Probed {
  if (isThrottled(result)) return 'unreachable'
  const error = readError(result)
  if (error?.code !== '500.001.1001') return readProbeReply(result)
  if (/wrong credentials|merchant does not exist/i.test(error.text)) return 'refused'
  return OUTAGE.test(error.text) ? 'unreachable' : 'works'
}

function fromResult(
  code: string,
  text: string,
  reference: string,
  report: PushReport | undefined,
): PromptStatus {
  if (code === '0') return { kind: 'paid' }
  if (code === IN_PROGRESS_CODE || IN_PROGRESS.test(text))
    return { kind: 'pending', gatewayReference: reference }
  const said = describe({ code, text })
  if (report?.resultCode === '0')
    return unrecognized(`Daraja answered ${said}, but its callback says that it was paid`)
  const failure = DECLINES.get(code)
  if (failure) return declined(reference, failure, `M-Pesa answered ${said}`)
  // A code that we do not know may mean that it is in progress. The callback comes only at the end.
  if (report?.resultCode === code) return declined(reference, 'unknown', `M-Pesa answered ${said}`)
  return unrecognized(`M-Pesa answered ${said}, which we do not know`)
}

const DECLINES = new Map<string, FailureCode>([
  ['1', 'insufficient_funds'],
  ['1032', 'customer_cancelled'],
  // No answer to the prompt, or the phone could not be reached.
  ['1037', 'customer_timeout'],
  ['1019', 'customer_timeout'],
  ['2001', 'authentication_failed'],
  // Another prompt of this payer is open; a later one can succeed.
  ['1001', 'provider_unavailable'],
  // The prompt could not be sent.
  ['1025', 'provider_unavailable'],
  ['9999', 'provider_unavailable'],
  ['17', 'provider_unavailable'],
  ['26', 'provider_unavailable'],
])
