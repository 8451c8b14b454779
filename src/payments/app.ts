// The dependencies of this slice, and its writers. The writers batch: concurrent callers share one statement and one
// commit (group commit). Lookups of saved methods share a statement too.

import type { Mode } from '../core/merchant.ts'
import type { FeeTable } from '../core/money.ts'
import type { CustomersApp } from '../customers/app.ts'
import { findMethodsByToken, type MethodFinder } from '../customers/methods.ts'
import type { Gateways } from '../gateways/registry.ts'
import { type CellHistory, type Cells, ONE_CELL, perCell } from '../kit/cells/cells.ts'
import type { Clock } from '../kit/clock.ts'
import { createBatcher, createTurns, defaultLinger } from '../kit/db/batch.ts'
import { type Db, DbUnavailable } from '../kit/db/db.ts'
import { assertSameTenant } from '../kit/db/tenant-isolation.ts'
import type { Failpoints } from '../kit/failpoints.ts'
import type { Counters } from '../kit/observability/counters.ts'
import type { Log } from '../kit/observability/log.ts'
import type { MerchantProfile } from '../merchants/profiles.ts'
import { mergingSearchIndexes } from './merge-search-indexes.ts'
import { applyMoves, type MoveInput } from './move-queries.ts'
import type { PaymentRow } from './payment.ts'
import { type RecordInput, type RecordResult, recordPayments } from './record-queries.ts'

export interface PaymentSettings {
  mode: Mode
  /** The address at which payers reach this service; known only when the server listens. */
  publicUrl: () => string
  checkoutMs: number
  /** How many prompts one phone may get in 15 minutes; 0 means no limit. */
  promptsPerNumber: number
  /** How many phones one visitor of a payment link may prompt in 15 minutes; 0 means no limit. */
  promptsPerVisitor: number
  settlementMs: number
  /** The timeout of one gateway call. */
  gatewayTimeoutMs: number
  fees: FeeTable
}

export interface PaymentWriters extends MethodFinder {
  record(input: RecordInput): Promise<RecordResult>
  /** False when the payment has changed since the caller read it. */
  move(input: MoveInput): Promise<boolean>
}

/** Whether a payment link can take one more payment. */
export type Capacity =
  | 'available'
  /** All slots are taken; one becomes free if another payer does not pay. */
  | 'busy'
  /** The link takes no further payment. */
  | 'ended'

/** What a provider said in a callback, as JSON of the connector. */
export interface Report {
  text: string
  isFinal: boolean
}

/** False if another report was kept. */
export interface SavedReport {
  isStored: boolean
}

/** A refund by its key at an account of a gateway. */
export interface RefundKey {
  gateway: string
  accountId: string | null
  key: string
}

export interface PaymentsApp extends CustomersApp {
  /** Absent: all merchants are in one database. */
  cells?: CellHistory
  log: Log
  gateways: Gateways
  settings: PaymentSettings
  instanceDb: Db
  writers: PaymentWriters
  failpoints: Failpoints
  counters: Counters
  /** The key with which phone numbers are hashed where they are only counted. */
  promptKey: Uint8Array
  /** The merchant as payers see it, from a cache with a TTL of half a minute. */
  merchantProfile(merchantId: string): Promise<MerchantProfile>
  /** Whether an operator has suspended the merchant, which then collects nothing. Read from the database each time. */
  isSuspended(merchantId: string): Promise<boolean>
  /** When the prompt of an attempt of any merchant ends by itself; undefined if the attempt is not recorded. */
  promptEndsAt(gatewayKey: string): Promise<Date | undefined>
  /** Makes the refunds of an attempt due when a webhook about the attempt has arrived. */
  wakeRefunds(wake: {
    gateway: string
    accountId: string | null
    key: string
    /** The webhook is about a refund, which may have been made at the provider. */
    isRefund?: boolean
  }): Promise<void>
  /** Stores the report of a callback about one refund, by our key of it, and makes the refund due. */
  wakeRefundByKey(refund: RefundKey, report: Report | null): Promise<SavedReport | undefined>
  /** Reserves a slot of the payment's link. Called before every attempt of a payment that has a link. */
  checkCapacity(payment: PaymentRow): Promise<Capacity>
}

// The fixed cost of a statement equals that of several rows, so few large batches are cheaper than many small ones.
const BATCH_SIZE = 64
const MAX_CONCURRENT_BATCHES = 2

export function createPaymentWriters(
  db: Db,
  clock?: Clock,
  cells: Pick<Cells, 'numbers' | 'follow'> = ONE_CELL,
): PaymentWriters {
  // After a broken connection, each row alone would fail too. Any other error may be caused by one row, such as a lock
  // timeout, so each row is retried on its own.
  const shouldSplit = (error: unknown) => !(error instanceof DbUnavailable) || error.isRolledBack
  const linger = clock && defaultLinger(clock)
  const options = { maxSize: BATCH_SIZE, concurrency: MAX_CONCURRENT_BATCHES, shouldSplit, linger }
  const turnsOf = new Map(cells.numbers.map((cell) => [cell, createTurns()]))
  const inTurns = (cell: number) => ({
    ...options,
    linger: linger && { ...linger, turns: turnsOf.get(cell) },
  })
  return {
    findMethod: assertSameTenant(
      perCell(cells, () => createBatcher({ ...options, run: (inputs) => findMethodsByToken(db, inputs) })),
    ),
    record: assertSameTenant(
      perCell(cells, (cell) =>
        createBatcher({
          ...inTurns(cell),
          run: mergingSearchIndexes(db, (inputs: readonly RecordInput[]) => recordPayments(db, inputs)),
        }),
      ),
    ),
    move: assertSameTenant(
      perCell(cells, (cell) =>
        createBatcher({
          ...inTurns(cell),
          run: (inputs: readonly MoveInput[]) => applyMoves(db, inputs),
        }),
      ),
    ),
  }
}
