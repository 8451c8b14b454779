// What a payer is told about a decline: what happened, and what to do while the checkout is still open. The merchant's
// words stand in core/failures.ts.

import type { FailureCode } from '../../core/failures.ts'
import type { WordId } from '../words/en.ts'
import { type CheckoutFacts, mayHaveSentMoney } from './facts.ts'
import { amountOf } from './pieces.ts'

interface FailureWords {
  happened: WordId
  advice: WordId
  /** Whether the reason rules out that money moved, now or before. */
  isUncharged: boolean
}

const tell = (happened: WordId, advice: WordId, isUncharged = true): FailureWords => ({
  happened,
  advice,
  isUncharged,
})

export const FAILURE_WORDS: Readonly<Record<FailureCode, FailureWords>> = {
  insufficient_funds: tell('failureInsufficientFunds', 'adviceTopUp'),
  do_not_honor: tell('failureDoNotHonor', 'adviceDifferentCard'),
  card_expired: tell('failureCardExpired', 'adviceDifferentCard'),
  invalid_card: tell('failureInvalidCard', 'adviceDifferentCard'),
  authentication_required: tell('failureAuthenticationRequired', 'adviceApprove'),
  authentication_failed: tell('failureAuthenticationFailed', 'adviceAgain'),
  limit_exceeded: tell('failureLimitExceeded', 'adviceAnotherWay'),
  suspected_fraud: tell('failureSuspectedFraud', 'adviceAnotherWay'),
  customer_cancelled: tell('failureCustomerCancelled', 'adviceAgain'),
  customer_timeout: tell('failureCustomerTimeout', 'adviceWhenReady'),
  wallet_not_found: tell('failureWalletNotFound', 'adviceChangeNumber'),
  provider_unavailable: tell('failureProviderUnavailable', 'adviceAgain'),
  duplicate: tell('failureDuplicate', 'mismatchText', false),
  unknown: tell('failureUnknown', 'adviceAnotherWay', false),
}

/** What happened, and that nothing was charged where that is certain of this attempt and of all before it. */
export function declineWords(facts: CheckoutFacts, code: FailureCode): string {
  const { happened, isUncharged } = FAILURE_WORDS[code]
  const words = facts.speech.say(happened, { amount: amountOf(facts) })
  return isUncharged && !mayHaveSentMoney(facts) ? `${words} ${facts.speech.say('notCharged')}` : words
}
