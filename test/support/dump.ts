// Reads every value in the database, for tests that search for values which must not be stored.

import { type Db, sql } from '../../src/kit/db/db.ts'

export interface StoredValue {
  /** Such as payments.reference. */
  column: string
  text: string
}

const selectTables = sql<{ name: string }>`
select case when table_schema = current_schema() then format('%I', table_name) else format('%I.%I', table_schema, table_name) end as name
from information_schema.tables
where table_type = 'BASE TABLE' and table_schema in (current_schema(), 'sandbox')
order by name`

/** Every value of every column of every table; bytes as hexadecimal text. */
export async function dumpDatabase(db: Db): Promise<StoredValue[]> {
  const values: StoredValue[] = []
  // With several cells, each has the same tables.
  for (const name of new Set((await db.query(selectTables)).map((row) => row.name))) {
    const rows = await db.query(
      sql<{ row: Record<string, unknown> }>`select to_jsonb(t) as row from ${name} t`,
    )
    for (const { row } of rows)
      for (const [column, value] of Object.entries(row))
        if (value !== null) values.push({ column: `${name}.${column}`, text: textOf(value) })
  }
  return values
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

/** The columns that contain a text, as text or as bytes. */
export function columnsContaining(values: readonly StoredValue[], text: string): string[] {
  const bytes = Buffer.from(text).toString('hex')
  const found = values.filter((value) => value.text.includes(text) || value.text.includes(bytes))
  return [...new Set(found.map(({ column }) => column))].toSorted()
}
