// Flutterwave's direct charges: the payer enters the number on our page, or sees there the account for a bank transfer. Some
// networks are then confirmed on a page that Flutterwave's response names.

import { Type } from 'typebox'
import { findNetwork } from '../../core/networks.ts'
import { addMs } from '../../kit/clock.ts'
import { schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Attempt, CheckoutChoice, NextStep, Outcome, StartedCheckout } from '../gateway.ts'
import { type Declined, Maybe, readTime, refused, unrecognized } from '../reply.ts'
import { DECIMAL, toExactMinor, toMajor } from './amounts.ts'
import { walletChargeOf } from './charge-types.ts'
import { fallbackCountry } from './rails.ts'
import { readReply, Text } from './response.ts'
import { type DuplicateReference, fromFailedDirect, fromTransactionData } from './wire.ts'

export interface DirectCharge {
  path: string
  body: object
  attempt: Attempt
  /** The step of a charge that Flutterwave makes without another page; undefined if the response names the step. */
  prompt: NextStep | undefined
  /** When the account of a transfer expires, unless the response says it. */
  expiresAt: Date
}

/** Undefined if the payer must go to Flutterwave's page. */
export function toDirectCharge(
  attempt: Attempt,
  choice: CheckoutChoice,
  returnUrl: string,
  now: Date,
): DirectCharge | undefined {
  switch (choice.channel) {
    case 'mobile_money':
      return toWalletCharge(attempt, choice, returnUrl)
    case 'bank_transfer':
      return attempt.amount.currency === 'NGN' ? toTransferCharge(attempt, now) : undefined
    default:
      return undefined
  }
}

const chargePath = (type: string) => `/charges?type=${type}`

// Flutterwave does not say how long a prompt stays open; networks close theirs within a few minutes.
const PROMPT_MS = 5 * 60_000

function toWalletCharge(
  attempt: Attempt,
  { phone, network = '' }: CheckoutChoice,
  returnUrl: string,
): DirectCharge | undefined {
  const { currency } = attempt.amount
  const charge = walletChargeOf(currency, network)
  if (!charge || phone === undefined) return undefined
  const expiresAt = addMs(attempt.startedAt, PROMPT_MS)
  const name = findNetwork(network)?.name ?? network
  const prompt: NextStep = { kind: 'prompt', phone, network: name, expiresAt: expiresAt.toISOString() }
  const body = {
    ...commonFields(attempt),
    phone_number: phone.replace('+', ''),
    ...(charge.network !== null && { network: charge.network }),
    country: attempt.country ?? fallbackCountry(currency),
    // Rwanda alone requires it.
    ...(currency === 'RWF' && { order_id: attempt.key }),
    redirect_url: returnUrl,
  }
  const { type, isPrompt } = charge
  return { path: chargePath(type), body, attempt, prompt: isPrompt ? prompt : undefined, expiresAt }
}

const SECOND_MS = 1_000
const LEAST_TRANSFER_SECONDS = 15 * 60

/** The account expires with our checkout, but leaves time for a transfer. */
function toTransferCharge(attempt: Attempt, now: Date): DirectCharge {
  const wanted = attempt.expiresAt
    ? Math.ceil((attempt.expiresAt.getTime() - now.getTime()) / SECOND_MS)
    : LEAST_TRANSFER_SECONDS
  const expires = Math.max(wanted, LEAST_TRANSFER_SECONDS)
  const body = { ...commonFields(attempt), expires }
  const expiresAt = addMs(now, expires * SECOND_MS)
  return { path: chargePath('bank_transfer'), body, attempt, prompt: undefined, expiresAt }
}

function commonFields({ key, amount, customer, paymentId, reference }: Attempt) {
  return {
    tx_ref: key,
    amount: toMajor(amount),
    currency: amount.currency,
    email: customer.email,
    fullname: `${customer.firstname} ${customer.lastname}`.trim().slice(0, MAX_NAME),
    // For Flutterwave's dashboard.
    meta: { payment: paymentId, reference },
  }
}

const MAX_NAME = 100

const readAuthorization = schemaReader(
  Type.Object({
    authorization: Type.Object({
      mode: Maybe(Text),
      redirect: Maybe(Text),
      // The name in responses of another type.
      redirect_url: Maybe(Text),
      transfer_account: Maybe(Type.String({ maxLength: 50 })),
      transfer_bank: Maybe(Type.String({ maxLength: 200 })),
      transfer_note: Maybe(Type.String({ maxLength: 500 })),
      transfer_amount: Maybe(Type.String({ pattern: DECIMAL })),
      account_expiration: Maybe(Text),
    }),
  }),
)
type Authorization = NonNullable<ReturnType<typeof readAuthorization>>['authorization']

export function fromDirectCharge(
  result: HttpResult,
  charge: DirectCharge,
  now: Date,
): StartedCheckout | Outcome | DuplicateReference {
  const { attempt } = charge
  const reply = readReply(result)
  if (reply.kind === 'unknown') return reply
  const outcome = fromTransactionData(reply.data, attempt, now)
  if (outcome && outcome.kind !== 'pending') return outcome
  if (reply.kind === 'error') return fromFailedDirect(reply)
  const authorization = readAuthorization(reply.meta)?.authorization
  const next = (authorization && toNextStep(authorization, charge)) ?? (outcome && charge.prompt)
  if (!next) return unrecognized('Flutterwave answered no step that the payer can take')
  if ('code' in next) return next
  return { kind: 'started', gatewayReference: outcome?.gatewayReference ?? attempt.key, next }
}

function toNextStep(authorization: Authorization, charge: DirectCharge): NextStep | Declined | undefined {
  const url = authorization.redirect ?? authorization.redirect_url ?? ''
  if (isWebUrl(url)) return { kind: 'redirect', url }
  return authorization.mode === 'banktransfer' ? toTransfer(authorization, charge) : undefined
}

const MAX_URL = 2_048
const isWebUrl = (url: string) => url.length <= MAX_URL && /^https?:\/\//.test(url) && URL.canParse(url)

function toTransfer(
  authorization: Authorization,
  { attempt, expiresAt }: DirectCharge,
): NextStep | Declined | undefined {
  const { transfer_account: accountNumber, transfer_bank: bankName } = authorization
  if (!accountNumber || !bankName) return undefined
  if (!isRequestedAmount(authorization, attempt))
    // The payer has not seen the account, so nothing can be transferred to it.
    return refused(
      'provider_unavailable',
      'Flutterwave adds its fee to the transfer, so our page shows another amount',
    )
  return {
    kind: 'transfer',
    bankName,
    accountNumber,
    accountName: accountNameIn(authorization.transfer_note),
    // The account is for this payment alone.
    narration: '',
    expiresAt: (readExpiration(authorization.account_expiration) ?? expiresAt).toISOString(),
  }
}

function isRequestedAmount({ transfer_amount: amount }: Authorization, attempt: Attempt): boolean {
  return amount == null || toExactMinor(amount, attempt.amount.currency) === attempt.amount.minor
}

/** "Please make a bank transfer to Duka FLW" has the name of the account. */
function accountNameIn(note: string | null | undefined): string {
  return /\btransfer to (.{1,200})$/i.exec(note ?? '')?.[1]?.trim() ?? ''
}

/** Milliseconds since 1970, or a date. */
function readExpiration(text: string | null | undefined): Date | undefined {
  return /^\d{13}$/.test(text ?? '') ? new Date(Number(text)) : readTime(text)
}
