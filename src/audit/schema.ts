import { type Static, Type } from 'typebox'
import { Enum, Metadata, Nullable, PAGE_QUERY, Timestamp, Uuid, UuidInput } from '../kit/http/schema.ts'
import { type EntryRow, OBJECT_TYPES } from './entry.ts'

const text = (maxLength: number, description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength, description }))

export const OPERATION_MESSAGE =
  'must be the method and path of an operation whose changes are audited, as the reference writes them, such as POST /api/v1/refunds.'

const FILTER = {
  object: text(64, 'The id of the changed object, such as the uuid of an endpoint or the id of an API key.'),
  objectType: Type.Optional(Enum(OBJECT_TYPES, { description: 'The type of the changed object.' })),
  actor: text(40, 'The id of the API key, or the fingerprint of the operator token.'),
  operation: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 120,
      pattern: '^(?:POST|PUT|PATCH|DELETE) /\\S+$',
      description: 'Method and path, such as `POST /api/v1/refunds`.',
      'x-message': OPERATION_MESSAGE,
    }),
  ),
  requestId: text(64, 'The request, as in the X-Request-Id header.'),
  address: text(45, "The client's IP address."),
}

const { createdFrom, createdTo } = PAGE_QUERY

export const AuditQuery = Type.Object({ ...PAGE_QUERY, ...FILTER })
export const AuditExportQuery = Type.Object({ createdFrom, createdTo, ...FILTER })

const MERCHANT = {
  merchant: Type.Optional(UuidInput),
}
export const OperatorAuditQuery = Type.Object({ ...PAGE_QUERY, ...FILTER, ...MERCHANT })
export const OperatorAuditExportQuery = Type.Object({ createdFrom, createdTo, ...FILTER, ...MERCHANT })
export const VerifyQuery = Type.Object(MERCHANT)

export type AuditFilter = Static<typeof AuditExportQuery>

export const AuditRecord = Type.Object({
  uuid: Uuid,
  number: Type.Integer({ minimum: 1, description: 'The position in the chain, without gaps.' }),
  actor: Type.Object({
    type: Enum(['api_key', 'operator']),
    id: Type.String({ description: 'The id of the API key, or the fingerprint of the operator token.' }),
  }),
  address: Nullable(Type.String({ description: "The client's IP address." })),
  requestId: Nullable(Type.String()),
  operation: Type.String(),
  object: Type.Object({ type: Type.String(), id: Type.String() }),
  changes: Type.Array(
    Type.Object({
      type: Type.String(),
      id: Type.String(),
      before: Nullable(Metadata),
      after: Nullable(Metadata),
    }),
    {
      description:
        'Every changed row, with the fields that changed. before is null for a new row, after for a deleted one. Secrets and personal data are shown as [redacted]. If an operation changed more than a hundred rows, the last element has the type more_changes and the count of the others.',
    },
  ),
  createdAt: Timestamp,
  previousHash: Type.String({ description: 'The hash of the entry before, in hexadecimal.' }),
  hash: Type.String({ description: 'SHA-256 over the bytes of previousHash and the text of the entry.' }),
})

export const OperatorAuditRecord = Type.Object({
  ...AuditRecord.properties,
  merchant: Nullable(Uuid),
  record: Type.String({ description: 'The text that was hashed.' }),
})
export type OperatorAuditRecord = Static<typeof OperatorAuditRecord>

export const VerificationRecord = Type.Object({
  intact: Type.Boolean(),
  chains: Type.Integer(),
  entries: Type.Integer(),
  violations: Type.Integer(),
  firstViolations: Type.Array(Type.Object({ chain: Uuid, number: Type.Integer() })),
  digest: Type.String(),
})

export function toAuditRecord(row: EntryRow): OperatorAuditRecord {
  const { actorType, actorId, address, requestId, operation, objectType, objectId, changes } = row
  return {
    uuid: row.id,
    // Far below the largest exact integer of a JSON number.
    number: Number(row.number),
    merchant: row.merchantId,
    actor: { type: actorType, id: actorId },
    address,
    requestId,
    operation,
    object: { type: objectType, id: objectId },
    changes,
    createdAt: row.createdAt.toISOString(),
    previousHash: row.previousHash.toString('hex'),
    hash: row.hash.toString('hex'),
    record: row.record,
  }
}

const [uuid, object] = ['0197a3c2-7d51-7cc3-98c4-dc0c0c07398f', 'aB3dE5fG7hJ9']

export const AUDIT_EXAMPLE = {
  uuid,
  number: 7,
  actor: { type: 'api_key', id: 'kL1mN2oP3qR4' },
  address: '203.0.113.7',
  requestId: 'req-81f3',
  operation: 'POST /api/v1/api-keys/{keyId}/revoke',
  object: { type: 'api_key', id: object },
  changes: [
    {
      type: 'api_key',
      id: object,
      before: { revoked_at: null },
      after: { revoked_at: '2026-03-14T09:26:53.589+00:00' },
    },
  ],
  createdAt: '2026-03-14T09:26:53.589Z',
  previousHash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  hash: '60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752',
}
