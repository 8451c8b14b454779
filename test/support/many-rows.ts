// A database whose tables appear to the planner to have a million rows each. A few hundred rows are real, generated
// from the catalog's column types, so that new tables are filled too; the statistics are then scaled. Writing to the
// catalog needs a superuser, which the tests' server has.

import pg from 'pg'

export const MANY = 1_000_000
const REAL_ROWS = 600
// A merchant has twenty thousand rows in each table: enough that reading all of them would be slow.
const MERCHANTS = 50
// Nullable columns are mostly null: an index over the other rows is small, and the planner must see that.
const NON_NULL_EVERY = 20
const LOW_CARDINALITY = 5
const LOW_CARDINALITY_COLUMNS =
  /^(?:currency|gateway|account|type|resource_type|channel|country|source|operation|format|owner)$/

interface Column {
  table: string
  name: string
  type: string
  isNullable: boolean
  /** The values that a check constraint lists, in its order. */
  allowed: string[]
}

const COLUMNS = `
select
  c.oid::regclass::text as "table",
  a.attname as name,
  format_type(a.atttypid, null) as type,
  not a.attnotnull as "isNullable",
  coalesce(
    (
      select array_agg(m[1] order by position)
      from pg_constraint k, regexp_matches(pg_get_constraintdef(k.oid), '''([^'']*)''::text', 'g') with ordinality as found (m, position)
      where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum] and pg_get_constraintdef(k.oid) ~ '= ANY'
    ),
    '{}'
  ) as allowed
from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
where c.relkind in ('r', 'p')
  and not c.relispartition
  and a.attidentity = ''
  and c.relnamespace in (current_schema()::regnamespace, 'sandbox'::regnamespace)
  and c.relname <> 'schema_migrations'
order by c.oid, a.attnum`

// Rows generated from column types alone violate check constraints, so drop them.
const DROP_CHECKS = `
do $$
declare
  k record;
begin
  for k in
    select conrelid::regclass as table_name, conname
    from pg_constraint
    where contype = 'c' and conrelid <> 0 and coninhcount = 0
  loop
    execute format('alter table %s drop constraint %I', k.table_name, k.conname);
  end loop;
end
$$`

// Scale an index in proportion to its table.
const SCALE = `
update pg_class c
set reltuples = c.reltuples * (${MANY} / t.reltuples), relpages = greatest(c.relpages, 1)
from pg_class t
left join pg_index i on i.indrelid = t.oid
where c.oid in (t.oid, i.indexrelid)
  and t.relkind = 'r'
  and t.reltuples > 0
  and t.relnamespace in (current_schema()::regnamespace, 'sandbox'::regnamespace)`

export async function makeManyRows(client: pg.Client): Promise<void> {
  const { rows } = await client.query<Column>(COLUMNS)
  await client.query(DROP_CHECKS)
  // Disables foreign keys and triggers.
  await client.query('set session_replication_role = replica')
  const tables = Map.groupBy(rows, ({ table }) => table)
  for (const [table, columns] of tables) await client.query(insertOf(table, columns))
  await client.query('set session_replication_role = default')
  await client.query('analyze')
  await client.query(SCALE)
}

function insertOf(table: string, columns: readonly Column[]): string {
  const names = columns.map(({ name }) => pg.escapeIdentifier(name)).join(', ')
  const values = columns.map(cellOf).join(', ')
  return `insert into ${table} (${names}) select ${values} from generate_series(1, ${REAL_ROWS}) as n on conflict do nothing`
}

function cellOf(column: Column): string {
  const value = nonNullValueOf(column)
  return column.isNullable ? `case when n % ${NON_NULL_EVERY} = 0 then ${value} end` : value
}

/**
 * Mostly the first value: check constraints list the usual state first, and the planner must see that the others are
 * rare.
 */
const allowedValue = (allowed: readonly string[]) => `
  (array[${allowed.map(pg.escapeLiteral).join(', ')}])[
    case when n % ${NON_NULL_EVERY} = 0 then 1 + n / ${NON_NULL_EVERY} % ${allowed.length} else 1 end
  ]`

const BY_TYPE: Readonly<Record<string, string>> = {
  'timestamp with time zone': `now() + n * interval '2 hours'`,
  bytea: `decode(md5(n::text) || md5(n::text), 'hex')`,
  jsonb: `'{}'::jsonb`,
  date: `date '2026-01-01' + n % 300`,
  boolean: 'false',
  'text[]': `array['value']`,
  'bigint[]': 'array[n]',
  'integer[]': 'array[n]',
  'timestamp with time zone[]': 'array[now()]',
  integer: 'n',
  bigint: 'n',
  'double precision': 'n',
}

function nonNullValueOf({ table, name, type, allowed }: Column): string {
  if (name === 'merchant_id') return `lpad(to_hex(n % ${MERCHANTS}), 32, '0')::uuid`
  if (type === 'uuid') return `md5(${pg.escapeLiteral(`${table} ${name}`)} || n)::uuid`
  if (allowed.length > 0) return allowedValue(allowed)
  if (type === 'text')
    return LOW_CARDINALITY_COLUMNS.test(name) ? `'value' || n % ${LOW_CARDINALITY}` : `'value ' || n`
  const value = BY_TYPE[type]
  if (value === undefined)
    throw new Error(`${table}.${name} has type ${type}, for which no rows can be generated yet`)
  return value
}
