// Every statement over customers, except their lists and the upsert inside the record of a payment.

import { sql, type Tx } from '../kit/db.ts'
import { CUSTOMER_COLUMNS, type CustomerFields, type CustomerRow } from './customer.ts'

const selectCustomer = sql<CustomerRow>`
select ${CUSTOMER_COLUMNS}
from customers
where merchant_id = $1 and id = $2`

export async function findCustomer(db: Tx, merchantId: string, id: string): Promise<CustomerRow | undefined> {
  const [row] = await db.query(selectCustomer, [merchantId, id])
  return row
}

const insertCustomerStatement = sql<CustomerRow>`
insert into customers (
  merchant_id, id, email, email_key, firstname, lastname, country, phone, metadata, search_text, created_at, updated_at
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)
on conflict (merchant_id, email_key) do nothing
returning ${CUSTOMER_COLUMNS}`

/** Undefined when the e-mail is somebody's already; who makes the same at this moment is waited for. */
export async function insertCustomer(
  tx: Tx,
  merchantId: string,
  id: string,
  fields: CustomerFields,
  at: Date,
): Promise<CustomerRow | undefined> {
  const [row] = await tx.query(insertCustomerStatement, [merchantId, id, ...fieldValues(fields), at])
  return row
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
  const [row] = await tx.query(selectCustomerByEmail, [merchantId, emailKey])
  return row
}

// The same lock as a payment of the customer takes, so that whoever comes first is seen by the other.
const lockCustomerStatement = sql<CustomerRow>`
select ${CUSTOMER_COLUMNS}
from customers
where merchant_id = $1 and id = $2
for no key update`

export async function lockCustomer(tx: Tx, merchantId: string, id: string): Promise<CustomerRow | undefined> {
  const [row] = await tx.query(lockCustomerStatement, [merchantId, id])
  return row
}

const updateCustomerStatement = sql<CustomerRow>`
update customers
set
  email = $3,
  email_key = $4,
  firstname = $5,
  lastname = $6,
  country = $7,
  phone = $8,
  metadata = $9,
  search_text = $10,
  updated_at = $11
where merchant_id = $1 and id = $2
returning ${CUSTOMER_COLUMNS}`

export async function updateCustomerRow(
  tx: Tx,
  merchantId: string,
  id: string,
  fields: CustomerFields,
  at: Date,
): Promise<CustomerRow | undefined> {
  const [row] = await tx.query(updateCustomerStatement, [merchantId, id, ...fieldValues(fields), at])
  return row
}

const fieldValues = (fields: CustomerFields) => [
  fields.email,
  fields.emailKey,
  fields.firstname,
  fields.lastname,
  fields.country,
  fields.phone,
  JSON.stringify(fields.metadata),
  fields.searchText,
]

// A repeat changes nothing, so that the time of the change stays true; a new reason replaces the old one.
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
  const [row] = await tx.query(setStatusStatement, [merchantId, id, status, reason, at])
  return row
}
