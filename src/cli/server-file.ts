// How a command on the same machine finds the running service: the service leaves its address in the data folder.

import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface ServerFile {
  /** Where the service listens, as seen from this machine. */
  url: string
  pid: number
}

export async function writeServerFile(dataDir: string, server: ServerFile): Promise<void> {
  await mkdir(dataDir, { recursive: true })
  const path = pathOf(dataDir)
  // A reader sees the old file or the new one, never half of one.
  const draft = `${path}.${server.pid}`
  await writeFile(draft, `${JSON.stringify(server)}\n`)
  await rename(draft, path)
}

export async function readServerFile(dataDir: string): Promise<ServerFile | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(pathOf(dataDir), 'utf8'))
    return isServerFile(value) ? value : undefined
  } catch {
    // Absent or unreadable: there is no service to find here, and the caller says what to do.
    return undefined
  }
}

/** At the end of a service: takes its own file away, and leaves that of a successor which started meanwhile. */
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
