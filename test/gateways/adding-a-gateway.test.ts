// Extracts the example of docs/adding-a-gateway.md from the page and runs it, so that the guide stays correct.

import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after } from 'node:test'
import { pathToFileURL } from 'node:url'

const ROOT = join(import.meta.dirname, '..', '..')
const guide = readFileSync(join(ROOT, 'docs/adding-a-gateway.md'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'cowry-guide-'))
after(() => rmSync(folder, { recursive: true }))

const files = [...guide.matchAll(/^```ts (\S+\/acme\/\S+)\n([\s\S]*?)^```$/gm)].map(
  ([, path = '', code = '']) => ({
    path,
    code,
  }),
)
const paths = files.map(({ path }) => path)
assert.deepEqual(paths.toSorted(), [
  'src/gateways/acme/index.ts',
  'src/gateways/acme/wire.ts',
  'test/gateways/acme/conformance.test.ts',
  'test/gateways/acme/fake.ts',
])
for (const { path, code } of files) {
  mkdirSync(join(folder, dirname(path)), { recursive: true })
  writeFileSync(
    join(folder, path),
    code.replaceAll(/(?<=from ')[^']+/g, (name) => locate(path, name)),
  )
}
await import(pathToFileURL(join(folder, 'test/gateways/acme/conformance.test.ts')).href)

/** The files of the guide import each other in the temporary folder, and everything else from this tree. */
function locate(importer: string, name: string): string {
  if (name.startsWith('node:')) return name
  if (!name.startsWith('.')) return import.meta.resolve(name)
  const path = join(dirname(importer), name)
  // Node strips the imports of types without resolving them, so a wrong path would not fail by itself.
  assert.ok(
    paths.includes(path) || existsSync(join(ROOT, path)),
    `${importer} imports ${name}, which does not exist`,
  )
  return pathToFileURL(join(paths.includes(path) ? folder : ROOT, path)).href
}
