// Creates and checks a PostgreSQL cluster: the folder that initdb creates, with all databases of one server.

import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { isRoot, type Launcher } from './launcher.ts'
import { explainFailure, type ServerLog } from './server-log.ts'
import { supervise } from './supervise.ts'

export const SUPERUSER = 'cowry'

// One rename publishes the cluster together with this file, so neither exists without the other.
const PASSWORD_FILE = 'cowry-password'

// The real path of the cluster. `cluster` is a link if the cluster had to be created elsewhere (see launcher.ts).
export function locateCluster(dataDir: string): string {
  const cluster = join(dataDir, 'cluster')
  if (existsSync(cluster)) return realpathSync(cluster)
  const link = lstatSync(cluster, { throwIfNoEntry: false })
  if (!link) return cluster
  throw new Error(
    `The data of ${dataDir} was stored in ${readlinkSync(cluster)}, which no longer exists. Restore it from a backup, ` +
      `or remove ${cluster} to start with an empty database.`,
  )
}

// initdb takes most of a second. An interrupted initdb leaves an unfinished cluster under another name, which the next
// start removes. A folder named `cluster` is always complete.
export async function createCluster(dataDir: string, launcher: Launcher, log: ServerLog): Promise<string> {
  const cluster = join(launcher.home, 'cluster')
  // It exists if it is outside the data folder and the link to it was lost; then we keep its data.
  if (!existsSync(cluster)) await makeCluster(cluster, launcher, log)
  if (launcher.home !== dataDir) symlinkSync(cluster, join(dataDir, 'cluster'))
  syncFolder(dataDir)
  return cluster
}

async function makeCluster(cluster: string, launcher: Launcher, log: ServerLog): Promise<void> {
  const work = mkdtempSync(join(launcher.home, 'new-'))
  try {
    const made = join(work, 'made')
    mkdirSync(made, { mode: 0o700 })
    writeFileSync(join(work, 'password'), randomBytes(24).toString('hex'), { mode: 0o600, flush: true })
    changeOwner(launcher, work)
    await runInitdb(launcher, made, log)
    renameSync(join(work, 'password'), join(made, PASSWORD_FILE))
    syncFolder(made)
    renameSync(made, cluster)
    syncFolder(launcher.home)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

async function runInitdb(launcher: Launcher, made: string, log: ServerLog): Promise<void> {
  const program = join(launcher.binaries, 'bin', 'initdb')
  const initdb = await supervise(launcher, program, initdbArguments(launcher, made), {
    cwd: made,
    logFd: log.fd,
  })
  await initdb.exited
  if (initdb.status !== 0)
    throw explainFailure(`The database cluster could not be created: ${initdb.exit}.`, log)
}

export function removeUnfinishedClusters(home: string): void {
  for (const name of readdirSync(home)) {
    if (!name.startsWith('new-')) continue
    try {
      rmSync(join(home, name), { recursive: true, force: true })
    } catch {
      // An initdb that was just interrupted may still write to it. The next start removes it.
    }
  }
}

export function requireSameMajor(cluster: string, version: string): void {
  const made = readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim()
  const major = majorOf(version)
  if (Number(made) === major) return
  const age = Number(made) > major ? 'newer' : 'older'
  throw new Error(
    `The data folder ${cluster} was made by PostgreSQL ${made}, which is ${age} than the PostgreSQL ${version} of this ` +
      `release. ${age === 'newer' ? 'Install the newer release of Cowry again' : 'Dump it with the release of Cowry that made it and load the dump here'}, or choose another data folder. ` +
      'Nothing was changed.',
  )
}

export function majorOf(version: string): number {
  return Number.parseInt(version, 10)
}

// PostgreSQL requires that its own user owns the folder and that no other user may read it. A copy or a restored backup
// often has other permissions.
export function fixOwnership(cluster: string, launcher: Launcher): void {
  if (statSync(cluster).uid !== wantedOwner(launcher)) changeOwner(launcher, cluster)
  chmodSync(cluster, 0o700)
}

// Runs before any file is opened, because the later errors would be less helpful.
export function requireOwner(dataDir: string): void {
  const me = process.getuid?.()
  if (isRoot()) return
  for (const name of ['cluster', 'server.log', 'lock']) {
    const uid = statSync(join(dataDir, name), { throwIfNoEntry: false })?.uid
    if (uid === undefined || uid === me) continue
    throw new Error(
      `${join(dataDir, name)} belongs to user ${uid}, and this service runs as user ${me}. Start it as user ${uid}, ` +
        `or change the owner of the folder: chown -R ${me} ${dataDir}`,
    )
  }
}

export function readPassword(cluster: string): string {
  try {
    return readFileSync(join(cluster, PASSWORD_FILE), 'utf8').trim()
  } catch (error) {
    throw new Error(
      `The password of the database is missing (${join(cluster, PASSWORD_FILE)}). Restore that file from a backup of the data folder.`,
      { cause: error },
    )
  }
}

function initdbArguments(launcher: Launcher, made: string): string[] {
  // Sort order and case rules must not depend on the locales of the machine.
  const locale = ['--encoding=UTF8', '--locale=C']
  if (majorOf(launcher.version) >= 17) locale.push('--locale-provider=builtin', '--builtin-locale=C.UTF-8')
  return [
    `--pgdata=${launcher.nameFolder(made)}`,
    `--username=${SUPERUSER}`,
    '--pwfile=../password',
    '--auth=scram-sha-256',
    '--data-checksums',
    '--no-instructions',
    ...locale,
  ]
}

function wantedOwner(launcher: Launcher): number | undefined {
  return launcher.uid ?? process.getuid?.()
}

// The folder itself is last: after an interruption it still has the old owner, so the next start repeats the change.
function changeOwner(launcher: Launcher, folder: string): void {
  const uid = wantedOwner(launcher)
  const gid = launcher.gid ?? process.getgid?.()
  if (!isRoot() || uid === undefined || gid === undefined) return
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    lchownSync(join(entry.parentPath, entry.name), uid, gid)
  }
  chownSync(folder, uid, gid)
}

function syncFolder(path: string): void {
  const fd = openSync(path, 'r')
  fsyncSync(fd)
  closeSync(fd)
}
