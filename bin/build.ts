// Before npm pack: writes the program as JavaScript into dist, because Node does not strip types under node_modules. In the
// repository the program runs from src. dist has the depth of src, so that paths relative to a file are the same in both.

import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const SOURCE = join(ROOT, 'src')
const DIST = join(ROOT, 'dist')

// Imports of files: from './a.ts', import './a.ts' and import('./a.ts').
const TS_IMPORT = /(?<=(?:from |import |import\()'\.{1,2}\/[^'\n]*)\.ts(?=')/g

rmSync(DIST, { recursive: true, force: true })
for (const { path, isDirectory } of sourceFiles()) {
  if (isDirectory || path.endsWith('.test.ts')) continue
  const target = join(DIST, path)
  mkdirSync(dirname(target), { recursive: true })
  if (path.endsWith('.ts')) writeFileSync(target.replace(/\.ts$/, '.js'), toJavaScript(path))
  else cpSync(join(SOURCE, path), target)
}

function sourceFiles() {
  return globSync('**', { cwd: SOURCE, withFileTypes: true }).map((entry) => ({
    path: join(entry.parentPath, entry.name).slice(SOURCE.length + 1),
    isDirectory: entry.isDirectory(),
  }))
}

/** Types become white space, so that line numbers of the source are those of the package. */
function toJavaScript(path: string): string {
  return stripTypeScriptTypes(readFileSync(join(SOURCE, path), 'utf8')).replaceAll(TS_IMPORT, '.js')
}
