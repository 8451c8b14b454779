// The JavaScript runtimes of this machine. They are large, so npm does not install them for the tests: those in the PATH are
// used, and those in the folders of COWRY_TEST_RUNTIMES.

import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** How each runtime starts a program. */
export const RUNTIMES = {
  node20: (file: string) => [file],
  node22: (file: string) => [file],
  bun: (file: string) => ['run', file],
  deno: (file: string) => [
    'run',
    '--node-modules-dir=manual',
    '--allow-net',
    '--allow-env',
    '--allow-read',
    file,
  ],
} as const satisfies Record<string, (file: string) => string[]>

export function findBinary(name: string): string | undefined {
  const folders = [process.env.COWRY_TEST_RUNTIMES, process.env.PATH].flatMap(
    (list) => list?.split(delimiter) ?? [],
  )
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** For a test that needs the runtime. */
export function needs(name: string): { skip: string | false } {
  return {
    skip: findBinary(name) === undefined && `${name} was not found: name its folder in COWRY_TEST_RUNTIMES`,
  }
}
