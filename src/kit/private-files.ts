// Small secrets in the data folder, for people on the same machine: readable only by the owner of the service, and
// written atomically, because several processes may start on one folder at once.

import { chmod, link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Random } from './random.ts'

const OWNER_ONLY = 0o600

export async function readPrivateFile(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/**
 * The text of the file, which is the given one if there was no file. Of two concurrent writers the second reads the
 * file of the first.
 */
export async function ensurePrivateFile(path: string, text: string, random: Random): Promise<string> {
  const existing = await readPrivateFile(path)
  if (existing !== undefined) {
    await chmod(path, OWNER_ONLY)
    return existing
  }
  await withTempFile(path, text, random, async (tempPath) => {
    try {
      // A hard link appears with its whole content, and unlike a rename it never replaces a file.
      await link(tempPath, path)
    } catch (error) {
      if (!hasErrorCode(error, 'EEXIST')) throw error
    }
  })
  return (await readPrivateFile(path)) ?? text
}

export async function writePrivateFile(path: string, text: string, random: Random): Promise<void> {
  if ((await readPrivateFile(path)) === text) return
  await withTempFile(path, text, random, (tempPath) => rename(tempPath, path))
}

async function withTempFile(
  path: string,
  text: string,
  random: Random,
  publish: (tempPath: string) => Promise<void>,
): Promise<void> {
  // The folder keeps its mode: the embedded PostgreSQL below it may run as another user.
  await mkdir(dirname(path), { recursive: true })
  const tempPath = `${path}.${random.uuid()}`
  try {
    await writeFile(tempPath, `${text}\n`, { mode: OWNER_ONLY, flag: 'wx', flush: true })
    await publish(tempPath)
  } finally {
    await rm(tempPath, { force: true })
  }
}

function hasErrorCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
