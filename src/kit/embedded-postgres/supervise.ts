// Runs a PostgreSQL program so that it stops when this process dies, even by SIGKILL. A small shell supervises it and
// reads from a pipe of ours: when the pipe closes, the shell stops the program.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Socket } from 'node:net'
import { makeEnvironment } from './environment.ts'
import type { Launcher } from './launcher.ts'
import { IMMEDIATE_AFTER_SECONDS, KILL_AFTER_SECONDS } from './signals.ts'

export interface Supervised {
  pid: number
  exited: Promise<void>
  // Set after the exit: a description, and the status unless the supervisor was killed by a signal.
  exit?: string
  status?: number
  // Lets this process exit while the program runs; the supervisor then stops the program.
  unref(): void
}

// The shell ignores the signals that a terminal or a service manager sends to the whole process group: it exits when the
// program exits. It sends SIGINT every second, because a program that has just started does not handle it yet.
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
    // A separate session: Ctrl-C in a terminal reaches us but not the database, which we need until requests are drained.
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
  throw new Error(`the supervising shell printed no process id: ${supervised.exit}`)
}

// The shell reports the death of its program by a signal as status 128 plus the signal number.
function describeExit(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal) return `its supervisor was killed by ${signal}`
  if (code !== null && code > 128) return `it was killed by signal ${code - 128}`
  return `it exited with status ${code}`
}
