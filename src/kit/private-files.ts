// Small secrets in the data folder, for people on the same machine: readable by the owner of the service alone, and
// never half written, because several processes may start on one folder at the same moment.

import { chmod, link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Random } from './random.ts'

const OWNER_ONLY = 0o600

export async function readPrivateFile(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/** The text of the file, which is the given one when there was no file. Whoever is second reads what the first wrote. */
export async function ensurePrivateFile(path: string, text: string, random: Random): Promise<string> {
  const existing = await readPrivateFile(path)
  if (existing !== undefined) {
    await chmod(path, OWNER_ONLY)
    return existing
  }
  await withDraft(path, text, random, async (draft) => {
    try {
      // A hard link appears with its whole content, and unlike a rename it never replaces a file.
      await link(draft, path)
    } catch (error) {
      if (!isCode(error, 'EEXIST')) throw error
    }
  })
  return (await readPrivateFile(path)) ?? text
}

export async function writePrivateFile(path: string, text: string, random: Random): Promise<void> {
  if ((await readPrivateFile(path)) === text) return
  await withDraft(path, text, random, (draft) => rename(draft, path))
}

async function withDraft(
  path: string,
  text: string,
  random: Random,
  publish: (draft: string) => Promise<void>,
): Promise<void> {
  // The folder keeps its usual mode: the private PostgreSQL below it may run as another user.
  await mkdir(dirname(path), { recursive: true })
  const draft = `${path}.${random.uuid()}`
  try {
    await writeFile(draft, `${text}\n`, { mode: OWNER_ONLY, flag: 'wx', flush: true })
    await publish(draft)
  } finally {
    await rm(draft, { force: true })
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
