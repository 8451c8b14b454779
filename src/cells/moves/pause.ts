// While the merchant's writes wait for the switch, everything has one limit: what is not done by then is ended, and they go on.

import type { Clock } from '../../kit/clock.ts'
import type { Tx } from '../../kit/db/db.ts'

/** Writes wait for a second at most. Until the switch is decided, and then for the other processes to know it. */
const DECIDED_WITHIN_MS = 650
export const ACKNOWLEDGED_WITHIN_MS = 300

/** Nothing was switched, and the writes go on. */
export class SwitchTooLong extends Error {}

const tooLong = () =>
  new SwitchTooLong(
    `the last rows were not copied within ${DECIDED_WITHIN_MS} ms, so the writes went on and the switch is tried again`,
  )

export interface Pause {
  begin(): void
  hasBegun(): boolean
  elapsedMs(): number
  /** The time that is left, at least 1. Throws if there is none. */
  leftMs(): number
  /** Rejects when the time is over, though the work may go on. */
  limit<Result>(work: Promise<Result>): Promise<Result>
  /** No statement is sent any more. */
  end(): void
}

export function createPause(clock: Clock): Pause {
  const over = Promise.withResolvers<never>()
  over.promise.catch(() => undefined)
  const ended = new AbortController()
  let beganAt: number | undefined
  let isOver = false
  const elapsedMs = () => (beganAt === undefined ? 0 : clock.now().getTime() - beganAt)
  const expire = async (): Promise<void> => {
    await clock.sleep(DECIDED_WITHIN_MS, ended.signal)
    isOver = true
    over.reject(tooLong())
  }
  return {
    begin: () => {
      beganAt = clock.now().getTime()
      void expire()
    },
    hasBegun: () => beganAt !== undefined,
    elapsedMs,
    leftMs: () => {
      const left = DECIDED_WITHIN_MS - elapsedMs()
      if (isOver || left < 1) throw tooLong()
      return left
    },
    limit: (work) => Promise.race([work, over.promise]),
    end: () => {
      isOver = true
      ended.abort()
    },
  }
}

/** Each statement has the time that is left of the pause, and after it none is sent. */
export function withinPause(tx: Tx, pause: Pause): Tx {
  return {
    query: async (statement, values) => {
      await tx.script(`set local statement_timeout = ${pause.leftMs()}`)
      pause.leftMs()
      return tx.query(statement, values)
    },
    script: (text) => tx.script(text),
  }
}

/** Throws if what takes this long outside of the pause cannot be done in it. */
export function requireShort(ms: number): void {
  if (ms > DECIDED_WITHIN_MS) throw tooLong()
}
