// Another commit of this repository in a folder of its own, with the packages that it names.

import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Cleanups } from './programs.ts'

const ROOT = join(import.meta.dirname, '..')
const LOCK_FILE = 'package-lock.json'
const run = promisify(execFile)

export interface Commit {
  /** Short, for a table. */
  name: string
  folder: string
}

export async function checkOut(ref: string, cleanups: Cleanups): Promise<Commit> {
  const parse = run('git', ['rev-parse', '--short', '--verify', `${ref}^{commit}`], { cwd: ROOT })
  const { stdout } = await parse.catch(() => {
    throw new Error(`--against ${ref}: this repository has no such commit`)
  })
  const name = stdout.trim()
  const work = await mkdtemp(join(tmpdir(), `cowry-bench-${name}-`))
  cleanups.push(() => rm(work, { recursive: true, force: true }))
  const [archive, folder] = [join(work, 'archive.tar'), join(work, 'tree')]
  await mkdir(folder)
  await run('git', ['archive', '--output', archive, name], { cwd: ROOT })
  await run('tar', ['-xf', archive, '-C', folder])
  await installPackages(folder)
  return { name, folder }
}

/** With the same lock file the packages are the same. */
async function installPackages(folder: string): Promise<void> {
  const [own, others] = await Promise.all([ROOT, folder].map((one) => readFile(join(one, LOCK_FILE), 'utf8')))
  if (own === others) await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  else await run('npm', ['ci', '--omit=dev'], { cwd: folder })
}
