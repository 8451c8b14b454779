// The actions of the history in the order of their time, run in waves: concurrent actions share their statements, which is
// several times faster than one after the other. Actions that move money run after everything before them, and those of one
// currency one after the other, so that the lines of a balance are in the order of time.

import type { Currency } from '../core/currency.ts'
import { runAt } from './simulated-time.ts'

type Action = () => Promise<void>

interface Entry {
  atMs: number
  action: Action
  /** The currency of the balance that it may change; null: none. */
  balance: Currency | null
  /** Actions of one kind that follow each other take the same steps, so they stay in their order if they run together. */
  kind: string | null
}

export interface Schedule {
  /** An action may schedule others. Those after the end of the history never run: they are still to come. */
  add(atMs: number, balance: Currency | null, action: Action, kind?: string): void
  /** Runs everything before this time, and the callback after each wave. */
  runUntil(timeMs: number, afterWave: Action): Promise<void>
}

// Actions that move no money may run ahead of those that do, by this much.
const AHEAD_MS = 12 * 3_600_000
// As many rows as the statements of the payments take at once.
const WAVE_SIZE = 64

export function createSchedule(): Schedule {
  // From the latest to the earliest.
  const entries: Entry[] = []

  const takeWave = (timeMs: number): Entry[] => {
    const untilMs = Math.min(timeMs, (entries.at(-1)?.atMs ?? timeMs) + AHEAD_MS)
    const wave: number[] = []
    const isMoney = isMoneyMoved(entries.at(-1))
    for (let index = entries.length - 1; index >= 0 && wave.length < WAVE_SIZE; index -= 1) {
      const entry = entries[index]
      if (!entry || entry.atMs >= untilMs || (isMoney && !isMoneyMoved(entry))) break
      if (isMoneyMoved(entry) === isMoney) wave.push(index)
    }
    return wave.flatMap((index) => entries.splice(index, 1))
  }

  return {
    add(atMs, balance, action, kind) {
      // Of two with the same time the one that was added first comes first.
      entries.splice(indexOf(entries, atMs), 0, { atMs, balance, action, kind: kind ?? null })
    },
    async runUntil(timeMs, afterWave) {
      for (let wave = takeWave(timeMs); wave.length > 0; wave = takeWave(timeMs)) {
        await runWave(wave)
        await afterWave()
      }
    },
  }
}

const isMoneyMoved = (entry: Entry | undefined) => entry !== undefined && entry.balance !== null

async function runWave(wave: readonly Entry[]): Promise<void> {
  const runAll = async (entries: readonly Entry[]) => {
    for (const alike of groupAlike(entries))
      await Promise.all(alike.map(({ atMs, action }) => runAt(atMs, action)))
  }
  const groups = Map.groupBy(wave, (entry) => entry.balance ?? entry)
  await Promise.all([...groups.values()].map(runAll))
}

/** The entries in their order, those of one kind that follow each other together. */
function groupAlike(entries: readonly Entry[]): Entry[][] {
  const groups: Entry[][] = []
  for (const entry of entries) {
    const last = groups.at(-1)
    if (entry.kind !== null && last?.[0]?.kind === entry.kind) last.push(entry)
    else groups.push([entry])
  }
  return groups
}

/** Where an entry belongs in the list. */
function indexOf(entries: readonly Entry[], atMs: number): number {
  let [low, high] = [0, entries.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((entries[middle]?.atMs ?? 0) > atMs) low = middle + 1
    else high = middle
  }
  return low
}
