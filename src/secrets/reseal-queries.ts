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

/** A table with encrypted columns. */
export interface SealedTable {
  name: string
  columns: readonly string[]
  /** The column in the encryption context, where it differs. */
  contextColumns?: readonly string[]
  read: Statement<SealedRow>
  replace: Statement<{ id: string }>
}

const FRESH_ROWS =
  'jsonb_to_recordset($1::jsonb) as r ("merchantId" uuid, id uuid, sealed text[], fresh text[])'

const readAccounts = sql<SealedRow>`
select merchant_id as "merchantId", id, gateway || ' ' || id as "rowId", array[sealed] as sealed
from gateway_accounts
where (merchant_id, id) > ($1::uuid, $2::uuid)
order by merchant_id, id
limit $3`

const replaceAccounts = sql<{ id: string }>`
update gateway_accounts t
set sealed = r.fresh[1]
from ${FRESH_ROWS}
where t.merchant_id = r."merchantId" and t.id = r.id and t.sealed = r.sealed[1]
returning t.id`

const readMethods = sql<SealedRow>`
select merchant_id as "merchantId", id, id::text as "rowId", array[token_sealed, credential_sealed] as sealed
from payment_methods
where (merchant_id, id) > ($1::uuid, $2::uuid)
order by merchant_id, id
limit $3`

const replaceMethods = sql<{ id: string }>`
update payment_methods t
set token_sealed = r.fresh[1], credential_sealed = r.fresh[2]
from ${FRESH_ROWS}
where t.merchant_id = r."merchantId"
  and t.id = r.id
  and t.token_sealed = r.sealed[1]
  and t.credential_sealed = r.sealed[2]
returning t.id`

const readPayments = sql<SealedRow>`
select merchant_id as "merchantId", id, id::text as "rowId", array[access_sealed] as sealed
from payments
where (merchant_id, id) > ($1::uuid, $2::uuid)
order by merchant_id, id
limit $3`

const replacePayments = sql<{ id: string }>`
update payments t
set access_sealed = r.fresh[1]
from ${FRESH_ROWS}
where t.merchant_id = r."merchantId" and t.id = r.id and t.access_sealed = r.sealed[1]
returning t.id`

const readEndpoints = sql<SealedRow>`
select
  merchant_id as "merchantId", id, id::text as "rowId", array[secret_sealed, previous_secret_sealed] as sealed
from webhook_endpoints
where (merchant_id, id) > ($1::uuid, $2::uuid)
order by merchant_id, id
limit $3`

const replaceEndpoints = sql<{ id: string }>`
update webhook_endpoints t
set secret_sealed = r.fresh[1], previous_secret_sealed = r.fresh[2]
from ${FRESH_ROWS}
where t.merchant_id = r."merchantId"
  and t.id = r.id
  and t.secret_sealed is not distinct from r.sealed[1]
  and t.previous_secret_sealed is not distinct from r.sealed[2]
returning t.id`

export const SEALED_TABLES: readonly SealedTable[] = [
  { name: 'gateway_accounts', columns: ['sealed'], read: readAccounts, replace: replaceAccounts },
  {
    name: 'payment_methods',
    columns: ['token_sealed', 'credential_sealed'],
    read: readMethods,
    replace: replaceMethods,
  },
  { name: 'payments', columns: ['access_sealed'], read: readPayments, replace: replacePayments },
  {
    name: 'webhook_endpoints',
    columns: ['secret_sealed', 'previous_secret_sealed'],
    // The previous secret was sealed as the current one.
    contextColumns: ['secret_sealed', 'secret_sealed'],
    read: readEndpoints,
    replace: replaceEndpoints,
  },
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

/** Returns the ids of the rows that were replaced; the others were changed since they were read. */
export async function replaceSealedRows(
  db: Db,
  { replace }: SealedTable,
  rows: readonly ResealedRow[],
): Promise<Set<string>> {
  if (rows.length === 0) return new Set()
  const replaced = await db.transaction((tx) => tx.query(replace, [JSON.stringify(rows)]))
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
