// The dependencies of the functions in this slice.

import type { Mode } from '../core/merchant.ts'
import type { Clock } from '../kit/clock.ts'
import type { Signer, Vault } from '../kit/crypto.ts'
import type { Db } from '../kit/db/db.ts'
import type { CappedLists } from '../kit/db/pagination.ts'
import type { Random } from '../kit/random.ts'

export interface CustomersApp {
  db: Db
  clock: Clock
  random: Random
  vault: Vault
  cursors: Signer
  /** Part of every event. */
  mode: Mode
  /** The lists that are known to have more rows than are counted; see countUpToCap. */
  cappedLists?: CappedLists
}
