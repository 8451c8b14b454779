// Forward-only SQL migrations. Every start applies all pending ones in one transaction, under a lock: either the schema is
// the one that this version needs, or nothing has changed.

import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { ADVISORY_LOCKS } from './advisory-locks.ts'
import { type Db, sql, type Tx } from './db.ts'
import { isDistributedSchema, runDistributed } from './distributed/migrations.ts'

export const MIGRATIONS_DIR = new URL('../../../migrations/', import.meta.url)

interface Migration {
  version: number
  name: string
  text: string
  checksum: string
}

interface AppliedRow {
  version: number
  name: string
  checksum: string
}

// The only migration of 0.1.0 that is needed to recognise it: its files were replaced by others.
const FIRST_OF_VERSION_0_1_0 = '0001_merchants.sql'

/** Thrown for a database of version 0.1.0, which cannot be upgraded. */
export class MigrationsReplaced extends Error {
  constructor(name: string) {
    super(`the database has migration ${name}, of version 0.1.0, which cannot be upgraded`)
  }
}

const lockMigrations = sql<unknown>`select pg_advisory_xact_lock(${ADVISORY_LOCKS.migrations})`
const selectApplied = sql<AppliedRow>`select version, name, checksum from schema_migrations order by version`
const insertApplied = sql<unknown>`insert into schema_migrations (version, name, checksum) values ($1, $2, $3)`

// PostgreSQL caches plans. One that it made while a table was empty reads the whole table, until statistics are collected
// minutes later. Every statement has an index (test/plans.test.ts), so plans with sequential reads are ruled out: by a
// setting of the role in this database, which also applies to the connections of a pooler. A copy of the database does not
// have it, hence at each start. A role that may not change its settings does without.
const AVOID_SEQUENTIAL_READS = `
do $$
begin
  if current_setting('enable_seqscan') = 'on' and not exists (
    select
    from pg_db_role_setting s, unnest(s.setconfig) as config
    where s.setdatabase in (0, (select oid from pg_database where datname = current_database()))
      and s.setrole in (0, current_user::regrole)
      and config like 'enable_seqscan=%'
  ) then
    execute format('alter role %I in database %I set enable_seqscan = off', current_user, current_database());
    perform set_config('enable_seqscan', 'off', false);
  end if;
exception
  when insufficient_privilege then null;
end
$$`

// Without statistics PostgreSQL assumes 200 merchants. On a table of a few hundred rows it then takes any index that begins
// with the merchant, and reads every row of the merchant with it. Therefore a table that has no statistics yet gets a
// number of merchants. Before PostgreSQL 18 statistics cannot be written, and plans improve as the pool is used
// (connections/epochs.ts). A role that may not do it does without.
const ASSUMED_MERCHANTS = 2
const ASSUME_FEW_MERCHANTS = `
do $$
declare
  found record;
begin
  if current_setting('server_version_num')::integer < 180000 then
    return;
  end if;
  for found in
    select c.relname, c.relkind = 'p' as is_partitioned
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attname = 'merchant_id' and not a.attisdropped
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and c.reltuples <= 0
  loop
    execute $restore$
      select pg_restore_attribute_stats(
        'schemaname', current_schema()::text, 'relname', $1, 'attname', 'merchant_id', 'inherited', $2,
        'null_frac', 0::real, 'avg_width', 16, 'n_distinct', ${ASSUMED_MERCHANTS}::real
      )$restore$
    using found.relname::text, found.is_partitioned;
  end loop;
exception
  when insufficient_privilege then null;
end
$$`

// A database with several cells has a schema for each of them, but the sandbox provider once.
const ONCE_PER_DATABASE = '0011_sandbox.sql'
const selectHasSandbox = sql<{
  hasSandbox: boolean
}>`select to_regnamespace('sandbox') is not null as "hasSandbox"`

const CREATE_TABLE = `create table if not exists schema_migrations (
  version integer primary key,
  name text not null,
  checksum text not null,
  applied_at timestamptz not null default now()
)`

export async function migrate(db: Db, dir: URL = MIGRATIONS_DIR): Promise<{ applied: string[] }> {
  const migrations = await readMigrations(dir)
  const applyPending = async (tx: Tx) => {
    // Another process may be migrating. The lock lasts until the transaction ends, so the second process finds no pending ones.
    await tx.script('set local lock_timeout = 0; set local statement_timeout = 0')
    await tx.query(lockMigrations)
    await tx.script(AVOID_SEQUENTIAL_READS)
    await tx.script(CREATE_TABLE)
    const done = await tx.query(selectApplied)
    const pending = pendingOf(migrations, done)
    const run = pending.length > 0 && (await isDistributedSchema(tx)) ? runDistributed : runScript
    for (const migration of pending) await apply(tx, migration, run)
    await tx.script(ASSUME_FEW_MERCHANTS)
    return { applied: pending.map((migration) => migration.name) }
  }
  return db.transaction(applyPending, { noTimeout: true })
}

const runScript = (tx: Tx, text: string) => tx.script(text)

async function apply(tx: Tx, migration: Migration, run: typeof runScript): Promise<void> {
  try {
    const isThere = migration.name === ONCE_PER_DATABASE && (await tx.query(selectHasSandbox))[0]?.hasSandbox
    if (!isThere) await run(tx, migration.text)
    await tx.query(insertApplied, [migration.version, migration.name, migration.checksum])
  } catch (error) {
    throw new Error(`migration ${migration.name} failed: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    })
  }
}

function pendingOf(migrations: Migration[], done: AppliedRow[]): Migration[] {
  const known = new Map(migrations.map((migration) => [migration.version, migration]))
  for (const row of done) {
    const migration = known.get(row.version)
    if (row.name === FIRST_OF_VERSION_0_1_0) throw new MigrationsReplaced(row.name)
    if (migration && migration.name !== row.name) {
      throw new Error(
        `the database has migration ${row.name} where this program has ${migration.name}: it was written by another version. Start that version, or use another database.`,
      )
    }
    if (!migration) {
      throw new Error(
        `the database has migration ${row.name}, which this program does not know: it was written by a newer version. Start that version, or restore a backup from before the upgrade.`,
      )
    }
    if (migration.checksum !== row.checksum) {
      throw new Error(
        `migration ${migration.name} was changed after it had been applied. Restore the file; write a new migration for the change.`,
      )
    }
  }
  const applied = new Set(done.map((row) => row.version))
  return migrations.filter((migration) => !applied.has(migration.version))
}

async function readMigrations(dir: URL): Promise<Migration[]> {
  const names = (await readdir(dir)).filter((name) => name.endsWith('.sql')).sort()
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, dir), 'utf8')
      const version = Number.parseInt(name, 10)
      return { version, name, text, checksum: createHash('sha256').update(text).digest('hex') }
    }),
  )
}
