// PostgreSQL refuses to run as root. An ordinary user starts it directly. As root we run it as another user, who must
// be able to reach the programs and the data. The machine decides which strategy works, so we try each, cheapest first.

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { copyBinaries, createMissingLinks } from './binaries.ts'
import { makeEnvironment } from './environment.ts'

export interface Launcher {
  binaries: string
  version: string
  shell: string
  prefix: string[]
  uid?: number
  gid?: number
  // The folder that contains the cluster: the data folder, except where the server's user cannot reach it.
  home: string
  // The name by which the started program refers to its working directory.
  nameFolder(folder: string): string
}

// The paths on the machine that the launcher uses. A parameter, so that tests can replace some of them.
export interface Machine {
  shell: string
  unshare: string
  copies: string
}

export const MACHINE: Machine = { shell: '/bin/sh', unshare: '/usr/bin/unshare', copies: '/var/lib/cowry' }

export interface LaunchSite {
  dataDir: string
  cluster: string
  binaries: string
  machine: Machine
}

interface LaunchStrategy {
  name: string
  prefix: string[]
  uid?: number
  gid?: number
  copyInto?: string
}

type ClusterLocation = Pick<Launcher, 'home' | 'nameFolder'>

const PROBE_TIMEOUT_MS = 20_000
const PROBE = 'cd "$1" && : >probe && exec "$2" --version'

// A process can use its working directory through this path even if it may not enter the parent folders. So the data can
// stay in a directory that only root may enter.
const OWN_FOLDER = '/proc/self/cwd'

export async function chooseLauncher(site: LaunchSite): Promise<Launcher> {
  requireShell(site.machine)
  const failures: string[] = []
  for (const strategy of isRoot() ? rootStrategies(site) : userStrategies(site)) {
    try {
      return await tryStrategy(site, strategy)
    } catch (error) {
      failures.push(`- ${strategy.name}: ${describeFailure(error)}`)
    }
  }
  const remedy = isRoot()
    ? 'Start as an ordinary user who may read the checkout and write the data folder'
    : 'Start as a user who is listed in /etc/passwd and may write the data folder'
  throw new Error(
    `The database server cannot be started here. ${remedy}, or set DATABASE_URL to a PostgreSQL of your own. ` +
      `What was tried:\n${failures.join('\n')}`,
  )
}

export function isRoot(): boolean {
  return process.getuid?.() === 0
}

function userStrategies({ dataDir, cluster, machine }: LaunchSite): LaunchStrategy[] {
  const asUser = { name: 'as this user', prefix: [] }
  const mapped = mapUser(machine)
  const copyInto = join(dataDir, 'binaries')
  const strategies = [asUser, { ...asUser, name: 'as this user, with a copy of the programs', copyInto }]
  // initdb requires a user with a name. Some containers run with a user id that has none; a user namespace maps it to one.
  if (hasUserName() || existsSync(cluster)) return strategies
  return [mapped, { ...mapped, name: `${mapped.name}, with a copy of the programs`, copyInto }]
}

function rootStrategies({ dataDir, cluster, machine }: LaunchSite): LaunchStrategy[] {
  const owner = findOwner(cluster)
  const mapped = mapUser(machine)
  const beside = join(dataDir, 'binaries')
  return [
    owner,
    mapped,
    {
      ...owner,
      name: `${owner.name}, with a copy of the programs in ${machine.copies}`,
      copyInto: machine.copies,
    },
    { ...owner, name: `${owner.name}, with a copy of the programs in ${beside}`, copyInto: beside },
    { ...mapped, name: `${mapped.name}, with a copy of the programs in ${beside}`, copyInto: beside },
  ]
}

// The user under which PostgreSQL runs when the service runs as root.
const UNPRIVILEGED_USER = 'nobody'

