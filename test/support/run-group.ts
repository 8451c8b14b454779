// The entry files that groups.ts writes call runGroup in the process of their group.

import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { endSharing, startSharing } from './process-values.ts'

// Longer than the longest file takes on a busy machine.
const FILE_TIMEOUT_MS = 900_000
// A process whose tests have ended exits when nothing keeps it open, such as a socket or a child; at the latest after this.
const EXIT_WITHIN_MS = 10_000

/** Runs the files one after the other in this process. */
export function runGroup(root: string, files: readonly string[]): void {
  startSharing()
  for (const file of files) {
    test(file, { timeout: FILE_TIMEOUT_MS }, async (t) => {
      // Tests run one after the other, so this first one holds the others back until the whole file is loaded: a file that
      // awaits between two suites would otherwise end with the first of them.
      const loaded = Promise.withResolvers<void>()
      t.test('loads', () => loaded.promise)
      try {
        await import(pathToFileURL(join(root, file)).href)
      } finally {
        loaded.resolve()
      }
    })
  }
  // A test and not a hook: the hooks of a process run when nothing keeps it open, and what the files share does.
  test('ends', async () => {
    await endSharing()
    setTimeout(() => exitOpenProcess(files), EXIT_WITHIN_MS).unref()
  })
}

function exitOpenProcess(files: readonly string[]): void {
  console.error(`still open after ${files.join(', ')}: ${process.getActiveResourcesInfo().join(', ')}`)
  process.exit()
}
