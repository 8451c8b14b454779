// Test files share processes: loading the service takes longer than most files take to run, and warm code runs faster.
// Each file is one test of its process, so its hooks run when it ends.

import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Distributes the files by size, so that the groups take about the same time. */
export function dealOut(root: string, files: readonly string[], count: number): string[][] {
  const groups = Array.from({ length: count }, () => ({ bytes: 0, files: [] as string[] }))
  const sizes = files.map((file) => ({ file, bytes: statSync(join(root, file)).size }))
  for (const { file, bytes } of sizes.toSorted((a, b) => b.bytes - a.bytes)) {
    const [lightest] = groups.toSorted((a, b) => a.bytes - b.bytes)
    if (!lightest) throw new Error('there is no group')
    lightest.files.push(file)
    lightest.bytes += bytes
  }
  return groups.map((group) => group.files).filter((group) => group.length > 0)
}

/** Writes the entry file of a group; the test runner starts one process for it. */
export function writeGroup(folder: string, name: string, root: string, files: readonly string[]): string {
  const entry = join(folder, `${name}.test.ts`)
  const [tracking, self] = ['test-tracking.ts', 'run-group.ts'].map(toImport)
  const lines = [
    `import ${tracking}`,
    `const { runGroup } = await import(${self})`,
    `runGroup(${JSON.stringify(root)}, ${JSON.stringify(files)})`,
  ]
  writeFileSync(entry, `${lines.join('\n')}\n`)
  return entry
}

function toImport(file: string): string {
  return JSON.stringify(pathToFileURL(join(import.meta.dirname, file)).href)
}
