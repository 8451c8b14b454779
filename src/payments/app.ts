// What the verbs of this slice ask for, and the two writers behind which waiting callers share one commit. Those who look for
// a saved method share a statement as well.

import type { Mode } from '../core/merchant.ts'
import type { CustomersApp } from '../customers/app.ts'
import { findMethodsByToken, type MethodFinder } from '../customers/methods.ts'
import type { Gateways } from '../gateways/registry.ts'
import { createBatcher, defaultLinger } from '../kit/batch.ts'
import type { Clock } from '../kit/clock.ts'
import type { Counters } from '../kit/counters.ts'
import { type Db, DbUnavailable } from '../kit/db.ts'
import type { Failpoints } from '../kit/failpoints.ts'
import type { Log } from '../kit/log.ts'
import { assertSameTenant } from '../kit/tenant-isolation.ts'
import type { FeeTable } from '../ledger/service.ts'
import type { MerchantProfile } from '../merchants/profiles.ts'
import { applyMoves, type MoveInput } from './move-queries.ts'
import type { PaymentRow } from './payment.ts'
import { type RecordInput, type RecordResult, recordPayments } from './record-queries.ts'

export interface PaymentSettings {
  mode: Mode
  /** Where payers reach this service; known only once the server listens. */
  publicUrl: () => string
  checkoutMs: number
  /** How often one phone may be asked in a quarter of an hour; 0 is no limit. */
  promptsPerNumber: number
  settlementMs: number
  /** The longest that one gateway call may take. */
  gatewayTimeoutMs: number
  fees: FeeTable
}

export interface PaymentWriters extends MethodFinder {
  record(input: RecordInput): Promise<RecordResult>
  /** False when the payment has moved on since the caller looked. */
  move(input: MoveInput): Promise<boolean>
}

/** What a slice above says before a payment of its own goes to a gateway. */
export type Capacity =
  | 'available'
  /** Others are paying at this moment; the payment may be let through when they have not. */
  | 'busy'
  /** It will never be let through any more. */
  | 'ended'

export interface PaymentsApp extends CustomersApp {
  log: Log
  gateways: Gateways
  settings: PaymentSettings
  writers: PaymentWriters
  failpoints: Failpoints
  counters: Counters
  /** What phone numbers are hashed with where they are only counted. */
  promptKey: Uint8Array
  /** What payers see of a merchant; at most half a minute old. */
  merchantProfile(merchantId: string): Promise<MerchantProfile>
  /** A webhook rang about an attempt: what a slice above has under way there is looked at as well. */
  wakeRefunds?(wake: { gateway: string; accountId: string | null; key: string }): Promise<void>
  /** Asked about every attempt of a payment that was begun at a link. */
  checkCapacity?(payment: PaymentRow): Promise<Capacity>
}

// A statement costs as much as several of its rows before it has touched one, most of it for reading the checks of its tables,
// so that few and large batches are cheap.
const BATCH_SIZE = 64
const MAX_CONCURRENT_BATCHES = 2

export function createPaymentWriters(db: Db, clock?: Clock): PaymentWriters {
  // When the connection broke, each row alone would fare no better; any other error may be one row's own, such as a wait
  // for a lock that somebody holds.
  const shouldSplit = (error: unknown) => !(error instanceof DbUnavailable) || error.isRolledBack
  const linger = clock && defaultLinger(clock)
  const options = { maxSize: BATCH_SIZE, concurrency: MAX_CONCURRENT_BATCHES, shouldSplit, linger }
  return {
    findMethod: assertSameTenant(
      createBatcher({ ...options, run: (inputs) => findMethodsByToken(db, inputs) }),
    ),
    record: assertSameTenant(
      createBatcher({
        ...options,
        run: (inputs: readonly RecordInput[]) => recordPayments(db, inputs),
      }),
    ),
    move: assertSameTenant(
      createBatcher({
        ...options,
        run: (inputs: readonly MoveInput[]) => applyMoves(db, inputs),
      }),
    ),
  }
}
