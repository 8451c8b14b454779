// The bad hour of the gateway: for an hour, nine days before the end, it refuses most new attempts, and payments that were
// made stay without an outcome until it answers again.

import type { Clock } from '../kit/clock.ts'

const HOUR_MS = 3_600_000
/** How long before the end of the history it begins. */
export const OUTAGE_BEGIN_MS = 9 * 24 * HOUR_MS

/** How long before the end of the history it is over. */
export const OUTAGE_END_MS = OUTAGE_BEGIN_MS - HOUR_MS

export function isOutage({ app: { clock }, nowMs }: { app: { clock: Clock }; nowMs: number }): boolean {
  const agoMs = nowMs - clock.now().getTime()
  return agoMs <= OUTAGE_BEGIN_MS && agoMs > OUTAGE_END_MS
}
