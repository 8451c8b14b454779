// The server file: the service writes its address into the data folder, where commands on the same machine find it.

import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface ServerFile {
  /** The address of the service, as seen from this machine. */
  url: string
  pid: number
}

export async function writeServerFile(dataDir: string, server: ServerFile): Promise<void> {
  await mkdir(dataDir, { recursive: true })
  const path = pathOf(dataDir)
  // Rename is atomic: a reader sees the old file or the new one.
  const draft = `${path}.${server.pid}`
  await writeFile(draft, `${JSON.stringify(server)}\n`)
  await rename(draft, path)
}

export async function readServerFile(dataDir: string): Promise<ServerFile | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(pathOf(dataDir), 'utf8'))
    return isServerFile(value) ? value : undefined
  } catch {
    // Absent or unreadable: the caller reports that no service was found.
    return undefined
  }
}

/** Removes the file when the service stops, unless a newer process has replaced it. */
export async function removeServerFile(dataDir: string, pid: number): Promise<void> {
  if ((await readServerFile(dataDir))?.pid === pid) await rm(pathOf(dataDir), { force: true })
}

function isServerFile(value: unknown): value is ServerFile {
  return (
    typeof value === 'object' &&
    value !== null &&
    'url' in value &&
    typeof value.url === 'string' &&
    URL.canParse(value.url) &&
    'pid' in value &&
    typeof value.pid === 'number'
  )
}

function pathOf(dataDir: string): string {
  return join(dataDir, 'server.json')
}
