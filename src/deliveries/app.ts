// What the verbs of this slice ask for, and the writer behind which results that come in together share one commit.

import type { Mode } from '../core/merchant.ts'
import { createBatcher } from '../kit/batch.ts'
import type { Clock } from '../kit/clock.ts'
import type { Counters } from '../kit/counters.ts'
import type { Signer, Vault } from '../kit/crypto.ts'
import { type Db, DbUnavailable } from '../kit/db.ts'
import type { Failpoints } from '../kit/failpoints.ts'
import type { Log } from '../kit/log.ts'
import type { PublicHttp } from '../kit/public-http.ts'
import type { Random } from '../kit/random.ts'
import type { DeliveryResult } from './delivery.ts'
import { type Finished, finishDeliveries } from './finish-queries.ts'

export interface DeliveriesApp {
  db: Db
  clock: Clock
  random: Random
  vault: Vault
  cursors: Signer
  log: Log
  counters: Counters
  failpoints: Failpoints
  publicHttp: PublicHttp
  mode: Mode
  finishDelivery: FinishDelivery
}

export type FinishDelivery = (result: DeliveryResult) => Promise<Finished>

// One statement at a time keeps up with hundreds of answers a second, and leaves the connections to the API.
const BATCH_SIZE = 64
const BATCH_CONCURRENCY = 2

export function createDeliveryWriter(db: Db): FinishDelivery {
  return createBatcher({
    maxSize: BATCH_SIZE,
    concurrency: BATCH_CONCURRENCY,
    shouldSplit: (error) => !(error instanceof DbUnavailable) || error.isRolledBack,
    run: (results: readonly DeliveryResult[]) => finishDeliveries(db, results),
  })
}
