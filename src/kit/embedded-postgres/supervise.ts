// Runs a PostgreSQL program so that it ends with this process, even after SIGKILL: a small shell holds the other end of
// a pipe, and the pipe closes when this process ends.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Socket } from 'node:net'
import { makeEnvironment } from './environment.ts'
import type { Launcher } from './launcher.ts'
import { IMMEDIATE_AFTER_SECONDS, KILL_AFTER_SECONDS } from './signals.ts'

export interface Supervised {
  pid: number
  exited: Promise<void>
  // Set once it has ended: a description, and the status if it exited by itself.
  exit?: string
  status?: number
  // From then on it does not keep this process alive; when this process ends, it ends too.
  unref(): void
}

// The shell ignores the signals of a terminal and of service managers that signal a whole group: it exits when the
// program exits. SIGINT is sent every second because the program may not handle it yet at first.
const SUPERVISOR = `
trap '' HUP INT TERM
umask 077
"$@" </dev/null >&2 3<&- &
program=$!
echo "$program"
(
  read -r end <&3
  seconds=0
  while kill -0 "$program" 2>/dev/null; do
    signal=INT
    [ "$seconds" -ge ${IMMEDIATE_AFTER_SECONDS} ] && signal=QUIT
    [ "$seconds" -ge ${KILL_AFTER_SECONDS} ] && signal=KILL
    kill -"$signal" "$program" 2>/dev/null
    sleep 1
    seconds=$((seconds + 1))
  done
) >/dev/null 2>&1 &
watcher=$!
wait "$program"
status=$?
kill -KILL "$watcher" 2>/dev/null
exit "$status"
`

export async function supervise(
  launcher: Launcher,
  program: string,
  args: string[],
  { cwd, logFd }: { cwd: string; logFd: number },
): Promise<Supervised> {
  const [file = launcher.shell, ...rest] = [...launcher.prefix, launcher.shell]
  const child = spawn(file, [...rest, '-c', SUPERVISOR, 'cowry-postgres', program, ...args], {
    cwd,
    uid: launcher.uid,
    gid: launcher.gid,
    env: makeEnvironment(launcher.binaries),
    // A session of its own: Ctrl-C in a terminal reaches us and not the database, which we still need to drain.
    detached: true,
    stdio: ['ignore', 'pipe', logFd, 'pipe'],
  })
  const parentPipe = child.stdio[3]
  const supervised: Supervised = {
    pid: 0,
    exited: new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (code, signal) => {
        supervised.status = code ?? undefined
        supervised.exit = describeExit(code, signal)
        resolve()
      })
    }),
    unref: () => {
      child.unref()
      if (parentPipe instanceof Socket) parentPipe.unref()
    },
  }
  supervised.pid = Number(await Promise.race([readFirstLine(child.stdout), failIfEnded(supervised)]))
  return supervised
}

async function readFirstLine(stream: NodeJS.ReadableStream | null): Promise<string> {
  if (!stream) throw new Error('the supervising shell has no output')
  const [chunk] = await once(stream, 'data')
  if (stream instanceof Socket) stream.destroy()
  return String(chunk)
}

async function failIfEnded(supervised: Supervised): Promise<never> {
  await supervised.exited
  throw new Error(`the supervising shell said nothing: ${supervised.exit}`)
}

// The shell reports the death of its program by a signal as 128 plus the number of the signal.
function describeExit(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal) return `its supervisor was ended by ${signal}`
  if (code !== null && code > 128) return `it was ended by signal ${code - 128}`
  return `it ended with status ${code}`
}
