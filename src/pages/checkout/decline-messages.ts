// The messages for payers about declines: what happened, and what to do while the checkout is open. core/failures.ts
// has the messages for merchants.

import type { FailureCode } from '../../core/failures.ts'
import type { MessageId } from '../locales/en.ts'
import { amountOf } from './components.ts'
import { type CheckoutFacts, mayHaveSentMoney } from './facts.ts'

interface DeclineMessages {
  reason: MessageId
  advice: MessageId
  /** Whether the reason proves that no money moved, now or before. */
  isNotCharged: boolean
}

const declineMessages = (reason: MessageId, advice: MessageId, isNotCharged = true): DeclineMessages => ({
  reason,
  advice,
  isNotCharged,
})

export const DECLINE_MESSAGES: Readonly<Record<FailureCode, DeclineMessages>> = {
  insufficient_funds: declineMessages('failureInsufficientFunds', 'adviceTopUp'),
  do_not_honor: declineMessages('failureDoNotHonor', 'adviceDifferentCard'),
  card_expired: declineMessages('failureCardExpired', 'adviceDifferentCard'),
  invalid_card: declineMessages('failureInvalidCard', 'adviceDifferentCard'),
  authentication_required: declineMessages('failureAuthenticationRequired', 'adviceApprove'),
  authentication_failed: declineMessages('failureAuthenticationFailed', 'adviceAgain'),
  limit_exceeded: declineMessages('failureLimitExceeded', 'adviceAnotherWay'),
  suspected_fraud: declineMessages('failureSuspectedFraud', 'adviceAnotherWay'),
  customer_cancelled: declineMessages('failureCustomerCancelled', 'adviceAgain'),
  customer_timeout: declineMessages('failureCustomerTimeout', 'adviceWhenReady'),
  wallet_not_found: declineMessages('failureWalletNotFound', 'adviceChangeNumber'),
  provider_unavailable: declineMessages('failureProviderUnavailable', 'adviceAgain'),
  duplicate: declineMessages('failureDuplicate', 'mismatchText', false),
  unknown: declineMessages('failureUnknown', 'adviceAnotherWay', false),
}

/** What happened, and that nothing was charged if that is certain for all attempts so far. */
export function declineText(facts: CheckoutFacts, code: FailureCode): string {
  const { reason, isNotCharged } = DECLINE_MESSAGES[code]
  const text = facts.translator.t(reason, { amount: amountOf(facts) })
  return isNotCharged && !mayHaveSentMoney(facts) ? `${text} ${facts.translator.t('notCharged')}` : text
}
