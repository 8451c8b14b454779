// The program as a few files, for the processes that tests start. Loading its thousand modules takes 1.1 s of processor
// time, which is most of a start; loading these takes a third of that.

import { chmodSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

const ROOT = join(import.meta.dirname, '../..')

/** Modules read files beside them, so each keeps its own address. */
const keepAddresses: Plugin = {
  name: 'keep addresses',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8')
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(path))),
      loader: 'ts',
    }))
  },
}

export interface BuiltProgram {
  /** The file to start instead of src/main.ts. */
  file: string
  remove(): Promise<void>
}

/** Inside node_modules, where packages are found. */
export async function buildProgram(): Promise<BuiltProgram> {
  const parent = join(ROOT, 'node_modules/.cache')
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(join(parent, 'test-program-'))
  // A test starts the service as another user.
  chmodSync(folder, 0o755)
  await build({
    entryPoints: [join(ROOT, 'src/main.ts')],
    outdir: folder,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    packages: 'external',
    plugins: [keepAddresses],
    logLevel: 'error',
  })
  return { file: join(folder, 'main.js'), remove: () => rm(folder, { recursive: true, force: true }) }
}
