// The tables of the money path, as the migrations create them: columns, unique keys and check constraints. A test
// compares the columns with the database.

import { CASE } from '../../../../src/cases/case.ts'
import { ATTEMPT } from '../../../../src/payments/attempt.ts'
import { PAYMENT } from '../../../../src/payments/payment.ts'
import { PAYMENT_MOVES, type PaymentStatus } from '../../../../src/payments/states.ts'
import type { Row, Rules, TableRules } from './store.ts'

const nullColumns = (...names: string[]): Row => Object.fromEntries(names.map((name) => [name, null]))

const compositeKey = (...parts: unknown[]) => parts.map((part) => String(part)).join('|')

const id = (row: Row) => String(row.id)

function table(rules: Partial<TableRules> & Pick<TableRules, 'columns'>): TableRules {
  return { primaryKey: id, uniques: {}, checks: {}, ...rules }
}

const minor = (value: unknown) => (value ?? 0n) as bigint

const isLegal = ({ from_status: from, to_status: to }: Row) =>
  // A boundary: the column contains one of the states.
  from === null || (PAYMENT_MOVES[from as PaymentStatus] as readonly unknown[]).includes(to)

const FAILING_PROOFS: unknown[] = ['declined', 'not_sent', 'page_lost', 'expired_verified', 'review']
const PAYING_PROOFS: unknown[] = ['gateway', 'review']

export function moneyTables(): Rules {
  return {
    merchants: table({
      columns: {
        ...nullColumns('id', 'name', 'mode', 'base_currency', 'created_at', 'updated_at'),
        status: 'active',
        settings: {},
      },
    }),
    customers: table({
      columns: {
        ...nullColumns(
          'merchant_id',
          'id',
          'email',
          'email_key',
          'firstname',
          'lastname',
          'country',
          'phone',
        ),
        ...nullColumns('search_text', 'last_payment_at', 'created_at', 'updated_at', 'status_reason'),
        metadata: {},
        status: 'active',
        successful_payments: 0n,
      },
      uniques: { email: (row) => compositeKey(row.merchant_id, row.email_key) },
    }),
    payment_methods: table({
      columns: {
        ...nullColumns('merchant_id', 'id', 'customer_id', 'type', 'gateway', 'fingerprint', 'token_hash'),
        ...nullColumns(
          'token_sealed',
          'credential_sealed',
          'currencies',
          'card',
          'mobile_money',
          'expires_at',
        ),
        ...nullColumns('consent', 'last_used_at', 'created_at', 'account_id', 'save_id'),
        status: 'active',
        version: 1,
        is_default: false,
        is_recurring_intent: false,
      },
      uniques: {
        token_hash: (row) => (row.token_hash as Buffer).toString('hex'),
        one_default_method: (row) => (row.is_default ? compositeKey(row.merchant_id, row.customer_id) : null),
        one_method_per_card: (row) =>
          row.status === 'revoked'
            ? null
            : compositeKey(row.merchant_id, row.customer_id, row.gateway, row.account_id, row.fingerprint),
      },
      checks: { default_is_active: (row) => row.status === 'active' || !row.is_default },
    }),
    payment_references: table({
      columns: {
        ...nullColumns('merchant_id', 'reference', 'payment_id', 'fingerprint', 'created_at'),
        ...nullColumns('amount_hundredths', 'metadata_terms'),
      },
      primaryKey: (row) => compositeKey(row.merchant_id, row.reference),
    }),
    idempotency_keys: table({
      columns: {
        ...nullColumns(
          'merchant_id',
          'key',
          'operation',
          'fingerprint',
          'resource',
          'claimed_by',
          'created_at',
        ),
      },
      primaryKey: (row) => compositeKey(row.merchant_id, row.key),
    }),
    payments: payments(),
    attempts: attempts(),
    moves: table({
      columns: {
        ...nullColumns('merchant_id', 'payment_id', 'version', 'from_status', 'to_status', 'reason', 'proof'),
        ...nullColumns('source', 'attempt_id', 'at'),
      },
      primaryKey: (row) => compositeKey(row.payment_id, row.version),
      checks: {
        moves_check: (row) => (row.from_status === null) === (row.version === 1),
        legal: isLegal,
        failed_on_proof: (row) => row.to_status !== 'failed' || FAILING_PROOFS.includes(row.proof),
        paid_on_proof: (row) =>
          row.to_status !== 'successful' ||
          row.from_status === 'disputed' ||
          PAYING_PROOFS.includes(row.proof),
      },
    }),
    gateway_webhooks: table({
      columns: {
        ...nullColumns(
          'id',
          'gateway',
          'event_id',
          'account_id',
          'gateway_key',
          'gateway_reference',
          'received_at',
          'handled_at',
          'due_at',
        ),
        checks_paid: false,
      },
      primaryKey: (row) => compositeKey(row.gateway, row.event_id, row.account_id),
    }),
    events: table({
      columns: {
        ...nullColumns('merchant_id', 'id', 'type', 'resource_type', 'resource_id', 'version', 'body'),
        ...nullColumns('packed', 'created_at'),
      },
      uniques: {
        version: (row) => compositeKey(row.merchant_id, row.resource_id, row.resource_type, row.version),
      },
    }),
    refunds: refunds(),
    refund_references: table({
      columns: nullColumns('merchant_id', 'reference', 'refund_id', 'fingerprint'),
      primaryKey: (row) => compositeKey(row.merchant_id, row.reference),
    }),
    cases: table({
      columns: {
        ...nullColumns(...CASE.list().split(', ')),
        version: 1,
      },
      uniques: { once: (row) => compositeKey(row.merchant_id, row.attempt_id, row.kind, row.refund_id) },
      checks: {
        note: (row) => row.closed_at === null || row.note !== null,
        resolution: (row) => (row.closed_at === null) === (row.resolution === null),
      },
    }),
    ...ledger(),
  }
}

