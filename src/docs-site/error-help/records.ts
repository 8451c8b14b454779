// Help for errors about a record: it does not exist, or its state does not allow the request.

import { CUSTOMER, charge, help, initiate, missing, refund } from './help.ts'

const CASE = 'POST /api/v1/cases/0197a3c2-7d51-7cc3-98c4-dc0c0c07398f/resolve'
const resolve = (body: Record<string, unknown>, when: string) => ({ send: CASE, body, when })

export const RECORD_HELP = {
  payment_not_found: missing(
    'payment',
    'GET /api/v1/checkout/verify-payment?reference=order-unknown',
    'Compare the reference with the one that you sent to initiate, and check that the key is of the same account and environment.',
  ),
  charge_not_found: missing(
    'charge',
    'GET /api/v1/charges/{uuid}',
    'Use the uuid of the response to POST /api/v1/charges/recurring. A checkout payment is at /api/v1/checkout/payments/{uuid}.',
  ),
  customer_not_found: missing(
    'customer',
    'GET /api/v1/customers/{uuid}',
    'Find the customer by e-mail: GET /api/v1/customers?search=….',
  ),
  payment_method_not_found: help(
    'The customer has no saved method with this identifier.',
    'List the methods of the customer: GET /api/v1/customers/{uuid}/payment-methods.',
    {
      send: 'DELETE /api/v1/customers/{uuid}/payment-methods/0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
      when: '{uuid} is a customer of yours',
    },
  ),
  recurring_token_not_found: help(
    'No saved method of your account has this token.',
    'Use recurringToken of a successful payment, or of GET /api/v1/customers/{uuid}/payment-methods. Tokens of staging do not exist in production.',
    charge({}),
  ),
  merchant_not_found: help(
    'The operator named a merchant that does not exist.',
    'List the merchants: GET /admin/v1/merchants.',
    {
      send: 'GET /admin/v1/merchants/0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
      when: 'sent with the operator token',
    },
  ),
  api_key_not_found: help(
    'No key of your account has this keyId. It is the part of the key between the second and the third underscore.',
    'List your keys: GET /api/v1/api-keys.',
    { send: 'GET /api/v1/api-keys/4fTz0QmB7xLa' },
  ),
  refund_not_found: missing(
    'refund',
    'GET /api/v1/refunds/{uuid}',
    'List your refunds: GET /api/v1/refunds.',
  ),
  payment_link_not_found: missing(
    'payment link',
    'GET /api/v1/payment-links/{uuid}',
    'List your links: GET /api/v1/payment-links.',
  ),
  p2p_payment_not_found: missing(
    'P2P payment',
    'GET /api/v1/p2p/payments/{uuid}',
    'List your P2P payments: GET /api/v1/p2p/payments.',
  ),
  p2p_account_not_found: missing(
    'receiving account',
    'GET /api/v1/p2p/accounts/{uuid}',
    'List your receiving accounts: GET /api/v1/p2p/accounts.',
  ),
  webhook_endpoint_not_found: missing(
    'webhook endpoint',
    'GET /api/v1/webhooks/endpoints/{uuid}',
    'List your endpoints: GET /api/v1/webhooks/endpoints.',
  ),
  event_not_found: missing('event', 'GET /api/v1/events/{uuid}', 'List the events: GET /api/v1/events.'),
  replay_not_found: missing(
    'replay',
    'GET /api/v1/webhooks/replays/{uuid}',
    'Use the uuid of the response to POST /api/v1/events/replay.',
  ),
  gateway_not_found: help(
    'The operator named a gateway that this service does not have.',
    'Use a name of GET /admin/v1/gateways.',
    {
      send: 'PUT /admin/v1/merchants/{uuid}/gateways/paystak',
      body: { credentials: {} },
      when: 'sent with the operator token',
    },
  ),
  user_not_found: help(
    'The operator named an account of a person that does not exist.',
    'List them: GET /admin/v1/users.',
    {
      send: 'POST /admin/v1/users/0197a3c2-7d51-7cc3-98c4-dc0c0c07398f/disable',
      when: 'sent with the operator token',
    },
  ),
  invitation_not_found: help(
    'The operator named an invitation that does not exist, was used or revoked, or is older than 7 days.',
    'List the open ones: GET /admin/v1/operator-invitations.',
    {
      send: 'POST /admin/v1/operator-invitations/0197a3c2-7d51-7cc3-98c4-dc0c0c07398f/revoke',
      when: 'sent with the operator token',
    },
  ),
  reconciliation_not_found: help(
    'The operator named a reconciliation that does not exist.',
    'List them: GET /admin/v1/reconciliations.',
    {
      send: 'GET /admin/v1/reconciliations/0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
      when: 'sent with the operator token',
    },
  ),
  reconciliation_break_not_found: help(
    'The operator named a break of a reconciliation that does not exist.',
    'List them: GET /admin/v1/reconciliation-breaks.',
    {
      send: 'GET /admin/v1/reconciliation-breaks/0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
      when: 'sent with the operator token',
    },
  ),
  case_not_found: missing('case', 'GET /api/v1/cases/{uuid}', 'List your cases: GET /api/v1/cases.'),
  gateway_account_not_found: help(
    'The merchant uses the gateway accounts of the operator, and has no account of its own at this gateway.',
    'Nothing has to be removed. To add an account, send its credentials with PUT.',
    {
      send: 'DELETE /admin/v1/merchants/{uuid}/gateways/paystack',
      when: 'sent with the operator token; the merchant has no account at paystack',
    },
  ),
  duplicate_reference: help(
    'Your account has a payment with this reference already, with another amount, currency or customer. The same body would return that payment.',
    'Use a new reference for each order and for each new try. To retry a request after a timeout, send exactly the same body.',
    initiate({ amount: 2000 }, 'the payment order-1042 was initiated with the amount 1000'),
  ),
  customer_exists: help(
    'A customer with this e-mail address exists; capitals do not count.',
    'Find the customer with GET /api/v1/customers?search=…, and change it with PATCH.',
    { send: 'POST /api/v1/customers', body: CUSTOMER, when: 'the customer `amina@example.com` exists' },
  ),
  payment_link_ended: help(
    'The link is deactivated or expired, or it has received its maximum number of payments.',
    'Create another link, or raise its limit with PATCH /api/v1/payment-links/{uuid}.',
    {
      send: 'POST /api/v1/sandbox/payments/order-1042/complete',
      body: { instrument: 'card_success' },
      when: 'the payment was made at a link that has ended',
    },
  ),
  payment_link_busy: help(
    'Other payers are paying at this moment, and together they use all remaining payments of the link.',
    'Wait for the seconds in the header Retry-After. If one of them does not pay, its slot is released.',
    {
      send: 'POST /api/v1/sandbox/payments/order-1042/complete',
      body: { instrument: 'card_success' },
      when: 'the link allows one payment, and another payer is paying',
    },
  ),
  phone_busy: help(
    'The checkout page shows this to the payer; no operation of the API returns it. Another payment request is open on the phone, and a second one would replace or confuse it.',
    'The payer approves or declines the open request, or lets it end, and then pays on the page again.',
    {
      send: 'POST /pay/{accessCode}/attempts',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'channel=mobile_money&network=mpesa_ke&phone=0712345678',
      when: 'the page sends it while another payment waits for an approval on this phone',
    },
  ),
  case_resolved: help(
    'The case was resolved before, in another way. The message says how, when and by which key.',
    'Nothing more has to be done. Read the case again: GET /api/v1/cases/{uuid}.',
    resolve({ resolution: 'accept', note: 'Agreed with the payer.' }, 'the case was resolved with return'),
  ),
  case_awaiting_approval: help(
    'Another key has proposed another resolution, which waits for a second person.',
    'Approve that resolution by sending the same one, or agree with the colleague who has proposed it.',
    resolve({ resolution: 'accept', note: 'Agreed with the payer.' }, 'another key has proposed return'),
  ),
  proof_already_used: help(
    "The provider's reference that you sent as proof belongs to another payment or refund.",
    'Look the payment up at the provider again, and send its own reference.',
    {
      send: CASE.replace('/api/', '/admin/'),
      body: { resolution: 'mark_paid', proof: 'PSK-1', note: 'Seen at the provider.' },
      when: 'sent with the operator token; PSK-1 is the proof of another payment',
    },
  ),
  approver_not_independent: help(
    'Two people must agree, and the key that approves is related to the key that proposed, or its person has joined after the proposal.',
    'Let another person approve, with a key that the operator has created for that person.',
    resolve(
      { resolution: 'accept', note: 'Approved.' },
      'this key was created with the key that proposed the resolution',
    ),
  ),
  refund_approval_required: help(
    'The dashboard uses this; no request with an API key gets it. The refunds of the payment reach the amount from which the settings of the merchant (refundApprovals) require a second person.',
    'The dashboard asks for the approval by itself; another person approves the refund there.',
    refund({}, 'a person refunds the payment order-1042 in the dashboard, and its amount reaches the limit'),
  ),
  invalid_state: help(
    'The record exists, but its status does not allow this. The message says why.',
    'Read the record again and decide by its status. Do not repeat the request.',
    refund({}, 'the payment order-1042 is pending, so there is nothing to refund'),
  ),
  idempotency_key_reused: help(
    'The same Idempotency-Key was sent before with another body. A key belongs to one request.',
    'Make a new key, such as a UUID, for each new request; send the same key only with the same body.',
    {
      ...initiate({ amount: 2000 }, 'the same key was sent with the amount 1000 before'),
      headers: { 'idempotency-key': '5f0c2f5e-6b0c-4d5e-9a43-0d9f0e8b7a11' },
    },
  ),
  no_route_available: help(
    'No gateway of the service collects this currency in this country for this amount, or your account excludes those that do.',
    'GET /api/v1/misc/routes says for each gateway why it is left out. The operator adds gateways.',
    initiate({ currency: 'MWK' }, 'no gateway for MWK is configured'),
  ),
  recurring_token_inactive: help(
    'The payer or you revoked the saved method, or the card has expired. The message says which.',
    'Ask the payer to pay once more with a new method: initiate a payment with isRecurring.',
    charge({}, 'the saved method was revoked'),
  ),
  customer_mismatch: help(
    'The e-mail address of the charge is not the one of the customer who saved the method.',
    "Send the customer's own e-mail address with the token. Never charge a token for another customer.",
    charge(
      { customer: { ...CUSTOMER, email: 'other@example.com' } },
      'the token belongs to `amina@example.com`',
    ),
  ),
  currency_not_supported_for_token: help(
    'The saved method can be charged in some currencies only, such as that of a mobile-money account.',
    'Charge in a currency that the message names.',
    charge({ currency: 'NGN' }, 'the saved method can be charged in KES only'),
  ),
  customer_blocked: help(
    'You have blocked this customer.',
    'If the block is over, send POST /api/v1/customers/{uuid}/unblock.',
    initiate({}, 'the customer `amina@example.com` is blocked'),
  ),
  refund_exceeds_amount: help(
    'The refund, with those before it, is larger than the paid amount. The message says how much is left.',
    'Send a smaller amount, or leave amount out to refund all that is left.',
    refund({ amount: 5000, refundReference: 'return-1' }, 'the payer has paid 1000'),
  ),
  resolution_not_possible: help(
    'A case of this kind has other resolutions, or the operator decides it. The message lists what is possible.',
    'Send one of the resolutions of GET /api/v1/cases/{uuid}.',
    resolve(
      { resolution: 'accept', note: 'Agreed.' },
      'the kind of the case is unknown_answer, which the operator decides',
    ),
  ),
  refund_not_supported: help(
    'The gateway that collected this payment offers no refunds by API.',
    'Return the money in another way, such as a transfer, and record it in your own accounts.',
    refund({}, 'the gateway of the payment cannot refund'),
  ),
  partial_refund_not_supported: help(
    'The gateway that collected this payment only returns whole payments.',
    'Leave amount out to refund everything.',
    refund({ amount: 100, refundReference: 'return-1' }, 'the gateway only refunds whole payments'),
  ),
  p2p_account_required: help(
    'You have no active receiving account for this currency and country, so the page could not say where to send the money.',
    'Add one with POST /api/v1/p2p/accounts.',
    {
      send: 'POST /api/v1/p2p/payments',
      body: { amount: 1000, currency: 'KES', reference: 'order-1042', customer: CUSTOMER },
      when: 'the account has no receiving account for KES',
    },
  ),
  too_many_webhook_endpoints: help(
    'Your account has 20 endpoints.',
    'Delete an endpoint that you no longer use, or let one endpoint receive more event types.',
    {
      send: 'POST /api/v1/webhooks/endpoints',
      body: { url: 'https://shop.example/cowry' },
      when: 'the account has 20 endpoints',
    },
  ),
  webhook_url_not_allowed: help(
    'The address is not reachable from the internet, has a user name, or is not https where that is required.',
    'Use a public https address. On your own machine use "cowry listen", which forwards events to localhost.',
    {
      send: 'POST /api/v1/webhooks/endpoints',
      body: { url: 'http://10.0.0.8/hook' },
      when: 'the service does not allow private addresses',
    },
  ),
  gateway_credentials_refused: help(
    'The operator sent credentials that the gateway does not accept. Nothing was stored.',
    "Copy the credentials again from the gateway's dashboard, of the same environment.",
    {
      send: 'PUT /admin/v1/merchants/{uuid}/gateways/paystack',
      body: { credentials: { secretKey: 'sk_test_mistyped' } },
      when: 'sent with the operator token',
    },
  ),
  too_many_api_keys: help(
    'Your account has 20 keys that are neither revoked nor expired.',
    'Revoke a key that is no longer used: POST /api/v1/api-keys/{keyId}/revoke.',
    {
      send: 'POST /api/v1/api-keys',
      body: { name: 'Backend', scopes: ['checkout:write'] },
      when: 'the account has 20 live keys',
    },
  ),
}
