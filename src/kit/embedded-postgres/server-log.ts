// The server writes its log directly to a file, so that it never blocks on this process and can log after our death.
// We limit the size of the file ourselves, because PostgreSQL's rotation limits the age of a log, not the total size.

import { closeSync, copyFileSync, fstatSync, ftruncateSync, openSync, readFileSync } from 'node:fs'

export interface ServerLog {
  path: string
  fd: number
  tail(): string
  close(): void
}

// Enough for weeks of warnings. With the one older copy, the log takes at most about 8 MB on disk.
const MAX_LOG_BYTES = 4 * 1024 * 1024
const CHECK_EVERY_MS = 30_000
const TAIL_LINES = 12

export function openServerLog(path: string): ServerLog {
  // The server inherits this descriptor. It is in append mode, so the next line after a truncation is at the start.
  const fd = openSync(path, 'a', 0o600)
  rotate(path, fd)
  let startedAt = fstatSync(fd).size
  const timer = setInterval(() => {
    if (rotate(path, fd)) startedAt = 0
  }, CHECK_EVERY_MS)
  timer.unref()

  return {
    path,
    fd,
    tail: () =>
      readFileSync(path).subarray(startedAt).toString().trimEnd().split('\n').slice(-TAIL_LINES).join('\n'),
    close: () => {
      clearInterval(timer)
      closeSync(fd)
    },
  }
}

function rotate(path: string, fd: number): boolean {
  if (fstatSync(fd).size <= MAX_LOG_BYTES) return false
  copyFileSync(path, `${path}.1`)
  ftruncateSync(fd)
  return true
}

// Messages of PostgreSQL, and the advice for the operator.
const ADVICE: [RegExp, string][] = [
  [
    /No space left on device/,
    'The disk is full: free some space. The data is intact, and a running service continues by itself.',
  ],
  [
    /Disk quota exceeded/,
    'The disk quota is used up: free some space. The data is intact, and a running service continues by itself.',
  ],
  [
    /Cannot allocate memory|out of memory/i,
    'The machine has too little free memory: the database needs about 100 MB.',
  ],
  [
    /could not create shared memory segment/,
    'The system has no shared memory left (see ipcs -m): free some, or restart it.',
  ],
  [
    /Permission denied/,
    'Something in the data folder belongs to another user: start as that user, or change the owner (chown -R).',
  ],
  [
    /incompatible with server/,
    'The data folder was written by another build of PostgreSQL: start with the version that wrote it.',
  ],
]

export function explainFailure(what: string, log: ServerLog, cause?: unknown): Error {
  const tail = log.tail()
  const advice = ADVICE.find(([pattern]) => pattern.test(tail))?.[1]
  const remedy = advice ?? 'If the log below does not help, set DATABASE_URL to a PostgreSQL of your own.'
  const lines = advice === undefined ? tail : withoutCorruptionHint(tail)
  return new Error(`${what} ${remedy}\nThe last lines of ${log.path}:\n${lines || '(nothing was written)'}`, {
    cause,
  })
}

// PostgreSQL cannot tell why an earlier recovery was interrupted, and suggests corrupted data and a backup. Where the
// cause is known, such as a full disk, the data is fine.
function withoutCorruptionHint(tail: string): string {
  return tail
    .split('\n')
    .filter((line) => !/HINT: .*some data is corrupted/.test(line))
    .join('\n')
}
