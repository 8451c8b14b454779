// Which tables of the catalogue stay small whatever happens, and which are not known by their merchant first. Whoever adds a
// table finds here what is asked of it, because the test of the catalogue names it until it fits.

/** All others grow with payments, customers or merchants, and are never read from beginning to end. */
export const SMALL_TABLES: Readonly<Record<string, string>> = {
  schema_migrations: 'one row for each migration',
  service_secrets: 'a handful for each installation',
  invariant_checks: 'one row',
  cases: 'what needs a person, by the handful, and read by operators only',
  reconciliations: 'one row for each file of a provider, read by operators only',
  reconciliation_breaks: 'what is wrong between a file and the books, read by operators only',
}

/** A row of any other table is found by its merchant: a key of it begins with merchant_id. */
export const NOT_KEYED_BY_MERCHANT: Readonly<Record<string, string>> = {
  schema_migrations: 'of the installation',
  service_secrets: 'of the installation',
  invariant_checks: 'of the installation',
  rate_limit_buckets: 'one for each API key that was used in the last two weeks',
  merchants: 'its own id is the merchant',
  api_keys: 'a request is known by its key before it is known whose it is',
  balance_deltas: 'a queue that is emptied every second; a second index finds those of a merchant',
  phone_prompts: 'a phone is asked too often over all merchants together',
  gateway_webhooks: 'a webhook is known by its gateway before it is known whose payment it is about',
  reconciliations: 'a file of the installation has payments of many merchants',
  reconciliation_breaks: 'what a file shows may belong to nobody we know',
  records: 'the books of the test provider, which knows no merchants',
}

/** Unique over all merchants, because it is looked up before the merchant is known. */
export const UNIQUE_ACROSS_MERCHANTS: Readonly<Record<string, string>> = {
  payment_methods_token_hash_key: 'a recurring token names its method',
  payments_access_hash_key: 'the address of a checkout names its payment',
  attempts_gateway_key_key: 'a webhook names the attempt by the key at the gateway',
  refunds_gateway_key_key: 'the key at the gateway names the refund',
  p2p_transfers_attempt_key_key: 'the attempt that a transfer is made for',
  payment_links_slug_key: 'the address of a link names it',
  cases_by_id: 'an operator closes a case by its id',
}
