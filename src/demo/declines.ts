// Why payments are declined, in the words of the providers of each way to pay, as their connectors store them.

import type { FailureCode } from '../core/failures.ts'

export interface Decline {
  weight: number
  code: FailureCode
  message: string
}

const decline = (weight: number, code: FailureCode, message: string): Decline => ({ weight, code, message })

const CARDS: readonly Decline[] = [
  decline(34, 'insufficient_funds', 'Insufficient Funds'),
  decline(22, 'do_not_honor', 'Declined'),
  decline(14, 'authentication_failed', '3DSecure authentication failed'),
  decline(9, 'limit_exceeded', 'Exceeds Withdrawal Limit'),
  decline(7, 'card_expired', 'Expired Card'),
  decline(7, 'invalid_card', 'incorrect_cvc'),
  decline(4, 'suspected_fraud', 'Suspected Fraud'),
]

const MPESA: readonly Decline[] = [
  decline(38, 'customer_cancelled', 'M-Pesa answered 1032: Request cancelled by user'),
  decline(27, 'customer_timeout', 'M-Pesa answered 1037: DS timeout user cannot be reached'),
  decline(24, 'insufficient_funds', 'M-Pesa answered 1: The balance is insufficient for the transaction'),
  decline(8, 'authentication_failed', 'M-Pesa answered 2001: The initiator information is invalid'),
  decline(3, 'provider_unavailable', 'M-Pesa answered 1025: An error occurred while sending a push request'),
]

const MTN: readonly Decline[] = [
  decline(32, 'customer_cancelled', 'MTN MoMo answered APPROVAL_REJECTED'),
  decline(25, 'customer_timeout', 'MTN MoMo answered EXPIRED'),
  decline(28, 'insufficient_funds', 'MTN MoMo answered NOT_ENOUGH_FUNDS'),
  decline(9, 'limit_exceeded', 'MTN MoMo answered PAYER_LIMIT_REACHED'),
  decline(6, 'wallet_not_found', 'MTN MoMo answered PAYER_NOT_FOUND'),
]

const BKASH: readonly Decline[] = [
  decline(50, 'insufficient_funds', 'bKash answered 2023: Insufficient Balance'),
  decline(30, 'authentication_failed', 'bKash answered 2014: Invalid OTP'),
  decline(20, 'wallet_not_found', 'bKash answered 2045: Not a bKash Wallet'),
]

/** The other networks are reached through an aggregator. */
const PAWAPAY: readonly Decline[] = [
  decline(36, 'customer_cancelled', 'pawaPay answered PAYMENT_NOT_APPROVED'),
  decline(36, 'insufficient_funds', 'pawaPay answered INSUFFICIENT_BALANCE'),
  decline(16, 'limit_exceeded', 'pawaPay answered PAYER_LIMIT_REACHED'),
  decline(12, 'wallet_not_found', 'pawaPay answered PAYER_NOT_FOUND'),
]

const TRANSFERS: readonly Decline[] = [
  decline(1, 'customer_timeout', 'Transaction not completed by customer'),
]

export function declinesOf(channel: string, network: string | null): readonly Decline[] {
  if (channel === 'card' || channel === 'saved') return CARDS
  if (channel === 'bank_transfer') return TRANSFERS
  if (network?.startsWith('mpesa')) return MPESA
  if (network?.startsWith('mtn')) return MTN
  return network?.startsWith('bkash') ? BKASH : PAWAPAY
}

/** What a charge of a saved card may be declined with: the customer is absent, so nothing about their presence. */
export const CHARGE_DECLINES: readonly Decline[] = CARDS.filter(({ code }) =>
  ['insufficient_funds', 'do_not_honor', 'limit_exceeded', 'card_expired'].includes(code),
)

/** What the gateway answers in its bad hour. */
export const OUTAGE_MESSAGE = 'HTTP 503 Service Unavailable'
