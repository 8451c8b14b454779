// Every statement over customers, except their lists and the upsert in the statement that records a payment.

import { sql, type Tx } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'
import { CUSTOMER, CUSTOMER_FIELDS, type CustomerFields, type CustomerRow } from './customer.ts'

const CUSTOMER_COLUMNS = CUSTOMER.select()
const FIELDS = CUSTOMER_FIELDS.list()
const FIELDS_RECORD = `jsonb_to_recordset($3::jsonb) as f (${CUSTOMER_FIELDS.recordset()})`

const selectCustomer = sql<CustomerRow>`
select ${CUSTOMER_COLUMNS}
from customers
where merchant_id = $1 and id = $2`

export async function findCustomer(db: Tx, merchantId: string, id: string): Promise<CustomerRow | undefined> {
  return firstRow(db, selectCustomer, [merchantId, id])
}

const insertCustomerStatement = sql<CustomerRow>`
insert into customers (merchant_id, id, ${FIELDS}, created_at, updated_at)
select $1::uuid, $2::uuid, ${FIELDS}, $4::timestamptz, $4
from ${FIELDS_RECORD}
on conflict (merchant_id, email_key) do nothing
returning ${CUSTOMER_COLUMNS}`

/** Returns undefined if a customer has this e-mail. Waits for a concurrent insert of the same e-mail. */
export async function insertCustomer(
  tx: Tx,
  merchantId: string,
  id: string,
  fields: CustomerFields,
  at: Date,
): Promise<CustomerRow | undefined> {
  return firstRow(tx, insertCustomerStatement, [merchantId, id, recordOf(fields), at])
}

const selectCustomerByEmail = sql<CustomerRow>`
select ${CUSTOMER_COLUMNS}
from customers
where merchant_id = $1 and email_key = $2`

export async function findCustomerByEmail(
  tx: Tx,
  merchantId: string,
  emailKey: string,
): Promise<CustomerRow | undefined> {
  return firstRow(tx, selectCustomerByEmail, [merchantId, emailKey])
}

// A payment of the customer takes the same lock, so the later transaction sees the changes of the earlier one.
const lockCustomerStatement = sql<CustomerRow>`
select ${CUSTOMER_COLUMNS}
from customers
where merchant_id = $1 and id = $2
for no key update`

export async function lockCustomer(tx: Tx, merchantId: string, id: string): Promise<CustomerRow | undefined> {
  return firstRow(tx, lockCustomerStatement, [merchantId, id])
}

const updateCustomerStatement = sql<CustomerRow>`
update customers
set (${FIELDS}) = (select ${FIELDS} from ${FIELDS_RECORD}), updated_at = $4
where merchant_id = $1 and id = $2
returning ${CUSTOMER_COLUMNS}`

export async function updateCustomerRow(
  tx: Tx,
  merchantId: string,
  id: string,
  fields: CustomerFields,
  at: Date,
): Promise<CustomerRow | undefined> {
  return firstRow(tx, updateCustomerStatement, [merchantId, id, recordOf(fields), at])
}

const recordOf = (fields: CustomerFields) => JSON.stringify([CUSTOMER_FIELDS.toRecord(fields)])

// A repeated request changes nothing, so updated_at stays correct; a new reason replaces the old one.
const setStatusStatement = sql<CustomerRow>`
update customers
set
  status = $3,
  status_reason = case when $3 = 'blocked' then coalesce($4, status_reason) end,
  updated_at = case when status = $3 and ($4::text is null or $4 = status_reason) then updated_at else $5 end
where merchant_id = $1 and id = $2
returning ${CUSTOMER_COLUMNS}`

export async function setCustomerStatus(
  tx: Tx,
  merchantId: string,
  id: string,
  status: CustomerRow['status'],
  reason: string | null,
  at: Date,
): Promise<CustomerRow | undefined> {
  return firstRow(tx, setStatusStatement, [merchantId, id, status, reason, at])
}
