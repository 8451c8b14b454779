import { Type } from 'typebox'
import { Enum, Nullable, PAGE_QUERY, Timestamp, Uuid, UuidInput } from '../kit/http/schema.ts'
import { BREAK_KIND_NAMES } from './compare.ts'
import { FORMATS } from './formats.ts'
import type { BreakRow, ReconciliationRow } from './reconciliation.ts'

const GatewayName = Type.String({
  pattern: '^[a-z][a-z0-9_]{0,39}$',
  'x-message': 'must be the name of a gateway.',
})
const LineText = (maxLength: number) => Type.String({ minLength: 1, maxLength, pattern: '\\S' })

/** Base64, because a file may contain line ends and byte order marks that our JSON texts do not allow. */
const Content = Type.String({
  minLength: 4,
  pattern: '^[A-Za-z0-9+/]+={0,2}$',
  'x-message': 'must be the file in base64.',
})

export const ReconcileBody = Type.Object({
  gateway: GatewayName,
  merchant: Type.Optional(UuidInput),
  format: Type.Optional(Enum(FORMATS, { default: 'neutral' })),
  fileName: Type.Optional(LineText(200)),
  content: Content,
  coversFrom: Type.Optional(Timestamp),
  coversTo: Type.Optional(Timestamp),
})

const Counts = {
  rows: Type.Integer(),
  ignored: Type.Integer(),
  matched: Type.Integer(),
  settled: Type.Integer(),
  breaks: Type.Integer(),
}

export const ReconciliationRecord = Type.Object({
  uuid: Uuid,
  gateway: Type.String(),
  merchantUuid: Nullable(Uuid),
  format: Enum(FORMATS),
  fileName: Nullable(Type.String()),
  coversFrom: Nullable(Timestamp),
  coversTo: Nullable(Timestamp),
  status: Enum(['unfinished', 'finished']),
  ...Counts,
  createdAt: Timestamp,
  finishedAt: Nullable(Timestamp),
})

const Side = Nullable(
  Type.Object({
    key: Nullable(Type.String()),
    reference: Nullable(Type.String()),
    status: Nullable(Type.String()),
    amount: Nullable(Type.String()),
    currency: Nullable(Type.String()),
    fee: Nullable(Type.String()),
  }),
)

const BREAK_FIELDS = {
  kind: Enum(BREAK_KIND_NAMES),
  subject: Type.String(),
  line: Nullable(Type.Integer()),
  merchantUuid: Nullable(Uuid),
  paymentUuid: Nullable(Uuid),
  refundUuid: Nullable(Uuid),
  ours: Side,
  theirs: Side,
}

export const BreakRecord = Type.Object({
  uuid: Uuid,
  ...BREAK_FIELDS,
  gateway: Type.String(),
  reconciliationUuid: Uuid,
  state: Enum(['open', 'closed']),
  owner: Nullable(Type.String()),
  note: Nullable(Type.String()),
  closedBy: Nullable(Enum(['file', 'operator'])),
  openedAt: Timestamp,
  closedAt: Nullable(Timestamp),
  ageDays: Type.Integer(),
})

export const PreviewRecord = Type.Object({ ...Counts, breaksFound: Type.Array(Type.Object(BREAK_FIELDS)) })

const PAGE = { page: PAGE_QUERY.page, limit: PAGE_QUERY.limit, cursor: PAGE_QUERY.cursor }

export const ReconciliationsQuery = Type.Object({ ...PAGE, gateway: Type.Optional(GatewayName) })

export const BreaksQuery = Type.Object({
  ...PAGE,
  state: Type.Optional(Enum(['open', 'closed', 'all'], { default: 'open' })),
  gateway: Type.Optional(GatewayName),
  kind: Type.Optional(Enum(BREAK_KIND_NAMES)),
  reconciliation: Type.Optional(UuidInput),
})

export const CloseBody = Type.Object({ note: LineText(500) })
export const AssignBody = Type.Object({ owner: LineText(100), note: Type.Optional(LineText(500)) })

export function toReconciliation(row: ReconciliationRow) {
  return {
    uuid: row.id,
    gateway: row.gateway,
    merchantUuid: row.merchantId,
    format: row.format,
    fileName: row.fileName,
    coversFrom: row.coversFrom?.toISOString() ?? null,
    coversTo: row.coversTo?.toISOString() ?? null,
    status: row.finishedAt === null ? 'unfinished' : 'finished',
    rows: row.rowCount,
    ignored: row.ignoredCount,
    matched: row.matchedCount,
    settled: row.settledCount,
    breaks: row.breakCount,
    createdAt: row.createdAt.toISOString(),
    finishedAt: row.finishedAt?.toISOString() ?? null,
  }
}

const DAY_MS = 86_400_000

export function toBreak(row: BreakRow, now: Date) {
  const until = row.closedAt ?? now
  return {
    uuid: row.id,
    kind: row.kind,
    subject: row.subject,
    line: row.line,
    merchantUuid: row.ownerMerchantId,
    paymentUuid: row.paymentId,
    refundUuid: row.refundId,
    ours: row.ours,
    theirs: row.theirs,
    gateway: row.gateway,
    reconciliationUuid: row.reconciliationId,
    state: row.state,
    owner: row.owner,
    note: row.note,
    closedBy: row.closedBy,
    openedAt: row.openedAt.toISOString(),
    closedAt: row.closedAt?.toISOString() ?? null,
    ageDays: Math.max(0, Math.floor((until.getTime() - row.openedAt.getTime()) / DAY_MS)),
  }
}
