// A primary, its standby, and the proxies between them and the service: one address that always points to the current
// primary, and links that can be cut.

import { SUPERUSER } from '../../../src/kit/embedded-postgres/cluster.ts'
import type { Cleanup } from '../../support/database.ts'
import { eventually } from '../../support/process.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { type Base, type Server, startServer } from './postgres-servers.ts'

export interface Pair {
  /** The DATABASE_URL of the service. */
  url: string
  primary: Server
  standby: Server
  /** Blocks all traffic between primary and standby. */
  cutReplication(): void
  /** Blocks all traffic of the primary, which still runs. */
  isolatePrimary(): void
  /** Promotes the standby, and points the service to it. */
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
