// The connections of the pool that may be used: of the server that takes writes, and with plans that fit the size of the
// tables.

import type pg from 'pg'
import { markDistributed } from './tenant-query.ts'

/** Connections of one epoch lead to the same server, as far as we know. */
interface ConnectionEpochs {
  acquire(): Promise<pg.PoolClient>
  /**
   * The server of this connection must not be used any more: drops all connections of its epoch and of earlier ones.
   */
  retire(client: pg.PoolClient): void
}

export function createConnectionEpochs(pool: pg.Pool, timeoutMs: number): ConnectionEpochs {
  const epochOf = new WeakMap<pg.PoolClient, number>()
  const prepare = createPreparation(timeoutMs)
  let currentEpoch = 0
  pool.on('connect', (client) => void epochOf.set(client, currentEpoch))
  return {
    async acquire() {
      for (;;) {
        const client = await pool.connect()
        if (epochOf.get(client) === currentEpoch) {
          // Not with the pool's own verify hook: if the caller's timeout fires during it, the pool leaks the connection.
          await prepare(client)?.catch((error: unknown) => {
            client.release(true)
            throw error
          })
          return client
        }
        client.release(true)
      }
    },
    retire(client) {
      // Many connections of one epoch detect this at about the same time; newer connections may be right.
      if (epochOf.get(client) === currentEpoch) currentEpoch += 1
    },
  }
}

// Measured on a new database without statistics: with a factor of 2 the plans were right after 2,400 charges, with 1.5 after
// 800.
const FIRST_REPLAN = 16
const REPLAN_FACTOR = 1.5

/** What a connection needs before its next use; undefined for nothing. */
function createPreparation(timeoutMs: number): (client: pg.PoolClient) => Promise<void> | undefined {
  const planned = new WeakMap<pg.PoolClient, number>()
  let uses = 0
  let generation = 0
  let nextReplan = FIRST_REPLAN
  return (client) => {
    uses += 1
    if (uses >= nextReplan) {
      generation += 1
      nextReplan *= REPLAN_FACTOR
    }
    const last = planned.get(client)
    if (last === generation) return undefined
    planned.set(client, generation)
    return last === undefined ? requireWritable(client, timeoutMs) : discardPlans(client, timeoutMs)
  }
}

/**
 * A prepared statement keeps its plan until the statistics of its tables change. While the tables of a new database
 * grow, a plan that was made for a few rows reads every row of a merchant, so plans are made anew as the pool is used.
 */
async function discardPlans(client: pg.PoolClient, timeoutMs: number): Promise<void> {
  await client.query(withTimeout('discard plans', timeoutMs))
}

const SERVER_KIND = `select
  current_setting('transaction_read_only') = 'on' as is_read_only,
  current_setting('citus.propagate_set_commands', true) is not null as is_distributed`

/** After a failover the address may still lead to a read-only server. */
async function requireWritable(client: pg.PoolClient, timeoutMs: number): Promise<void> {
  const { rows } = await client.query(withTimeout(SERVER_KIND, timeoutMs))
  if (rows[0]?.is_distributed) markDistributed(client)
  if (rows[0]?.is_read_only)
    throw new Error('the server takes no writes: it is a standby, or was made read-only')
}

/** The driver stops waiting for the reply after this; without it, it waits without limit. */
export function withTimeout(text: string, timeoutMs: number | undefined) {
  return { text, query_timeout: timeoutMs }
}
