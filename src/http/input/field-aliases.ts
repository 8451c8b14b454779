// Names that other payment APIs use, and the field that has this meaning here. An unknown field with such a name is
// answered with the field that was probably meant.

import { squashName } from '../../core/text/spelling.ts'

export interface FieldAlias {
  /** Fields of ours in order of preference; the first that the operation has is suggested. */
  readonly meant: readonly string[]
  /** What to know beside the name. */
  readonly note?: string
  /** What to do if the operation has none of these fields. */
  readonly otherwise?: string
}

interface AliasRow extends FieldAlias {
  readonly said: readonly string[]
}

const ROWS: readonly AliasRow[] = [
  {
    said: [
      'amount_minor',
      'amount_in_minor',
      'amount_cents',
      'amount_kobo',
      'unit_amount',
      'amount_subunits',
    ],
    meant: ['amount'],
    note: 'Amounts are in major units: 1250.5 is KES 1,250.50.',
  },
  { said: ['value', 'price', 'total', 'sum', 'charge_amount', 'refund_amount'], meant: ['amount'] },
  {
    said: [
      ...['redirect', 'redirect_uri', 'callback', 'callback_url', 'return_url', 'success_url', 'back_url'],
      ...['cancel_url', 'continue_url', 'notify_url', 'completion_url', 'after_payment_url'],
    ],
    meant: ['redirectUrl', 'url'],
  },
  { said: ['webhook', 'webhook_url', 'endpoint_url', 'address', 'uri'], meant: ['url', 'redirectUrl'] },
  {
    said: [
      ...[
        'tx_ref',
        'ref',
        'trx_ref',
        'trxref',
        'transaction_ref',
        'transaction_reference',
        'order_id',
        'order',
      ],
      ...[
        'order_ref',
        'order_reference',
        'order_number',
        'merchant_reference',
        'merchant_ref',
        'external_id',
      ],
      ...[
        'external_reference',
        'client_reference',
        'client_reference_id',
        'invoice',
        'invoice_id',
        'deposit_id',
      ],
      ...['payment_ref', 'payment_reference', 'reference'],
    ],
    meant: ['reference', 'paymentReference', 'search'],
  },
  {
    said: ['transaction', 'transaction_id', 'payment', 'payment_id', 'payment_intent', 'charge', 'charge_id'],
    meant: ['paymentUuid', 'uuid', 'paymentReference', 'reference'],
  },
  { said: ['id', 'guid'], meant: ['uuid'] },
  {
    said: ['email', 'email_address', 'mail', 'e_mail', 'customer_email', 'payer_email'],
    meant: ['email', 'search'],
  },
  { said: ['firstname', 'fname', 'given_name', 'forename', 'first'], meant: ['firstname', 'search'] },
  { said: ['lastname', 'lname', 'surname', 'family_name', 'last'], meant: ['lastname', 'search'] },
  {
    said: ['name', 'full_name', 'fullname', 'customer_name', 'payer_name', 'display_name'],
    meant: ['firstname', 'accountName', 'title', 'search'],
  },
  {
    said: ['phone', 'phone_number', 'phonenumber', 'msisdn', 'mobile', 'mobile_number', 'telephone', 'tel'],
    meant: ['phone', 'phoneNumber'],
    otherwise:
      'Send the payer’s number as customer.phone when you initiate the payment: the checkout page shows it, and the payer can change it. POST and PATCH /api/v1/customers store one as phone.',
  },
  { said: ['customer_details', 'customer_info', 'payer', 'buyer', 'user', 'client'], meant: ['customer'] },
  { said: ['currency_code', 'ccy'], meant: ['currency'] },
  { said: ['country_code', 'region'], meant: ['country'] },
  {
    said: ['meta', 'custom_fields', 'custom', 'custom_data', 'extra', 'extra_data', 'data'],
    meant: ['metadata'],
  },
  {
    said: ['narration', 'narrative', 'memo', 'desc', 'details', 'statement_descriptor', 'subject'],
    meant: ['description', 'reason', 'note'],
  },
  { said: ['comment', 'comments', 'remark', 'notes'], meant: ['note', 'reason', 'description'] },
  {
    said: [
      'authorization_code',
      'token',
      'card_token',
      'payment_method',
      'payment_method_id',
      'saved_method',
    ],
    meant: ['recurringToken'],
  },
  {
    said: ['recurring', 'save_card', 'save_method', 'tokenize', 'tokenise', 'setup_future_usage', 'reusable'],
    meant: ['isRecurring'],
  },
  {
    said: ['show_saved_methods', 'saved_methods', 'saved_cards', 'offer_saved_cards'],
    meant: ['offerSavedMethods'],
  },
  {
    said: ['per_page', 'page_size', 'size', 'count', 'take', 'rows', 'max', 'max_results'],
    meant: ['limit'],
  },
  { said: ['page_number', 'page_no', 'offset', 'skip', 'start_page'], meant: ['page'] },
  {
    said: [
      'starting_after',
      'ending_before',
      'after',
      'before',
      'next',
      'next_page',
      'page_token',
      'next_cursor',
    ],
    meant: ['cursor'],
  },
  { said: ['q', 'query', 'keyword', 'keywords', 'term', 'find', 'text'], meant: ['search'] },
  { said: ['order_by', 'sort_by', 'ordering', 'direction'], meant: ['sort'] },
  {
    said: ['from', 'since', 'start', 'start_date', 'date_from', 'from_date', 'created_after', 'created_gte'],
    meant: ['createdFrom', 'from'],
  },
  {
    said: ['to', 'until', 'end', 'end_date', 'date_to', 'to_date', 'created_before', 'created_lte'],
    meant: ['createdTo', 'to'],
  },
  { said: ['paid_after', 'paid_since', 'completed_from'], meant: ['paidFrom'] },
  { said: ['paid_before', 'paid_until', 'completed_to'], meant: ['paidTo'] },
  { said: ['state', 'statuses', 'payment_status'], meant: ['status'] },
  { said: ['gateway', 'provider', 'processor', 'psp'], meant: ['paymentGateway', 'gateway'] },
  { said: ['channels', 'payment_options', 'method', 'payment_type', 'payment_channel'], meant: ['channel'] },
  { said: ['event', 'event_type', 'event_types', 'type', 'enabled_events'], meant: ['events', 'type'] },
  {
    said: ['expiry', 'expires', 'expiry_date', 'expires_on', 'expiration', 'valid_until'],
    meant: ['expiresAt'],
  },
  { said: ['scope', 'permissions', 'rights', 'abilities'], meant: ['scopes'] },
  {
    said: ['api_key', 'apikey', 'x_api_key', 'key', 'secret_key', 'public_key', 'access_token', 'auth'],
    meant: [],
    otherwise: 'Send your API key in the x-api-key header.',
  },
  {
    said: ['idempotency_key', 'idempotent_key'],
    meant: [],
    otherwise: 'Send it as the Idempotency-Key header.',
  },
  {
    said: [
      'card',
      'card_number',
      'pan',
      'cvv',
      'cvc',
      'card_cvc',
      'expiry_month',
      'expiry_year',
      'exp_month',
    ],
    meant: [],
    otherwise: 'Never send card data: the payer enters it on the gateway’s page.',
  },
]

const ALIASES: ReadonlyMap<string, FieldAlias> = new Map(
  ROWS.flatMap(({ said, ...alias }) => said.map((name) => [squashName(name), alias] as const)),
)

export function findAlias(name: string): FieldAlias | undefined {
  return ALIASES.get(squashName(name))
}
