// New migrations in a cell that is distributed already. The rules of their commands need no cluster (migration-rules.test.ts).

import assert from 'node:assert/strict'
import { copyFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { prepareSchema, urlOfSchema } from '../../src/cells/citus.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { type ConnectedDb, sql } from '../../src/kit/db/db.ts'
import { MIGRATIONS_DIR, migrate } from '../../src/kit/db/migrate.ts'
import { applyRowLevelSecurity } from '../../src/kit/db/tenant-isolation.ts'
import { systemRandom } from '../../src/kit/random.ts'
import { CLUSTER_URL, ON_CLUSTER } from '../support/cluster.ts'
import { connectTestDb } from '../support/test-db.ts'

const ADDED = `-- Everything that a migration usually does; in one text.
alter table merchants add column scratch_rank integer not null default 3;
alter table merchants add constraint scratch_rank_check check (scratch_rank > 0) not valid;
alter table merchants validate constraint scratch_rank_check;

create table scratch_notes (
  id bigint generated always as identity primary key,
  merchant_id uuid not null references merchants (id),
  body text not null check (body <> ';')
);
alter table scratch_notes alter column merchant_id set (n_distinct = 10);
create unique index scratch_notes_bodies on scratch_notes (merchant_id, body);
create unlogged table scratch_cache (id uuid primary key);

create function scratch_raise() returns trigger language plpgsql as $$
begin
  update merchants set scratch_rank = scratch_rank + 1 where id = new.merchant_id;
  return null;
end
$$;
create trigger scratch_raise after insert on scratch_notes for each row execute function scratch_raise();
update merchants set scratch_rank = 5 where name = 'Old Shop';
select pin_trigger_functions();
select apply_row_level_security();
`

const REFUSED = `alter table merchants add column scratch_name text;
alter table merchants
add column scratch_kind text check (scratch_kind <> '');`

const insertMerchant = sql<unknown>`
insert into merchants (id, name, mode, created_at, updated_at)
values ($1, $2, 'test', now(), now())`
const insertNote = sql<unknown>`insert into scratch_notes (merchant_id, body) values ($1, $2)`
const selectRank = sql<{ rank: number }>`select scratch_rank as rank from merchants where id = $1`
const selectNotes = sql<{ body: string }>`select body from scratch_notes`
const selectColumns = sql<{ name: string }>`
select attname as name
from pg_attribute
where attrelid = 'merchants'::regclass and attname like 'scratch%' and not attisdropped`
const selectUnlogged = sql<{ name: string }>`
select relname as name
from pg_class
where relnamespace = current_schema()::regnamespace and relpersistence = 'u'`

const random = systemRandom(systemClock)

describe('a new migration of a distributed cell', ON_CLUSTER, () => {
  const [old, other] = [random.uuid(), random.uuid()]
  let db: ConnectedDb
  let folder: string

  const migrateWith = async (name: string, text: string) => {
    await writeFile(join(folder, name), text)
    return migrate(db, pathToFileURL(`${folder}/`))
  }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'cowry-migrations-'))
    for (const name of await readdir(MIGRATIONS_DIR))
      await copyFile(new URL(name, MIGRATIONS_DIR), join(folder, name))
    const url = CLUSTER_URL ?? ''
    await prepareSchema(url, 'scratch')
    db = connectTestDb({ url: urlOfSchema(url, 'scratch'), poolSize: 2 })
    await db.query(insertMerchant, [old, 'Old Shop'])
    await db.query(insertMerchant, [other, 'Other Shop'])
  })
  after(async () => {
    await db.script('drop schema cowry_scratch cascade')
    await db.close()
    await rm(folder, { recursive: true })
  })

  it('adds columns, constraints, tables, indexes, functions and triggers, and changes rows', async () => {
    assert.deepEqual(await migrateWith('9001_added.sql', ADDED), { applied: ['9001_added.sql'] })
    assert.deepEqual(await db.query(selectRank, [old]), [{ rank: 5 }])
    await db.query(insertNote, [old, 'first'])
    await db.query(insertNote, [other, 'theirs'])
    assert.deepEqual(await db.query(selectRank, [old]), [{ rank: 6 }])
    await assert.rejects(db.query(insertNote, [old, 'first']), /unique constraint/)
    await assert.rejects(db.query(insertNote, [old, ';']), /check constraint/)
    assert.deepEqual(await db.query(selectUnlogged), [])
  })

  it('puts the new table behind row-level security', async () => {
    assert.deepEqual(await applyRowLevelSecurity(db), [])
    assert.deepEqual(await db.forMerchant(old).query(selectNotes), [{ body: 'first' }])
  })

  it('is refused with what to do where Citus has no such command, and changes nothing', async () => {
    const refusal =
      /9002_refused\.sql failed: Citus does not take "alter table merchants" .* Nothing was changed\. Write it as/
    await assert.rejects(migrateWith('9002_refused.sql', REFUSED), refusal)
    assert.deepEqual(await db.query(selectColumns), [{ name: 'scratch_rank' }])
  })
})
