// Statements that make a schema of its own in a cluster of Citus, where one database has several cells.

import { type Db, type Statement, sql, type Tx } from '../kit/db/db.ts'
import { firstRow, requireRow } from '../kit/db/rows.ts'

const selectVersion = sql<{ major: number }>`
select split_part(extversion, '.', 1)::integer as major
from pg_extension
where extname = 'citus'`

/** Undefined where the database does not have the extension. */
export async function findCitusMajor(db: Tx): Promise<number | undefined> {
  return (await firstRow(db, selectVersion, []))?.major
}

/** Not one of those that a test prepares on PostgreSQL itself: it uses what Citus adds. */
function citusSql<Row>(strings: TemplateStringsArray): Statement<Row> {
  return { name: '', text: String.raw({ raw: strings }).trim() }
}

const selectNodes = citusSql<{ holders: number; refusing: string[] }>`
select
  (select count(*) from pg_dist_node where isactive and shouldhaveshards)::integer as holders,
  (
    select coalesce(array_agg(n.nodename || ':' || n.nodeport), '{}')
    from run_command_on_all_nodes('select 1 where current_setting(''citus.enable_unsafe_triggers'')::boolean') r
    join pg_dist_node n on n.nodeid = r.nodeid
    where r.result is distinct from '1'
  ) as refusing`

/** How many nodes may hold the data of merchants, and which nodes do not take tables with triggers. */
export async function readNodes(db: Tx): Promise<{ holders: number; refusing: string[] }> {
  return requireRow(await db.query(selectNodes))
}

const selectMisplaced = sql<{ name: string }>`
select extname as name
from pg_extension
where extname in ('pg_trgm', 'btree_gin') and extnamespace <> 'public'::regnamespace`

/** The extensions that the cells could not find. */
export async function listMisplacedExtensions(db: Tx): Promise<string[]> {
  return (await db.query(selectMisplaced)).map(({ name }) => name)
}

const selectUnlogged = sql<{ name: string }>`
select c.oid::regclass::text as name
from pg_class c
where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relpersistence = 'u'`

/** Citus moves a schema by replication, which unlogged tables do not have. Those of the instance stay empty in a cell. */
async function logTables(tx: Tx): Promise<void> {
  for (const { name } of await tx.query(selectUnlogged)) await tx.script(`alter table ${name} set logged`)
}

const distributeStatement = citusSql<unknown>`select citus_schema_distribute($1::regnamespace)`

/** Copies each table to the node that will have the schema. */
export async function distribute(db: Db, schema: string): Promise<void> {
  const work = async (tx: Tx) => {
    await tx.script('set local lock_timeout = 0; set local statement_timeout = 0')
    await logTables(tx)
    await tx.query(distributeStatement, [schema])
  }
  await db.transaction(work, { noTimeout: true })
}

/** The extensions of the migrations, where every cell finds them. The schema is not distributed before it has its tables. */
export async function createSchema(db: Tx, schema: string): Promise<void> {
  await db.script('create extension if not exists pg_trgm schema public')
  await db.script('create extension if not exists btree_gin schema public')
  await db.script('set citus.enable_schema_based_sharding = off')
  await db.script(`create schema if not exists ${schema}`)
}

/**
 * The coordinator connects to the other nodes as the role of merchants. The role has no password: whether it may connect is
 * said by pg_hba.conf of each node.
 */
export async function allowTenantRole(db: Tx): Promise<void> {
  await db.script('alter role cowry_merchant login')
}
