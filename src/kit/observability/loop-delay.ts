// How late the event loop is: the average by which a timer fires after its time. It is measured while requests arrive; an
// idle process is not woken for it.

export interface LoopDelay {
  /** The average delay in milliseconds. Keeps the measurement running for a moment. */
  read(): number
  stop(): void
}

const SAMPLE_MS = 50
/** One pause of a fraction of a second does not count; a loop that is late in every turn does after a few samples. */
const SAMPLE_WEIGHT = 0.25
/** A process that was stopped for a minute is not late for long. */
const MAX_LATE_MS = 2_000
/** Counted, not timed: a blocked loop reads nothing either. */
const MAX_UNREAD_SAMPLES = 40

/** Not by the clock of the service, which may be simulated. */
export function createLoopDelay(now: () => number = () => performance.now()): LoopDelay {
  let averageMs = 0
  let dueAt = 0
  let unreadSamples = 0
  let timer: NodeJS.Timeout | undefined
  const schedule = () => {
    dueAt = now() + SAMPLE_MS
    return setTimeout(sample, SAMPLE_MS).unref()
  }
  const sample = () => {
    unreadSamples += 1
    const isRead = unreadSamples <= MAX_UNREAD_SAMPLES
    const lateMs = Math.min(Math.max(0, now() - dueAt), MAX_LATE_MS)
    averageMs = isRead ? averageMs + (lateMs - averageMs) * SAMPLE_WEIGHT : 0
    timer = isRead ? schedule() : undefined
  }
  return {
    read() {
      unreadSamples = 0
      timer ??= schedule()
      return averageMs
    },
    stop: () => clearTimeout(timer),
  }
}
