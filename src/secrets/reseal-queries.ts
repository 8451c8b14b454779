// The statements that read and replace encrypted columns. They span the tables of other slices, because they change only
// how a value is encrypted. A replaced value must still be the one that was read, so a concurrent change is never lost.

import { type Db, type Statement, sql, type Tx } from '../kit/db/db.ts'

export interface SealedRow {
  merchantId: string
  id: string
  /** The row in the encryption context. */
  rowId: string
  /** The encrypted values, in the order of the table's columns. */
  sealed: (string | null)[]
}

export interface ResealedRow extends Pick<SealedRow, 'merchantId' | 'id' | 'sealed'> {
  fresh: (string | null)[]
}

interface SealedColumns {
  name: string
  columns: readonly string[]
  /** The column in the encryption context, where it differs. */
  contextColumns?: readonly string[]
  /** The row in the encryption context, as SQL; absent: its id. */
  rowId?: string
}

/** A table with encrypted columns. */
export interface SealedTable extends SealedColumns {
  read: Statement<SealedRow>
  replace: Statement<{ id: string }>
}

function buildReadStatement({ name, columns, rowId = 'id::text' }: SealedColumns): Statement<SealedRow> {
  return sql<SealedRow>`
select merchant_id as "merchantId", id, ${rowId} as "rowId", array[${columns.join(', ')}] as sealed
from ${name}
where (merchant_id, id) > ($1::uuid, $2::uuid)
order by merchant_id, id
limit $3`
}

/** The values before and after, one field each. */
const valuesOf = (columns: readonly string[]) =>
  columns.map((_, index) => `sealed${index + 1} text, fresh${index + 1} text`).join(', ')

function buildReplaceStatement({ name, columns }: SealedColumns): Statement<{ id: string }> {
  const each = (write: (column: string, index: number) => string) =>
    columns.map((column, index) => write(column, index + 1))
  return sql<{ id: string }>`
update ${name} t
set ${each((column, index) => `${column} = r.fresh${index}`).join(', ')}
from jsonb_to_recordset($1::jsonb) as r ("merchantId" uuid, id uuid, ${valuesOf(columns)})
where t.merchant_id = r."merchantId"
  and t.id = r.id
  and ${each((column, index) => `t.${column} is not distinct from r.sealed${index}`).join(' and ')}
returning t.id`
}

const ACCOUNTS = { name: 'gateway_accounts', columns: ['sealed'], rowId: "gateway || ' ' || id" }
const METHODS = { name: 'payment_methods', columns: ['token_sealed', 'credential_sealed'] }
const PAYMENTS = { name: 'payments', columns: ['access_sealed'] }
const ENDPOINTS = {
  name: 'webhook_endpoints',
  columns: ['secret_sealed', 'previous_secret_sealed'],
  // The previous secret was sealed as the current one.
  contextColumns: ['secret_sealed', 'secret_sealed'],
}

// They belong to no merchant. The time of a grant stays, so a provider's limit on grants is kept.
const readTokens = sql<SealedRow>`
select $1::uuid as "merchantId", id, id::text as "rowId", array[sealed] as sealed
from gateway_tokens
where id > $2::uuid
order by id
limit $3`

const replaceTokens = sql<{ id: string }>`
update gateway_tokens t
set sealed = r.fresh1
from jsonb_to_recordset($1::jsonb) as r (id uuid, ${valuesOf(['sealed'])})
where t.id = r.id and t.sealed = r.sealed1
returning t.id`

const readUsers = sql<SealedRow>`
select $1::uuid as "merchantId", id, id::text as "rowId", array[totp_sealed, totp_pending_sealed] as sealed
from users
where id > $2::uuid
order by id
limit $3`

const USERS = {
  name: 'users',
  columns: ['totp_sealed', 'totp_pending_sealed'],
  // A secret moves from one column to the other.
  contextColumns: ['totp_sealed', 'totp_sealed'],
}

const replaceUsers = sql<{ id: string }>`
update users u
set totp_sealed = r.fresh1, totp_pending_sealed = r.fresh2
from jsonb_to_recordset($1::jsonb) as r (id uuid, ${valuesOf(USERS.columns)})
where u.id = r.id
  and u.totp_sealed is not distinct from r.sealed1
  and u.totp_pending_sealed is not distinct from r.sealed2
returning u.id`

// A number as an id, for the order of the rows.
const CELL_ID = "('00000000-0000-0000-0000-' || lpad(number::text, 12, '0'))::uuid"

const readCells = sql<SealedRow>`
select $1::uuid as "merchantId", ${CELL_ID} as id, name as "rowId", array[sealed] as sealed
from cells
where ${CELL_ID} > $2::uuid and state <> 'removed'
order by number
limit $3`

const replaceCells = sql<{ id: string }>`
update cells c
set sealed = r.fresh1
from jsonb_to_recordset($1::jsonb) as r (id uuid, ${valuesOf(['sealed'])})
where ${CELL_ID} = r.id and c.sealed = r.sealed1
returning r.id`

export const SEALED_TABLES: readonly SealedTable[] = [
  { ...ACCOUNTS, read: buildReadStatement(ACCOUNTS), replace: buildReplaceStatement(ACCOUNTS) },
  { ...METHODS, read: buildReadStatement(METHODS), replace: buildReplaceStatement(METHODS) },
  { ...PAYMENTS, read: buildReadStatement(PAYMENTS), replace: buildReplaceStatement(PAYMENTS) },
  { ...ENDPOINTS, read: buildReadStatement(ENDPOINTS), replace: buildReplaceStatement(ENDPOINTS) },
  { name: 'gateway_tokens', columns: ['sealed'], read: readTokens, replace: replaceTokens },
  { ...USERS, read: readUsers, replace: replaceUsers },
  { name: 'cells', columns: ['sealed'], read: readCells, replace: replaceCells },
]

const NIL_UUID = '00000000-0000-0000-0000-000000000000'
const BEGINNING = { merchantId: NIL_UUID, id: NIL_UUID }

/** The rows after this one, or the first ones, in the order of their keys. */
export async function listSealedRows(
  db: Tx,
  { read }: SealedTable,
  { merchantId, id }: Pick<SealedRow, 'merchantId' | 'id'> = BEGINNING,
  limit: number,
): Promise<SealedRow[]> {
  return db.query(read, [merchantId, id, limit])
}

function toRecord({ merchantId, id, sealed, fresh }: ResealedRow): Record<string, string | null> {
  const values = sealed.flatMap((value, index) => [
    [`sealed${index + 1}`, value],
    [`fresh${index + 1}`, fresh[index] ?? null],
  ])
  return { merchantId, id, ...Object.fromEntries(values) }
}

/** Returns the ids of the rows that were replaced; the others were changed since they were read. */
export async function replaceSealedRows(
  db: Db,
  { replace }: SealedTable,
  rows: readonly ResealedRow[],
): Promise<Set<string>> {
  if (rows.length === 0) return new Set()
  const records = JSON.stringify(rows.map(toRecord))
  const replaced = await db.transaction((tx) => tx.query(replace, [records]))
  return new Set(replaced.map(({ id }) => id))
}

const deleteChecksStatement = sql<{ name: string }>`
delete from service_secrets
where starts_with(name, $1) and name <> $2
returning name`

/** Deletes the secrets whose names start with the prefix, except one, and returns their names. */
export async function deleteOtherSecrets(db: Tx, prefix: string, except: string): Promise<string[]> {
  return (await db.query(deleteChecksStatement, [prefix, except])).map(({ name }) => name)
}
