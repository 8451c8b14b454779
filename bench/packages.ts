// The run-time packages that npm installs on this platform, from the lock file, and their size.

import { glob, lstat, readFile } from 'node:fs/promises'
import { join } from 'node:path'

interface LockedPackage {
  dev?: boolean
  os?: string | string[]
  cpu?: string | string[]
}

/** Their folders, relative to the checkout. */
export async function runtimePackages(root: string): Promise<string[]> {
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))
  // A boundary: npm's lock file, in its format since version 7.
  const packages = Object.entries(lock.packages as Record<string, LockedPackage>)
  return packages
    .filter(([folder, locked]) => folder !== '' && isForRuntimeHere(locked))
    .map(([folder]) => folder)
}

function isForRuntimeHere({ dev, os, cpu }: LockedPackage): boolean {
  return !dev && allows(os, process.platform) && allows(cpu, process.arch)
}

/** npm's rule: a list of names, or of excluded names with an exclamation mark. */
function allows(rule: string | string[] | undefined, name: string): boolean {
  const names = [rule ?? []].flat()
  if (names.includes(`!${name}`)) return false
  const wanted = names.filter((word) => !word.startsWith('!'))
  return wanted.length === 0 || wanted.includes(name)
}

const BLOCK_BYTES = 512

/** What the packages take on the disk, of those that are installed. */
export async function diskBytesOf(root: string, packages: readonly string[]): Promise<number> {
  let bytes = 0
  for (const folder of packages) {
    // A package inside another one is in the list too.
    const exclude = (path: string) => path.endsWith('node_modules')
    for await (const path of glob('**', { cwd: join(root, folder), exclude }))
      bytes += BLOCK_BYTES * (await lstat(join(root, folder, path))).blocks
  }
  return bytes
}
