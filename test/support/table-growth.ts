// Which tables stay small, and which have no key that starts with merchant_id. test/plans.test.ts compares these lists with
// the catalogue, so that every new table is designed for growth or listed here with the reason.

/** All other tables grow with payments, customers or merchants, and no statement scans them completely. */
export const SMALL_TABLES: Readonly<Record<string, string>> = {
  schema_migrations: 'one row for each migration',
  service_secrets: 'a handful for each instance',
  invariant_checks: 'one row',
  cells: 'one row for each database',
  processes: 'one row for each running process',
  placement: 'one row',
  archives: 'four rows for each month',
  moved_cells: 'one row for each pair of cells',
  moving_merchants: 'one row while a merchant is moved',
  cases: 'a few cases for manual review, read by operators only',
  case_steps: 'a few for each case',
  reconciliations: 'one row for each settlement file',
  reconciliation_breaks: 'differences between settlement files and the ledger',
}

/** Every other table is read by merchant: one of its keys starts with merchant_id. */
export const NOT_KEYED_BY_MERCHANT: Readonly<Record<string, string>> = {
  schema_migrations: 'of the instance',
  service_secrets: 'of the instance',
  invariant_checks: 'of the instance',
  cells: 'of the instance',
  processes: 'of the instance',
  placement: 'of the instance',
  archives: 'of the cell',
  moved_cells: 'of the instance',
  rate_limit_buckets: 'one for each API key that was used in the last two weeks',
  merchants: 'its own id is the merchant',
  api_keys: 'a request names its API key, and the key names the merchant',
  balance_deltas: 'a queue that is emptied every second; a second index finds the rows of a merchant',
  phone_prompts: 'the rate limit of a phone spans all merchants',
  gateway_webhooks: 'a webhook names its gateway and account; the attempt that it matches names the merchant',
  gateway_tokens: 'a keyed hash of the account at the provider, which may be the one of the instance',
  users: 'people of the instance; memberships name their merchants',
  recovery_codes: 'of a user',
  passkeys: 'of a user',
  identities: 'of a user, at an identity provider',
  passkey_challenges: 'of a browser; deleted after minutes',
  invitations: 'the token of its link identifies it, and an invitation of an operator has no merchant',
  one_time_links: 'of a user',
  sessions: 'of a user, who may work for several merchants',
  form_submissions: 'of a user, by a hash; deleted after a day',
  pending_sign_ins: 'of a user; deleted after minutes',
  known_devices: 'of a user',
  sign_in_limits: 'of an e-mail address or a client address',
  refund_lookups: 'one row for each account at a provider, also of the instance',
  reconciliations: 'a file of the instance has payments of many merchants',
  reconciliation_breaks: 'a row of a file may match no merchant',
  records: 'the records of the sandbox provider, which has no merchants',
}

/** Unique across merchants, because the lookup happens before the merchant is known. */
export const UNIQUE_ACROSS_MERCHANTS: Readonly<Record<string, string>> = {
  payment_methods_token_hash_key: 'a recurring token identifies its method',
  payment_proofs_gateway_account_id_reference_key:
    'one payment at the provider is credited to one merchant; an account of a merchant is only its own',
  payments_access_hash_key: 'the address of a checkout identifies its payment',
  attempts_gateway_key_key: 'a webhook identifies the attempt by the key at the gateway',
  refunds_gateway_key_key: 'the key at the gateway identifies the refund',
  p2p_transfers_attempt_key_key: 'the attempt identifies its transfer',
  payment_links_slug_key: 'the address of a link identifies it',
  audit_entries_pkey: 'the chain of the operators has no merchant',
  cases_by_id: 'an operator closes a case by its id',
}
