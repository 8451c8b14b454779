// Counts what outsiders can cause at any rate, and logs it at most once per name and interval: a flood of requests must
// not become a flood of lines.

import type { Clock } from '../clock.ts'

const INTERVAL_MS = 20_000

/** Each name takes about 150 bytes. Above the limit the oldest is evicted, with what it had not logged. */
const MAX_NAMES = 10_000

/** Returns a counter by name. It writes the first occurrence at once, then at most three lines a minute with the count since. */
export function createIntervalLog(
  { clock }: { clock: Clock },
  write: (name: string, count: number) => void,
): (name: string) => void {
  const reports = new Map<string, { loggedAtMs: number; unlogged: number }>()
  return (name) => {
    const nowMs = clock.now().getTime()
    const report = reports.get(name) ?? { loggedAtMs: Number.NEGATIVE_INFINITY, unlogged: 0 }
    report.unlogged += 1
    if (Math.abs(nowMs - report.loggedAtMs) < INTERVAL_MS) return
    write(name, report.unlogged)
    report.loggedAtMs = nowMs
    report.unlogged = 0
    // The name moves to the end, so that the first is the one whose line is oldest.
    reports.delete(name)
    reports.set(name, report)
    const [oldest] = reports.size > MAX_NAMES ? reports.keys() : []
    if (oldest !== undefined) reports.delete(oldest)
  }
}
