// The kinds of cases, who decides each, and how it can be resolved: one table, from which the API, the command line and the
// docs follow.

export type CaseOwner = 'merchant' | 'operator'

/** What a person can decide. `proof` says whether the resolution needs the provider's reference. */
export const RESOLUTIONS = {
  accept:
    'Take what was received: the payment succeeds with this amount, or the money goes back to the wallet. A refund that could not be booked is debited from the wallet. A paid payment stays as it is.',
  return:
    'Give the money back to the payer: through the gateway, or with a proof if it was given back already. An open payment fails.',
  ask_again: 'Check the status at the gateway now. The case stays open if the gateway does not know.',
  mark_paid: 'The provider’s records show that it was paid: the payment succeeds. A proof is required.',
  mark_failed:
    'The provider’s records show that nothing was paid or given back: the payment or refund fails.',
  write_off: 'Give up what is held for the payer, and close the case. An open payment fails. Operators only.',
} as const satisfies Record<string, string>

export type Resolution = keyof typeof RESOLUTIONS

/** How a case ended: by a resolution, or because the gateway reported the outcome meanwhile. */
export type CaseEnding = Resolution | 'gateway_answered'

// A boundary: Object.keys returns strings, and a constant object has no other keys than its type.
export const RESOLUTION_NAMES = Object.keys(RESOLUTIONS) as Resolution[]

interface CaseKindFacts {
  meaning: string
  /** The operator decides about a gateway of the instance; about its own gateway account the merchant decides. */
  owner: CaseOwner
  resolutions: readonly Resolution[]
  /** The resolutions that need a proof for this kind. */
  proof: readonly Resolution[]
  /** To accept leaves a paid payment as it is. */
  keepsPaid?: true
}

const UNCERTAIN = { resolutions: ['ask_again', 'mark_paid', 'mark_failed'], proof: ['mark_paid'] } as const
const DUPLICATE = { owner: 'operator', resolutions: ['return', 'write_off'], proof: [] } as const

export const CASE_KINDS = {
  underpaid: {
    meaning: 'The payer paid less than was asked for.',
    owner: 'merchant',
    resolutions: ['accept', 'return', 'write_off'],
    proof: [],
  },
  overpaid: {
    meaning: 'The payer paid more than was asked for.',
    owner: 'merchant',
    resolutions: ['accept', 'return', 'write_off'],
    proof: [],
  },
  currency_mismatch: {
    meaning: 'The payer paid in another currency than was asked for.',
    owner: 'operator',
    resolutions: ['return', 'write_off'],
    proof: [],
  },
  reference_mismatch: {
    meaning: 'The gateway answered with a payment that has another reference than ours.',
    owner: 'operator',
    resolutions: ['mark_paid', 'mark_failed'],
    proof: ['mark_paid'],
  },
  payment_requires_review: {
    meaning: 'The gateway does not know the attempt, and it is too late to submit it again.',
    owner: 'operator',
    ...UNCERTAIN,
  },
  unknown_answer: {
    meaning: 'The gateway answered with a status that this version does not know.',
    owner: 'operator',
    resolutions: ['ask_again', 'accept', 'mark_paid', 'mark_failed'],
    proof: ['mark_paid'],
    keepsPaid: true,
  },
  processing_too_long: {
    meaning: 'The payment is processing for longer than the limit, and its outcome is still unknown.',
    owner: 'operator',
    ...UNCERTAIN,
  },
  duplicate_not_refundable: {
    meaning: 'A payer paid twice, and the gateway cannot send the second payment back.',
    ...DUPLICATE,
  },
  duplicate_refund_failed: {
    meaning: 'A payer paid twice, and the gateway refused to send the second payment back.',
    ...DUPLICATE,
  },
  duplicate_disputed: {
    meaning:
      'A payer paid twice, and their bank disputes the second payment: it is not sent back until that is decided.',
    ...DUPLICATE,
    // The bank may return the same money, so the service sends nothing.
    proof: ['return'],
  },
  duplicate_disputed_after_refund: {
    meaning:
      'A payer paid twice, and the second payment is claimed by their bank although it was or may be sent back.',
    owner: 'operator',
    resolutions: ['write_off'],
    proof: [],
  },
  dispute_currency_mismatch: {
    meaning:
      'The payer’s bank disputes the payment in another currency: nothing is held back or taken for it. Settle it at the provider.',
    owner: 'operator',
    resolutions: ['accept'],
    proof: [],
    keepsPaid: true,
  },
  refund_requires_review: {
    meaning: 'The outcome of a refund is unknown for more than an hour.',
    owner: 'operator',
    resolutions: ['ask_again', 'return', 'mark_failed'],
    proof: ['return'],
  },
  refund_failed_late: {
    meaning: 'A refund was successful, and the gateway says later that it failed.',
    owner: 'merchant',
    resolutions: ['accept', 'return', 'write_off'],
    proof: ['return'],
  },
  refund_not_booked: {
    meaning:
      'A refund was made at the provider that cannot be booked: it returns more than is left of the payment, or its status or amount is not known.',
    owner: 'operator',
    resolutions: ['accept', 'write_off'],
    proof: [],
  },
} as const satisfies Record<string, CaseKindFacts>

export type CaseKind = keyof typeof CASE_KINDS

// A boundary, as above.
export const CASE_KIND_NAMES = Object.keys(CASE_KINDS) as CaseKind[]

export function kindFacts(kind: CaseKind): CaseKindFacts {
  return CASE_KINDS[kind]
}

/** The cases of uncertain payments: they close by themselves when the gateway reports the outcome. */
export const UNCERTAIN_KINDS: readonly CaseKind[] = [
  'payment_requires_review',
  'unknown_answer',
  'processing_too_long',
]

/** The cases about money of another amount or currency. */
export function isMismatch(kind: CaseKind): boolean {
  return kind === 'underpaid' || kind === 'overpaid' || kind === 'currency_mismatch'
}

/** Only operators may give up money that is held for a payer. */
export const OPERATOR_RESOLUTIONS: readonly Resolution[] = ['write_off']
