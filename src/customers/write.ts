// The merchant's changes of a customer: create, update, block and unblock.

import { assertNoCardNumbers } from '../core/card-number.ts'
import { ApiError } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import { recordEvents } from '../events/service.ts'
import { sqlStateOf, type Tx } from '../kit/db/db.ts'
import { createIdempotently, type IdempotentResult, isReplay, type KeyClaim } from '../kit/db/idempotency.ts'
import type { CustomersApp } from './app.ts'
import type { CustomerFields, CustomerRow } from './customer.ts'
import { applyCustomerChanges, type CustomerChanges } from './input.ts'
import {
  findCustomer,
  findCustomerByEmail,
  insertCustomer,
  lockCustomer,
  setCustomerStatus,
  updateCustomerRow,
} from './queries.ts'
import { toCustomer } from './schema.ts'

const CREATE = 'POST /api/v1/customers'
const BLOCK = `${CREATE}/{uuid}/block`
const UNBLOCK = `${CREATE}/{uuid}/unblock`

export async function createCustomer(
  app: CustomersApp,
  merchant: Merchant,
  fields: CustomerFields,
  idempotencyKey: string | undefined,
): Promise<IdempotentResult<CustomerRow>> {
  const claim = { merchantId: merchant.id, key: idempotencyKey, operation: CREATE, input: fields }
  return createIdempotently(app, claim, {
    make: (tx, id) => insertNewCustomer(app, tx, merchant, id, fields),
    find: (id) => findCustomer(app.db, merchant.id, id),
  })
}

async function insertNewCustomer(
  app: CustomersApp,
  tx: Tx,
  merchant: Merchant,
  id: string,
  fields: CustomerFields,
): Promise<CustomerRow> {
  const customer = await insertCustomer(tx, merchant.id, id, fields, app.clock.now())
  if (!customer) throw await customerExistsError(tx, merchant, fields.emailKey)
  await recordEvents(app, tx, app.mode, [
    {
      merchantId: merchant.id,
      type: 'customer.created',
      resource: { type: 'customer', uuid: id, version: 1 },
      data: toCustomer(customer),
    },
  ])
  return customer
}

async function customerExistsError(tx: Tx, merchant: Merchant, emailKey: string): Promise<ApiError> {
  const existing = await findCustomerByEmail(tx, merchant.id, emailKey)
  const message = `There is a customer with this e-mail already${existing ? `: ${existing.id}` : ''}.`
  return new ApiError('customer_exists', {
    message,
    details: [{ field: 'email', code: 'customer_exists', message }],
  })
}

export async function updateCustomer(
  app: CustomersApp,
  merchant: Merchant,
  id: string,
  changes: CustomerChanges,
): Promise<CustomerRow> {
  try {
    return await app.db.transaction((tx) => changeCustomer(app, tx, merchant, id, changes))
  } catch (error) {
    if (sqlStateOf(error) !== '23505' || changes.email === undefined) throw error
    throw await customerExistsError(app.db, merchant, changes.email.toLowerCase())
  }
}

async function changeCustomer(
  app: CustomersApp,
  tx: Tx,
  merchant: Merchant,
  id: string,
  changes: CustomerChanges,
): Promise<CustomerRow> {
  const customer = await lockCustomer(tx, merchant.id, id)
  if (!customer) throw new ApiError('customer_not_found')
  const fields = applyCustomerChanges(customer, changes)
  const changed = await updateCustomerRow(tx, merchant.id, id, fields, app.clock.now())
  if (!changed) throw new Error(`customer ${id} was not updated although its row is locked`)
  return changed
}

/** Rejects new payments of the customer. An attempt in progress continues, and a late payment is accepted. */
export async function blockCustomer(
  app: CustomersApp,
  merchant: Merchant,
  id: string,
  reason: string | undefined,
  key?: string,
): Promise<IdempotentResult<CustomerRow>> {
  assertNoCardNumbers({ reason })
  const claim = { merchantId: merchant.id, key, operation: BLOCK, input: { id, reason } }
  return setStatus(app, claim, id, 'blocked', reason ?? null)
}

export async function unblockCustomer(
  app: CustomersApp,
  merchant: Merchant,
  id: string,
  key?: string,
): Promise<IdempotentResult<CustomerRow>> {
  const claim = { merchantId: merchant.id, key, operation: UNBLOCK, input: { id } }
  return setStatus(app, claim, id, 'active', null)
}

async function setStatus(
  app: CustomersApp,
  claim: KeyClaim,
  id: string,
  status: CustomerRow['status'],
  reason: string | null,
): Promise<IdempotentResult<CustomerRow>> {
  const { merchantId } = claim
  return app.db.transaction(async (tx) => {
    const replayed = await isReplay(app, tx, claim)
    const record = replayed
      ? await findCustomer(tx, merchantId, id)
      : await setCustomerStatus(tx, merchantId, id, status, reason, app.clock.now())
    if (!record) throw new ApiError('customer_not_found')
    return { record, replayed }
  })
}
