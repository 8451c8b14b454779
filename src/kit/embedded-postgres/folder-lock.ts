// One service at a time may work in a data folder. Node has no file locks of its own, but SQLite takes the kernel's:
// such a lock cannot be taken twice, ends with its process in every case, and does not depend on process ids, which are
// reused. No row is ever written.

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
// SQLite stats its file by name (SQLITE_IOERR_FSTAT): the file was removed while we opened it.
const SQLITE_FILE_GONE = 1802
const MAX_ATTEMPTS = 1_000
const LOCK_TIMEOUT_MS = 1_500
const RETRY_MS = 25

// A connection that is garbage collected is closed, and its lock with it: this set keeps the held ones alive.
const HELD_LOCKS = new Set<DatabaseSync>()

// A killed process holds its lock until the kernel has cleaned it up, and a restarting service may still be shutting
// down: a short wait avoids a needless refusal in both cases.
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
    // Only this module writes it, and always atomically.
    return JSON.parse(readFileSync(holderPath(dataDir), 'utf8')) as Holder
  } catch {
    // The name of the holder is only for the message; the lock does not depend on it.
    return undefined
  }
}

// The lock file is removed on release, so a process may have opened a file that no longer exists when it gets the lock.
// Such a lock excludes no process: it counts only if the name still leads to the opened file.
function takeLock(dataDir: string, path: string): DatabaseSync {
  for (let attempt = 1; ; attempt += 1) {
    createLockFile(path)
    const before = identify(path)
    const connection = openConnection(dataDir, path)
    try {
      // Without a journal no second file can be left behind.
      connection.exec('pragma journal_mode = off; begin exclusive')
      if (before !== undefined && before === identify(path)) return connection
      connection.close()
    } catch (error) {
      connection.close()
      // node:sqlite puts SQLite's result code on the error, which the type of a caught error lacks.
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

// The file is created here and not by SQLite, so that only its owner can read it. An existing file is not opened:
// closing it would release a lock that this process may hold.
function createLockFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw lockError(dirname(path), error)
  }
}

// Inode numbers are reused, birth times are not.
function identify(path: string): string | undefined {
  const file = statSync(path, { bigint: true, throwIfNoEntry: false })
  return file && `${file.dev}:${file.ino}:${file.birthtimeNs}`
}

// A killed holder leaves its name behind, and the next one needs a moment to write its own: the name of a dead process
// is not reported. Processes of another host or container cannot be checked.
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
