// The progress of a run and its remaining time: one line on a terminal, otherwise a line every ten seconds.

const TERMINAL_EVERY_MS = 500
const LINE_EVERY_MS = 10_000

export function createProgress(kills: number): (done: number, acknowledged: number) => void {
  const { stderr } = process
  let startedAt: number | undefined
  let reportedAtMs = 0
  return (done, acknowledged) => {
    const now = performance.now()
    startedAt ??= now
    const isLast = done === kills
    if (!isLast && now - reportedAtMs < (stderr.isTTY ? TERMINAL_EVERY_MS : LINE_EVERY_MS)) return
    reportedAtMs = now
    const leftSeconds = Math.ceil(((now - startedAt) / Math.max(done, 1) / 1_000) * (kills - done))
    const line = `${done} of ${kills} kills, ${acknowledged} acknowledgements, ${clockOf(leftSeconds)} and up to a minute of recovery left`
    stderr.write(stderr.isTTY ? `\r${line.padEnd(90)}${isLast ? '\n' : ''}` : `${line}\n`)
  }
}

function clockOf(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