function payments(): TableRules {
  return table({
    columns: {
      ...nullColumns(...PAYMENT.list().split(', '), 'access_hash'),
      metadata: {},
      is_recurring: false,
      refunded_minor: 0n,
      refund_reserved_minor: 0n,
      attempts_used: 0,
      failovers: 0,
    },
    checks: {
      kind: (row) =>
        row.kind === 'checkout' || !['pending', 'abandoned', 'expired'].includes(String(row.status)),
      failovers: (row) => Number(row.failovers) <= Number(row.attempts_used),
      reserved: (row) => minor(row.refund_reserved_minor) >= 0n && minor(row.refunded_minor) >= 0n,
      refunds_within_paid: (row) =>
        minor(row.refunded_minor) + minor(row.refund_reserved_minor) <= minor(row.amount_paid_minor),
    },
  })
}

function attempts(): TableRules {
  return table({
    columns: {
      ...nullColumns(...ATTEMPT.list().split(', '), 'polled_at', 'refund_due_at', 'refund_lookup_due_at'),
      polls: 0,
      fence: 1,
      refunded_minor: 0n,
      report_is_final: false,
      settles_by: null,
    },
    uniques: {
      number: (row) => compositeKey(row.payment_id, row.number),
      gateway_key: (row) => String(row.gateway_key),
    },
  })
}

function refunds(): TableRules {
  const isPending = (row: Row) => row.status === 'pending'
  return table({
    columns: {
      ...nullColumns('merchant_id', 'id', 'payment_id', 'payment_reference', 'attempt_id', 'attempt_key'),
      ...nullColumns('attempt_reference', 'gateway', 'account_id', 'status', 'status_reason', 'version'),
      ...nullColumns('amount_minor', 'currency', 'is_full', 'reason', 'gateway_key', 'gateway_reference'),
      ...nullColumns(
        'refund_reference',
        'report',
        'failure_message',
        'submitted_at',
        'due_at',
        'created_at',
        'updated_at',
      ),
      is_duplicate: false,
      source: 'api',
      metadata: {},
      is_blocking: false,
      report_is_final: false,
      polls: 0,
      fence: 1,
    },
    uniques: {
      gateway_key: (row) => String(row.gateway_key),
      one_blocking_refund_per_payment: (row) =>
        row.is_blocking ? compositeKey(row.merchant_id, row.payment_id) : null,
      one_refund_per_duplicate: (row) =>
        row.is_duplicate && row.status !== 'failed' ? compositeKey(row.merchant_id, row.attempt_id) : null,
    },
    checks: {
      due: (row) => !isPending(row) || row.due_at !== null,
      over: (row) => row.status !== 'failed' || row.due_at === null,
      blocking: (row) => isPending(row) || !row.is_blocking,
      failure_message: (row) => (row.status === 'failed') === (row.failure_message !== null),
      version: (row) => row.version === (isPending(row) ? 1 : 2),
    },
  })
}

function ledger(): Rules {
  return {
    ledger_entries: table({
      columns: nullColumns('merchant_id', 'id', 'kind', 'payment_id', 'attempt_id', 'at', 'refund_id'),
      uniques: {
        one_capture: (row) => (row.kind === 'capture' ? String(row.payment_id) : null),
        one_settlement: (row) => (row.kind === 'settlement' ? String(row.payment_id) : null),
        one_credit_per_attempt: (row) =>
          /^(duplicate_)?capture$/.test(String(row.kind)) && row.attempt_id !== null
            ? String(row.attempt_id)
            : null,
        one_entry_per_refund: (row) =>
          row.refund_id === null ? null : compositeKey(row.refund_id, row.kind),
        one_unmatched_capture_per_attempt: (row) =>
          row.kind === 'unmatched_capture' ? String(row.attempt_id) : null,
      },
    }),
    postings: table({
      columns: nullColumns('merchant_id', 'entry_id', 'position', 'account', 'currency', 'amount_minor'),
      primaryKey: (row) => compositeKey(row.entry_id, row.position),
      checks: { amount: (row) => row.amount_minor !== 0n },
    }),
    balances: table({
      columns: {
        ...nullColumns('merchant_id', 'currency', 'available_minor', 'pending_minor', 'lines', 'updated_at'),
        previous_at: null,
      },
      primaryKey: (row) => compositeKey(row.merchant_id, row.currency),
    }),
    balance_deltas: table({
      columns: {
        ...nullColumns(
          'id',
          'merchant_id',
          'currency',
          'account',
          'amount_minor',
          'at',
          'entry_id',
          'position',
        ),
        ...nullColumns('kind', 'payment_id'),
      },
    }),
    wallet_lines: table({
      columns: {
        ...nullColumns(
          'merchant_id',
          'currency',
          'number',
          'kind',
          'account',
          'amount_minor',
          'available_minor',
        ),
        ...nullColumns('pending_minor', 'payment_id', 'entry_id', 'position', 'created_at'),
      },
      primaryKey: (row) => compositeKey(row.merchant_id, row.currency, row.number),
    }),
    pending_settlements: table({
      columns: nullColumns('merchant_id', 'payment_id', 'currency', 'amount_minor', 'due_at'),
      primaryKey: (row) => String(row.payment_id),
      checks: { amount: (row) => minor(row.amount_minor) > 0n },
    }),
  }
}
