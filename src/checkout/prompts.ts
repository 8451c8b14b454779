// The rules around asking a phone to approve a payment. The page is open to whoever has its address, and must not become
// a tool for ringing strangers' phones.

import { ApiError, type Issue } from '../core/errors.ts'
import { networksOf } from '../core/networks.ts'
import type { CheckoutChoice, Gateway } from '../gateways/gateway.ts'
import { addMs } from '../kit/clock.ts'
import { hmacSha256 } from '../kit/crypto.ts'
import { readPhone } from '../kit/phone.ts'
import { isUnsettled } from '../outcomes/schedule.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow } from '../payments/attempt.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { takePromptSlot } from './prompt-queries.ts'

const SECOND_MS = 1_000

// A payer who mistypes the PIN twice and changes the network once stays below the usual five.
const WINDOW_MS = 15 * 60 * SECOND_MS

// An operator that still has the last request open refuses the next one ("session in progress").
const REST_MS = 20 * SECOND_MS

// Whoever has just been asked may be typing the PIN; a second way to pay in these moments would be paid twice.
export const SETTLED_IN_MS = 60 * SECOND_MS

/** A prompt needs a number that can be prompted; only a sandbox can do with an instrument alone. */
export function requirePromptable(gateway: Gateway, payment: PaymentRow, choice: CheckoutChoice): void {
  const complaints = complainOfPrompt(gateway, payment, choice)
  if (complaints.length > 0) throw new ApiError('validation_failed', { details: complaints })
}

/** Whether what the payer gave is enough for this gateway too. */
export function isPromptable(gateway: Gateway, payment: PaymentRow, choice: CheckoutChoice): boolean {
  return complainOfPrompt(gateway, payment, choice).length === 0
}

function complainOfPrompt(gateway: Gateway, payment: PaymentRow, choice: CheckoutChoice): Issue[] {
  if (choice.channel !== 'mobile_money') return []
  return [...complainOfPhone(gateway, choice), ...complainOfNetwork(payment, choice)]
}

function complainOfPhone({ instruments, promptsPhone }: Gateway, choice: CheckoutChoice): Issue[] {
  const { phone, instrument } = choice
  if (phone === undefined) {
    const isPlayed = instrument !== undefined && instruments !== undefined
    return isPlayed || !promptsPhone
      ? []
      : [{ field: 'phone', code: 'required', message: 'A phone number is needed.' }]
  }
  if (readPhone(phone, null)?.e164 === phone) return []
  return [{ field: 'phone', code: 'invalid_format', message: 'This is not the number of a mobile phone.' }]
}

function complainOfNetwork({ country }: PaymentRow, { network }: CheckoutChoice): Issue[] {
  if (network === undefined || networksOf(country).some(({ code }) => code === network)) return []
  return [{ field: 'network', code: 'not_allowed', message: 'This network is not offered here.' }]
}

/** Refuses to ask the same phone again for the same payment while its last request may still be open there. */
export function requireRestedPhone(attempts: readonly AttemptRow[], choice: CheckoutChoice, now: Date): void {
  const phone = promptedPhone(choice)
  const last = attempts.findLast((attempt) => phone !== undefined && attempt.choice?.phone === phone)
  if (!last?.endedAt) return
  const restedAt = addMs(last.endedAt, REST_MS)
  if (restedAt > now)
    throw tooSoon('This phone was asked a moment ago; let it close that request first.', restedAt, now)
}

/**
 * Takes one of the prompts that a number may receive in a quarter of an hour, over all payments and merchants. It is
 * taken before the attempt is recorded: a crash between the two, or a second press that loses, wastes one, and none is
 * ever sent uncounted.
 */
export async function takePrompt(app: PaymentsApp, choice: CheckoutChoice): Promise<void> {
  const phone = promptedPhone(choice)
  const limit = app.settings.promptsPerNumber
  if (phone === undefined || limit === 0) return
  const now = app.clock.now()
  const phoneHash = hmacSha256(app.promptKey, phone)
  const slot = await takePromptSlot(app.db, phoneHash, now, addMs(now, WINDOW_MS), limit)
  if (!slot.isTaken)
    throw tooSoon(
      'This phone was asked too often; give it some rest, or pay another way.',
      slot.windowEndsAt,
      now,
    )
}

function promptedPhone({ channel, phone }: CheckoutChoice): string | undefined {
  return channel === 'mobile_money' ? phone : undefined
}

function tooSoon(message: string, until: Date, now: Date): ApiError {
  const retryAfterSeconds = Math.max(1, Math.ceil((until.getTime() - now.getTime()) / SECOND_MS))
  return new ApiError('rate_limited', { message, retryAfterSeconds })
}

/** Whether a phone was asked so recently that its owner may be typing the PIN at this moment. */
export function isFreshPrompt(attempt: AttemptRow, now: Date): boolean {
  const { nextStep } = attempt
  // Without a next step its answer got lost, and the phone may well have rung.
  const isPrompt = attempt.channel === 'mobile_money' && (nextStep === null || nextStep.kind === 'prompt')
  if (!isPrompt || !isUnsettled(attempt)) return false
  const isLapsed = nextStep?.kind === 'prompt' && new Date(nextStep.expiresAt) <= now
  return !isLapsed && now < addMs(attempt.startedAt, SETTLED_IN_MS)
}
