import { column, columnTable, type RowOf } from '../kit/db/columns.ts'

export interface AuditChange {
  type: string
  id: string
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
}

/** The types of the tables that are audited (migrations/0016_audit.sql). */
export const OBJECT_TYPES = [
  ...['merchant', 'api_key', 'gateway_account', 'customer', 'payment_method', 'payment_link'],
  ...['webhook_endpoint', 'webhook_replay', 'event', 'refund', 'p2p_account', 'p2p_payment', 'case'],
  ...['reconciliation', 'reconciliation_break', 'encryption_key'],
  // Of what people decide and note about payments (migrations/0046_people_and_payments.sql).
  ...['refund_request', 'payment_note', 'sent_receipt', 'saved_view'],
  // Of people (migrations/0042_people.sql, migrations/0044_identities.sql).
  ...[
    'user',
    'membership',
    'invitation',
    'session',
    'one_time_link',
    'recovery_code',
    'passkey',
    'identity',
    'sign_in_limit',
  ],
] as const

export type ObjectType = (typeof OBJECT_TYPES)[number]

/** One row per audited operation. Triggers write it (migrations/0016_audit.sql); this slice only reads. */
export const ENTRY = columnTable({
  id: column<string>('uuid'),
  number: column<bigint>('bigint'),
  merchantId: column<string | null>('uuid'),
  actorType: column<'api_key' | 'operator' | 'user'>('text'),
  actorId: column<string>('text'),
  actorRole: column<string | null>('text'),
  sessionId: column<string | null>('uuid'),
  address: column<string | null>('text'),
  requestId: column<string | null>('text'),
  operation: column<string>('text'),
  objectType: column<ObjectType>('text'),
  objectId: column<string>('text'),
  changes: column<AuditChange[]>('jsonb'),
  createdAt: column<Date>('timestamptz'),
  previousHash: column<Buffer>('bytea'),
  hash: column<Buffer>('bytea'),
})

/** With the text that was hashed, so that an export can be verified without the database. */
export type EntryRow = RowOf<typeof ENTRY> & { record: string }
