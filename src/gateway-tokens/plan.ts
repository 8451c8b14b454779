// Decides what to do about a token, as a pure function of its row, the time and the caller. The row is shared by all
// processes and is written only at the version that was read, so every decision is made once.

import { addMs } from '../kit/clock.ts'
import type { TokenFailure, TokenRation } from './token.ts'

export interface TokenRow {
  /** 0: there is no row yet. */
  version: bigint
  sealed: string | null
  grantedWith: string | null
  grantedAt: Date | null
  renewAt: Date | null
  expiresAt: Date | null
  leasedUntil: Date | null
  grants: readonly Date[]
  failure: string | null
  failedWith: string | null
  isRefused: boolean
  retryAt: Date | null
}

export const NO_ROW: TokenRow = {
  ...{ version: 0n, sealed: null, grantedWith: null, grantedAt: null, renewAt: null, expiresAt: null },
  ...{ leasedUntil: null, grants: [], failure: null, failedWith: null, isRefused: false, retryAt: null },
}

/** Who asks, and what the row's token is. */
export interface TokenQuery {
  /** The hash of the caller's secrets. */
  secretsHash: string
  /** The decrypted token of the row, if it was granted for these secrets. */
  token: string | null
  /** The token that the provider rejected. */
  rejected: string | null
  ration?: TokenRation
  /** How long a request for a token may take, from the decision to the provider's reply. */
  leaseMs: number
}

export type TokenStep =
  /** `claim`: it should be renewed, and this caller may do it. */
  | { kind: 'use'; claim: TokenRow | null }
  /** There is no usable token; this caller requests one after it has written the row. */
  | { kind: 'claim'; claim: TokenRow }
  /** Another caller is requesting a token. */
  | { kind: 'wait' }
  | { kind: 'fail'; failure: TokenFailure; isRationed?: true }

// The share of its life after which a token is renewed, and the longest time before its end.
const RENEWAL_SHARE = 0.2
const MAX_RENEWAL_LEAD_MS = 300_000

// If a provider rejects a token this soon after it was granted, another one would be rejected too: the reason is a different
// one, such as a wrong subscription key.
const YOUNG_MS = 30_000

const RETRY_AFTER_FAILURE_MS = 1_000
// A provider may lock an account after repeated wrong credentials.
const RETRY_AFTER_REFUSAL_MS = 30_000
// Of two grants an hour the second is not spent on the same outage: it is tried after a minute and a half.
const RATION_RETRY_SHARE = 20

export function planToken(row: TokenRow, query: TokenQuery, now: Date): TokenStep {
  const { token, rejected } = query
  const isUsable = token !== null && token !== rejected && isAfter(row.expiresAt, now)
  if (isUsable && isAfter(row.renewAt, now)) return { kind: 'use', claim: null }
  const obstacle = findObstacle(row, query, now)
  if (isUsable) return { kind: 'use', claim: obstacle ? null : claimLease(row, query, now) }
  return obstacle ?? { kind: 'claim', claim: claimLease(row, query, now) }
}

/** Why this caller may not request a token now. */
function findObstacle(row: TokenRow, query: TokenQuery, now: Date): TokenStep | undefined {
  const { token, rejected, secretsHash, ration } = query
  if (isAfter(row.leasedUntil, now)) return { kind: 'wait' }
  if (token !== null && token === rejected && isAfter(row.grantedAt, addMs(now, -YOUNG_MS)))
    return fail('refused', 'the provider rejects a token that it has just granted')
  if (row.failure !== null && row.failedWith === secretsHash && isAfter(row.retryAt, now))
    return fail(row.isRefused ? 'refused' : 'unavailable', row.failure)
  if (!ration) return undefined
  const until = rationUsedUntil(row.grants, ration, query.leaseMs, now)
  if (!until) return undefined
  const limit = `${ration.grants} tokens in ${Math.round(ration.perMs / 60_000)} minutes`
  const message = `the provider grants ${limit}, which are used up until ${until.toISOString()}`
  return { kind: 'fail', failure: { kind: 'unavailable', message }, isRationed: true }
}

