// Requests a token from the provider: under a lease that is written first, and with the result written afterwards.

import { addMs, type Clock } from '../kit/clock.ts'
import type { Vault } from '../kit/crypto.ts'
import { errorFields, type Log } from '../kit/observability/log.ts'
import { purgeTimeOf, type TokenRow, withFailure, withToken } from './plan.ts'
import { keepToken, queryOf, type Slot, sealToken } from './slot.ts'
import type { TokenStore } from './store.ts'
import type { TokenGrant, TokenReply, TokenResult } from './token.ts'

export interface TokenSourceApp {
  store: TokenStore
  vault: Vault
  clock: Clock
  log: Log
  /** Hashes accounts and secrets. */
  key: Uint8Array
  /** Counts requests for tokens, by how they ended. */
  count?: (gateway: string, outcome: TokenReply['kind']) => void
}

export interface TokenOwner {
  gateway: string
  baseUrl: string
  /** The merchant's gateway account; null: the instance's. */
  accountId: string | null
  /** The limit of one request to the provider. */
  timeoutMs: number
}

/** The row with a lease, which is not written yet, and the time of the decision by the store's clock and by ours. */
export interface Claim {
  row: TokenRow
  now: Date
  localNow: Date
}

// A request that did not start this soon after its claim is not made: it could reach the provider after the lease.
const START_WITHIN_MS = 2_000
const LEASE_SLACK_MS = 3_000
const MAX_TOKEN_LENGTH = 8_192
// One century: a longer life is a mistake in the reply.
const MAX_LIFE_MS = 100 * 365 * 86_400_000

export const leaseMsOf = ({ timeoutMs }: TokenOwner) => timeoutMs + START_WITHIN_MS + LEASE_SLACK_MS

/** Writes the claim and requests a token. Undefined if another process was first. */
export async function claimAndRequest(
  app: TokenSourceApp,
  owner: TokenOwner,
  slot: Slot,
  grant: TokenGrant,
  claim: Claim,
): Promise<TokenResult | undefined> {
  const { row, now, localNow } = claim
  const version = await writeRow(app, owner, slot, grant, row, now)
  if (version === undefined) return undefined
  const elapsedMs = () => app.clock.now().getTime() - localNow.getTime()
  const reply = elapsedMs() > START_WITHIN_MS ? TOO_LATE : await send(app, owner, grant)
  app.count?.(owner.gateway, reply.kind)
  const repliedAt = addMs(now, elapsedMs())
  const { result, next } = applyReply(
    app,
    slot,
    grant,
    reply,
    { ...claim, row: { ...row, version } },
    repliedAt,
  )
  logReply(app, owner, reply)
  await writeRow(app, owner, slot, grant, next, repliedAt)
  return result
}

function writeRow(
  { store }: TokenSourceApp,
  owner: TokenOwner,
  slot: Slot,
  grant: TokenGrant,
  row: TokenRow,
  now: Date,
): Promise<bigint | undefined> {
  const { gateway, accountId } = owner
  const purgeAt = purgeTimeOf(row, queryOf(slot, grant, leaseMsOf(owner)), now)
  return store.write({ id: slot.id, gateway, accountId }, row, purgeAt)
}

const TOO_LATE: TokenReply = { kind: 'failed', message: 'the request for an access token began too late' }
const NOT_REQUESTED: TokenReply = { kind: 'failed', message: 'the access token could not be requested' }
const UNUSABLE: TokenReply = {
  kind: 'failed',
  message: 'the provider answered no usable token or no lifetime',
}

async function send(
  { log }: TokenSourceApp,
  { gateway }: TokenOwner,
  grant: TokenGrant,
): Promise<TokenReply> {
  try {
    const reply = await grant.request()
    return reply.kind === 'granted' && !isUsable(reply) ? UNUSABLE : reply
  } catch (error) {
    log.write('gateway.token_error', { gateway, ...errorFields(error) })
    return NOT_REQUESTED
  }
}

function isUsable({ token, expiresInMs }: Extract<TokenReply, { kind: 'granted' }>): boolean {
  return token !== '' && token.length <= MAX_TOKEN_LENGTH && expiresInMs > 0 && expiresInMs <= MAX_LIFE_MS
}

/** The result for the callers, and the row to write. */
function applyReply(
  { vault, clock }: TokenSourceApp,
  slot: Slot,
  { ration }: TokenGrant,
  reply: TokenReply,
  claim: Claim,
  repliedAt: Date,
): { result: TokenResult; next: TokenRow } {
  const { secretsHash } = slot
  if (reply.kind !== 'granted') {
    const kind = reply.kind === 'refused' ? 'refused' : 'unavailable'
    const result = { kind, message: reply.message } as const
    return { result, next: withFailure(claim.row, result, { secretsHash, ration }, repliedAt) }
  }
  const { token, expiresInMs } = reply
  const next = withToken(
    claim.row,
    { sealed: sealToken(vault, slot, token), secretsHash, expiresInMs },
    claim.now,
  )
  // Kept before it is written: if the database does not answer now, the grant was not for nothing.
  keepToken(slot, token, next, repliedAt, clock.now())
  return { result: { kind: 'token', token }, next }
}

function logReply({ log }: TokenSourceApp, { gateway }: TokenOwner, reply: TokenReply): void {
  if (reply.kind === 'granted') log.write('gateway.token_granted', { gateway })
  else log.write('gateway.token_failed', { gateway, outcome: reply.kind, reason: reply.message })
}
