// Only one service at a time may use a data folder. Node has no file locks, but SQLite uses those of the kernel. The
// kernel releases such a lock when its process dies, and it does not depend on process ids, which are reused. The
// SQLite file never contains a row.

import { closeSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { isAlive } from './signals.ts'

export interface Holder {
  pid: number
  host: string
  since: string
  port?: number
}

export interface FolderLock {
  update(info: { port: number }): void
  release(): void
}

export class DataFolderLocked extends Error {
  override name = 'DataFolderLocked'
  readonly dataDir: string
  readonly holder: Holder | undefined

  constructor(dataDir: string, holder: Holder | undefined) {
    const holderText = holder
      ? `process ${holder.pid} on ${holder.host}, since ${holder.since}`
      : 'another process that is just starting'
    super(
      `The data folder ${dataDir} is held by ${holderText}. Only one service at a time may use a data folder. Stop that ` +
        'process first, or give this service a data folder of its own (COWRY_DATA_DIR).',
    )
    this.dataDir = dataDir
    this.holder = holder
  }
}

const SQLITE_BUSY = 5
// SQLITE_IOERR_FSTAT: the lock file was removed while we opened it.
const SQLITE_FILE_GONE = 1802
const MAX_ATTEMPTS = 1_000
const LOCK_TIMEOUT_MS = 1_500
const RETRY_MS = 25

// Garbage collection would close a connection and release its lock, so this set keeps a reference to each held one.
const HELD_LOCKS = new Set<DatabaseSync>()

// A killed process holds its lock until the kernel has removed the process, and a service that restarts may still be
// stopping. A short retry avoids a needless error in both cases.
export async function lockFolder(dataDir: string): Promise<FolderLock> {
  const deadline = performance.now() + LOCK_TIMEOUT_MS
  for (;;) {
    try {
      return tryLockFolder(dataDir)
    } catch (error) {
      if (!(error instanceof DataFolderLocked) || performance.now() > deadline) throw error
      await delay(RETRY_MS)
    }
  }
}

export function tryLockFolder(dataDir: string): FolderLock {
  const lockPath = join(dataDir, 'lock')
  const connection = takeLock(dataDir, lockPath)
  HELD_LOCKS.add(connection)
  const holder: Holder = { pid: process.pid, host: hostname(), since: new Date().toISOString() }
  const release = () => {
    if (!HELD_LOCKS.delete(connection)) return
    rmSync(holderPath(dataDir), { force: true })
    rmSync(lockPath, { force: true })
    connection.close()
  }
  try {
    writeHolder(dataDir, holder)
  } catch (error) {
    release()
    throw error
  }
  return { update: (info) => writeHolder(dataDir, { ...holder, ...info }), release }
}

export function findHolder(dataDir: string): Holder | undefined {
  try {
    // A boundary: only this module writes the file, atomically by rename.
    return JSON.parse(readFileSync(holderPath(dataDir), 'utf8')) as Holder
  } catch {
    // The holder is only shown in the error message; the lock does not depend on it.
    return undefined
  }
}

// Releasing the lock removes its file, so a process may lock a file that has just been removed. Such a lock excludes no
// other process. The lock is valid only if the path still refers to the opened file.
function takeLock(dataDir: string, path: string): DatabaseSync {
  for (let attempt = 1; ; attempt += 1) {
    createLockFile(path)
    const before = identify(path)
    const connection = openConnection(dataDir, path)
    try {
      // Without a journal SQLite leaves no second file behind.
      connection.exec('pragma journal_mode = off; begin exclusive')
      if (before !== undefined && before === identify(path)) return connection
      connection.close()
    } catch (error) {
      connection.close()
      // A boundary: node:sqlite sets the result code of SQLite on its errors.
      const { errcode } = error as { errcode?: number }
      if (errcode === SQLITE_BUSY) throw new DataFolderLocked(dataDir, findLiveHolder(dataDir))
      if (errcode !== SQLITE_FILE_GONE || attempt === MAX_ATTEMPTS) throw lockError(dataDir, error)
    }
  }
}

function openConnection(dataDir: string, path: string): DatabaseSync {
  try {
    return new DatabaseSync(path)
  } catch (error) {
    throw lockError(dataDir, error)
  }
}

function lockError(dataDir: string, cause: unknown): Error {
  return new Error(
    `The data folder ${dataDir} cannot be locked. Check that this user may write to it and that its file system ` +
      'supports locks, as every local disk does.',
    { cause },
  )
}

// We create the file, not SQLite, so that only this user may read it. We do not open an existing file: closing it would
// release a lock that this process may hold on it.
function createLockFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw lockError(dirname(path), error)
  }
}

// Inode numbers are reused, so the birth time is part of the identity.
function identify(path: string): string | undefined {
  const file = statSync(path, { bigint: true, throwIfNoEntry: false })
  return file && `${file.dev}:${file.ino}:${file.birthtimeNs}`
}

// A killed holder leaves its file behind until the next holder writes its own, so we ignore a holder whose process does
// not exist. We cannot check the processes of another host or container.
function findLiveHolder(dataDir: string): Holder | undefined {
  const holder = findHolder(dataDir)
  return holder && (holder.host !== hostname() || isAlive(holder.pid)) ? holder : undefined
}

function holderPath(dataDir: string): string {
  return join(dataDir, 'holder.json')
}

function writeHolder(dataDir: string, holder: Holder): void {
  const path = holderPath(dataDir)
  writeFileSync(`${path}.new`, `${JSON.stringify(holder)}\n`, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}
