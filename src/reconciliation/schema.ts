import { Type } from 'typebox'
import {
  CreatedAt,
  count,
  described,
  Enum,
  NamedEnum,
  Nullable,
  namedObject,
  PAGE_QUERY,
  Timestamp,
  text,
  timestamp,
  Uuid,
  UuidInput,
} from '../kit/http/schema.ts'
import { BREAK_KIND_NAMES, BREAK_KINDS } from './compare.ts'
import { FORMATS } from './formats.ts'
import type { BreakRow, ReconciliationRow } from './reconciliation.ts'

const GatewayName = Type.String({
  pattern: '^[a-z][a-z0-9_]{0,39}$',
  'x-message': 'must be the name of a gateway.',
  description: 'The name of the gateway.',
  examples: ['paystack'],
})
const lineText = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: '\\S', description })

/** Base64, because a file may contain line ends and byte order marks that our JSON texts do not allow. */
const Content = Type.String({
  minLength: 4,
  pattern: '^[A-Za-z0-9+/]+={0,2}$',
  'x-message': 'must be the file in base64.',
  description: 'The settlement file in base64: at most 50,000 lines and 6 MB.',
})

export const ReconcileBody = namedObject('CreateReconciliationRequest', {
  gateway: GatewayName,
  merchant: Type.Optional(
    described(
      UuidInput,
      'The uuid of the merchant whose own account the file is of. Absent: the instance’s.',
    ),
  ),
  format: Type.Optional(
    NamedEnum('SettlementFileFormat', FORMATS, {
      default: 'neutral',
      description: 'The columns of the file: /docs/reconciliation.',
    }),
  ),
  fileName: Type.Optional(lineText(200, 'The name of the file, by which you recognise it.')),
  content: Content,
  coversFrom: Type.Optional(
    timestamp(
      'The file has every payment that was paid from this time on; only then can missing ones be found.',
    ),
  ),
  coversTo: Type.Optional(timestamp('The file has every payment that was paid until this time.')),
})

const Counts = {
  rows: count('How many lines about payments and refunds the file has.'),
  ignored: count('How many lines are about something else, such as payouts.'),
  matched: count('How many lines agree with our records.'),
  settled: count('How many payments became available in the wallet by this file.'),
  breaks: count('How many breaks were found.'),
}

export const ReconciliationRecord = namedObject(
  'Reconciliation',
  {
    uuid: Uuid,
    gateway: text('The gateway of the account.', 'paystack'),
    merchantUuid: Nullable(
      Uuid,
      'The uuid of the merchant whose own account it is. Null: the account of the instance.',
    ),
    format: NamedEnum('SettlementFileFormat', FORMATS, { description: 'The format of the file.' }),
    fileName: Nullable(Type.String(), 'The name of the file. Null if none was sent.'),
    coversFrom: Nullable(Timestamp, 'From when on the file has every payment, in UTC. Null if not declared.'),
    coversTo: Nullable(Timestamp, 'Until when the file has every payment, in UTC. Null if not declared.'),
    status: Enum(['unfinished', 'finished'], {
      description: 'unfinished: it was interrupted; send the same file again to continue.',
    }),
    ...Counts,
    createdAt: CreatedAt,
    finishedAt: Nullable(Timestamp, 'When it was finished, in UTC. Null until then.'),
  },
  { description: 'A settlement file that was compared with our records.' },
)

const Side = namedObject('BreakSide', {
  key: Nullable(Type.String(), 'Our key at the gateway. Null if it is not known.'),
  reference: Nullable(Type.String(), 'The provider’s own id. Null if it is not known.'),
  status: Nullable(Type.String(), 'The status. Null if the file has none.'),
  amount: Nullable(
    Type.String({ examples: ['1250.50'] }),
    'The amount in major units. Null if it is not known.',
  ),
  currency: Nullable(Type.String({ examples: ['KES'] }), 'The currency. Null if it is not known.'),
  fee: Nullable(Type.String({ examples: ['18.76'] }), 'The fee in major units. Null if it is not known.'),
})

const BREAK_FIELDS = {
  kind: NamedEnum('BreakKind', BREAK_KIND_NAMES, {
    description: BREAK_KIND_NAMES.map((kind) => `${kind}: ${BREAK_KINDS[kind]}`).join(' '),
  }),
  subject: text('What it is about: payment or refund, and its key or reference.'),
  line: Nullable(Type.Integer(), 'The number of the line in the file. Null if the file does not have it.'),
  merchantUuid: Nullable(Uuid, 'The uuid of the merchant of the payment. Null if it is not ours.'),
  paymentUuid: Nullable(Uuid, 'The uuid of the payment. Null if it is not ours.'),
  refundUuid: Nullable(Uuid, 'The uuid of the refund. Null if it is about a payment, or not ours.'),
  ours: Nullable(Side, 'What our records say. Null if they do not have it.'),
  theirs: Nullable(Side, 'What the file says. Null if it does not have it.'),
}

export const BreakRecord = namedObject(
  'Break',
  {
    uuid: Uuid,
    ...BREAK_FIELDS,
    gateway: text('The gateway of the account.', 'paystack'),
    reconciliationUuid: described(Uuid, 'The uuid of the reconciliation that found it last.'),
    state: Enum(['open', 'closed'], { description: 'open: the two sides differ, and it is not explained.' }),
    owner: Nullable(Type.String({ examples: ['finance'] }), 'Who works on it. Null if it is not assigned.'),
    note: Nullable(Type.String(), 'The latest note. Null if there is none.'),
    closedBy: Nullable(
      Enum(['file', 'operator', 'merchant']),
      'file: a later file agrees. operator: closed with a note. merchant: closed with a note in the dashboard. Null while it is open.',
    ),
    openedAt: timestamp('When it was found, in UTC.'),
    closedAt: Nullable(Timestamp, 'When it was closed, in UTC. Null while it is open.'),
    ageDays: count('For how many whole days it has been open, or was.'),
  },
  { description: 'A difference between a settlement file and our records.' },
)

export const PreviewRecord = namedObject(
  'ReconciliationPreview',
  {
    ...Counts,
    breaksFound: Type.Array(namedObject('BreakPreview', BREAK_FIELDS), {
      description: 'The first 1,000 breaks.',
    }),
  },
  { description: 'What the reconciliation of the file would find.' },
)

const PAGE = { page: PAGE_QUERY.page, limit: PAGE_QUERY.limit, cursor: PAGE_QUERY.cursor }

export const ReconciliationsQuery = Type.Object({ ...PAGE, gateway: Type.Optional(GatewayName) })

export const BreaksQuery = Type.Object({
  ...PAGE,
  state: Type.Optional(
    Enum(['open', 'closed', 'all'], { default: 'open', description: 'Only breaks in this state.' }),
  ),
  gateway: Type.Optional(GatewayName),
  kind: Type.Optional(NamedEnum('BreakKind', BREAK_KIND_NAMES, { description: 'Only breaks of this kind.' })),
  reconciliation: Type.Optional(described(UuidInput, 'Only breaks of the reconciliation with this uuid.')),
})

export const CloseBody = namedObject('CloseBreakRequest', { note: lineText(500, 'Why it is closed.') })
export const AssignBody = namedObject('AssignBreakRequest', {
  owner: lineText(100, 'Who works on it from now on.'),
  note: Type.Optional(lineText(500, 'What was done so far.')),
})

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
