// Rules for payment prompts on phones: validation, cool-down, rate limit, and one open prompt per phone. Anyone with the link
// can open the checkout page, so the page must not be usable to send prompts to other people's phones.

import { ApiError, type Issue } from '../core/errors.ts'
import type { Network } from '../core/networks.ts'
import type { CheckoutChoice } from '../gateways/gateway.ts'
import type { Candidate } from '../gateways/registry.ts'
import { addMs } from '../kit/clock.ts'
import { hmacSha256 } from '../kit/crypto.ts'
import type { Db } from '../kit/db/db.ts'
import { readPhone } from '../kit/phone.ts'
import { isOpenAttempt } from '../outcomes/schedule.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow } from '../payments/attempt.ts'
import { claimPrompt, findPromptEnd, type PromptClaim, type PromptHolder } from './phone-prompt-queries.ts'

const SECOND_MS = 1_000

// A payer who mistypes the PIN twice and changes the network once stays below the default limit of five.
const WINDOW_MS = 15 * 60 * SECOND_MS

// A mobile money operator rejects a prompt while the previous one is open ("session in progress").
const COOLDOWN_MS = 20 * SECOND_MS

// The payer may be typing the PIN; a switch to another method in this time could cause a duplicate payment.
export const PROMPT_GRACE_MS = 60 * SECOND_MS

/** A prompt needs a valid phone number, and one of these networks; the sandbox also accepts a test instrument alone. */
export function requirePromptable(
  candidate: Candidate,
  choice: CheckoutChoice,
  networks: readonly Pick<Network, 'code'>[],
): void {
  const issues = promptIssues(candidate, choice, networks)
  if (issues.length > 0) throw new ApiError('validation_failed', { details: issues })
}

/** Whether the payer's input is enough for this gateway. */
export function isPromptable(candidate: Candidate, choice: CheckoutChoice): boolean {
  const prompt = promptOf(candidate)
  return !prompt || promptIssues(candidate, choice, prompt.networks).length === 0
}

/** How the gateway prompts the phone of a payer of mobile money; undefined if it does not. */
export function promptOf({ ways }: Candidate): Candidate['ways'][number] | undefined {
  return ways.find(({ collection }) => collection === 'prompt')
}

/** The payers of this network pay on the provider's page, although others are prompted. */
export function isOnPage({ pageNetworks = [] }: Candidate['ways'][number], network: string): boolean {
  return pageNetworks.includes(network)
}

function promptIssues(
  candidate: Candidate,
  choice: CheckoutChoice,
  networks: readonly Pick<Network, 'code'>[],
): Issue[] {
  if (choice.channel !== 'mobile_money') return []
  return [...phoneIssues(candidate, choice), ...networkIssues(networks, choice)]
}

const PHONE_REQUIRED: Issue = { field: 'phone', code: 'required', message: 'A phone number is needed.' }

export function phoneRequired(): ApiError {
  return new ApiError('validation_failed', { details: [PHONE_REQUIRED] })
}

function phoneIssues(candidate: Candidate, { phone, instrument, network = '' }: CheckoutChoice): Issue[] {
  if (phone === undefined) {
    const isSandboxInstrument = instrument !== undefined && candidate.gateway.instruments !== undefined
    const prompt = promptOf(candidate)
    return isSandboxInstrument || !prompt || isOnPage(prompt, network) ? [] : [PHONE_REQUIRED]
  }
  if (readPhone(phone, null)?.e164 === phone) return []
  return [{ field: 'phone', code: 'invalid_format', message: 'This is not the number of a mobile phone.' }]
}

function networkIssues(networks: readonly Pick<Network, 'code'>[], { network }: CheckoutChoice): Issue[] {
  if (network === undefined || networks.some(({ code }) => code === network)) return []
  return [{ field: 'network', code: 'not_allowed', message: 'This network is not offered here.' }]
}

/** Rejects a new attempt after the payer has cancelled one whose prompt may still be approved: both could be paid. */
export function assertNoRecentPrompt(attempts: readonly AttemptRow[], now: Date): void {
  const open = attempts.find((attempt) => isRecentPrompt(attempt, now))
  if (!open) return
  const message = 'The last request may still be open on the phone; it could be paid too.'
  throw rateLimited(message, addMs(open.startedAt, PROMPT_GRACE_MS), now)
}

