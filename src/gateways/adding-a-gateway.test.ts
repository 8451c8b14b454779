// The example of docs/adding-a-gateway.md, cut out of the page and run: a guide that does not work is worse than none.

import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { pathToFileURL } from 'node:url'

const ROOT = join(import.meta.dirname, '..', '..')
const guide = readFileSync(join(ROOT, 'docs/adding-a-gateway.md'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'cowry-guide-'))
after(() => rmSync(folder, { recursive: true }))

const names = [...guide.matchAll(/^```ts acme\/(\S+)\n([\s\S]*?)^```$/gm)].map(([, name = '', code = '']) => {
  writeFileSync(join(folder, name), code.replaceAll(/(?<=from ')[^']+/g, locate))
  return name
})
assert.deepEqual(names.toSorted(), ['conformance.test.ts', 'fake.ts', 'index.ts', 'wire.ts'])
await import(pathToFileURL(join(folder, 'conformance.test.ts')).href)

/** Outside the tree: what stood above the folder and the packages are found from here. */
function locate(name: string): string {
  if (name.startsWith('./') || name.startsWith('node:')) return name
  if (!name.startsWith('.')) return import.meta.resolve(name)
  return pathToFileURL(join(import.meta.dirname, 'acme', name)).href
}
