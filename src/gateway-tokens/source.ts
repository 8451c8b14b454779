// The access tokens of a gateway account. All processes share one row per token: one of them requests a token under a lease,
// the others wait for it. Within a process concurrent callers share one search (single flight). A token that is renewed
// early stays in use meanwhile, so no payment waits for a renewal.

import { AsyncLocalStorage } from 'node:async_hooks'
import { addMs, type Clock } from '../kit/clock.ts'
import { deriveUuid, hmacSha256, type Vault, VaultError } from '../kit/crypto.ts'
import { errorFields, type Log } from '../kit/observability/log.ts'
import {
  planToken,
  purgeTimeOf,
  type TokenQuery,
  type TokenRow,
  type TokenStep,
  withFailure,
  withToken,
} from './plan.ts'
import type { TokenStore } from './store.ts'
import type { TokenFailure, TokenGrant, TokenReply, TokenResult, TokenSource } from './token.ts'

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

export interface TokenSources {
  open(owner: TokenOwner): TokenSource
  /** Waits for the requests in flight. */
  close(): Promise<void>
}

// A change by another process, such as a revocation, is seen after this time at the latest.
const KEEP_MS = 15_000
const POLL_MS = 100
// A request that did not start this soon after its claim is not made: it could reach the provider after the lease.
const START_WITHIN_MS = 2_000
const LEASE_SLACK_MS = 3_000
const MAX_TOKEN_LENGTH = 8_192
// One century: a longer life is a mistake in the reply.
const MAX_LIFE_MS = 100 * 365 * 86_400_000

/** What a process knows about one token. */
interface Slot {
  id: string
  secretsHash: string
  kept: { token: string; until: Date; expiresAt: Date } | null
  /** The last token that the provider rejected. */
  rejected: string | null
  search: Promise<TokenResult> | null
  /** The end of the ration that was logged last. */
  loggedFailure: string | null
}

type RationQuery = Pick<TokenQuery, 'ration' | 'leaseMs'>

interface Claim {
  row: TokenRow
  /** By the clock of the store, and by ours. */
  now: Date
  localNow: Date
}

export function createTokenSources(app: TokenSourceApp): TokenSources {
  const inFlight = new Set<Promise<unknown>>()
  return {
    open: (owner) => createTokenSource(app, owner, inFlight),
    close: async () => void (await Promise.all(inFlight)),
  }
}