/** Rejects a prompt to the same phone for the same payment while the previous prompt may still be open. */
export function assertPromptCooldown(
  attempts: readonly AttemptRow[],
  choice: CheckoutChoice,
  now: Date,
): void {
  const phone = promptedPhone(choice)
  const last = attempts.findLast((attempt) => phone !== undefined && attempt.choice?.phone === phone)
  if (!last?.endedAt) return
  const cooldownEndsAt = addMs(last.endedAt, COOLDOWN_MS)
  if (cooldownEndsAt > now)
    throw rateLimited(
      'This phone was asked a moment ago; let it close that request first.',
      cooldownEndsAt,
      now,
    )
}

// Longer than the database takes to record the attempt; a process that dies in between frees the phone then.
const RECORD_MS = 30 * SECOND_MS

/**
 * Claims the phone for this attempt over all payments and merchants: one open prompt at a time, and a rate limit. The phone
 * is free again when the attempt or its prompt ends. The prompt is counted before the attempt is recorded, so every prompt
 * is counted. A crash in between, or a concurrent request that loses, wastes one.
 */
export async function claimPhone(
  app: PaymentsApp,
  choice: CheckoutChoice,
  attemptKey: string,
  { isFailover }: { isFailover: boolean },
): Promise<void> {
  const phone = promptedPhone(choice)
  const limit = app.settings.promptsPerNumber
  if (phone === undefined || limit === 0) return
  const now = app.clock.now()
  await claimUntilKnown(app, {
    phoneHash: hmacSha256(app.promptKey, phone),
    attemptKey,
    now,
    heldUntil: addMs(now, RECORD_MS),
    newWindowEndsAt: addMs(now, WINDOW_MS),
    limit,
    isCounted: !isFailover,
  })
}

// Another attempt may claim the phone each time before we know when the prompt of the last one ends.
const CLAIM_ATTEMPTS = 3

/** A phone that had a prompt before is claimed again once we know when that one ends, from the attempt's own database. */
async function claimUntilKnown(app: PaymentsApp, claim: Omit<PromptClaim, 'holder'>): Promise<void> {
  const { now } = claim
  let holder: PromptHolder | undefined
  let openUntil = now
  for (let attempt = 0; attempt < CLAIM_ATTEMPTS; attempt += 1) {
    const claimed = await claimPrompt(app.instanceDb, { ...claim, holder: holder ?? null })
    if (claimed.isAllowed) return
    const { attemptKey } = claimed
    const hasEnded = attemptKey === null || attemptKey === holder?.attemptKey
    if (hasEnded) throw askedTooOften(claimed.windowEndsAt, now)
    const endsAt = await app.promptEndsAt(attemptKey)
    openUntil = endsAt ?? claimed.heldUntil ?? now
    if (openUntil > now) break
    holder = { attemptKey, endsAt: endsAt ?? null }
  }
  throw new ApiError('phone_busy', { retryAfterSeconds: secondsUntil(openUntil, now) })
}

/** When the prompt of an attempt ends by itself, in the past if it has ended. Undefined if it is not recorded (yet). */
export async function promptEndsAt(db: Db, attemptKey: string): Promise<Date | undefined> {
  const endsAt = await findPromptEnd(db, attemptKey)
  return endsAt === null ? LONG_AGO : endsAt
}

const LONG_AGO = new Date(0)

function askedTooOften(windowEndsAt: Date, now: Date): ApiError {
  const message = 'This phone was asked too often; give it some rest, or pay another way.'
  return rateLimited(message, windowEndsAt, now)
}

function promptedPhone({ channel, phone }: CheckoutChoice): string | undefined {
  return channel === 'mobile_money' ? phone : undefined
}

function rateLimited(message: string, until: Date, now: Date): ApiError {
  return new ApiError('rate_limited', { message, retryAfterSeconds: secondsUntil(until, now) })
}

function secondsUntil(until: Date, now: Date): number {
  return Math.max(1, Math.ceil((until.getTime() - now.getTime()) / SECOND_MS))
}

/** Whether the prompt is so recent that the payer may be typing the PIN. */
export function isRecentPrompt(attempt: AttemptRow, now: Date): boolean {
  const { nextStep } = attempt
  // Without a next step the gateway's response got lost, and the phone may have received the prompt.
  const isPrompt = attempt.channel === 'mobile_money' && (nextStep === null || nextStep.kind === 'prompt')
  if (!isPrompt || !isOpenAttempt(attempt)) return false
  const isExpired = nextStep?.kind === 'prompt' && new Date(nextStep.expiresAt) <= now
  return !isExpired && now < addMs(attempt.startedAt, PROMPT_GRACE_MS)
}
