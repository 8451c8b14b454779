// Help for errors of the request itself: its fields, its key and its path.

import { help, initiate, refund } from './help.ts'

const BALANCE = 'GET /api/v1/wallet/balance'

export const REQUEST_HELP = {
  validation_failed: help(
    'Several fields are wrong in different ways, or a field is missing, too long or of another type.',
    'Read error.details: each entry names a field, a code and what to send. Correct all of them and send the request again.',
    initiate({ amount: '1000', customer: undefined }),
  ),
  unknown_field: help(
    'The body or the query has a name that the operation does not know, often a typing error. Cowry refuses it, because an ignored field could be an amount or an address.',
    'Correct the name; the message suggests the nearest one. Your own data goes into metadata.',
    initiate({ redirect_url: 'https://shop.example/thanks' }),
  ),
  malformed_json: help(
    'The body cannot be parsed: a trailing comma, a missing quote, or a body that was cut off.',
    'Build the body with the JSON encoder of your language. The message says the line and the column.',
    {
      send: 'POST /api/v1/checkout/initiate-payment',
      headers: { 'content-type': 'application/json' },
      body: '{"amount": 1000,}',
    },
  ),
  invalid_currency: help(
    'The currency is not an ISO 4217 code in capitals, or Cowry does not collect it.',
    'Send one of the codes of GET /api/v1/misc/currencies, such as KES.',
    initiate({ currency: 'INR' }),
  ),
  country_required: help(
    'Several countries share the currency (such as XOF and XAF), and gateways differ by country.',
    "Add country with the two letters of the payer's country.",
    initiate({ currency: 'XOF' }),
  ),
  invalid_country: help(
    'The country is known, but the currency is not used there.',
    'Send the country of the currency, or the currency of the country: GET /api/v1/misc/currencies lists both.',
    initiate({ currency: 'XOF', country: 'KE' }),
  ),
  amount_out_of_range: help(
    'The amount is 0, negative or too large.',
    "Send a number above 0, in the currency's own unit: 10.50 means ten and a half shillings, not 1050.",
    initiate({ amount: 0 }),
  ),
  amount_precision: help(
    'The amount has more decimals than the currency. Cowry never rounds money.',
    'Round in your own program, to the decimals of GET /api/v1/misc/currencies.',
    initiate({ amount: 10.125 }),
  ),
  invalid_uuid: help(
    'The path or a field wants a UUID, and got something else, often your own reference.',
    'Send the uuid of the record. To find a payment by your own reference, use GET /api/v1/checkout/verify-payment?reference=….',
    { send: 'GET /api/v1/customers/order-1042' },
  ),
  missing_reference: help(
    'The request does not say which payment it is about.',
    'Send reference (your own) or uuid (ours).',
    { send: 'GET /api/v1/checkout/verify-payment' },
  ),
  idempotency_required: help(
    'A partial refund has nothing that makes a retry recognizable. Sent twice, it would refund twice.',
    'Add refundReference, a name of your own for this refund, or the header Idempotency-Key.',
    refund({ amount: 100 }, 'the payment order-1042 is successful, with an amount above 100'),
  ),
  api_key_in_url: help(
    'The API key is in the address. Addresses are stored in logs and histories, so the key counts as leaked.',
    'Revoke this key, create another, and send it in the header x-api-key only.',
    { send: `${BALANCE}?apiKey=cowry_test_…`, when: 'the key stands in the address' },
  ),
  missing_api_key: help(
    'The request has no x-api-key header. A key in Authorization is not read.',
    'Send the header x-api-key with each request.',
    { send: BALANCE, when: 'the header x-api-key is missing' },
  ),
  invalid_api_key: help(
    'The key is mistyped, incomplete, or was never issued by this service.',
    'Copy the key again, from cowry_ to its last character, and compare the address of the service.',
    { send: BALANCE, headers: { 'x-api-key': 'cowry_test_mistyped' } },
  ),
  api_key_expired: help(
    'The key had an end date, which has passed.',
    'Create another key with POST /api/v1/api-keys, or ask the operator for one.',
    { send: BALANCE, when: 'expiresAt of the key has passed' },
  ),
  api_key_revoked: help(
    'The key was revoked, or its rotation has ended.',
    'Use the new key. If you did not revoke it, ask who did: GET /api/v1/audit shows it.',
    { send: BALANCE, when: 'the key was revoked' },
  ),
  invalid_admin_token: help(
    'An operation under /admin/v1 was called without the operator token, or with another one. API keys of merchants do not work there.',
    'Send Authorization: Bearer with the token of the operator. Merchants use /api/v1.',
    { send: 'GET /admin/v1/merchants' },
  ),
  insufficient_scope: help(
    'The key is valid, but it lacks the scope of this operation. The message names the scope.',
    'Create a key with this scope, or use the key that has it.',
    initiate({}, 'the key has the scope customers:read only'),
  ),
  merchant_suspended: help(
    'The operator of the service has suspended your account.',
    'Contact the operator. Your records are kept.',
    { send: BALANCE, when: 'the account is suspended' },
  ),
  mode_mismatch: help(
    'A test key was sent to a service in production, or a live key to one in staging.',
    'Keys that begin with cowry_test_ work in staging, cowry_live_ in production: change the key or the address.',
    { send: BALANCE, when: 'the key begins with cowry_live_, and the service is in staging' },
  ),
  ip_not_allowed: help(
    'The key is limited to some addresses (allowedIps), and the request came from another one. The message names the address that was seen.',
    'Add the address to the key, or send the request from an allowed server. Behind a proxy, ask the operator which address Cowry sees.',
    { send: BALANCE, when: 'allowedIps of the key does not contain your address' },
  ),
  browser_not_allowed: help(
    'A web page tried to call the API. A key in a web page can be read by every visitor.',
    'Call your own server from the page, and Cowry from your server. To take a payment in the browser, send the payer to checkoutUrl.',
    {
      send: 'OPTIONS /api/v1/checkout/initiate-payment',
      headers: { origin: 'https://shop.example', 'access-control-request-method': 'POST' },
    },
  ),
  scope_exceeded: help(
    'The new key would have more rights than the key that creates it: a scope, an address, a rate limit or a later end.',
    'Ask for rights that your key has, or use a key with more rights. error.details names each right.',
    {
      send: 'POST /api/v1/api-keys',
      body: { name: 'Backend', scopes: ['*'] },
      when: 'the key of the request does not have all scopes',
    },
  ),
  method_not_allowed: help(
    'The path exists, but not with this method. The header Allow and the message list the methods.',
    'Use one of the methods that the message names.',
    { send: 'GET /api/v1/checkout/initiate-payment' },
  ),
  payload_too_large: help(
    'The body has more than 64 KB, usually because of metadata.',
    'Keep large data in your own database, and send only its identifier in metadata.',
    initiate({ metadata: { note: '…' } }, 'note has more than 64 KB'),
  ),
  unsupported_media_type: help(
    'The body was sent as a form or as text.',
    'Send JSON, with the header content-type: application/json.',
    {
      send: 'POST /api/v1/checkout/initiate-payment',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'amount=1000&currency=KES',
    },
  ),
  route_not_found: help(
    'No operation has this path: a typing error, a missing /api/v1, or a trailing slash.',
    'Compare the path with the API reference; the message suggests the nearest one.',
    { send: 'GET /api/v1/wallets' },
  ),
  card_data_not_allowed: help(
    'A text contains a card number. Cowry does not store card numbers anywhere, and refuses them.',
    'Never send card numbers: the payer types them on the page of the gateway. Check what your form puts into names and descriptions.',
    initiate({ description: 'Card 4242 4242 4242 4242' }),
  ),
  rate_limited: help(
    'The key has sent more requests than its limit allows, a phone was prompted too often, or an address has sent too many wrong keys.',
    'Wait for the seconds in the header Retry-After, then send the same request. Use lists and webhooks instead of polling single payments.',
    { send: BALANCE, when: 'the key has used up its rate limit' },
  ),
  internal_error: help(
    'A defect of Cowry. The request may have been carried out.',
    'Send the same request again with the same reference or Idempotency-Key: it is not carried out twice. If it stays, give the operator error.requestId.',
    initiate({}, 'a defect of the service stopped the request'),
  ),
  temporarily_unavailable: help(
    'The service cannot reach its database, is overloaded, or is stopping.',
    'Wait for the seconds in the header Retry-After, then send the same request with the same reference or Idempotency-Key.',
    initiate({}, 'the database of the service is not reachable'),
  ),
}