// When root starts the cluster of an ordinary user, the cluster keeps its owner.
function findOwner(cluster: string): LaunchStrategy {
  const made = statSync(cluster, { throwIfNoEntry: false })
  if (made && made.uid !== 0) return { name: `as user ${made.uid}`, prefix: [], uid: made.uid, gid: made.gid }
  const account = new RegExp(`^${UNPRIVILEGED_USER}:[^:]*:(-?\\d+):(-?\\d+):`, 'm').exec(readUsers())
  // On macOS /etc/passwd has negative ids for this user.
  const [uid, gid] = [Number(account?.[1] ?? 65534) >>> 0, Number(account?.[2] ?? 65534) >>> 0]
  return { name: 'as the user nobody', prefix: [], uid, gid }
}

// Inside the namespace the server is user nobody; outside, and on disk, it keeps our user id.
function mapUser({ unshare }: Machine): LaunchStrategy {
  return { name: 'in a user namespace', prefix: [unshare, '--user', '--map-user=65534', '--map-group=65534'] }
}

async function tryStrategy(site: LaunchSite, strategy: LaunchStrategy): Promise<Launcher> {
  const binaries = strategy.copyInto ? await copyBinaries(site.binaries, strategy.copyInto) : site.binaries
  const problem = createMissingLinks(binaries)
  if (problem) throw new Error(problem)

  let failure: unknown
  for (const location of locationsFor(site, strategy)) {
    const launcher = { ...strategy, ...location, binaries, shell: site.machine.shell, version: '' }
    try {
      return { ...launcher, version: await probe(launcher) }
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

// A new cluster is created outside the data folder only as the last resort: as root, under directories that only root
// may enter, in a chroot without /proc.
function locationsFor(
  { dataDir, cluster, machine }: LaunchSite,
  strategy: LaunchStrategy,
): ClusterLocation[] {
  const home = existsSync(cluster) ? dirname(cluster) : dataDir
  const byName = { home, nameFolder: (folder: string) => folder }
  if (!isRoot()) return [byName]
  const locations = [byName, { home, nameFolder: () => OWN_FOLDER }]
  if (strategy.copyInto === machine.copies && !existsSync(cluster)) {
    const digest = createHash('sha256').update(dataDir).digest('hex').slice(0, 12)
    locations.push({ ...byName, home: join(machine.copies, `data-${digest}`) })
  }
  return locations
}

// Tests everything that the server will need: enter the folder, write to it, load the program and its libraries.
async function probe(launcher: Launcher): Promise<string> {
  mkdirSync(launcher.home, { recursive: true, mode: 0o711 })
  const folder = mkdtempSync(join(launcher.home, 'new-'))
  try {
    if (launcher.uid !== undefined) chownSync(folder, launcher.uid, launcher.gid ?? launcher.uid)
    const [file = launcher.shell, ...args] = [...launcher.prefix, launcher.shell, '-c', PROBE, 'probe']
    const postgres = join(launcher.binaries, 'bin', 'postgres')
    const { stdout } = await promisify(execFile)(file, [...args, launcher.nameFolder(folder), postgres], {
      cwd: folder,
      uid: launcher.uid,
      gid: launcher.gid,
      env: makeEnvironment(launcher.binaries),
      timeout: PROBE_TIMEOUT_MS,
    })
    const version = /(\d+(\.\d+)*)/.exec(stdout)?.[1]
    if (!version) throw new Error(`postgres --version printed ${JSON.stringify(stdout)}`)
    return version
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function describeFailure(error: unknown): string {
  const { stderr, message, code } = error as { stderr?: string; message?: string; code?: string | number }
  if (code === 'ENOENT') return `a program is missing (${message})`
  return stderr?.trim() || message || String(error)
}

function requireShell({ shell }: Machine): void {
  if (existsSync(shell)) return
  throw new Error(
    `The database server needs ${shell}, which this system does not have. Use a system or a container image with a ` +
      'shell, or set DATABASE_URL to a PostgreSQL of your own.',
  )
}

// A minimal container may have no such file; then the usual user id is used.
function readUsers(): string {
  return existsSync('/etc/passwd') ? readFileSync('/etc/passwd', 'utf8') : ''
}

function hasUserName(): boolean {
  try {
    return userInfo().username !== ''
  } catch {
    // Node throws when the user database has no entry for this user.
    return false
  }
}
