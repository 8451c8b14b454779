// The statements that read and write the rows of one merchant in any table. They name the table, so they are made for each. A
// row is transferred as the text of its type, which every server reads back to the same value.

import { type Statement, sql, type Tx } from '../../kit/db/db.ts'
import { type KeyColumn, LATE_ROWS, MOVED_TABLES, type MovedTable } from './tables.ts'

const selectTables = sql<Omit<MovedTable, 'late'>>`
select
  n.name,
  array(
    select a.attname::text
    from pg_attribute a
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.attidentity = ''
    order by a.attnum
  ) as columns,
  (
    select jsonb_agg(
      jsonb_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod))
      order by array_position(i.indkey::int2[], a.attnum)
    )
    from pg_index i
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
    where i.indrelid = c.oid and i.indisprimary
  ) as key
from unnest($1::text[]) with ordinality as n (name, position)
join pg_class c on c.oid = n.name::regclass
order by n.position`

export async function describeTables(db: Tx): Promise<MovedTable[]> {
  const found = await db.query(selectTables, [MOVED_TABLES])
  return found.map((table) => ({ ...table, late: LATE_ROWS[table.name] }))
}

/** Of one table, so it is prepared for one use. */
const statement = <Row>(text: string): Statement<Row> => ({ name: '', text })

export interface CopiedRow {
  row: string
  key: Record<string, unknown>
}

/** The values of a key as a position in its order, without the merchant. */
type Position = CopiedRow['key'] | undefined

const keyOf = ({ key }: MovedTable) =>
  `jsonb_build_object(${key.map(({ name }) => `'${name}', t.${name}`).join(', ')})`
const ownKey = ({ key }: MovedTable) => key.filter(({ name }) => name !== 'merchant_id')
const orderOf = (table: MovedTable) =>
  ownKey(table)
    .map(({ name }) => `t.${name}`)
    .join(', ')
const isEarly = ({ late }: MovedTable) => (late === undefined ? '' : `and not (${late})`)
/** The values of its columns; the numbers of a queue differ in each database. */
const valuesOf = ({ columns }: MovedTable) => `row(${columns.map((name) => `t.${name}`).join(', ')})::text`

function compare(columns: readonly KeyColumn[], sign: '>' | '<=', first: number): string {
  const names = columns.map(({ name }) => `t.${name}`).join(', ')
  const values = columns.map(({ type }, index) => `$${first + index}::${type}`).join(', ')
  return `and (${names}) ${sign} (${values})`
}

const valuesAt = (table: MovedTable, position: Position) =>
  position ? ownKey(table).map(({ name }) => String(position[name])) : []

/** The next rows that are not late, in the order of their key. */
export async function readRange(
  db: Tx,
  table: MovedTable,
  merchantId: string,
  after: Position,
  limit: number,
): Promise<CopiedRow[]> {
  const own = ownKey(table)
  const read = statement<CopiedRow>(`
select t::text as row, ${keyOf(table)} as key
from ${table.name} t
where t.merchant_id = $1 ${isEarly(table)} ${after ? compare(own, '>', 2) : ''}
order by ${orderOf(table)}
limit ${limit}`)
  return db.query(read, [merchantId, ...valuesAt(table, after)])
}

export interface RowDigest {
  key: CopiedRow['key']
  digest: string
}

/** A digest of each row that is not late, within a range of keys. */
export async function readDigests(
  db: Tx,
  table: MovedTable,
  merchantId: string,
  { after, until }: { after: Position; until: Position },
): Promise<RowDigest[]> {
  const own = ownKey(table)
  const bounds = [
    after ? compare(own, '>', 2) : '',
    until ? compare(own, '<=', 2 + (after ? own.length : 0)) : '',
  ]
  const read = statement<RowDigest>(`
select ${keyOf(table)} as key, encode(sha256(convert_to(${valuesOf(table)}, 'UTF8')), 'hex') as digest
from ${table.name} t
where t.merchant_id = $1 ${isEarly(table)} ${bounds.join(' ')}
order by ${orderOf(table)}`)
  return db.query(read, [merchantId, ...valuesAt(table, after), ...valuesAt(table, until)])
}

/** The rows of a table by their keys. */
export interface KeyedRows {
  table: MovedTable
  keys: CopiedRow['key'][]
}

export interface TableRows {
  table: MovedTable
  rows: string[]
}

interface NamedRow {
  table: string
  row: string
}

// Several tables in one statement: during the switch each round trip counts.

const keysOf = (changed: readonly KeyedRows[]) => changed.map(({ keys }) => JSON.stringify(keys))
const isSameKey = ({ key }: MovedTable) => key.map(({ name }) => `t.${name} = k.${name}`).join(' and ')
const keySet = ({ name }: MovedTable, index: number) =>
  `jsonb_populate_recordset(null::${name}, $${index + 1}::jsonb) k`
const unionOf = (selects: readonly string[]) => selects.map((select) => `(${select})`).join('\nunion all\n')

function groupRows(tables: readonly MovedTable[], found: readonly NamedRow[]): TableRows[] {
  const byName = Map.groupBy(found, ({ table }) => table)
  return tables.map((table) => ({ table, rows: (byName.get(table.name) ?? []).map(({ row }) => row) }))
}

/** The rows that are not late, of those in the lists. */
export async function readKeyed(db: Tx, changed: readonly KeyedRows[]): Promise<TableRows[]> {
  const selects = changed.map(
    ({ table }, index) =>
      `select '${table.name}' as table, t::text as row from ${keySet(table, index)} join ${table.name} t on ${isSameKey(table)} where true ${isEarly(table)}`,
  )
  const found = await db.query(statement<NamedRow>(unionOf(selects)), keysOf(changed))
  return groupRows(
    changed.map(({ table }) => table),
    found,
  )
}

