// The audit log as CSV, for downloads and for the command line.

import { BYTE_ORDER_MARK, csvLine, trustedCell, untrustedCell } from '../kit/http/csv.ts'
import type { OperatorAuditRecord } from './schema.ts'

/** The byte order mark and the names of the columns. */
export const AUDIT_CSV_HEAD =
  BYTE_ORDER_MARK +
  csvLine([
    ...['uuid', 'merchant', 'number', 'createdAt', 'actorType', 'actorId', 'address', 'requestId'],
    ...['operation', 'objectType', 'objectId', 'previousHash', 'hash', 'record'],
  ])

export function toAuditCsv(entry: OperatorAuditRecord): string {
  const { actor, object } = entry
  return csvLine([
    trustedCell(entry.uuid),
    trustedCell(entry.merchant ?? ''),
    trustedCell(String(entry.number)),
    trustedCell(entry.createdAt),
    trustedCell(actor.type),
    trustedCell(actor.id),
    trustedCell(entry.address ?? ''),
    untrustedCell(entry.requestId ?? ''),
    trustedCell(entry.operation),
    trustedCell(object.type),
    untrustedCell(object.id),
    trustedCell(entry.previousHash),
    trustedCell(entry.hash),
    // JSON begins with a brace, so it is no formula.
    trustedCell(entry.record),
  ])
}
