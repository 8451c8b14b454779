// The prompt on the payer's phone (STK push). It has no idempotency key: the same request prompts the payer again.

import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import { findNetwork } from '../../core/networks.ts'
import { addMs } from '../../kit/clock.ts'
import { jsonReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Attempt, CheckoutChoice, Outcome, StartedCheckout } from '../gateway.ts'
import { declined, fromUnexpectedBody, refused, unknown, unrecognized, withoutResponse } from '../reply.ts'
import { toShillings } from './amounts.ts'
import { isPayerBusy, rejectionOf } from './api.ts'
import { toTimestamp } from './times.ts'

export const PUSH_PATH = '/mpesa/stkpush/v1/processrequest'
export const NETWORK = 'mpesa_ke'

/** Where the money goes. */
export interface Payee {
  shortcode: string
  passkey: string
  /** A till below the shortcode of its store; without it the shortcode is a paybill. */
  till?: string | undefined
}

/** Timestamp and password belong together: Daraja refuses a password with another timestamp. */
export function authorize({ shortcode, passkey }: Payee, now: Date) {
  const Timestamp = toTimestamp(now)
  const Password = Buffer.from(`${shortcode}${passkey}${Timestamp}`).toString('base64')
  return { BusinessShortCode: shortcode, Password, Timestamp }
}

// Without letters that look like digits: payers read it in the prompt and in the message of M-Pesa.
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const REFERENCE_LENGTH = 12

/** The account number of the payment at the paybill: unique for each attempt, so that a listed payment names its attempt. */
export function accountReferenceOf(key: string): string {
  const bytes = createHash('sha256').update(`daraja account reference ${key}`).digest()
  return Array.from(bytes.subarray(0, REFERENCE_LENGTH), (byte) => ALPHABET[byte % ALPHABET.length]).join('')
}

const MSISDN = /^\+(254[17]\d{8})$/

/** The digits of a Kenyan mobile number; undefined for any other number. */
export function toMsisdn(phone: string | undefined): string | undefined {
  return MSISDN.exec(phone ?? '')?.[1]
}

interface PushContext {
  payee: Payee
  callbackUrl: string
  now: Date
}

/** The body, or why there is none. */
export function toPushBody(
  attempt: Attempt,
  choice: CheckoutChoice,
  { payee, callbackUrl, now }: PushContext,
): { body: object } | { issue: string } {
  const msisdn = toMsisdn(choice.phone)
  if (msisdn === undefined) return { issue: 'M-Pesa needs a Kenyan mobile number' }
  const shillings = toShillings(attempt.amount)
  if (shillings === undefined) return { issue: 'M-Pesa takes whole shillings only' }
  const body = {
    ...authorize(payee, now),
    TransactionType: payee.till === undefined ? 'CustomerPayBillOnline' : 'CustomerBuyGoodsOnline',
    Amount: shillings,
    // Numbers, not text: production refuses text.
    PartyA: Number(msisdn),
    PartyB: payee.till ?? payee.shortcode,
    PhoneNumber: Number(msisdn),
    CallBackURL: callbackUrl,
    AccountReference: accountReferenceOf(attempt.key),
    TransactionDesc: toDescription(attempt),
  }
  return { body }
}

const MAX_DESCRIPTION = 13

/** Required, and short. */
function toDescription({ description, reference }: Attempt): string {
  const plain = (description ?? reference)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^A-Za-z0-9]+/g, ' ')
    .trim()
  return plain.slice(0, MAX_DESCRIPTION).trim() || 'Payment'
}

const Identity = Type.String({ minLength: 1, maxLength: 100 })

const readAccepted = jsonReader(Type.Object({ ResponseCode: Type.Literal('0'), CheckoutRequestID: Identity }))
const readNotAccepted = jsonReader(
  Type.Object({ ResponseCode: Type.String({ pattern: '^[1-9][0-9]{0,5}$' }) }),
)

// Without an answer the prompt ends after about a minute, and the result follows some seconds later.
const PROMPT_MS = 90_000

const PAYER_BUSY = 'M-Pesa is processing another payment of this payer'

export function fromPush(result: HttpResult, phone: string, now: Date): StartedCheckout | Outcome {
  // The payer tries again later. With another gateway there would be two open prompts.
  if (isPayerBusy(result)) return declined(null, 'provider_unavailable', PAYER_BUSY)
  const rejection = rejectionOf(result)
  if (rejection !== undefined) return refused('provider_unavailable', rejection)
  if (result.kind !== 'answered') return withoutResponse(result)
  const message = `Daraja answered HTTP ${result.status}`
  if (result.status >= 500) return unknown('no_answer', message)
  if (result.status !== 200) return fromUnexpectedBody(result.body, message)
  const accepted = readAccepted(result.body)
  if (!accepted) return fromNotAccepted(result.body, message)
  const network = findNetwork(NETWORK)?.name ?? 'M-Pesa'
  const expiresAt = addMs(now, PROMPT_MS).toISOString()
  return {
    kind: 'started',
    gatewayReference: accepted.CheckoutRequestID,
    next: { kind: 'prompt', phone, network, expiresAt },
  }
}

function fromNotAccepted(body: Buffer, message: string): Outcome {
  const answer = readNotAccepted(body)
  if (!answer) return fromUnexpectedBody(body, message)
  // The reason may come with an id, and then a prompt may have been sent.
  if (body.includes('CheckoutRequestID')) return unrecognized(`Daraja answered code ${answer.ResponseCode}`)
  return refused('provider_unavailable', `Daraja did not accept the request: code ${answer.ResponseCode}`)
}
