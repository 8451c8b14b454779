// Every statement over merchants. Operators see all merchants, so the list of merchants is not filtered by one.

import { COUNT_CAP } from '../core/page.ts'
import { sql, type Tx } from '../kit/db/db.ts'
import { requireRow } from '../kit/db/rows.ts'
import { MERCHANT, type MerchantRow } from './merchant.ts'
import type { ExpectedLimits } from './schema.ts'
import type { SettingsPatch } from './settings.ts'

const MERCHANT_COLUMNS = MERCHANT.select()

const insertMerchantStatement = sql<MerchantRow>`
insert into merchants (${MERCHANT.list()})
values (${MERCHANT.placeholders()})
returning ${MERCHANT_COLUMNS}`

const CELL = `$${MERCHANT.except().length + 1}`

const insertMerchantInCellStatement = sql<MerchantRow>`
with inserted as (
  insert into merchants (${MERCHANT.list()})
  values (${MERCHANT.placeholders()})
  returning ${MERCHANT.list()}
),
placed as (
  insert into merchant_cells (merchant_id, cell)
  select id, ${CELL}
  from inserted
)
select ${MERCHANT_COLUMNS}
from inserted`

export async function insertMerchant(db: Tx, merchant: MerchantRow, cell: number): Promise<MerchantRow> {
  const values = MERCHANT.values(merchant)
  if (cell === 0) return requireRow(await db.query(insertMerchantStatement, values))
  return requireRow(await db.query(insertMerchantInCellStatement, [...values, cell]))
}

const CHANGED = MERCHANT.except('id', 'createdAt')

const saveCopyStatement = sql<unknown>`
insert into merchants as m (${MERCHANT.list()})
values (${MERCHANT.placeholders()})
on conflict (id) do update
set (${MERCHANT.list(CHANGED)}) = (${MERCHANT.list(CHANGED, 'excluded')})
where m.updated_at <= excluded.updated_at`

/** Writes the row of a merchant into its cell, unless a newer one is there. */
export async function saveMerchantCopy(cell: Tx, merchant: MerchantRow): Promise<void> {
  await cell.query(saveCopyStatement, MERCHANT.values(merchant))
}

const findMerchantStatement = sql<MerchantRow>`
select ${MERCHANT_COLUMNS}
from merchants
where id = $1`

export async function findMerchant(db: Tx, merchantId: string): Promise<MerchantRow | undefined> {
  return (await db.query(findMerchantStatement, [merchantId]))[0]
}

// The array is read in subselects. If the planner saw its length, it would make a new plan for every batch size.
const findSettingsStatement = sql<Pick<MerchantRow, 'id' | 'settings'>>`
select m.id, m.settings
from (
  select *
  from unnest((select $1::uuid[])) as u (id)
  limit (select cardinality($1::uuid[]))
) as i
join merchants m on m.id = i.id`

/** The settings of each merchant; undefined for an unknown one. */
export async function findSettings(
  db: Tx,
  merchantIds: readonly string[],
): Promise<(MerchantRow['settings'] | undefined)[]> {
  const rows = await db.query(findSettingsStatement, [merchantIds])
  const byMerchant = new Map(rows.map(({ id, settings }) => [id, settings]))
  return merchantIds.map((id) => byMerchant.get(id))
}

// Ids are UUIDv7, so they sort by creation time.
const listMerchantsStatement = sql<MerchantRow>`
select ${MERCHANT_COLUMNS}
from merchants
order by id desc
limit $1
offset $2`

export function listMerchantRows(db: Tx, limit: number, offset: number): Promise<MerchantRow[]> {
  return db.query(listMerchantsStatement, [limit, offset])
}

const countMerchantsStatement = sql<{ total: number }>`
select count(*)::integer as total
from (select from merchants limit ${String(COUNT_CAP + 1)}) counted`

export async function countMerchants(db: Tx): Promise<number> {
  return requireRow(await db.query(countMerchantsStatement)).total
}

interface MerchantChanges extends Partial<Pick<MerchantRow, 'name' | 'baseCurrency' | 'status'>> {
  settings?: SettingsPatch
  expected?: ExpectedLimits
}

// The statement merges the settings, so that concurrent changes do not overwrite each other. With $8 it changes nothing if one
// of the named lists is another by now. An aggregate, and not an anti-join: after a wait for the row lock PostgreSQL evaluates an
// expression again with the new row, but not the rows that it is joined with.
const updateMerchantStatement = sql<MerchantRow>`
with marked as (
  update merchant_cells
  set copy_due_at = $7
  where merchant_id = $1
)
update merchants
set
  name = coalesce($2, name),
  base_currency = coalesce($3, base_currency),
  settings = case
    when $4::jsonb is null then settings
    else jsonb_set(
      settings || $4::jsonb,
      '{branding}',
      case when jsonb_typeof(settings -> 'branding') = 'object' then settings -> 'branding' else '{}' end || $5::jsonb
    )
  end,
  status = coalesce($6, status),
  updated_at = $7
where id = $1
  and coalesce(
    (
      select bool_and(
        expected.value = case jsonb_typeof(settings -> expected.key) when 'array' then settings -> expected.key else '[]' end
      )
      from jsonb_each($8::jsonb) expected
    ),
    true
  )
returning ${MERCHANT_COLUMNS}`

/** Changes the given fields only. Undefined also if `expected`, lists of the settings by their names, are others by now. */
export async function updateMerchantRow(
  db: Tx,
  merchantId: string,
  changes: MerchantChanges,
  updatedAt: Date,
): Promise<MerchantRow | undefined> {
  const { name, baseCurrency, settings, status, expected } = changes
  const texts = settings && [JSON.stringify(settings.fields), JSON.stringify(settings.branding)]
  const [fields, branding] = texts ?? []
  const unchanged = expected && JSON.stringify(expected)
  const values = [merchantId, name, baseCurrency, fields, branding, status, updatedAt, unchanged]
  return (await db.query(updateMerchantStatement, values))[0]
}
