// What a payer is told about a decline: what happened, and what to do while the checkout is still open. The merchant's
// words stand in core/failures.ts.

import type { FailureCode } from '../core/failures.ts'

interface Words {
  happened: string
  advice: string
}

const tell = (happened: string, advice: string): Words => ({ happened, advice })

const ANOTHER_WAY = 'Use another way to pay.'
const AGAIN = 'Try again, or use another way to pay.'

export const FAILURE_WORDS: Readonly<Record<FailureCode, Words>> = {
  insufficient_funds: tell(
    'There is not enough money for this payment.',
    'Top up, or use another way to pay.',
  ),
  do_not_honor: tell('Your bank declined this payment.', 'Try a different card or another way to pay.'),
  card_expired: tell('This card has expired.', 'Use a different card.'),
  invalid_card: tell('This card cannot be used.', 'Use a different card.'),
  authentication_required: tell('Your bank wants you to approve this payment.', 'Try again and approve it.'),
  authentication_failed: tell('Your bank could not confirm that it was you.', AGAIN),
  limit_exceeded: tell('This payment is above a limit of your card or wallet.', ANOTHER_WAY),
  suspected_fraud: tell('This payment was refused.', ANOTHER_WAY),
  customer_cancelled: tell('You did not approve the payment.', AGAIN),
  customer_timeout: tell('The payment was not approved in time.', 'Try again when you are ready.'),
  wallet_not_found: tell('There is no mobile money account with this number.', ANOTHER_WAY),
  provider_unavailable: tell('The payment provider is not responding.', AGAIN),
  duplicate: tell('The payment provider has seen this payment before.', ANOTHER_WAY),
  unknown: tell('The payment was declined.', ANOTHER_WAY),
}
