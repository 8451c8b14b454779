// Stripe's decline reasons in our codes. Stripe's list grows: a reason that is not in the table is `unknown`.

import type { FailureCode } from '../../core/failures.ts'

/** By decline_code, or by the error's code if it has no decline_code. */
const DECLINES: Readonly<Record<string, FailureCode>> = {
  insufficient_funds: 'insufficient_funds',

  // The bank declines without a reason.
  approve_with_id: 'do_not_honor',
  call_issuer: 'do_not_honor',
  card_declined: 'do_not_honor',
  do_not_honor: 'do_not_honor',
  generic_decline: 'do_not_honor',
  no_action_taken: 'do_not_honor',
  not_permitted: 'do_not_honor',
  service_not_allowed: 'do_not_honor',
  transaction_not_allowed: 'do_not_honor',

  expired_card: 'card_expired',

  // This card cannot pay this; a retry does not help.
  card_not_supported: 'invalid_card',
  currency_not_supported: 'invalid_card',
  do_not_try_again: 'invalid_card',
  incorrect_address: 'invalid_card',
  incorrect_cvc: 'invalid_card',
  incorrect_number: 'invalid_card',
  incorrect_zip: 'invalid_card',
  invalid_account: 'invalid_card',
  invalid_cvc: 'invalid_card',
  invalid_expiry_month: 'invalid_card',
  invalid_expiry_year: 'invalid_card',
  invalid_number: 'invalid_card',
  new_account_information_available: 'invalid_card',
  restricted_card: 'invalid_card',
  revocation_of_all_authorizations: 'invalid_card',
  revocation_of_authorization: 'invalid_card',
  stop_payment_order: 'invalid_card',
  testmode_decline: 'invalid_card',

  // The bank needs the payer's authentication.
  authentication_required: 'authentication_required',
  offline_pin_required: 'authentication_required',
  online_or_offline_pin_required: 'authentication_required',

  authentication_not_handled: 'authentication_failed',
  incorrect_pin: 'authentication_failed',
  invalid_pin: 'authentication_failed',
  payment_intent_authentication_failure: 'authentication_failed',
  pin_try_exceeded: 'authentication_failed',

  card_decline_rate_limit_exceeded: 'limit_exceeded',
  card_velocity_exceeded: 'limit_exceeded',
  invalid_amount: 'limit_exceeded',
  withdrawal_count_limit_exceeded: 'limit_exceeded',

  fraudulent: 'suspected_fraud',
  highest_risk_level: 'suspected_fraud',
  lost_card: 'suspected_fraud',
  merchant_blacklist: 'suspected_fraud',
  pickup_card: 'suspected_fraud',
  security_violation: 'suspected_fraud',
  stolen_card: 'suspected_fraud',

  duplicate_transaction: 'duplicate',

  // Technical failures; a retry may help.
  issuer_not_available: 'provider_unavailable',
  processing_error: 'provider_unavailable',
  reenter_transaction: 'provider_unavailable',
  try_again_later: 'provider_unavailable',
}

export function toFailureCode(reason: string | null): FailureCode {
  return reason !== null && Object.hasOwn(DECLINES, reason) ? (DECLINES[reason] ?? 'unknown') : 'unknown'
}
