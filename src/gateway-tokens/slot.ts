// What a process knows about one token: where its row is, whose it is, and a copy for a few seconds.

import { addMs } from '../kit/clock.ts'
import { deriveUuid, hmacSha256, type Vault, VaultError } from '../kit/crypto.ts'
import type { TokenQuery, TokenRow } from './plan.ts'
import type { TokenGrant, TokenResult } from './token.ts'

export interface Slot {
  id: string
  secretsHash: string
  kept: { token: string; until: Date; expiresAt: Date } | null
  /** The last token that the provider rejected. */
  rejected: string | null
  /** Concurrent callers share it. */
  search: Promise<TokenResult> | null
  loggedFailure: string | null
}

// A change by another process, such as a revocation, is seen after this time at the latest.
const KEEP_MS = 15_000

/** All accounts with the same credentials share a row, so that the provider's ration is counted in one place. */
export function createSlot(key: Uint8Array, baseUrl: string, grant: TokenGrant): Slot {
  const id = deriveUuid(key, JSON.stringify([baseUrl, grant.name, grant.account]))
  const secretsHash = hmacSha256(key, JSON.stringify(grant.secrets)).toString('base64url')
  return { id, secretsHash, kept: null, rejected: null, search: null, loggedFailure: null }
}

/** Keeps the token until it should be read or renewed again. The two times are the same moment by different clocks. */
export function keepToken(slot: Slot, token: string, row: TokenRow, storeNow: Date, now: Date): void {
  const leftMs = (at: Date | null) => (at?.getTime() ?? 0) - storeNow.getTime()
  const renewInMs = leftMs(row.renewAt)
  const lifeMs = leftMs(row.expiresAt)
  const keepMs = Math.min(KEEP_MS, renewInMs > 0 ? renewInMs : KEEP_MS, lifeMs)
  slot.kept = { token, until: addMs(now, keepMs), expiresAt: addMs(now, lifeMs) }
}

/** The copy, if the row need not be read. */
export function findKept({ kept, rejected }: Slot, now: Date): string | undefined {
  return kept && kept.token !== rejected && now < kept.until ? kept.token : undefined
}

/** The copy, if the row cannot be read. */
export function findUnexpired({ kept, rejected }: Slot, now: Date): string | undefined {
  return kept && kept.token !== rejected && now < kept.expiresAt ? kept.token : undefined
}

export function queryOf(slot: Slot, { ration }: TokenGrant, leaseMs: number): Omit<TokenQuery, 'token'> {
  const { secretsHash, rejected } = slot
  return { secretsHash, rejected, leaseMs, ...(ration && { ration }) }
}

/** Binds the ciphertext to its row. A token belongs to no merchant. */
const vaultContextOf = ({ id }: Slot) => ({
  table: 'gateway_tokens',
  column: 'sealed',
  rowId: id,
  merchantId: '00000000-0000-0000-0000-000000000000',
})

export function sealToken(vault: Vault, slot: Slot, token: string): string {
  return vault.seal(token, vaultContextOf(slot))
}

/** Null if there is none, or none for the secrets of this slot. */
export function openToken(vault: Vault, slot: Slot, { sealed, grantedWith }: TokenRow): string | null {
  if (sealed === null || grantedWith !== slot.secretsHash) return null
  try {
    return vault.open(sealed, vaultContextOf(slot))
  } catch (error) {
    // Its key left the keyring: a new token is requested.
    if (error instanceof VaultError) return null
    throw error
  }
}
