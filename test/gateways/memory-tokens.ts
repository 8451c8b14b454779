// Access tokens for connectors that are opened without a database: the real source over a row in memory.

import { randomBytes } from 'node:crypto'
import { NO_ROW, type TokenRow } from '../../src/gateway-tokens/plan.ts'
import type { TokenOwner } from '../../src/gateway-tokens/request.ts'
import { createTokenSources } from '../../src/gateway-tokens/source.ts'
import type { TokenStore } from '../../src/gateway-tokens/store.ts'
import { createTokenCalls, type TokenCalls } from '../../src/gateways/token-calls.ts'
import { type Clock, systemClock } from '../../src/kit/clock.ts'
import { createVault } from '../../src/kit/crypto.ts'
import { systemRandom } from '../../src/kit/random.ts'

export const SILENT_LOG = { write: () => undefined }
export const TEST_VAULT = createVault([{ id: 'test', key: randomBytes(32) }], systemRandom(systemClock))
export const TOKEN_KEY = randomBytes(32)

export function createMemoryTokenStore(clock: Clock = systemClock): TokenStore {
  const rows = new Map<string, TokenRow>()
  return {
    read: async (id) => ({ row: rows.get(id) ?? NO_ROW, now: clock.now() }),
    async write({ id }, row) {
      if ((rows.get(id)?.version ?? 0n) !== row.version) return undefined
      const version = row.version + 1n
      rows.set(id, { ...row, version })
      return version
    },
  }
}

/** The tokens of an account that no other connector shares, unless they have the same store. */
export function openMemoryTokens(
  owner: Partial<TokenOwner> = {},
  store: TokenStore = createMemoryTokenStore(),
): TokenCalls {
  const app = { store, vault: TEST_VAULT, clock: systemClock, log: SILENT_LOG, key: TOKEN_KEY }
  const account = { gateway: 'test', baseUrl: 'https://provider.example', accountId: null, timeoutMs: 10_000 }
  const opened = { ...account, ...owner }
  return createTokenCalls(createTokenSources(app).open(opened), { ...app, timeoutMs: opened.timeoutMs })
}
