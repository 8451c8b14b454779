// Test files share processes: loading the service takes longer than most files take to run, and warm code runs faster.
// Each file is one test of its process, so its hooks run when it ends.

import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The file in the folder of the entries where each process adds the processor seconds of the test files that it ran. */
export const PROCESSOR_TIMES = 'processor-times.txt'

/** The largest files first: they are likely to take longest, and the processes that share them then end together. */
export function largestFirst(root: string, files: readonly string[]): string[] {
  const sizes = files.map((file) => ({ file, bytes: statSync(join(root, file)).size }))
  return sizes.toSorted((a, b) => b.bytes - a.bytes).map(({ file }) => file)
}

/** True if the file uses the service of its process: it starts one without settings. */
export function sharesService(root: string, file: string): boolean {
  return /\btestService\((?:\{ after \}|t)\)/.test(readFileSync(join(root, file), 'utf8'))
}

/** The files that share a service first: it can end after them. */
export function sharingFirst(root: string, files: readonly string[]): string[] {
  const sharing = files.filter((file) => sharesService(root, file))
  return [...sharing, ...files.filter((file) => !sharing.includes(file))]
}

/** True for the one process that asks first for the file. */
export function claimFile(folder: string, file: string): boolean {
  try {
    writeFileSync(join(folder, `${encodeURIComponent(file)}.claimed`), '', { flag: 'wx' })
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

/**
 * Writes the entry file of a group; the test runner starts one process for it. Groups with the same files share them: each
 * file runs in the process that claims it first.
 */
export function writeGroup(folder: string, name: string, root: string, files: readonly string[]): string {
  const entry = join(folder, `${name}.test.ts`)
  const [tracking, self] = ['test-tracking.ts', 'run-group.ts'].map(toImport)
  const lines = [
    `import ${tracking}`,
    `const { runGroup } = await import(${self})`,
    `await runGroup(${JSON.stringify({ root, folder, files })})`,
  ]
  writeFileSync(entry, `${lines.join('\n')}\n`)
  return entry
}

function toImport(file: string): string {
  return JSON.stringify(pathToFileURL(join(import.meta.dirname, file)).href)
}
