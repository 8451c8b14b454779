// The failure codes of declined payments. Each gateway maps its own codes to these.

interface FailureFacts {
  /** soft: may work later or with another method; hard: will not work again; technical: a fault, not a decision. */
  category: 'soft' | 'hard' | 'technical'
  retryable: boolean
  message: string
}

export const FAILURES = {
  insufficient_funds: {
    category: 'soft',
    retryable: true,
    message: 'There is not enough money on the method.',
  },
  do_not_honor: { category: 'soft', retryable: true, message: 'The bank declined without a reason.' },
  card_expired: { category: 'hard', retryable: false, message: 'The card has expired.' },
  invalid_card: { category: 'hard', retryable: false, message: 'The card is not valid.' },
  authentication_required: {
    category: 'soft',
    retryable: false,
    message: 'The bank wants the customer to approve this payment.',
  },
  authentication_failed: {
    category: 'soft',
    retryable: true,
    message: 'The customer was not authenticated.',
  },
  limit_exceeded: {
    category: 'soft',
    retryable: true,
    message: 'The amount is above a limit of the method.',
  },
  suspected_fraud: { category: 'hard', retryable: false, message: 'The payment was refused as suspicious.' },
  customer_cancelled: { category: 'soft', retryable: true, message: 'The customer cancelled the payment.' },
  customer_timeout: { category: 'soft', retryable: true, message: 'The customer did not approve in time.' },
  wallet_not_found: { category: 'hard', retryable: false, message: 'There is no such mobile money account.' },
  provider_unavailable: {
    category: 'technical',
    retryable: true,
    message: 'The gateway could not be reached.',
  },
  duplicate: { category: 'technical', retryable: false, message: 'The gateway saw this payment before.' },
  unknown: {
    category: 'technical',
    retryable: false,
    message: 'The gateway gave a reason that we do not know.',
  },
} as const satisfies Record<string, FailureFacts>

export type FailureCode = keyof typeof FAILURES
