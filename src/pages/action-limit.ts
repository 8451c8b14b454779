// Rate limits the actions on a page, per minute and process. It protects gateways and tables from floods; no payer
// reaches it.

import { ApiError } from '../core/errors.ts'
import type { Clock } from '../kit/clock.ts'

const WINDOW_MS = 60_000
const MAX_OWNERS = 10_000

/** Refuses more than this number of actions per minute under one name, such as a payment id. */
export function createActionLimit(
  { clock }: { clock: Clock },
  actionsPerWindow: number,
): (owner: string) => void {
  const windows = new Map<string, { startedAt: number; actions: number }>()
  return (owner) => {
    const now = clock.now().getTime()
    const existing = windows.get(owner)
    const isOver = !existing || now - existing.startedAt >= WINDOW_MS || now < existing.startedAt
    const window = isOver ? { startedAt: now, actions: 0 } : existing
    if (window.actions >= actionsPerWindow) {
      const retryAfterSeconds = Math.ceil((window.startedAt + WINDOW_MS - now) / 1_000)
      throw new ApiError('rate_limited', { retryAfterSeconds })
    }
    window.actions += 1
    if (windows.size >= MAX_OWNERS) windows.clear()
    windows.set(owner, window)
  }
}
