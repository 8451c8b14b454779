// Progress and remaining time of a long run: one line on a terminal, otherwise a line every ten seconds.

const TERMINAL_EVERY_MS = 500
const LINE_EVERY_MS = 10_000

/** Takes the number of finished requests, and writes to stderr to keep stdout for results. */
export function createProgress(total: number): (done: number) => void {
  const { stderr } = process
  const startedAt = performance.now()
  let reportedAtMs = startedAt
  return (done) => {
    const now = performance.now()
    const isLast = done === total
    if (!isLast && now - reportedAtMs < (stderr.isTTY ? TERMINAL_EVERY_MS : LINE_EVERY_MS)) return
    reportedAtMs = now
    const perSecond = (done / (now - startedAt)) * 1_000
    const left = Math.max(0, Math.ceil((total - done) / Math.max(perSecond, 1)))
    const words = `${done} of ${total}, ${Math.round(perSecond)} per second, ${clockOf(left)} left`
    stderr.write(stderr.isTTY ? `\r${words.padEnd(70)}${isLast ? '\n' : ''}` : `${words}\n`)
  }
}

function clockOf(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