function createTokenSource(
  app: TokenSourceApp,
  owner: TokenOwner,
  inFlight: Set<Promise<unknown>>,
): TokenSource {
  const { store, vault, clock, log, key } = app
  const { gateway, baseUrl, accountId, timeoutMs } = owner
  const leaseMs = timeoutMs + START_WITHIN_MS + LEASE_SLACK_MS
  // The other half of an operation's time is left for the call that needs the token.
  const waitMs = timeoutMs / 2
  const slots = new Map<string, Slot>()
  // A request outlives the operation that began it, and other operations share it.
  const runOutsideRequest = AsyncLocalStorage.snapshot()

  const slotOf = (grant: TokenGrant): Slot => {
    const known = slots.get(grant.name)
    if (known) return known
    const id = deriveUuid(key, JSON.stringify([gateway, baseUrl, grant.name, grant.account]))
    const secretsHash = hmacSha256(key, JSON.stringify(grant.secrets)).toString('base64url')
    const slot = { id, secretsHash, kept: null, rejected: null, search: null, loggedFailure: null }
    slots.set(grant.name, slot)
    return slot
  }

  const vaultContextOf = ({ id }: Slot) => ({ ...VAULT_CONTEXT, rowId: id })

  const openToken = (slot: Slot, { sealed, grantedWith }: TokenRow): string | null => {
    if (sealed === null || grantedWith !== slot.secretsHash) return null
    try {
      return vault.open(sealed, vaultContextOf(slot))
    } catch (error) {
      // Its key left the keyring: a new token is requested.
      if (error instanceof VaultError) return null
      throw error
    }
  }

  const keep = (slot: Slot, token: string, row: TokenRow, storeNow: Date): void => {
    const leftMs = (at: Date | null) => (at?.getTime() ?? 0) - storeNow.getTime()
    const renewInMs = leftMs(row.renewAt)
    const lifeMs = leftMs(row.expiresAt)
    const keepMs = Math.min(KEEP_MS, renewInMs > 0 ? renewInMs : KEEP_MS, lifeMs)
    const now = clock.now()
    slot.kept = { token, until: addMs(now, keepMs), expiresAt: addMs(now, lifeMs) }
  }

  const write = (slot: Slot, query: RationQuery, row: TokenRow, now: Date) =>
    store.write({ id: slot.id, gateway, accountId }, row, purgeTimeOf(row, query, now))

  const reportError = (error: unknown): TokenReply => {
    log.write('gateway.token_error', { gateway, ...errorFields(error) })
    return { kind: 'failed', message: 'the access token could not be requested' }
  }

  /** Requests a token under the lease, and stores it or the failure. */
  const request = async (slot: Slot, grant: TokenGrant, claim: Claim): Promise<TokenResult> => {
    const query = queryOf(slot, grant, leaseMs)
    const elapsedMs = () => clock.now().getTime() - claim.localNow.getTime()
    const isLate = elapsedMs() > START_WITHIN_MS
    const reply = isLate ? TOO_LATE : checkReply(await grant.request().catch(reportError))
    app.count?.(gateway, reply.kind)
    const storeNow = addMs(claim.now, elapsedMs())
    if (reply.kind === 'granted') {
      const { token, expiresInMs } = reply
      const sealed = vault.seal(token, vaultContextOf(slot))
      const row = withToken(claim.row, { sealed, secretsHash: slot.secretsHash, expiresInMs }, claim.now)
      keep(slot, token, row, storeNow)
      log.write('gateway.token_granted', { gateway })
      await write(slot, query, row, storeNow)
      return { kind: 'token', token }
    }
    const failure = toFailure(reply)
    log.write('gateway.token_failed', { gateway, outcome: reply.kind, reason: reply.message })
    await write(slot, query, withFailure(claim.row, failure, query, storeNow), storeNow)
    return failure
  }

  /** Writes the claim, and requests a token if no other process was first. */
  const claimAndRequest = async (
    slot: Slot,
    grant: TokenGrant,
    { row, now, localNow }: Claim,
  ): Promise<TokenResult | undefined> => {
    const version = await write(slot, queryOf(slot, grant, leaseMs), row, now)
    return version === undefined
      ? undefined
      : request(slot, grant, { row: { ...row, version }, now, localNow })
  }

  const track = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const running = runOutsideRequest(work)
    const settled: Promise<void> = running.then(NOTHING, NOTHING).then(() => void inFlight.delete(settled))
    inFlight.add(settled)
    return running
  }

  const renew = (slot: Slot, grant: TokenGrant, claim: Claim): void => {
    track(() => claimAndRequest(slot, grant, claim)).catch(reportError)
  }

  const search = async (slot: Slot, grant: TokenGrant): Promise<TokenResult> => {
    const deadline = addMs(clock.now(), waitMs)
    for (;;) {
      const localNow = clock.now()
      const { row, now } = await store.read(slot.id)
      const token = openToken(slot, row)
      const step = planToken(row, { ...queryOf(slot, grant, leaseMs), token }, now)
      if (step.kind === 'use' && token !== null) {
        keep(slot, token, row, now)
        if (step.claim) renew(slot, grant, { row: step.claim, now, localNow })
        return { kind: 'token', token }
      }
      if (step.kind === 'fail') return reportFailure(slot, step)
      if (step.kind === 'claim') {
        const claim = { row: step.claim, now, localNow }
        const result = await within(
          clock,
          deadline,
          track(() => claimAndRequest(slot, grant, claim)),
        )
        if (result) return result
      }
      if (clock.now() >= deadline) return TIMED_OUT
      await clock.sleep(POLL_MS)
    }
  }

  const reportFailure = (slot: Slot, { failure, isRationed }: Extract<TokenStep, { kind: 'fail' }>) => {
    // Every payment fails with this message until the ration allows another token: one line is enough.
    if (isRationed && slot.loggedFailure !== failure.message)
      log.write('gateway.token_ration_used', { gateway, reason: failure.message })
    slot.loggedFailure = failure.message
    return failure
  }

  /** The token store failed: the last token is used as long as it is valid. */
  const fallBack = ({ kept, rejected }: Slot, error: unknown): TokenResult => {
    reportError(error)
    const isUsable = kept && kept.token !== rejected && kept.expiresAt > clock.now()
    return isUsable ? { kind: 'token', token: kept.token } : STORE_UNAVAILABLE
  }

  const get = (grant: TokenGrant): Promise<TokenResult> => {
    const slot = slotOf(grant)
    const { kept } = slot
    if (kept && kept.token !== slot.rejected && clock.now() < kept.until)
      return Promise.resolve({ kind: 'token', token: kept.token })
    slot.search ??= search(slot, grant)
      .catch((error: unknown) => fallBack(slot, error))
      .finally(() => {
        slot.search = null
      })
    return slot.search
  }

  return {
    get,
    async replace(grant, rejected) {
      slotOf(grant).rejected = rejected
      const result = await get(grant)
      // A search that began before the rejection may have found the same token.
      return result.kind === 'token' && result.token === rejected ? get(grant) : result
    },
  }
}

/** The ciphertext is bound to its row; a token belongs to no merchant in the table. */
const VAULT_CONTEXT = {
  table: 'gateway_tokens',
  column: 'sealed',
  merchantId: '00000000-0000-0000-0000-000000000000',
}

const queryOf = ({ secretsHash, rejected }: Slot, { ration }: TokenGrant, leaseMs: number) => ({
  ...{ secretsHash, rejected, leaseMs },
  ...(ration && { ration }),
})

const NOTHING = () => undefined

const unavailable = (message: string): TokenFailure => ({ kind: 'unavailable', message })

const TIMED_OUT = unavailable('no access token could be had in time')
const STORE_UNAVAILABLE = unavailable('the database did not answer, so there is no access token')
const TOO_LATE: TokenReply = { kind: 'failed', message: 'the request for an access token began too late' }

function toFailure({ kind, message }: Exclude<TokenReply, { kind: 'granted' }>): TokenFailure {
  return { kind: kind === 'refused' ? 'refused' : 'unavailable', message }
}

function checkReply(reply: TokenReply): TokenReply {
  if (reply.kind !== 'granted') return reply
  const { token, expiresInMs } = reply
  if (token === '' || token.length > MAX_TOKEN_LENGTH || !(expiresInMs > 0 && expiresInMs <= MAX_LIFE_MS))
    return { kind: 'failed', message: 'the provider answered no usable token or no lifetime' }
  return reply
}

/** The result, or that it took too long. The work goes on. */
async function within<Result>(clock: Clock, deadline: Date, work: Promise<Result>) {
  const finished = new AbortController()
  const timeout = async () => {
    await clock.sleep(Math.max(deadline.getTime() - clock.now().getTime(), 0), finished.signal)
    return TIMED_OUT
  }
  try {
    return await Promise.race([work, timeout()])
  } finally {
    finished.abort()
  }
}
