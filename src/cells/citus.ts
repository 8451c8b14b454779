// A cell in a cluster of Citus: a schema that lies on one node as a whole, and that Citus moves to another one. Several cells are
// in one database, so the URL of each has its own search path.

import { type ConnectedDb, connectDb } from '../kit/db/db.ts'
import { isDistributedSchema } from '../kit/db/distributed/migrations.ts'
import { migrate } from '../kit/db/migrate.ts'
import { applyRowLevelSecurity } from '../kit/db/tenant-isolation.ts'
import {
  allowTenantRole,
  createSchema,
  distribute,
  findCitusMajor,
  listMisplacedExtensions,
  readNodes,
} from './citus-queries.ts'

// The first version that keeps the tables of a schema together.
const OLDEST_MAJOR = 12

const schemaOf = (name: string) => `cowry_${name.replaceAll('-', '_')}`

/** The URL of the cell with this name in the database of the coordinator. */
export function urlOfSchema(url: string, name: string): string {
  const own = new URL(url)
  own.searchParams.set('options', `-csearch_path=${schemaOf(name)},public`)
  return own.href
}

/** What must be changed before the database can have cells. */
export async function findObstacle(db: ConnectedDb, url: string): Promise<string | undefined> {
  if (new URL(url).searchParams.has('options')) return 'must have no options: the search path is added.'
  const major = await findCitusMajor(db)
  if (major === undefined) return 'leads to a database without Citus: create extension citus on every node.'
  if (major < OLDEST_MAJOR) return `leads to Citus ${major}: Cowry needs ${OLDEST_MAJOR} or newer.`
  const { holders, refusing } = await readNodes(db)
  if (holders === 0) return 'leads to a cluster without a node for data: add one with citus_add_node.'
  if (refusing.length > 0)
    return `leads to a cluster that refuses triggers: set citus.enable_unsafe_triggers = on for ${refusing.join(', ')}.`
  const misplaced = await listMisplacedExtensions(db)
  if (misplaced.length > 0)
    return `leads to a database with ${misplaced.join(' and ')} outside of public: alter extension … set schema public.`
  return undefined
}

/** Makes the schema of the cell, in steps that can be repeated. */
export async function prepareSchema(url: string, name: string): Promise<void> {
  const schema = schemaOf(name)
  const db = connectDb({ url: urlOfSchema(url, name), poolSize: 1 })
  try {
    await createSchema(db, schema)
    await migrate(db)
    if (!(await isDistributedSchema(db))) await distribute(db, schema)
    await allowTenantRole(db)
    await applyRowLevelSecurity(db)
  } finally {
    await db.close()
  }
}
