// The embedded PostgreSQL, which we start when DATABASE_URL is not set. It needs no system package and no settings. It
// listens on the loopback only, is started again if it exits by itself, and stops when this process exits for any reason.
//
// The data folder contains `cluster` (PostgreSQL's own files), `server.log`, and while it runs `lock` and `holder.json`.

import { existsSync, mkdirSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { findPostgresBinaries } from './embedded-postgres/binaries.ts'
import {
  createCluster,
  fixOwnership,
  locateCluster,
  readPassword,
  removeUnfinishedClusters,
  requireOwner,
  requireSameMajor,
  SUPERUSER,
} from './embedded-postgres/cluster.ts'
import { type FolderLock, findHolder, lockFolder } from './embedded-postgres/folder-lock.ts'
import { keepRunning } from './embedded-postgres/keep-running.ts'
import { chooseLauncher, isRoot, MACHINE, type Machine } from './embedded-postgres/launcher.ts'
import { stopOrphanServer } from './embedded-postgres/orphan.ts'
import { ensureDatabase, runServer, stopServer } from './embedded-postgres/server.ts'
import { explainFailure, openServerLog, type ServerLog } from './embedded-postgres/server-log.ts'
import { isAlive } from './embedded-postgres/signals.ts'

export interface EmbeddedPostgres {
  url: string
  port: number
  version: string
  dataDir: string
  stop(): Promise<void>
}

export interface EmbeddedPostgresOptions {
  dataDir: string
  // A folder with bin, lib and share. Default: the npm package for this platform.
  binariesDir?: string
  // Settings of the server that override ours.
  settings?: Record<string, string>
  onProgress?: (message: string) => void
  // Called if the server exits without stop(), and after each start of it that fails. It is started again until it runs.
  onExit?: (reason: string) => void
  // Called when it runs again.
  onRestart?: () => void
}

export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
  machine: Machine = MACHINE,
): Promise<EmbeddedPostgres> {
  const binaries = options.binariesDir ?? requireBinaries()
  const dataDir = openFolder(options.dataDir)
  requireOwner(dataDir)
  const lock = await lockFolder(dataDir)
  try {
    const log = openServerLog(join(dataDir, 'server.log'))
    try {
      return await start({ ...options, dataDir, binaries: realpathSync(binaries), machine, lock, log })
    } catch (error) {
      log.close()
      throw error
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

// For commands that run beside the service: the URL of the database that the service of this folder runs.
export function findRunningPostgres(dataDir: string): string | undefined {
  const holder = findHolder(dataDir)
  if (!holder?.port || !isAlive(holder.pid)) return undefined
  return makeUrl(readPassword(join(dataDir, 'cluster')), holder.port, 'cowry')
}

interface Start extends EmbeddedPostgresOptions {
  binaries: string
  machine: Machine
  lock: FolderLock
  log: ServerLog
}

async function start(options: Start): Promise<EmbeddedPostgres> {
  const { dataDir, lock, log, onProgress = () => {} } = options
  const found = locateCluster(dataDir)
  removeUnfinishedClusters(dataDir)
  await stopOrphanServer(found, onProgress)

  const launcher = await chooseLauncher({ ...options, cluster: found })
  removeUnfinishedClusters(launcher.home)
  if (!existsSync(found)) onProgress(`creating the database cluster in ${launcher.home}`)
  const cluster = existsSync(found) ? found : await createCluster(dataDir, launcher, log)
  requireSameMajor(cluster, launcher.version)
  fixOwnership(cluster, launcher)
  const password = readPassword(cluster)

  const server = await runServer(launcher, cluster, log, options)
  try {
    const url = await ensureDatabase((database) => makeUrl(password, server.port, database))
    lock.update({ port: server.port })
    const stopKeeping = keepRunning({ ...options, server, cluster, launcher })
    server.program.unref()
    const stop = async () => {
      await stopKeeping()
      log.close()
      lock.release()
    }
    let stopped: Promise<void> | undefined
    return {
      ...{ url, port: server.port, version: launcher.version, dataDir },
      stop() {
        stopped ??= stop()
        return stopped
      },
    }
  } catch (error) {
    await stopServer(server, cluster)
    throw explainFailure('The database server runs but cannot be used.', log, error)
  }
}

function makeUrl(password: string, port: number, database: string): string {
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`
}

function openFolder(dataDir: string): string {
  try {
    // As root, the server runs as another user, who must be able to enter this folder but not to list it.
    makeFolder(resolve(dataDir), isRoot() ? 0o711 : 0o700)
    return realpathSync(dataDir)
  } catch (error) {
    throw new Error(`The data folder ${dataDir} cannot be created. Choose one that this user may write to.`, {
      cause: error,
    })
  }
}

/** Node's recursive mkdir never returns where no folder can be created, such as in /proc. */
function makeFolder(folder: string, mode: number): void {
  if (existsSync(folder)) return
  makeFolder(dirname(folder), mode)
  try {
    mkdirSync(folder, { mode })
  } catch (error) {
    // Another process may have created it first.
    if (!existsSync(folder)) throw error
  }
}

function requireBinaries(): string {
  const binaries = findPostgresBinaries(18)
  if (binaries) return binaries
  throw new Error(
    `There is no PostgreSQL for ${process.platform}-${process.arch} in node_modules. Run npm install without ` +
      '--omit=optional, or set DATABASE_URL to a PostgreSQL of your own.',
  )
}
