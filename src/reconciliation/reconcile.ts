// Reconciles a settlement file with our ledger, in batches of lines. A batch settles the payments in the database of the
// merchants' data, and then records what was compared in that of the instance. After a crash the operator sends the same file
// again: completed batches change nothing, and the rest is done. Payments that were settled right before the crash are not
// counted as settled by the file.

import { createHash } from 'node:crypto'
import type { Mode } from '../core/merchant.ts'
import { formatAmount } from '../core/money.ts'
import { type CellHistory, groupByCell, inNamedCell, keepOfCell, ONE_CELL } from '../kit/cells/cells.ts'
import type { Clock } from '../kit/clock.ts'
import type { Signer } from '../kit/crypto.ts'
import type { Db } from '../kit/db/db.ts'
import type { Random } from '../kit/random.ts'
import { settlePayments } from '../ledger/service.ts'
import { type CollectedRow, type GatewayAccount, listCollected } from './collected-queries.ts'
import {
  type BreakKind,
  compareRow,
  comparesFee,
  type InternalRecord,
  isMatch,
  rowDefectOf,
} from './compare.ts'
import type { FileRow, Format } from './formats.ts'
import { findInternalRecords, type InternalRefund, toInternalRecord } from './internal-records.ts'
import {
  addSettled,
  type BreakInput,
  type ClosingInput,
  closeBreaksByFile,
  finishReconciliation,
  recordBreaks,
  startReconciliation,
} from './queries.ts'
import type { ReconciliationRow } from './reconciliation.ts'

export interface ReconciliationApp {
  db: Db
  /** Absent: all payments of the file are in one database, as those of one merchant are. */
  cells?: CellHistory
  /** The reconciliations themselves: a file of a provider may have payments of every merchant. */
  instanceDb: Db
  clock: Clock
  random: Random
  cursors: Signer
  mode: Mode
  gatewayNames: readonly string[]
  findRefunds(
    account: GatewayAccount,
    keys: readonly string[],
    references: readonly string[],
  ): Promise<InternalRefund[]>
}

export interface ParsedFile {
  account: GatewayAccount
  format: Format
  fileName: string | null
  bytes: Buffer
  rows: readonly FileRow[]
  ignored: number
  /** The period that the file covers completely. */
  period: { from: Date; to: Date } | null
}

/** A line with our record of it. */
interface ComparedRow {
  row: FileRow
  ours: InternalRecord | undefined
  breaks: BreakKind[]
}

export interface Counts {
  matched: number
  settled: number
  breaks: number
}

/** Stores a batch, or collects it for a preview. Returns the number of settled payments. */
type ApplyBatch = (compared: readonly ComparedRow[], breaks: BreakInput[]) => Promise<number>

export async function reconcileFile(app: ReconciliationApp, file: ParsedFile): Promise<ReconciliationRow> {
  const { account, format, fileName, period } = file
  const started = await startReconciliation(
    app.instanceDb,
    {
      id: app.random.uuid(),
      ...account,
      digest: createHash('sha256').update(file.bytes).digest(),
      fileName,
      format,
      coversFrom: period?.from ?? null,
      coversTo: period?.to ?? null,
      rowCount: file.rows.length,
      ignoredCount: file.ignored,
    },
    app.clock.now(),
  )
  const counts = await compareFile(app, file, (compared, breaks) =>
    writeBatch(app, account, started.id, compared, breaks),
  )
  return finishReconciliation(app.instanceDb, started.id, app.clock.now(), counts)
}

/** Compares the file without writing anything. */
export async function previewFile(
  app: ReconciliationApp,
  file: ParsedFile,
  limit: number,
): Promise<{ counts: Counts; breaks: BreakInput[] }> {
  const preview: BreakInput[] = []
  const counts = await compareFile(app, file, async (_compared, breaks) => {
    preview.push(...breaks.slice(0, limit - preview.length))
    return 0
  })
  return { counts, breaks: preview }
}

// Small enough for one statement, large enough that a large file takes only a few seconds.
const BATCH = 500

async function compareFile(
  app: ReconciliationApp,
  file: ParsedFile,
  applyBatch: ApplyBatch,
): Promise<Counts> {
  const counts: Counts = { matched: 0, settled: 0, breaks: 0 }
  const seen = new Set<string>()
  const reported = new Set<string>()
  for (let start = 0; start < file.rows.length; start += BATCH) {
    const compared = await compareRows(app, file.account, file.rows.slice(start, start + BATCH), seen)
    const breaks = compared
      .flatMap((one) => one.breaks.map((kind) => toBreak(app, kind, one)))
      .filter((one) => isNew(reported, one))
    counts.matched += compared.filter((one) => isMatch(one.row, one.ours, one.breaks)).length
    counts.breaks += breaks.length
    counts.settled += await applyBatch(compared, breaks)
  }
  for await (const missing of findMissingInFile(app, file, seen)) {
    const breaks = missing.map((one) => toMissingBreak(app, one))
    counts.breaks += breaks.length
    await applyBatch([], breaks)
  }
  return counts
}

/** Reports a break once per file, at the first line that shows it. */
function isNew(reported: Set<string>, { kind, subject }: BreakInput): boolean {
  const name = `${kind} ${subject}`
  if (reported.has(name)) return false
  reported.add(name)
  return true
}

