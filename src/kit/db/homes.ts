// Which database a statement belongs to. The tables of the instance exist once: people, API keys, secrets. The tables of a
// cell contain the data of merchants, and each merchant has its rows in one cell. A statement must not use both, because
// the two may be on different servers.

/** Where a statement runs: `any` uses only tables that exist in the instance and in every cell. */
export type Home = 'instance' | 'cell' | 'any'

const INSTANCE_TABLES = [
  ...['api_keys', 'rate_limit_buckets', 'service_secrets', 'phone_prompts', 'gateway_tokens'],
  ...['cells', 'merchant_cells', 'processes', 'placement', 'merchant_moves', 'moved_cells'],
  ...[
    'users',
    'memberships',
    'invitations',
    'one_time_links',
    'sessions',
    'pending_sign_ins',
    'known_devices',
  ],
  ...['recovery_codes', 'passkeys', 'passkey_challenges', 'identities', 'sign_in_limits', 'form_submissions'],
  ...['saved_views', 'reconciliations', 'reconciliation_breaks', 'sandbox.records'],
]

// The instance has the merchants, and each cell a copy of its own. The others record work of the same transaction.
const SHARED_TABLES = [
  ...['merchants', 'audit_entries', 'idempotency_keys', 'gateway_webhooks', 'invariant_checks'],
  ...['moving_merchants', 'departed_merchants', 'move_changes', 'schema_migrations'],
]

const CELL_TABLES = [
  ...['customers', 'payment_methods', 'payments', 'payment_references', 'attempts', 'moves'],
  ...[
    'payment_proofs',
    'refunds',
    'refund_references',
    'refund_lookups',
    'refund_requests',
    'disputes',
    'cases',
    'case_steps',
  ],
  ...['ledger_entries', 'postings', 'pending_settlements', 'balance_deltas', 'balances', 'wallet_lines'],
  ...['events', 'webhook_endpoints', 'deliveries', 'delivery_attempts', 'webhook_replays'],
  ...[
    'payment_links',
    'payment_link_slots',
    'p2p_accounts',
    'p2p_transfers',
    'p2p_moves',
    'gateway_accounts',
  ],
  ...['archives', 'archive_boundaries', 'archived_versions', 'archived_lines', 'archived_sums'],
  ...[
    'collection_deltas',
    'collection_sums',
    'api_requests',
    'payment_notes',
    'sent_receipts',
    'test_clocks',
  ],
]

/** Every view but those of invariants and of row-level security, which every database has. */
export const CELL_VIEWS = [
  ...['searched_customers', 'searched_links', 'searched_references', 'searched_refunds'],
  ...['payment_sums', 'collection_sums_now', 'collection_grains'],
]

/** Every table of the schema, by where its rows are. */
export const TABLES_BY_HOME: Readonly<Record<Home, readonly string[]>> = {
  instance: INSTANCE_TABLES,
  cell: CELL_TABLES,
  any: SHARED_TABLES,
}

const wordsOf = (names: readonly string[]) =>
  new RegExp(`(?<![\\w."'])(?:${names.join('|').replaceAll('.', '\\.')})(?![\\w"'(])`)
const OF_INSTANCE = wordsOf(INSTANCE_TABLES)
const OF_CELL = wordsOf([...CELL_TABLES, ...CELL_VIEWS])
// The instance writes its merchants, and the cells get copies.
const WRITES_MERCHANTS = /(?:insert into|update|delete from) merchants\b/

/** Where the statement runs. Throws for one that uses tables of the instance and of a cell. */
export function homeOf(text: string): Home {
  const isOfInstance = OF_INSTANCE.test(text) || WRITES_MERCHANTS.test(text)
  const isOfCell = OF_CELL.test(text)
  if (isOfInstance && isOfCell)
    throw new Error(`a statement uses tables of the instance and of a cell:\n${text}`)
  if (isOfInstance) return 'instance'
  return isOfCell ? 'cell' : 'any'
}
