// Paystack's Charge API: the payer stays on our page. Mobile money is a prompt on the phone or a page of the network, a bank
// transfer goes to an account that Paystack returns. What our page cannot ask for stays on Paystack's page.

import { Type } from 'typebox'
import { findNetwork } from '../../core/networks.ts'
import { addMs } from '../../kit/clock.ts'
import { schemaReader } from '../../kit/exact-json.ts'
import type { Attempt, CheckoutChoice, NextStep, Outcome, StartedCheckout } from '../gateway.ts'
import { Maybe, readTime, refused, unrecognized } from '../reply.ts'
import { Text } from './json.ts'
import { toProvider } from './rails.ts'
import { isUnknown, type Reply } from './response.ts'
import { fromErrorReply, fromTransaction, toMetadata, toRequest } from './wire.ts'

/** The body of a charge, or undefined if the payer must go to Paystack's page. */
export function toDirectBody(attempt: Attempt, choice: CheckoutChoice, now: Date) {
  const method = toMethod(attempt, choice, now)
  if (!method) return undefined
  const { email } = attempt.customer
  return { email, ...toRequest(attempt), ...method, metadata: toMetadata(attempt) }
}

function toMethod(attempt: Attempt, { channel, phone, network = '' }: CheckoutChoice, now: Date) {
  const provider = channel === 'mobile_money' ? toProvider(network) : undefined
  if (provider && phone !== undefined) return { mobile_money: { phone: toPhone(phone), provider } }
  const isTransfer = channel === 'bank_transfer' && attempt.amount.currency === 'NGN'
  return isTransfer ? { bank_transfer: { account_expires_at: accountExpiry(attempt, now) } } : undefined
}

/** In Ghana Paystack takes the number as it is dialled inside the country, elsewhere with the country code. */
function toPhone(e164: string): string {
  return e164.replace(/^\+233/, '0')
}

const MINUTE_MS = 60_000
// Paystack takes from 15 minutes to 8 hours; the margins allow for its clock.
const LEAST_ACCOUNT_MS = 16 * MINUTE_MS
const MOST_ACCOUNT_MS = 479 * MINUTE_MS

/** With our checkout, as far as Paystack allows. */
function accountExpiry({ expiresAt }: Attempt, now: Date): string {
  const wantedMs = expiresAt === null ? 0 : expiresAt.getTime() - now.getTime()
  return addMs(now, Math.min(Math.max(wantedMs, LEAST_ACCOUNT_MS), MOST_ACCOUNT_MS)).toISOString()
}

const readStep = schemaReader(
  Type.Object({
    reference: Text(),
    status: Text(),
    url: Maybe(Text(2_048)),
    account_number: Maybe(Text(50)),
    account_name: Maybe(Text(200)),
    bank: Type.Optional(Type.Unknown()),
    account_expires_at: Maybe(Text()),
  }),
)
type Step = NonNullable<ReturnType<typeof readStep>>

const readBank = schemaReader(Type.Object({ name: Type.String({ minLength: 1, maxLength: 200 }) }))

export function fromDirect(
  reply: Reply,
  attempt: Attempt,
  choice: CheckoutChoice,
  now: Date,
): StartedCheckout | Outcome {
  if (isUnknown(reply)) return reply
  if (reply.kind === 'refused')
    return isAboutPhone(reply.providerMessage)
      ? refused('wallet_not_found', reply.message)
      : fromErrorReply(reply)
  const step = readStep(reply.data)
  if (step?.reference !== attempt.key || !isOpen(step.status))
    return fromTransaction(reply.data, attempt, now)
  if (INPUTS.includes(step.status))
    return refused('provider_unavailable', 'Paystack asks for a code that our page cannot ask for')
  const next = toNextStep(step, attempt, choice)
  if (!next) return unrecognized('Paystack answered no step that the payer can take')
  return { kind: 'started', gatewayReference: step.reference, next }
}

const isAboutPhone = (message: string) => /phone|mobile number|msisdn/i.test(message)

// The money moves only if we submit what Paystack asks for, which we never do. So another gateway may be tried.
const INPUTS: readonly string[] = ['send_otp', 'send_pin', 'send_phone', 'send_birthday', 'send_address']
const PROMPTED: readonly string[] = ['pay_offline', 'pending', 'ongoing', 'processing']
const OTHERS: readonly string[] = ['open_url', 'pending_bank_transfer']

const isOpen = (status: string) => [...INPUTS, ...PROMPTED, ...OTHERS].includes(status)

function toNextStep(step: Step, attempt: Attempt, choice: CheckoutChoice): NextStep | undefined {
  switch (step.status) {
    case 'open_url':
      return isWebUrl(step.url ?? '') ? { kind: 'redirect', url: step.url ?? '' } : undefined
    case 'pending_bank_transfer':
      return toTransfer(step)
    default:
      return promptStep(attempt, choice)
  }
}

const isWebUrl = (url: string) => /^https?:\/\//.test(url) && URL.canParse(url)

function toTransfer({ account_number: accountNumber, ...step }: Step): NextStep | undefined {
  const bankName = readBank(step.bank)?.name
  const expiresAt = readTime(step.account_expires_at)?.toISOString()
  if (!accountNumber || !bankName || !expiresAt) return undefined
  // The account is for this payment alone, so the payer need not write a reference.
  const account = { bankName, accountNumber, accountName: step.account_name ?? '', narration: '' }
  return { kind: 'transfer', ...account, expiresAt }
}

// Paystack waits three minutes for the payer.
const PROMPT_MS = 3 * MINUTE_MS

/** Undefined unless the payer entered a number. */
export function promptStep(
  { startedAt }: Attempt,
  { phone, network = '' }: CheckoutChoice,
): NextStep | undefined {
  const name = findNetwork(network)?.name
  if (phone === undefined || name === undefined) return undefined
  return { kind: 'prompt', phone, network: name, expiresAt: addMs(startedAt, PROMPT_MS).toISOString() }
}
