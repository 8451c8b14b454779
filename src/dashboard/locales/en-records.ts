// The source texts of what records say in words: failures, what a case means, what happened to a payment, and states that
// operators see. The API has them in English.

export const EN_RECORDS = {
  failure_insufficient_funds: 'There is not enough money on the method.',
  failure_do_not_honor: 'The bank declined without a reason.',
  failure_card_expired: 'The card has expired.',
  failure_invalid_card: 'The card is not valid.',
  failure_authentication_required: 'The bank wants the customer to approve this payment.',
  failure_authentication_failed: 'The customer was not authenticated.',
  failure_limit_exceeded: 'The amount is above a limit of the method.',
  failure_suspected_fraud: 'The payment was refused as suspicious.',
  failure_customer_cancelled: 'The customer cancelled the payment.',
  failure_customer_timeout: 'The customer did not approve in time.',
  failure_wallet_not_found: 'There is no such mobile money account.',
  failure_provider_unavailable: 'The gateway could not be reached.',
  failure_duplicate: 'The gateway saw this payment before.',
  failure_unknown: 'The gateway gave a reason that we do not know.',
  meaning_underpaid: 'The payer paid less than was asked for.',
  meaning_overpaid: 'The payer paid more than was asked for.',
  meaning_currency_mismatch: 'The payer paid in another currency than was asked for.',
  meaning_reference_mismatch: 'The gateway answered with a payment that has another reference than ours.',
  meaning_payment_requires_review:
    'The gateway does not know the attempt, and it is too late to submit it again.',
  meaning_unknown_answer: 'The gateway answered with a status that this version does not know.',
  meaning_processing_too_long:
    'The payment is processing for longer than the limit, and its outcome is still unknown.',
  meaning_duplicate_not_refundable:
    'A payer paid twice, and the gateway cannot send the second payment back.',
  meaning_duplicate_refund_failed:
    'A payer paid twice, and the gateway refused to send the second payment back.',
  meaning_duplicate_disputed:
    'A payer paid twice, and their bank disputes the second payment: it is not sent back until that is decided.',
  meaning_duplicate_disputed_after_refund:
    'A payer paid twice, and the second payment is claimed by their bank although it was or may be sent back.',
  meaning_refund_requires_review: 'The outcome of a refund is unknown for more than an hour.',
  meaning_refund_failed_late: 'A refund was successful, and the gateway says later that it failed.',
  meaning_dispute_currency_mismatch:
    'The payer’s bank disputes the payment in another currency: nothing is held back or taken for it. Settle it at the provider.',
  meaning_refund_not_booked:
    'A refund was made at the provider that cannot be booked: it returns more than is left of the payment, or its status or amount is not known.',
  happened_status_changed: 'Status: {status}',
  happened_attempt_started: 'An attempt started at {gateway}.',
  happened_payer_sent: 'The payer said that the money was sent.',
  happened_payer_returned: 'The payer came back from {gateway}.',
  happened_gateway_asked: '{gateway} was asked about the outcome. Times so far: {count, number}',
  happened_attempt_ended: 'The attempt at {gateway} ended: {status}',
  happened_settled: '{amount} became available in the wallet.',
  happened_refund_requested: 'A refund of {amount} was requested.',
  happened_refund_ended: 'The refund of {amount} ended: {status}',
  happened_refund_failed_late: '{gateway} reported that the refund of {amount} failed after its success.',
  happened_refund_credited_back: 'The failed refund of {amount} is in the wallet again.',
  happened_dispute_opened: 'The payer disputed {amount}.',
  happened_dispute_closed: 'The dispute ended: {status}',
  happened_case_opened: 'A case was opened: {case}',
  happened_case_resolved: 'The case was decided: {resolution}',
  status_ok: 'In order',
  status_violated: 'Violated',
  status_by_hand: 'Check by hand',
  status_configured: 'Configured',
  status_not_configured: 'Not configured',
  status_suspended: 'Suspended',
  status_finished: 'Finished',
  status_unfinished: 'Not finished',
  status_closed: 'Closed',
  status_won: 'Won',
  status_lost: 'Lost',
} as const
