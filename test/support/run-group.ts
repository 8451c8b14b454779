// The entry files that groups.ts writes call runGroup in the process of their group.

import assert from 'node:assert/strict'
import { AsyncResource } from 'node:async_hooks'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { claimFile, PROCESSOR_TIMES, sharesService } from './groups.ts'
import { endShared, endSharing, isShared, SHARED_SERVICE, startSharing } from './process-values.ts'
import { processorSeconds } from './processor-time.ts'
import { HAS_LARGER_FORM } from './scale.ts'
import { startTracking, stopTracking } from './test-tracking.ts'

// Longer than the longest file takes on a busy machine.
const FILE_TIMEOUT_MS = 900_000
// The last socket or child of a file may close a moment after its tests.
const EXIT_WITHIN_MS = 10_000
const POLL_MS = 20
// The pipes of standard output, standard error and standard input. A package that imports node:process opens the last one
// without reading it, which does not keep a process open.
const STANDARD_STREAMS = ['PipeWrap', 'PipeWrap', 'PipeWrap']

/** What a test may replace. The next file of the process must find the real ones. */
const readGlobals = () => [
  Math.random,
  Date,
  Date.now,
  fetch,
  setTimeout,
  setInterval,
  setImmediate,
  console.error,
]
const GLOBALS = readGlobals()

export interface Group {
  root: string
  /** Where the processes of a run claim files. */
  folder: string
  files: readonly string[]
}

/** Runs the files that no other process has claimed, one after the other, in this process. */
export async function runGroup({ root, folder, files }: Group): Promise<void> {
  startSharing()
  // After an await, node:test would take the file that has just ended for the parent of the next test.
  const outside = new AsyncResource('group')
  const claimed: string[] = []
  const leaking: string[] = []
  const lastSharing = files.findLastIndex((file) => sharesService(root, file))
  for (const [index, file] of files.entries()) {
    if (!claimFile(folder, file)) continue
    claimed.push(file)
    const before = processorSeconds()
    if (index > lastSharing && isShared(SHARED_SERVICE))
      await outside.runInAsyncScope(() => testServiceEnd(claimed.slice(0, -1)))
    await outside.runInAsyncScope(() => testFile(root, file))
    noteProcessorTime(folder, file, processorSeconds() - before)
    if (leaking.length === 0 && readGlobals().some((one, position) => one !== GLOBALS[position]))
      leaking.push(file)
  }
  // A test and not a hook: the hooks of a process run when nothing keeps it open, and what the files share does.
  await outside.runInAsyncScope(() => testEnd(claimed, leaking))
}

/** For the report of run.ts. One write of a short line is not mixed with the lines of other processes. */
function noteProcessorTime(folder: string, file: string, seconds: number): void {
  appendFileSync(join(folder, PROCESSOR_TIMES), `${seconds.toFixed(2)} ${file}\n`)
}

async function testFile(root: string, file: string): Promise<void> {
  startTracking()
  await test(file, { timeout: FILE_TIMEOUT_MS, ...HAS_LARGER_FORM }, async (t) => {
    // The tests wait until the whole file is loaded: a file that awaits between two suites would otherwise end with the
    // first of them.
    const loaded = Promise.withResolvers<void>()
    t.before(() => loaded.promise, { timeout: FILE_TIMEOUT_MS })
    try {
      await import(pathToFileURL(join(root, file)).href)
    } finally {
      stopTracking()
      loaded.resolve()
    }
  })
}

/** The jobs of a service that no file uses any more would take three percent of a processor in PostgreSQL alone. */
async function testServiceEnd(files: readonly string[]): Promise<void> {
  await test('the shared service ends', { timeout: 4 * EXIT_WITHIN_MS, ...HAS_LARGER_FORM }, () =>
    naming(files, endShared(SHARED_SERVICE)),
  )
}

/** The invariants are checked when a shared service ends: one of these files has violated them. */
const naming = (files: readonly string[], end: Promise<void>): Promise<void> =>
  end.catch((cause: unknown) => {
    const message = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`${message}\nafter these files; run each alone to find the one: ${files.join(', ')}`, {
      cause,
    })
  })

async function testEnd(files: readonly string[], leaking: readonly string[]): Promise<void> {
  await test('ends', { timeout: 4 * EXIT_WITHIN_MS, ...HAS_LARGER_FORM }, async () => {
    try {
      await naming(files, endSharing())
    } finally {
      await assertNothingOpen(files)
    }
    assert.deepEqual(leaking, [], 'restores the globals that its tests replace')
    // Without the clean-up of Node.js, in which a process without open resources was once busy for minutes.
    process.on('exit', () => process.exit())
  })
}

/** Fails when something keeps the process open, which then exits. */
async function assertNothingOpen(files: readonly string[]): Promise<void> {
  const deadline = performance.now() + EXIT_WITHIN_MS
  let open = await openResources()
  while (open.length > 0 && performance.now() < deadline) open = await openResources()
  if (open.length === 0) return
  // After the report of this test; without the exit the run would wait for the process.
  setTimeout(() => process.exit(1), EXIT_WITHIN_MS).unref()
  assert.fail(`still open after ${files.join(', ')}: ${open.join(', ')}`)
}

/** What keeps this process open, except its standard streams and the timer of this function. */
async function openResources(): Promise<string[]> {
  const timer = delay(POLL_MS)
  const found = process.getActiveResourcesInfo()
  await timer
  const without = ['Timeout', ...STANDARD_STREAMS]
  return found.filter((kind) => {
    const index = without.indexOf(kind)
    if (index !== -1) without.splice(index, 1)
    return index === -1
  })
}
