import { Type } from 'typebox'
import {
  fileOf,
  listed,
  type OperatorRoute,
  ok,
  operatorRoute,
  type Route,
  route,
} from '../kit/http/route.ts'
import { type AuditApp, exportEntries, listEntries, verifyAudit } from './audit.ts'
import {
  AUDIT_EXAMPLE,
  AuditExportQuery,
  AuditQuery,
  AuditRecord,
  OPERATOR_AUDIT_EXAMPLE,
  OperatorAuditExportQuery,
  OperatorAuditQuery,
  OperatorAuditRecord,
  toAuditRecord,
  VERIFICATION_EXAMPLE,
  VerificationRecord,
  VerifyQuery,
} from './schema.ts'

const COMMON = { method: 'GET', tag: 'API keys', scope: 'audit:read' } as const

export function auditRoutes(app: AuditApp): Route[] {
  return [
    route({
      ...COMMON,
      path: '/api/v1/audit',
      operationId: 'audit.list',
      summary: 'List the audit log',
      description:
        'Who changed what, when and from which address: API keys, webhook endpoints, customers, payment links, P2P accounts and confirmations, refunds, and what operators changed in your account. Entries are written with the change itself, never changed, and chained by hashes. Payments are not in it; their moves are their history.',
      query: AuditQuery,
      response: { http: 200, data: AuditRecord, list: true },
      errors: ['validation_failed'],
      examples: { data: AUDIT_EXAMPLE },
      handle: async ({ merchant, query }) => {
        const { rows, meta } = await listEntries(app, { merchantId: merchant.id, isOperator: false }, query)
        return listed('Audit log retrieved.', rows.map(toOwnRecord), meta)
      },
    }),
    route({
      ...COMMON,
      path: '/api/v1/audit/export',
      operationId: 'audit.export',
      summary: 'Export the audit log as CSV',
      description:
        'The entries from the oldest on, as a CSV file (RFC 4180, UTF-8 with a byte order mark), of any length. The column record has the text that was hashed: hash is SHA-256 over the bytes of previousHash and this text.',
      query: AuditExportQuery,
      response: { http: 200, data: Type.String(), file: 'text/csv' },
      errors: ['validation_failed'],
      examples: { data: 'uuid,merchant,number,createdAt,…\r\n' },
      handle: async ({ merchant, query }) =>
        fileOf('audit.csv', await exportEntries(app, merchant.id, query)),
    }),
  ]
}

function toOwnRecord(row: Parameters<typeof toAuditRecord>[0]) {
  const { merchant: _merchant, record: _record, ...own } = toAuditRecord(row)
  return own
}

/** For all merchants and for the operators' own changes. */
export function operatorAuditRoutes(app: AuditApp): OperatorRoute[] {
  return [
    operatorRoute({
      method: 'GET',
      path: '/admin/v1/audit',
      operationId: 'audit.list',
      summary: 'List the audit log of all merchants and operators',
      description:
        'Newest first. Every entry has the text that was hashed. While a cell does not answer, its entries are missing, and `meta.unavailableCells` names it.',
      query: OperatorAuditQuery,
      response: { http: 200, data: OperatorAuditRecord, list: true },
      errors: [],
      examples: { data: OPERATOR_AUDIT_EXAMPLE },
      handle: async ({ query: { merchant = null, ...query } }) => {
        const { rows, meta } = await listEntries(app, { merchantId: merchant, isOperator: true }, query)
        return listed('Audit log.', rows.map(toAuditRecord), meta)
      },
    }),
    operatorRoute({
      method: 'GET',
      path: '/admin/v1/audit/export',
      operationId: 'audit.export',
      summary: 'Export the audit log as CSV',
      description: 'The entries from the oldest on, with the text that was hashed. Any number of entries.',
      query: OperatorAuditExportQuery,
      response: { http: 200, data: Type.String(), file: 'text/csv' },
      errors: [],
      examples: { data: 'uuid,merchant,number,createdAt,…\r\n' },
      handle: async ({ query: { merchant = null, ...query } }) =>
        fileOf('audit.csv', await exportEntries(app, merchant, query)),
    }),
    operatorRoute({
      method: 'GET',
      path: '/admin/v1/audit/verify',
      operationId: 'audit.verify',
      summary: 'Recalculate the hashes of the audit log',
      description:
        'Finds entries that were changed or removed. Store the digest elsewhere, to detect a chain that was written anew.',
      query: VerifyQuery,
      response: { http: 200, data: VerificationRecord },
      errors: [],
      examples: { data: VERIFICATION_EXAMPLE },
      handle: async ({ query }) => ok('Audit log verified.', await verifyAudit(app, query.merchant ?? null)),
    }),
  ]
}
