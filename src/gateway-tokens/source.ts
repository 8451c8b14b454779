// The access tokens of a gateway account. All processes share one row per token: one of them requests a token under a lease,
// the others wait for it. Within a process concurrent callers share one search (single flight). A token that is renewed
// early stays in use meanwhile, so no payment waits for a renewal.

import { AsyncLocalStorage } from 'node:async_hooks'
import { addMs, type Clock } from '../kit/clock.ts'
import { errorFields } from '../kit/observability/log.ts'
import { planToken, type TokenStep } from './plan.ts'
import { type Claim, claimAndRequest, leaseMsOf, type TokenOwner, type TokenSourceApp } from './request.ts'
import { createSlot, findKept, findUnexpired, keepToken, openToken, queryOf, type Slot } from './slot.ts'
import type { TokenFailure, TokenGrant, TokenResult, TokenSource } from './token.ts'

export interface TokenSources {
  open(owner: TokenOwner): TokenSource
  /** Waits for the requests in flight. */
  close(): Promise<void>
}

const POLL_MS = 100

export function createTokenSources(app: TokenSourceApp): TokenSources {
  const inFlight = new Set<Promise<unknown>>()
  // A request outlives the operation that began it, and other operations share it.
  const runOutsideRequest = AsyncLocalStorage.snapshot()
  const track: Track = (work) => {
    const running = runOutsideRequest(work)
    const settled: Promise<void> = running.then(NOTHING, NOTHING).then(() => void inFlight.delete(settled))
    inFlight.add(settled)
    return running
  }
  return {
    open: (owner) => createTokenSource(app, owner, track),
    close: async () => void (await Promise.all(inFlight)),
  }
}

type Track = <Result>(work: () => Promise<Result>) => Promise<Result>

const NOTHING = () => undefined

function createTokenSource(app: TokenSourceApp, owner: TokenOwner, track: Track): TokenSource {
  const { store, vault, clock, log, key } = app
  const { gateway, timeoutMs } = owner
  const slots = new Map<string, Slot>()

  const slotOf = (grant: TokenGrant): Slot => {
    const slot = slots.get(grant.name) ?? createSlot(key, owner.baseUrl, grant)
    slots.set(grant.name, slot)
    return slot
  }
  const reportError = (error: unknown) => log.write('gateway.token_error', { gateway, ...errorFields(error) })
  const request = (slot: Slot, grant: TokenGrant, claim: Claim) =>
    track(() => claimAndRequest(app, owner, slot, grant, claim))

  /** One look at the row. Undefined: another process is requesting a token, or was first to do so. */
  const look = async (slot: Slot, grant: TokenGrant, deadline: Date): Promise<TokenResult | undefined> => {
    const localNow = clock.now()
    const { row, now } = await store.read(slot.id)
    const token = openToken(vault, slot, row)
    const step = planToken(row, { ...queryOf(slot, grant, leaseMsOf(owner)), token }, now)
    if (step.kind === 'fail') return reportFailure(slot, step)
    if (step.kind === 'claim')
      return within(clock, deadline, request(slot, grant, { row: step.claim, now, localNow }))
    if (step.kind === 'wait' || token === null) return undefined
    keepToken(slot, token, row, now, clock.now())
    if (step.claim) request(slot, grant, { row: step.claim, now, localNow }).catch(reportError)
    return { kind: 'token', token }
  }

  const search = async (slot: Slot, grant: TokenGrant): Promise<TokenResult> => {
    // The other half of an operation's time is left for the call that needs the token.
    const deadline = addMs(clock.now(), timeoutMs / 2)
    for (;;) {
      const result = await look(slot, grant, deadline)
      if (result) return result
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
  const fallBack = (slot: Slot, error: unknown): TokenResult => {
    reportError(error)
    const token = findUnexpired(slot, clock.now())
    return token === undefined ? STORE_UNAVAILABLE : { kind: 'token', token }
  }

  const get = async (grant: TokenGrant): Promise<TokenResult> => {
    const slot = slotOf(grant)
    const token = findKept(slot, clock.now())
    if (token !== undefined) return { kind: 'token', token }
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

const unavailable = (message: string): TokenFailure => ({ kind: 'unavailable', message })

const TIMED_OUT = unavailable('no access token could be had in time')
const STORE_UNAVAILABLE = unavailable('the database did not answer, so there is no access token')

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
