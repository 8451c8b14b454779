// A primary, its standby, and the network between everybody: one address for the service, which leads to whoever is the
// primary, and links that can be cut.

import { SUPERUSER } from '../../../src/kit/embedded-postgres/cluster.ts'
import type { Cleanup } from '../../support/database.ts'
import { eventually } from '../../support/process.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { type Base, type Server, startServer } from './postgres-servers.ts'

export interface Pair {
  /** What the service knows as its database. */
  url: string
  primary: Server
  standby: Server
  /** Nothing passes between primary and standby any more. */
  cutReplication(): void
  /** The primary is alive, and nobody hears it any more. */
  isolatePrimary(): void
  /** Makes the standby the primary, and leads the service there. */
  failOver(): Promise<void>
}

const STANDBY = 's1'

let pairs = 0

export async function startPair(t: Cleanup, base: Base, isSynchronous: boolean): Promise<Pair> {
  pairs += 1
  const primary = await startServer(t, base, `primary-${pairs}`, {
    synchronous_standby_names: isSynchronous ? `FIRST 1 (${STANDBY})` : '',
  })
  const replication = await startTcpProxy(t, primary.port)
  const access = await startTcpProxy(t, primary.port)
  const address = await startTcpProxy(t, access.port)
  const standby = await startServer(t, base, `standby-${pairs}`, {
    primary_conninfo: `host=127.0.0.1 port=${replication.port} user=${SUPERUSER} password=${base.password} application_name=${STANDBY}`,
  })
  const wanted = isSynchronous ? 'sync' : 'async'
  await eventually(
    () => primary.query<{ state: string }>('select sync_state as state from pg_stat_replication'),
    (rows) => rows.some(({ state }) => state === wanted),
    30_000,
  )
  const url = new URL(primary.url)
  url.port = String(address.port)
  return {
    url: url.href,
    primary,
    standby,
    cutReplication: () => replication.blackhole(),
    isolatePrimary() {
      replication.blackhole()
      access.blackhole()
    },
    async failOver() {
      await standby.query('select pg_promote(true, 20)')
      address.retarget(standby.port)
    },
  }
}
