// Whose turn it is. A process makes many calls at once, and an endpoint that does not answer keeps its call for fifteen
// seconds: enough of them would leave nothing for the others. So there are two lanes. In the one are endpoints that answer,
// be it with an error; in the other those that are slow, and those that fail and have not answered this process yet: one
// call each, in a part of the room that is theirs. A call that turns out slow leaves the first lane while it is under way.

import type { DueEndpoint, Turn } from './claim-queries.ts'

/** How many calls this process makes at once. Each is a socket and an event of a few kilobytes. */
export const CONCURRENCY = 512

const LIMITS = { quick: 192, doubtful: 128 }

// The last of the room, in the first lane and in all, is for those that are known to answer.
const RESERVED = 64

// Enough for a fast consumer. One that has not answered this process yet has one.
const PER_ENDPOINT = 8

// A call that takes longer leaves the first lane, and so do all others of its endpoint while it is under way.
const LATE_MS = 2_000

// Whoever took longer the last time begins in the second lane.
const SLOW_MS = 5_000

// Beyond them the one that was heard of longest ago is as good as unknown.
const REMEMBERED = 10_000

export interface Call {
  /** An answer came, or the time for it is over; the next call of the same resource begins. */
  answered(at: Date): void
  leave(): void
}

export interface Lanes {
  /** How often each may be called now, in the order given: one for each, then a second one, until the room is gone. */
  deal(due: readonly DueEndpoint[], limit: number, now: Date): Turn[]
  /** Whether anybody could be given a turn. */
  hasRoom(now: Date): boolean
  enter(endpointId: string, isFailing: boolean, at: Date): Call
}

interface UnderWay {
  since: Date
  isFailing: boolean
}

export function createLanes(): Lanes {
  const calls = new Map<string, Set<UnderWay>>()
  const isQuick = new Map<string, boolean>()

  const countOf = (endpointId: string) => calls.get(endpointId)?.size ?? 0
  const isDoubtful = (endpointId: string, isFailing: boolean, now: Date) =>
    !(isQuick.get(endpointId) ?? !isFailing) || isAnyLate(calls.get(endpointId), now)

  const roomOf = (now: Date) => {
    const room = { ...LIMITS }
    for (const [endpointId, under] of calls) {
      const isFailing = [...under].some((call) => call.isFailing)
      room[isDoubtful(endpointId, isFailing, now) ? 'doubtful' : 'quick'] -= under.size
    }
    return room
  }

  const allowanceOf = ({ endpointId, isFailing }: DueEndpoint, now: Date) => {
    const lane = isDoubtful(endpointId, isFailing, now) ? ('doubtful' as const) : ('quick' as const)
    const isKnown = lane === 'quick' && isQuick.get(endpointId) === true
    const allowed = isKnown ? PER_ENDPOINT : 1
    return { lane, reserved: isKnown ? 0 : RESERVED, allowed: allowed - countOf(endpointId) }
  }

  const remember = (endpointId: string, quick: boolean) => {
    isQuick.delete(endpointId)
    isQuick.set(endpointId, quick)
    const [oldest] = isQuick.keys()
    if (isQuick.size > REMEMBERED && oldest !== undefined) isQuick.delete(oldest)
  }

  return {
    hasRoom: (now) => Object.values(roomOf(now)).some((room) => room > 0),
    deal(due, limit, now) {
      const room = roomOf(now)
      let left = limit
      const turns = due.map((endpoint) => ({ ...endpoint, ...allowanceOf(endpoint, now), room: 0 }))
      for (let round = 1; round <= PER_ENDPOINT; round += 1) {
        for (const turn of turns) {
          if (turn.allowed < round || !hasPlace(turn, room, left)) continue
          turn.room += 1
          room[turn.lane] -= 1
          left -= 1
        }
      }
      return turns
        .filter((turn) => turn.room > 0)
        .map(({ merchantId, endpointId, room }) => ({ merchantId, endpointId, room }))
    },
    enter(endpointId, isFailing, at) {
      const call: UnderWay = { since: at, isFailing }
      const under = calls.get(endpointId) ?? new Set()
      calls.set(endpointId, under.add(call))
      return {
        answered(now) {
          remember(endpointId, now.getTime() - call.since.getTime() < SLOW_MS)
          call.since = now
        },
        leave() {
          under.delete(call)
          if (under.size === 0) calls.delete(endpointId)
        },
      }
    },
  }
}

/** One that fails or is slow has a lane of its own, in which nothing is kept for others. */
function hasPlace(
  { lane, reserved }: { lane: keyof typeof LIMITS; reserved: number },
  room: typeof LIMITS,
  left: number,
): boolean {
  return left > reserved && room[lane] > (lane === 'quick' ? reserved : 0)
}

function isAnyLate(under: ReadonlySet<UnderWay> | undefined, now: Date): boolean {
  return under !== undefined && [...under].some(({ since }) => now.getTime() - since.getTime() >= LATE_MS)
}
