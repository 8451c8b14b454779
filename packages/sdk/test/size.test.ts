// What a bundler makes of the client: the whole of it, and one resource.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'

const FOLDER = join(import.meta.dirname, '..')
const ESBUILD = join(FOLDER, '../../node_modules/.bin/esbuild')

function bundledBytes(code: string): number {
  const options = ['--bundle', '--minify', '--format=esm', '--platform=neutral']
  const input = { cwd: join(FOLDER, 'src'), input: code }
  return gzipSync(execFileSync(ESBUILD, options, input), { level: 9 }).length
}

describe('the size of the SDK', () => {
  it('is at most 12 KB compressed as a whole', () => {
    const bytes = bundledBytes(
      "import * as sdk from './index.ts'; import * as testing from './testing.ts'; globalThis.all = { sdk, testing }",
    )
    assert.ok(bytes <= 12 * 1024, `${bytes} bytes`)
  })

  it('is at most 4 KB compressed with one resource', () => {
    const bytes = bundledBytes(
      "import { createClient } from './core.ts'; import { payments } from './generated/resources.ts'; globalThis.cowry = createClient({ apiKey: '', baseUrl: '' }, { payments })",
    )
    assert.ok(bytes <= 4 * 1024, `${bytes} bytes`)
  })

  it('has no dependencies', () => {
    const { dependencies, peerDependencies, optionalDependencies } = JSON.parse(
      readFileSync(join(FOLDER, 'package.json'), 'utf8'),
    )
    assert.deepEqual(
      [dependencies, peerDependencies, optionalDependencies],
      [undefined, undefined, undefined],
    )
  })
})
