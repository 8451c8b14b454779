// The processes of a measurement beside PostgreSQL: the service, the sandbox provider, a bare route and the load driver.

import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { LoadOrder, LoadReport } from './load.ts'
import { SECRETS_ENV } from './seed.ts'

const ROOT = join(import.meta.dirname, '..')

export interface Program {
  child: ChildProcess
  pid: number
  url: string
  /** What it printed when it was ready. */
  line: string
}

export interface Driver {
  pid: number
  drive(order: LoadOrder): Promise<LoadReport>
}

/** Run in reverse order at the end. */
export type Cleanups = (() => unknown)[]

/** The provider is another party with its own disk: its records go to a file system in memory, if there is one. */
export async function startProvider(cleanups: Cleanups, root = ROOT): Promise<Program> {
  const tmpfs = '/dev/shm'
  const dataDir = await mkdtemp(join(existsSync(tmpfs) ? tmpfs : tmpdir(), 'cowry-bench-provider-'))
  cleanups.push(() => rm(dataDir, { recursive: true, force: true }))
  const env = {
    ...SECRETS_ENV,
    COWRY_LOG_LEVEL: 'warn',
    // It sends webhooks for checkouts, of which the seed pays some: the port is closed.
    COWRY_PUBLIC_URL: 'http://127.0.0.1:9',
  }
  return startCowry(cleanups, { args: ['sandbox', '--port', '0', '--data-dir', dataDir], env, root })
}

interface Command {
  args: readonly string[]
  env: Record<string, string>
  nodeOptions?: readonly string[]
  /** The folder of the program; another commit may be in another folder. */
  root?: string
}

export async function startCowry(
  cleanups: Cleanups,
  { args, env, nodeOptions = [], root = ROOT }: Command,
): Promise<Program> {
  const child = spawn(process.execPath, [...nodeOptions, 'src/main.ts', ...args, '--json'], {
    cwd: root,
    env: { PATH: process.env.PATH, ...env },
    // Its log lines are written as always, and discarded.
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  cleanups.push(() => endChild(child))
  // Some commands print a JSON document over several lines: the address is on one line in all of them.
  for await (const line of createInterface({ input: child.stdout })) {
    const [, url] = /"url": ?"([^"]+)"/.exec(line) ?? []
    if (url !== undefined) return { child, pid: child.pid ?? 0, url, line }
  }
  throw new Error(`cowry ${args.join(' ')} ended before it was ready`)
}

export async function startBareRoute(cleanups: Cleanups): Promise<Program> {
  const child = fork(join(ROOT, 'bench/bare-route.ts'))
  cleanups.push(() => endChild(child))
  const [{ url }] = await once(child, 'message')
  return { child, pid: child.pid ?? 0, url, line: '' }
}

export function startDriver(cleanups: Cleanups): Driver {
  const child = fork(join(ROOT, 'bench/driver.ts'))
  cleanups.push(() => child.kill())
  return {
    pid: child.pid ?? 0,
    async drive(order) {
      child.send(order)
      // A boundary: the driver answers each order with its report.
      const [report] = (await once(child, 'message')) as [LoadReport]
      return report
    },
  }
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}
