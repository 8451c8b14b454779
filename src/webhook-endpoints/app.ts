// The dependencies of the functions in this slice.

import type { Mode } from '../core/merchant.ts'
import type { Clock } from '../kit/clock.ts'
import type { Vault } from '../kit/crypto.ts'
import type { Db } from '../kit/db/db.ts'
import type { PublicHttp } from '../kit/http/public-http.ts'
import type { Log } from '../kit/observability/log.ts'
import type { Random } from '../kit/random.ts'

export interface WebhookEndpointsApp {
  db: Db
  clock: Clock
  random: Random
  vault: Vault
  log: Log
  publicHttp: PublicHttp
  mode: Mode
}
