// Before npm pack: writes the sources as JavaScript into dist. Medusa loads the package by its name, so it needs no types.

import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'

const SOURCE = join(import.meta.dirname, 'src')
const DIST = join(import.meta.dirname, 'dist')

rmSync(DIST, { recursive: true, force: true })
mkdirSync(DIST)
for (const path of globSync('*.ts', { cwd: SOURCE })) {
  const code = stripTypeScriptTypes(readFileSync(join(SOURCE, path), 'utf8'))
    // In the repository the SDK is not built.
    .replaceAll("'../../sdk/src/index.ts'", "'@cowry/sdk'")
    .replaceAll(/(?<=from '\.\/[^'\n]*)\.ts(?=')/g, '.js')
  writeFileSync(join(DIST, path.replace(/\.ts$/, '.js')), code)
}