/** The grant is counted before it is requested: a process that dies afterwards has used it. */
function claimLease(row: TokenRow, query: TokenQuery, now: Date): TokenRow {
  const { token, rejected, ration, leaseMs } = query
  const isRejected = token !== null && token === rejected
  return {
    ...row,
    ...(isRejected && { sealed: null, grantedWith: null }),
    leasedUntil: addMs(now, leaseMs),
    grants: ration ? [...countedGrants(row.grants, ration, leaseMs, now), now] : [],
  }
}

/** The row after a token was granted. Its life begins before the request, so it is never overestimated. */
export function withToken(
  claim: TokenRow,
  granted: { sealed: string; secretsHash: string; expiresInMs: number },
  claimedAt: Date,
): TokenRow {
  const { sealed, secretsHash, expiresInMs } = granted
  const leadMs = Math.min(expiresInMs * RENEWAL_SHARE, MAX_RENEWAL_LEAD_MS)
  const token = { sealed, grantedWith: secretsHash, grantedAt: claimedAt }
  const ends = { expiresAt: addMs(claimedAt, expiresInMs), renewAt: addMs(claimedAt, expiresInMs - leadMs) }
  const settled = { leasedUntil: null, failure: null, failedWith: null, isRefused: false, retryAt: null }
  return { ...claim, ...token, ...ends, ...settled }
}

/** The row after a request failed. A token that it still has can be used until it expires. */
export function withFailure(
  claim: TokenRow,
  { kind, message }: TokenFailure,
  { secretsHash, ration }: Pick<TokenQuery, 'secretsHash' | 'ration'>,
  now: Date,
): TokenRow {
  const isRefused = kind === 'refused'
  const delayMs = Math.max(
    isRefused ? RETRY_AFTER_REFUSAL_MS : RETRY_AFTER_FAILURE_MS,
    ration ? ration.perMs / ration.grants / RATION_RETRY_SHARE : 0,
  )
  const retryAt = addMs(now, delayMs)
  return { ...claim, leasedUntil: null, failure: message, failedWith: secretsHash, isRefused, retryAt }
}

/** When the row means nothing any more: its token, lease, delay and counted grants are over. */
export function purgeTimeOf(
  row: TokenRow,
  { ration, leaseMs }: Pick<TokenQuery, 'ration' | 'leaseMs'>,
  now: Date,
): Date {
  const rationEnd = ration && row.grants.map((at) => addMs(at, countedMs(ration, leaseMs)))
  const ends = [row.expiresAt, row.leasedUntil, row.retryAt, now, ...(rationEnd ?? [])]
  return new Date(Math.max(...ends.map((at) => at?.getTime() ?? 0)))
}

/**
 * A request reaches the provider at most `leaseMs` after it was counted. So it counts that much longer: the provider's own
 * window never holds more requests than ours.
 */
const countedMs = ({ perMs }: TokenRation, leaseMs: number) => perMs + leaseMs

function countedGrants(grants: readonly Date[], ration: TokenRation, leaseMs: number, now: Date): Date[] {
  return grants.filter((at) => isAfter(addMs(at, countedMs(ration, leaseMs)), now))
}

/** Undefined if another token may be requested now. */
function rationUsedUntil(
  grants: readonly Date[],
  ration: TokenRation,
  leaseMs: number,
  now: Date,
): Date | undefined {
  const counted = countedGrants(grants, ration, leaseMs, now).toSorted((a, b) => a.getTime() - b.getTime())
  const freed = counted[counted.length - ration.grants]
  return freed && addMs(freed, countedMs(ration, leaseMs))
}

const fail = (kind: TokenFailure['kind'], message: string): TokenStep => ({
  kind: 'fail',
  failure: { kind, message },
})

const isAfter = (at: Date | null, now: Date) => at !== null && at > now
