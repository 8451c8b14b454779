// What a payer is told about a decline: what happened, and what to do while the checkout is still open. The merchant's
// words stand in core/failures.ts.

import type { FailureCode } from '../../core/failures.ts'
import type { WordId } from '../words/en.ts'

interface FailureWords {
  happened: WordId
  advice: WordId
}

const tell = (happened: WordId, advice: WordId): FailureWords => ({ happened, advice })

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
  duplicate: tell('failureDuplicate', 'adviceAnotherWay'),
  unknown: tell('failureUnknown', 'adviceAnotherWay'),
}
