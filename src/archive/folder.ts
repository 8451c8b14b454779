// The folder of an archive. The names in it survive a loss of power once they are synced, as the files themselves do.

import { mkdir, open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/** Makes the folder inside of `top`, which may be missing too. Every name up to it is synced, and every one that is made. */
export async function makeFolder(folder: string, top: string): Promise<void> {
  let path = resolve(folder)
  const made = await mkdir(path, { recursive: true, mode: 0o700 })
  const last = Math.min(resolve(top).length, dirname(made ?? path).length)
  for (; path.length > last; path = dirname(path)) await syncFolder(path)
  await syncFolder(path)
}

/** After it, the names of the files in the folder are on disk. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