/** The rows that are copied at the switch. */
export async function readLate(
  db: Tx,
  tables: readonly MovedTable[],
  merchantId: string,
): Promise<TableRows[]> {
  const selects = tables.map(
    (table) =>
      `select '${table.name}' as table, t::text as row from ${table.name} t where t.merchant_id = $1 and (${table.late}) order by ${orderOf(table) || 't.merchant_id'}`,
  )
  return groupRows(tables, await db.query(statement<NamedRow>(unionOf(selects)), [merchantId]))
}

/** One digest for each table, of the rows in the lists that are not late. */
export async function digestKeyed(db: Tx, changed: readonly KeyedRows[]): Promise<string[]> {
  const selects = changed.map(
    ({ table }, index) =>
      `select '${table.name} ' || ${digestOf(table)} as digest from ${keySet(table, index)} join ${table.name} t on ${isSameKey(table)} where true ${isEarly(table)}`,
  )
  return digestsOf(await db.query(statement<{ digest: string }>(unionOf(selects)), keysOf(changed)))
}

/** One digest for each table, of its late rows. */
export async function digestLate(
  db: Tx,
  tables: readonly MovedTable[],
  merchantId: string,
): Promise<string[]> {
  const selects = tables.map(
    (table) =>
      `select '${table.name} ' || ${digestOf(table)} as digest from ${table.name} t where t.merchant_id = $1 and (${table.late})`,
  )
  return digestsOf(await db.query(statement<{ digest: string }>(unionOf(selects)), [merchantId]))
}

// The server may answer for the tables in any order.
const digestsOf = (rows: readonly { digest: string }[]) => rows.map(({ digest }) => digest).toSorted()

function digestOf(table: MovedTable): string {
  const values = valuesOf(table)
  return `count(*) || ' ' || encode(sha256(convert_to(coalesce(string_agg(${values}, ',' order by ${values}), ''), 'UTF8')), 'hex')`
}

/** `isRepeatable`: a row that exists is left. If it differs, its change was recorded, and it is copied again. */
export async function insertRows(
  db: Tx,
  copied: readonly TableRows[],
  { isRepeatable = false } = {},
): Promise<void> {
  const filled = copied.filter(({ rows }) => rows.length > 0)
  if (filled.length === 0) return
  const inserts = filled.map(({ table: { name, columns } }, index) => {
    const made = `select x::${name} as made from unnest($${index + 1}::text[]) with ordinality as u (x, position) order by position`
    const values = columns.map((column) => `(r.made).${column}`).join(', ')
    return `i${index} as (insert into ${name} (${columns.join(', ')}) select ${values} from (${made}) r ${isRepeatable ? 'on conflict do nothing' : ''})`
  })
  await db.query(
    statement(`with ${inserts.join(',\n')} select`),
    filled.map(({ rows }) => rows),
  )
}

export async function deleteKeyed(db: Tx, changed: readonly KeyedRows[]): Promise<void> {
  const deletes = changed.map(
    ({ table }, index) =>
      `d${index} as (delete from ${table.name} t using ${keySet(table, index)} where ${isSameKey(table)})`,
  )
  await db.query(statement(`with ${deletes.join(',\n')} select`), keysOf(changed))
}

export async function deleteLate(db: Tx, table: MovedTable, merchantId: string): Promise<void> {
  const remove = statement<unknown>(
    `delete from ${table.name} t where t.merchant_id = $1 and (${table.late})`,
  )
  await db.query(remove, [merchantId])
}

export async function parkLate(
  db: Tx,
  table: MovedTable,
  merchantId: string,
  assignments: string,
): Promise<void> {
  const park = statement<unknown>(
    `update ${table.name} t set ${assignments} where t.merchant_id = $1 and (${table.late})`,
  )
  await db.query(park, [merchantId])
}

/** Deletes some rows of the merchant; returns how many. */
export async function deleteSome(
  db: Tx,
  table: MovedTable,
  merchantId: string,
  limit: number,
): Promise<number> {
  const key = table.key.map(({ name }) => name).join(', ')
  const remove = statement<unknown>(`
delete from ${table.name}
where (${key}) in (select ${key} from ${table.name} where merchant_id = $1 limit ${limit})
returning 1`)
  return (await db.query(remove, [merchantId])).length
}

const selectAccounts = sql<{ account: string }>`
select gateway || '/' || merchant_id || '/' || id as account
from gateway_accounts
where merchant_id = $1`

/** The names of the merchant's accounts in the lookups of refunds. */
async function listAccounts(db: Tx, merchantId: string): Promise<string[]> {
  return (await db.query(selectAccounts, [merchantId])).map(({ account }) => account)
}

const selectLookups = sql<{ row: string }>`
select l::text as row
from refund_lookups l
where account = any ($1::text[])`

export async function readLookups(db: Tx, merchantId: string): Promise<string[]> {
  const found = await db.query(selectLookups, [await listAccounts(db, merchantId)])
  return found.map(({ row }) => row)
}

const insertLookupsStatement = sql<unknown>`
insert into refund_lookups
select (x::refund_lookups).*
from unnest($1::text[]) x
on conflict (account) do nothing`

export async function insertLookups(db: Tx, rows: readonly string[]): Promise<void> {
  if (rows.length > 0) await db.query(insertLookupsStatement, [rows])
}

const deleteLookupsStatement = sql<unknown>`
delete from refund_lookups
where account = any ($1::text[])`

export async function deleteLookups(db: Tx, merchantId: string): Promise<void> {
  await db.query(deleteLookupsStatement, [await listAccounts(db, merchantId)])
}
