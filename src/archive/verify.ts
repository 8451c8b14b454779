// Checks the files of archives against their manifests, without the database.

import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Cells } from './file.ts'
import { describeFile, type FileEntry, MANIFEST, readManifest } from './manifest.ts'

export interface CheckedFile {
  folder: string
  file: string
  rows: number
  /** What is wrong; null if the file is as the manifest says. */
  problem: string | null
}

/** Checks every archive below the folder. */
export async function verifyArchives(folder: string): Promise<CheckedFile[]> {
  const names = await readdir(folder, { recursive: true })
  const manifests = names.filter((name) => name === MANIFEST || name.endsWith(`/${MANIFEST}`)).toSorted()
  const checked: CheckedFile[] = []
  for (const name of manifests) checked.push(...(await verifyArchive(join(folder, name, '..'))))
  return checked
}

async function verifyArchive(folder: string): Promise<CheckedFile[]> {
  const { files } = await readManifest(folder)
  const checked: CheckedFile[] = []
  for (const entry of files)
    checked.push({ folder, file: entry.file, rows: entry.rows, problem: await problemOf(folder, entry) })
  return checked
}

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
    return `The file cannot be read: ${error instanceof Error ? error.message : String(error)}`
  }
}
