// Simulated time. Everything is an event with a time; between two events all pending promises settle, so that a seed
// always gives the same order. Nothing waits for the real clock.

export interface Scheduler {
  /** Milliseconds since 1970, with fractions. */
  now(): number
  after(delayMs: number, label: string, run: () => void): void
  at(timeMs: number, label: string, run: () => void): void
  /** Runs events up to this time, or until a condition holds; the time is then this one. */
  runUntil(timeMs: number, isOver: () => boolean): Promise<void>
  /** The number of events so far, and a hash of their times, labels and order. */
  trace(): { events: number; hash: number }
}

interface Event {
  timeMs: number
  order: number
  label: string
  run: () => void
}

export interface SchedulerOptions {
  startMs: number
  /** Called for every event, to print a trace. */
  onEvent?: (timeMs: number, label: string) => void
}

export function createScheduler({ startMs, onEvent }: SchedulerOptions): Scheduler {
  const heap: Event[] = []
  let nowMs = startMs
  let order = 0
  let events = 0
  let hash = 0x811c9dc5

  const record = (event: Event) => {
    events += 1
    hash = Math.imul(hash ^ (event.timeMs * 1_000), 0x01000193)
    for (let n = 0; n < event.label.length; n += 1) {
      hash = Math.imul(hash ^ event.label.charCodeAt(n), 0x01000193)
    }
    onEvent?.(event.timeMs, event.label)
  }
  const at = (timeMs: number, label: string, run: () => void) => {
    order += 1
    push(heap, { timeMs: Math.max(timeMs, nowMs), order, label, run })
  }
  return {
    now: () => nowMs,
    at,
    after: (delayMs, label, run) => at(nowMs + delayMs, label, run),
    async runUntil(timeMs, isOver) {
      for (let first = heap[0]; first && first.timeMs <= timeMs && !isOver(); first = heap[0]) {
        pop(heap)
        nowMs = first.timeMs
        record(first)
        first.run()
        await drainMicrotasks()
      }
      nowMs = Math.max(nowMs, timeMs)
    },
    trace: () => ({ events, hash: hash >>> 0 }),
  }
}

/** Node runs a tick when no promise is left to continue. */
function drainMicrotasks(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}

const isBefore = (a: Event, b: Event) => a.timeMs < b.timeMs || (a.timeMs === b.timeMs && a.order < b.order)

function push(heap: Event[], event: Event): void {
  let index = heap.length
  heap.push(event)
  while (index > 0) {
    const above = (index - 1) >> 1
    const parent = heap[above]
    if (!parent || isBefore(parent, event)) break
    heap[index] = parent
    heap[above] = event
    index = above
  }
}

function pop(heap: Event[]): void {
  const last = heap.pop()
  if (!last || heap.length === 0) return
  let index = 0
  for (;;) {
    const left = 2 * index + 1
    const [a, b] = [heap[left], heap[left + 1]]
    if (!a) break
    const [least, at] = b && isBefore(b, a) ? [b, left + 1] : [a, left]
    if (isBefore(last, least)) break
    heap[index] = least
    index = at
  }
  heap[index] = last
}
