// Concurrency pools (bulkheads) of the delivery worker. An endpoint that does not respond holds its call for fifteen seconds,
// so many such endpoints could use up all calls of the process. Healthy endpoints, which respond, even with an error, have one
// pool. Suspect endpoints, which are slow or fail without a response to this process so far, have another, with one call
// each. A call that becomes slow moves from the healthy to the suspect pool while it is in flight.

import type { Allotment, DueEndpoint } from './claim-queries.ts'

/** The maximum of concurrent calls of this process. Each is a socket and an event of a few kilobytes. */
export const CONCURRENCY = 512

const LIMITS = { healthy: 192, suspect: 128 }

// This part of the capacity, in the healthy pool and in total, is reserved for endpoints that are known to respond.
const RESERVED_FOR_HEALTHY = 64

// Enough for a fast consumer. An endpoint without a response to this process so far gets one call.
const MAX_PER_ENDPOINT = 8

// A call in flight for longer makes its endpoint suspect, with all its other calls.
const SLOW_IN_FLIGHT_MS = 2_000

// An endpoint whose last response took longer starts in the suspect pool.
const SLOW_RESPONSE_MS = 5_000

// Beyond this number the endpoint with the oldest response is evicted.
const MAX_TRACKED_ENDPOINTS = 10_000

export interface CallSlot {
  /** A response came or the call timed out; the next call of the same resource begins. */
  responded(at: Date): void
  release(): void
}

export interface ConcurrencyPools {
  /** Allots calls round-robin in the given order: one to each endpoint, then a second, until the capacity is used up. */
  allocate(due: readonly DueEndpoint[], limit: number, now: Date): Allotment[]
  /** Whether any call can be allotted. */
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

/** The suspect pool has no reserved part. */
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
