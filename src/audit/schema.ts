import { type Static, Type } from 'typebox'
import { LONGEST_REQUEST_ID } from '../core/text/formats.ts'
import {
  CreatedAt,
  count,
  described,
  Enum,
  flag,
  Nullable,
  namedExtension,
  namedObject,
  PAGE_QUERY,
  text,
  Uuid,
  UuidInput,
} from '../kit/http/schema.ts'
import { type EntryRow, OBJECT_TYPES } from './entry.ts'

const exactly = (maxLength: number, description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength, description }))

export const OPERATION_MESSAGE =
  'must be the method and path of an operation whose changes are audited, as the reference writes them, such as POST /api/v1/refunds, or the name of a step of a person, such as sign_out.'

const FILTER = {
  object: exactly(
    64,
    'Only changes of the object with this id, such as the uuid of an endpoint or the id of an API key.',
  ),
  objectType: Type.Optional(Enum(OBJECT_TYPES, { description: 'Only changes of objects of this type.' })),
  actor: exactly(
    40,
    'Only changes by this API key (its keyId), by this person (the uuid), or by the operator token with this fingerprint.',
  ),
  operation: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 120,
      pattern: '^(?:(?:POST|PUT|PATCH|DELETE) /\\S+|[a-z_]+(?:\\.[a-z_]+)?)$',
      description:
        'Only changes by this operation: method and path, such as `POST /api/v1/refunds`, or the name of a step of a person, such as `sign_out`.',
      'x-message': OPERATION_MESSAGE,
    }),
  ),
  requestId: exactly(LONGEST_REQUEST_ID, 'Only changes by the request with this X-Request-Id.'),
  address: exactly(45, 'Only changes from this IP address.'),
}

const { createdFrom, createdTo } = PAGE_QUERY

export const AuditQuery = Type.Object({ ...PAGE_QUERY, ...FILTER })
export const AuditExportQuery = Type.Object({ createdFrom, createdTo, ...FILTER })

const MERCHANT = {
  merchant: Type.Optional(
    described(UuidInput, 'The uuid of a merchant. Absent: all merchants, and the operators’ own changes.'),
  ),
}
export const OperatorAuditQuery = Type.Object({ ...PAGE_QUERY, ...FILTER, ...MERCHANT })
export const OperatorAuditExportQuery = Type.Object({ createdFrom, createdTo, ...FILTER, ...MERCHANT })
export const VerifyQuery = Type.Object(MERCHANT)

export type AuditFilter = Static<typeof AuditExportQuery>

const ChangedFields = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })

export const AuditRecord = namedObject(
  'AuditEntry',
  {
    uuid: Uuid,
    number: Type.Integer({ minimum: 1, description: 'The position in the chain, without gaps.' }),
    actor: namedObject(
      'AuditActor',
      {
        type: Enum(['api_key', 'operator', 'user'], {
          description: 'An API key of yours, the operator, or a person who uses the dashboard.',
        }),
        id: text(
          'The keyId of the API key, the fingerprint of the operator token, or the uuid of the person.',
          'kL1mN2oP3qR4',
        ),
        role: Nullable(
          Type.String(),
          'The role of the person at that time. Null for others, and before a session.',
        ),
        session: Nullable(Uuid, 'The session of the person. Null for others, and before a session.'),
      },
      { description: 'Who made the change.' },
    ),
    address: Nullable(
      Type.String({ examples: ['203.0.113.7'] }),
      'The IP address of the client. Null if it is not known.',
    ),
    requestId: Nullable(Type.String(), 'The X-Request-Id of the request. Null if it had none.'),
    operation: text(
      'Method and path of the operation, or the name of a step of a person, such as sign_out.',
      'POST /api/v1/api-keys/{keyId}/revoke',
    ),
    object: namedObject(
      'AuditObject',
      {
        type: text('The type of the object.', 'api_key'),
        id: text('The id of the object, such as a uuid or a keyId.'),
      },
      { description: 'The object that the path names, otherwise the first that was changed.' },
    ),
    changes: Type.Array(
      namedObject('AuditChange', {
        type: text('The type of the changed row.', 'api_key'),
        id: text('The id of the changed row.'),
        before: Nullable(ChangedFields, 'The changed fields before the change. Null for a new row.'),
        after: Nullable(ChangedFields, 'The changed fields after the change. Null for a deleted row.'),
      }),
      {
        description:
          'Every changed row, with the fields that changed. before is null for a new row, after for a deleted one. Secrets and personal data are shown as [redacted]. If an operation changed more than a hundred rows, the last element has the type more_changes and the count of the others.',
      },
    ),
    createdAt: CreatedAt,
    previousHash: Type.String({ description: 'The hash of the entry before, in hexadecimal.' }),
    hash: Type.String({ description: 'SHA-256 over the bytes of previousHash and the text of the entry.' }),
  },
  { description: 'One change that an API key, an operator or a person made.' },
)

export const OperatorAuditRecord = namedExtension(
  'OperatorAuditEntry',
  AuditRecord,
  {
    merchant: Nullable(Uuid, 'The uuid of the merchant. Null for a change of no merchant.'),
    record: Type.String({ description: 'The text that was hashed.' }),
  },
  { description: 'An audit entry with its merchant and the text that was hashed.' },
)
export type OperatorAuditRecord = Static<typeof OperatorAuditRecord>

export const VerificationRecord = namedObject(
  'AuditVerification',
  {
    intact: flag('Whether there is no violation.'),
    chains: count('The number of chains: one for each merchant, and one for the operators.'),
    entries: count('The number of entries that were verified.'),
    violations: count('The number of entries that were changed, or that are missing.'),
    firstViolations: Type.Array(
      namedObject('AuditViolation', {
        chain: described(Uuid, 'The chain: the uuid of its merchant, or the nil UUID for the operators.'),
        number: count('The position of the entry in the chain.'),
      }),
      { description: 'The first violations.' },
    ),
    digest: text('A digest over the last hashes of all chains: store it elsewhere, and compare it later.'),
  },
  { description: 'The result of recalculating the hashes.' },
)

export function toAuditRecord(row: EntryRow): OperatorAuditRecord {
  const { actorType, actorId, address, requestId, operation, objectType, objectId, changes } = row
  return {
    uuid: row.id,
    // Far below the largest exact integer of a JSON number.
    number: Number(row.number),
    merchant: row.merchantId,
    actor: { type: actorType, id: actorId, role: row.actorRole, session: row.sessionId },
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
  actor: { type: 'api_key', id: 'kL1mN2oP3qR4', role: null, session: null },
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

export const OPERATOR_AUDIT_EXAMPLE = {
  ...AUDIT_EXAMPLE,
  merchant: '0197a3c1-5e20-7b14-a3d9-6c0f1e2b8d47',
  record: `{"uuid": "${uuid}", "actor": {"id": "kL1mN2oP3qR4", "type": "api_key"}, …}`,
}

export const VERIFICATION_EXAMPLE = {
  intact: true,
  chains: 5,
  entries: 19,
  violations: 0,
  firstViolations: [],
  digest: 'f75aba68c311c2c28b6c25869cc591ecd56fbbda8cb961a4603f9a82cdbd9f24',
}
