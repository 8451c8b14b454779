// The model's statements of cases.

import { CASE } from '../../../../src/cases/case.ts'
import {
  closeCaseRow,
  insertCase,
  lockOpenCases,
  markUncertain,
  selectCasesOfAttempt,
} from '../../../../src/cases/queries.ts'
import { findOwned } from './payments.ts'
import { modelStatement, orderBy, pickColumns } from './statement.ts'
import type { Row, TableAccess } from './store.ts'

const pickCase = pickColumns(...CASE.list().split(', '))
const ANY_ROW = { merchantId: '', id: '' } as never

/** What resolving has written, on a case that is open again. */
const UNRESOLVED: Row = { resolution: null, note: null, proof: null, resolved_by: null, closed_at: null }

function open(access: TableAccess, values: readonly unknown[]): Row[] {
  const [merchant_id, id, kind, owner, payment_id, attempt_id, refund_id, ...rest] = values
  const [provider_message, unbooked_minor, unbooked_references, created_at, reopens] = rest
  const words = { provider_message, unbooked_minor, unbooked_references }
  const facts = { merchant_id, id, kind, owner, payment_id, attempt_id, refund_id, ...words }
  const first = { ...facts, decided_references: [], created_at }
  if (access.insertIfAbsent('cases', first)) return [{ id, version: 1 }]
  const isSameCase = (one: Row) =>
    one.attempt_id === attempt_id && one.kind === kind && one.refund_id === refund_id
  const known = access.all('cases').find(isSameCase)
  if (!known || known.closed_at === null || !reopens) return []
  const version = Number(known.version) + 1
  const decided = known.resolution === 'gateway_answered' ? [] : (known.unbooked_references as string[])
  const decided_references = [...(known.decided_references as string[]), ...decided]
  access.update('cases', known, { ...UNRESOLVED, ...words, decided_references, created_at, version })
  return [{ id: known.id, version }]
}

function close(access: TableAccess, values: readonly unknown[]): Row[] {
  const [merchantId, id, closed_at, note, resolution, proof, resolved_by] = values
  const row = findOwned(access, 'cases', merchantId, id)
  if (!row || row.closed_at !== null) return []
  const closing = { closed_at, note, resolution, proof, resolved_by, proposal: null }
  return [pickCase(access.update('cases', row, { ...closing, version: Number(row.version) + 1 }))]
}

export const CASE_STATEMENTS = [
  modelStatement('insertCase', (db) => insertCase(db, {} as never, false), open),
  modelStatement('closeCaseRow', (db) => closeCaseRow(db, ANY_ROW, {} as never), close),
  modelStatement(
    'lockOpenCases',
    (db) => lockOpenCases(db, '', ''),
    (access, [merchantId, paymentId]) => {
      const isOpen = (row: Row) =>
        row.merchant_id === merchantId && row.payment_id === paymentId && row.closed_at === null
      const found = access.all('cases').filter(isOpen).sort(orderBy('created_at', 'id'))
      for (const row of found) access.lock('cases', row)
      return found.map(pickCase)
    },
  ),
  modelStatement(
    'selectCasesOfAttempt',
    (db) => selectCasesOfAttempt(db, '', ''),
    (access, [merchantId, attemptId]) =>
      access
        .all('cases')
        .filter((row) => row.merchant_id === merchantId && row.attempt_id === attemptId)
        .map(pickCase),
  ),
  modelStatement(
    'markUncertain',
    (db) => markUncertain(db, '', ''),
    (access, [merchantId, id]) => {
      const payment = findOwned(access, 'payments', merchantId, id)
      if (payment?.status === 'processing' && payment.status_reason !== 'requires_review')
        access.update('payments', payment, { status_reason: 'needs_review' })
      return []
    },
  ),
]
