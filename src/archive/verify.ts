// Checks the files of archives against their manifests, without the database.

import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Cells } from './file.ts'
import { describeFile, type FileEntry, MANIFEST, readManifest } from './manifest.ts'

const FILE_END = '.csv.gz'

export interface CheckedFile {
  folder: string
  file: string
  rows: number
  /** What is wrong; null if the file is as the manifest says. */
  problem: string | null
}

/** Checks every archive below the folder, and finds files without a manifest. */
export async function verifyArchives(folder: string): Promise<CheckedFile[]> {
  const names = await readdir(folder, { recursive: true })
  const known = names.filter((name) => basename(name) === MANIFEST || name.endsWith(FILE_END))
  const folders = new Map<string, string[]>()
  for (const name of known)
    folders.set(dirname(name), [...(folders.get(dirname(name)) ?? []), basename(name)])
  const checked: CheckedFile[] = []
  for (const [name, files] of [...folders].toSorted())
    checked.push(...(await verifyArchive(join(folder, name), files)))
  return checked
}

async function verifyArchive(folder: string, names: readonly string[]): Promise<CheckedFile[]> {
  const files = await readManifest(folder)
    .then((manifest) => manifest.files)
    .catch((error: unknown) => describeProblem(error))
  if (typeof files === 'string') return [{ folder, file: MANIFEST, rows: 0, problem: files }]
  const checked: CheckedFile[] = []
  for (const entry of files)
    checked.push({ folder, file: entry.file, rows: entry.rows, problem: await problemOf(folder, entry) })
  const unnamed = names.filter((name) => name !== MANIFEST && !files.some(({ file }) => file === name))
  for (const file of unnamed)
    checked.push({ folder, file, rows: 0, problem: 'The manifest does not name it.' })
  return checked
}

const describeProblem = (error: unknown) =>
  `The file cannot be read: ${error instanceof Error ? error.message : String(error)}`

/** What is wrong with the file; null if it is as described. */
export async function problemOf(
  folder: string,
  entry: FileEntry,
  onRow?: (cells: Cells) => void,
): Promise<string | null> {
  try {
    const found = await describeFile(folder, entry.table, entry.file, onRow)
    if (found.sha256 !== entry.sha256) return 'The checksum differs from the manifest.'
    return isDeepStrictEqual(found, entry) ? null : 'The rows or sums differ from the manifest.'
  } catch (error) {
    return describeProblem(error)
  }
}