async function compareRows(
  app: ReconciliationApp,
  account: GatewayAccount,
  rows: readonly FileRow[],
  seen: Set<string>,
): Promise<ComparedRow[]> {
  const find = await findInternalRecords(app, account, rows)
  return rows.map((row) => {
    const lookup = find(row)
    const { ours } = lookup
    const defect = rowDefectOf(row, lookup)
    // A defective line does not count as seen, so a later valid line is not its duplicate.
    if (defect) return { row, ours, breaks: [defect] }
    const subject = subjectOf(row, ours)
    const isRepeat = seen.has(subject)
    seen.add(subject)
    return { row, ours, breaks: isRepeat ? ['duplicate_row'] : compareRow(row, ours) }
  })
}

/** Our key where we have a record, otherwise the identifier in the file. */
function subjectOf(row: FileRow, ours: Pick<InternalRecord, 'key'> | undefined): string {
  return `${row.type} ${ours?.key ?? row.key ?? row.reference}`
}

function toBreak(app: ReconciliationApp, kind: BreakKind, { row, ours }: ComparedRow): BreakInput {
  return {
    id: app.random.uuid(),
    kind,
    subject: subjectOf(row, ours),
    line: row.line,
    ...ownerColumns(ours),
    ours: ours ? serializeInternalRecord(ours) : null,
    theirs: {
      key: row.key,
      reference: row.reference,
      status: row.status,
      amount: row.amount ? formatAmount(row.amount) : row.amountText,
      currency: row.currency,
      fee: row.fee && formatAmount(row.fee),
    },
  }
}

function toMissingBreak(app: ReconciliationApp, row: CollectedRow): BreakInput {
  const ours = toInternalRecord(row)
  return {
    id: app.random.uuid(),
    kind: 'missing_in_file',
    subject: `payment ${row.key}`,
    line: null,
    ...ownerColumns(ours),
    ours: serializeInternalRecord(ours),
    theirs: null,
  }
}

function ownerColumns(ours: InternalRecord | undefined) {
  return {
    owner_merchant_id: ours?.merchantId ?? null,
    payment_id: ours?.paymentId ?? null,
    refund_id: ours?.refundId ?? null,
  }
}

function serializeInternalRecord({ key, reference, status, amount, fee }: InternalRecord) {
  return {
    key,
    reference,
    status,
    amount: amount && formatAmount(amount),
    currency: amount?.currency ?? null,
    fee: fee && formatAmount(fee),
  }
}

type Position = Parameters<typeof listCollected>[4]

/** Yields the payments of the covered period that are in our ledger and not in the file. */
async function* findMissingInFile(
  app: ReconciliationApp,
  { account, period }: ParsedFile,
  seen: ReadonlySet<string>,
): AsyncGenerator<CollectedRow[]> {
  if (!period) return
  for (const cell of (app.cells ?? ONE_CELL).numbers) {
    let after: Position | undefined = { paidAt: '-infinity', paymentId: NIL_UUID }
    while (after) {
      const from: Position = after
      const rows: Awaited<ReturnType<typeof listCollected>> = await inNamedCell(app.cells, cell, () =>
        listCollected(app.db, account, period.from, period.to, from, BATCH),
      )
      const ours = await keepOfCell(app.cells, cell, rows)
      const missing = ours.filter(({ key }) => !seen.has(`payment ${key}`))
      if (missing.length > 0) yield missing
      after = rows.length < BATCH ? undefined : rows.at(-1)
    }
  }
}

const NIL_UUID = '00000000-0000-0000-0000-000000000000'

async function writeBatch(
  app: ReconciliationApp,
  account: GatewayAccount,
  reconciliationId: string,
  compared: readonly ComparedRow[],
  breaks: readonly BreakInput[],
): Promise<number> {
  const now = app.clock.now()
  const scope = { reconciliationId, ...account }
  const matched = compared.flatMap(({ row, ours, breaks: kinds }) =>
    isMatch(row, ours, kinds) && ours.isCredited ? [ours] : [],
  )
  const settled = await settleMatched(app, matched)
  return app.instanceDb.transaction(async (tx) => {
    await addSettled(tx, reconciliationId, settled)
    await closeBreaksByFile(tx, scope, compared.flatMap(toClosings), now)
    await recordBreaks(tx, scope, breaks, now)
    return settled
  })
}

async function settleMatched(app: ReconciliationApp, matched: readonly InternalRecord[]): Promise<number> {
  let settled = 0
  for (const [cell, some] of await groupByCell(app.cells, matched, ({ merchantId }) => merchantId))
    settled += await inNamedCell(app.cells, cell, () =>
      app.db.transaction((tx) => settlePayments(app, tx, some)),
    )
  return settled
}

const COMPARED_KINDS: readonly BreakKind[] = [
  'missing_in_ledger',
  'missing_in_file',
  'amount_mismatch',
  'currency_mismatch',
  'status_mismatch',
]

const INCONCLUSIVE_KINDS: ReadonlySet<BreakKind> = new Set([
  'duplicate_row',
  'negative_payment',
  'reference_mismatch',
])

/** The breaks that this line disproves, for every identifier under which an earlier file may have reported them. */
function toClosings({ row, ours, breaks }: ComparedRow): ClosingInput[] {
  if (breaks.some((kind) => INCONCLUSIVE_KINDS.has(kind))) return []
  const compared =
    ours && comparesFee(row, ours) ? [...COMPARED_KINDS, 'fee_mismatch' as const] : COMPARED_KINDS
  const kinds = compared.filter((kind) => !breaks.includes(kind))
  const names = [row.key, row.reference, ours?.key, ours?.reference].filter((name) => name != null)
  return [...new Set(names)].map((name) => ({ subject: `${row.type} ${name}`, kinds }))
}
