// The dependencies of the functions in this slice, and the batched writer: concurrent results share one commit.

import type { Mode } from '../core/merchant.ts'
import type { Clock } from '../kit/clock.ts'
import type { Signer, Vault } from '../kit/crypto.ts'
import { createBatcher } from '../kit/db/batch.ts'
import { type Db, DbUnavailable } from '../kit/db/db.ts'
import type { Failpoints } from '../kit/failpoints.ts'
import type { PublicHttp } from '../kit/http/public-http.ts'
import type { Counters } from '../kit/observability/counters.ts'
import type { Log } from '../kit/observability/log.ts'
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

// Few concurrent statements keep up with hundreds of responses a second, and leave the connections to the API.
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
