// Whose turn it is. A process makes many calls at once, and an endpoint that does not answer keeps its call for fifteen
// seconds: enough of them would leave nothing for the others. So there are two pools. In the one are endpoints that answer,
// be it with an error; in the other those that are slow, and those that fail and have not answered this process yet: one
// call each, in a part of the capacity that is theirs. A call that turns out slow leaves the first pool while it is under way.

import type { Allotment, DueEndpoint } from './claim-queries.ts'

/** How many calls this process makes at once. Each is a socket and an event of a few kilobytes. */
export const CONCURRENCY = 512

const LIMITS = { healthy: 192, suspect: 128 }

// The last of the capacity, in the first pool and in all, is for those that are known to answer.
const RESERVED_FOR_HEALTHY = 64

// Enough for a fast consumer. One that has not answered this process yet has one.
const MAX_PER_ENDPOINT = 8

// A call that takes longer leaves the first pool, and so do all others of its endpoint while it is under way.
const SLOW_IN_FLIGHT_MS = 2_000

// Whoever took longer the last time begins in the second pool.
const SLOW_RESPONSE_MS = 5_000

// Beyond them the one that was heard of longest ago is as good as unknown.
const MAX_TRACKED_ENDPOINTS = 10_000

export interface CallSlot {
  /** An answer came, or the time for it is over; the next call of the same resource begins. */
  responded(at: Date): void
  release(): void
}

export interface ConcurrencyPools {
  /** How often each may be called now, in the order given: one for each, then a second one, until the capacity is gone. */
  allocate(due: readonly DueEndpoint[], limit: number, now: Date): Allotment[]
  /** Whether anybody could be given a turn. */
  hasCapacity(now: Date): boolean
  acquire(endpointId: string, isFailing: boolean, at: Date): CallSlot
}

interface InFlightCall {
  startedAt: Date
  isFailing: boolean
}

export function createConcurrencyPools(): ConcurrencyPools {
  const calls = new Map<string, Set<InFlightCall>>()
  const isHealthy = new Map<string, boolean>()

  const countOf = (endpointId: string) => calls.get(endpointId)?.size ?? 0
  const isSuspect = (endpointId: string, isFailing: boolean, now: Date) =>
    !(isHealthy.get(endpointId) ?? !isFailing) || isAnySlow(calls.get(endpointId), now)

  const capacityOf = (now: Date) => {
    const capacity = { ...LIMITS }
    for (const [endpointId, inFlight] of calls) {
      const isFailing = [...inFlight].some((call) => call.isFailing)
      capacity[isSuspect(endpointId, isFailing, now) ? 'suspect' : 'healthy'] -= inFlight.size
    }
    return capacity
  }

  const quotaOf = ({ endpointId, isFailing }: DueEndpoint, now: Date) => {
    const pool = isSuspect(endpointId, isFailing, now) ? ('suspect' as const) : ('healthy' as const)
    const isKnown = pool === 'healthy' && isHealthy.get(endpointId) === true
    const allowed = isKnown ? MAX_PER_ENDPOINT : 1
    return { pool, reserved: isKnown ? 0 : RESERVED_FOR_HEALTHY, allowed: allowed - countOf(endpointId) }
  }

  const setHealth = (endpointId: string, healthy: boolean) => {
    isHealthy.delete(endpointId)
    isHealthy.set(endpointId, healthy)
    const [oldest] = isHealthy.keys()
    if (isHealthy.size > MAX_TRACKED_ENDPOINTS && oldest !== undefined) isHealthy.delete(oldest)
  }

  return {
    hasCapacity: (now) => Object.values(capacityOf(now)).some((capacity) => capacity > 0),
    allocate(due, limit, now) {
      const capacity = capacityOf(now)
      let left = limit
      const allotments = due.map((endpoint) => ({ ...endpoint, ...quotaOf(endpoint, now), quota: 0 }))
      for (let round = 1; round <= MAX_PER_ENDPOINT; round += 1) {
        for (const allotment of allotments) {
          if (allotment.allowed < round || !hasCapacityFor(allotment, capacity, left)) continue
          allotment.quota += 1
          capacity[allotment.pool] -= 1
          left -= 1
        }
      }
      return allotments
        .filter((allotment) => allotment.quota > 0)
        .map(({ merchantId, endpointId, quota }) => ({ merchantId, endpointId, quota }))
    },
    acquire(endpointId, isFailing, at) {
      const call: InFlightCall = { startedAt: at, isFailing }
      const inFlight = calls.get(endpointId) ?? new Set()
      calls.set(endpointId, inFlight.add(call))
      return {
        responded(now) {
          setHealth(endpointId, now.getTime() - call.startedAt.getTime() < SLOW_RESPONSE_MS)
          call.startedAt = now
        },
        release() {
          inFlight.delete(call)
          if (inFlight.size === 0) calls.delete(endpointId)
        },
      }
    },
  }
}

/** One that fails or is slow has a pool of its own, in which nothing is kept for others. */
function hasCapacityFor(
  { pool, reserved }: { pool: keyof typeof LIMITS; reserved: number },
  capacity: typeof LIMITS,
  left: number,
): boolean {
  return left > reserved && capacity[pool] > (pool === 'healthy' ? reserved : 0)
}

function isAnySlow(inFlight: ReadonlySet<InFlightCall> | undefined, now: Date): boolean {
  return (
    inFlight !== undefined &&
    [...inFlight].some(({ startedAt }) => now.getTime() - startedAt.getTime() >= SLOW_IN_FLIGHT_MS)
  )
}
