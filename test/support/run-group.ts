// The entry files that groups.ts writes call runGroup in the process of their group.

import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

// Longer than the longest file takes on a busy machine.
const FILE_TIMEOUT_MS = 900_000

/** Runs the files one after the other in this process. */
export function runGroup(root: string, files: readonly string[]): void {
  for (const file of files) {
    test(file, { timeout: FILE_TIMEOUT_MS }, async () => {
      await import(pathToFileURL(join(root, file)).href)
    })
  }
}
