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

/** Why a payment failed that a person has decided: the gateway gave no reason. Their code is unknown; by status reason. */
export const DECIDED_FAILURES = {
  returned: 'The payer paid another amount, and the money was returned.',
  written_off: 'The payer paid another amount, and the money was written off.',
  marked_failed: 'A person marked it as failed: the provider’s records show no payment.',
} as const satisfies Record<string, string>

export type DecidedFailure = keyof typeof DECIDED_FAILURES

export interface Failure extends FailureFacts {
  code: FailureCode
}

export function failureOf(code: FailureCode, statusReason: string | null): Failure {
  const { message, category, retryable } = FAILURES[code]
  const isDecided = statusReason !== null && Object.hasOwn(DECIDED_FAILURES, statusReason)
  // A boundary: the key was just found in the table.
  if (!isDecided) return { code, message, category, retryable }
  return { code, message: DECIDED_FAILURES[statusReason as DecidedFailure], category: 'hard', retryable }
}
