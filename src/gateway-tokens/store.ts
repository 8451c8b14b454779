// Where the rows of tokens are kept: PostgreSQL, or the memory of a test.

import type { Db } from '../kit/db/db.ts'
import type { TokenRow } from './plan.ts'
import { clearTokensOf, readToken, type TokenKey, writeToken } from './queries.ts'

export interface TokenStore {
  /** The row of this id, and the time by the clock that all processes share. */
  read(id: string): Promise<{ row: TokenRow; now: Date }>
  /** Writes the row if it still has its version, and returns the new version; undefined if it has another one. */
  write(key: TokenKey, row: TokenRow, purgeAt: Date): Promise<bigint | undefined>
}

/** A revoked account keeps no token. The times of its grants stay: the provider counts them too. */
export function clearTokens(db: Db, accountId: string): Promise<unknown> {
  return clearTokensOf(db, accountId)
}

export function createTokenStore(db: Db): TokenStore {
  return {
    read: (id) => readToken(db, id),
    write: (key, row, purgeAt) => writeToken(db, key, row, purgeAt),
  }
}
