// Failpoints in the money path, at which a test can make the process die, throw, hang or wait. They do nothing unless a
// setting names them, and the setting is refused in production.

import { setTimeout as delay } from 'node:timers/promises'
import type { Db } from './db/db.ts'

export const FAILPOINTS = [
  'api.before_send',
  'transaction.before_commit',
  'transaction.after_commit',
  'initiate.before_record',
  'charge.before_record',
  'charge.after_record',
  'charge.after_call',
  'checkout.before_start',
  'checkout.after_start',
  'checkout.after_response',
  'checkout.after_call',
  'completion.after_mark',
  'completion.after_call',
  'refund.before_record',
  'refund.after_record',
  'refund.after_mark',
  'refund.after_call',
  'refund.after_claim',
  'p2p.after_move',
  'gateway_webhook.before_save',
  'gateway_webhook.after_save',
  'expiry.after_claim',
  'resolver.after_claim',
  'resolver.after_poll',
  'delivery.after_claim',
  'delivery.after_response',
  'move.after_guard',
  'move.after_copy',
  'move.after_close',
  'move.after_last_copy',
  'move.after_switch',
  'move.after_leave',
  'move.after_delete',
  'move.after_clean',
  'move.after_undo',
] as const

export type Failpoint = (typeof FAILPOINTS)[number]

export const FAILPOINT_ACTIONS = ['kill', 'throw', 'hang'] as const
export type FailpointAction = (typeof FAILPOINT_ACTIONS)[number]

export interface Failpoints {
  hit(point: Failpoint): Promise<void>
}

export const NO_FAILPOINTS: Failpoints = { hit: () => Promise.resolve() }

/** Parses `charge.after_record=kill,charge.after_call=throw`; returns the failpoints, or the issue. */
export function readFailpoints(text: string): { failpoints: Failpoints } | { issue: string } {
  const actions = new Map<string, FailpointAction>()
  for (const part of text.split(',').filter((one) => one !== '')) {
    const [point = '', word = ''] = part.split('=')
    const action = FAILPOINT_ACTIONS.find((one) => one === word)
    if (!FAILPOINTS.some((one) => one === point) || !action) {
      return {
        issue: `has ${part}, which is not <point>=<${FAILPOINT_ACTIONS.join('|')}> with one of ${FAILPOINTS.join(', ')}`,
      }
    }
    actions.set(point, action)
  }
  return { failpoints: actions.size === 0 ? NO_FAILPOINTS : createFailpoints(actions, () => delay(HANG_MS)) }
}

// Longer than any lease: another process has taken the work over when a hanging one wakes up.
const HANG_MS = 120_000

export function createFailpoints(
  actions: ReadonlyMap<string, FailpointAction>,
  hang: () => Promise<unknown>,
): Failpoints {
  return {
    async hit(point) {
      const action = actions.get(point)
      if (action === 'kill') process.kill(process.pid, 'SIGKILL')
      if (action === 'throw') throw new Error(`failpoint ${point}`)
      if (action === 'hang') await hang()
    },
  }
}

/** The same database, with a failpoint before and after every commit. */
export function withCommitFailpoints<Connected extends Db>(db: Connected, failpoints: Failpoints): Connected {
  if (failpoints === NO_FAILPOINTS) return db
  return {
    ...db,
    async transaction(work, options) {
      const result = await db.transaction(async (tx) => {
        const made = await work(tx)
        await failpoints.hit('transaction.before_commit')
        return made
      }, options)
      await failpoints.hit('transaction.after_commit')
      return result
    },
  }
}
