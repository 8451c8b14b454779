// The messages for payers about declines: what happened, and what to do while the checkout is open. core/failures.ts
// has the messages for merchants.

import type { FailureCode } from '../../core/failures.ts'
import type { Channel } from '../../gateways/gateway.ts'
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

const DECLINE_MESSAGES: Readonly<Record<FailureCode, DeclineMessages>> = {
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

// A payer by mobile money has no bank and no card, and one who sends a transfer approves nothing on a phone.
const CHANNEL_DECLINES: Partial<Record<Channel, Partial<typeof DECLINE_MESSAGES>>> = {
  mobile_money: {
    do_not_honor: declineMessages('failureOperatorDeclined', 'adviceAnotherWay'),
    authentication_failed: declineMessages('failurePin', 'adviceAgain'),
  },
  // The money may still be on its way.
  bank_transfer: { customer_timeout: declineMessages('failureTransferTimeout', 'ifSentMoney', false) },
}

/** A saved method is charged without its owner's approval, so another try of it ends the same way. */
const SAVED_DECLINES: Partial<typeof DECLINE_MESSAGES> = {
  authentication_required: declineMessages('failureAuthenticationRequired', 'adviceAnotherWay'),
}

export function messagesOfDecline(
  channel: Channel | undefined,
  code: FailureCode,
  isSaved = false,
): DeclineMessages {
  const saved = isSaved ? SAVED_DECLINES[code] : undefined
  if (saved) return saved
  const own = channel === undefined ? undefined : CHANNEL_DECLINES[channel]?.[code]
  return own ?? DECLINE_MESSAGES[code]
}

/** The messages about the declined attempt of a checkout. */
function messagesOfAttempt(attempt: CheckoutFacts['attempt'], code: FailureCode): DeclineMessages {
  return messagesOfDecline(attempt?.choice?.channel, code, attempt?.paymentMethodId != null)
}

// What to do where the page offers one way to pay.
const ONLY_WAY_ADVICE: Partial<Record<MessageId, MessageId>> = {
  adviceAgain: 'adviceOnlyAgain',
  adviceAnotherWay: 'linkClosedText',
  adviceDifferentCard: 'adviceOnlyCard',
  adviceTopUp: 'adviceOnlyTopUp',
  adviceChangeNumber: 'adviceOnlyNumber',
}

/** What to do after the decline: another way to pay is advised only if there is one. */
export function adviceAfterDecline(
  { channels, networks, attempt }: Pick<CheckoutFacts, 'channels' | 'networks' | 'attempt'>,
  code: FailureCode,
): MessageId {
  const { advice } = messagesOfAttempt(attempt, code)
  // Beside a saved method the form itself is another way.
  const hasOtherWay = channels.length > 1 || networks.length > 1 || attempt?.paymentMethodId != null
  return hasOtherWay ? advice : onlyWayAdvice(advice)
}

export function onlyWayAdvice(advice: MessageId): MessageId {
  return ONLY_WAY_ADVICE[advice] ?? advice
}

/** What happened, and that nothing was charged if that is certain for all attempts so far. */
export function declineText(facts: CheckoutFacts, code: FailureCode): string {
  const { reason, isNotCharged } = messagesOfAttempt(facts.attempt, code)
  const text = facts.translator.t(reason, { amount: amountOf(facts) })
  return isNotCharged && !mayHaveSentMoney(facts) ? `${text} ${facts.translator.t('notCharged')}` : text
}
