// For tests: the records of Paymob, and its signatures, as the documentation describes them.

import { createHmac } from 'node:crypto'
import { systemClock } from '../../../src/kit/clock.ts'

export interface FakeTransaction {
  id: number
  amount_cents: number
  currency: string
  success: boolean
  pending: boolean
  created_at: string
  error_occured: boolean
  has_parent_transaction: boolean
  parent_transaction: number | null
  integration_id: number
  is_3d_secure: boolean
  is_auth: boolean
  is_capture: boolean
  is_refund: boolean
  is_refunded: boolean
  is_standalone_payment: boolean
  is_void: boolean
  is_voided: boolean
  owner: number
  refunded_amount_cents: number
  order: { id: number; merchant_order_id: string | null }
  source_data: { pan: string; type: string; sub_type: string }
  data: { message: string; txn_response_code: string; acq_response_code: string }
}

export interface FakeOrder {
  id: number
  key: string
  amount: number
  currency: string
  clientSecret: string
  paymentKey: string
  integration: number
  notificationUrl: string
  /** Oldest first, refunds included. */
  transactions: FakeTransaction[]
}

let lastId = 190_000_000
export const nextId = () => {
  lastId += 1
  return lastId
}

/** Without a zone, and with microseconds. */
export const timeNow = () => systemClock.now().toISOString().replace('Z', '000')

export function makeTransaction(order: FakeOrder, changes: Partial<FakeTransaction> = {}): FakeTransaction {
  return {
    id: nextId(),
    amount_cents: order.amount,
    currency: order.currency,
    success: true,
    pending: false,
    created_at: timeNow(),
    error_occured: false,
    has_parent_transaction: false,
    parent_transaction: null,
    integration_id: order.integration,
    is_3d_secure: true,
    is_auth: false,
    is_capture: false,
    is_refund: false,
    is_refunded: false,
    is_standalone_payment: true,
    is_void: false,
    is_voided: false,
    owner: 302_852,
    refunded_amount_cents: 0,
    order: { id: order.id, merchant_order_id: order.key },
    source_data: { pan: '2346', type: 'card', sub_type: 'MasterCard' },
    data: { message: 'Approved', txn_response_code: 'APPROVED', acq_response_code: '00' },
    ...changes,
  }
}

/** A failed try: a code of the acquirer, or a text. */
export function failedBecause(how: string): Partial<FakeTransaction> {
  const isCode = /^[0-9A-Z]{2}$/.test(how)
  const data = {
    message: isCode ? 'The request was not approved' : how,
    txn_response_code: 'ERROR',
    acq_response_code: isCode ? how : '',
  }
  return { success: false, pending: false, data }
}

/** The signature of a transaction's callback: 20 values without anything between them. */
export function signTransaction(secret: string, obj: FakeTransaction): string {
  const { amount_cents, created_at, currency, error_occured, has_parent_transaction, id, integration_id } =
    obj
  const { is_3d_secure, is_auth, is_capture, is_refunded, is_standalone_payment, is_voided, owner } = obj
  const { pending, source_data, success, order } = obj
  const { pan, sub_type, type } = source_data
  const values = [
    ...[amount_cents, created_at, currency, error_occured, has_parent_transaction, id, integration_id],
    ...[is_3d_secure, is_auth, is_capture, is_refunded, is_standalone_payment, is_voided, order.id, owner],
    ...[pending, pan, sub_type, type, success],
  ]
  return createHmac('sha512', secret).update(values.join('')).digest('hex')
}

export function makeCardToken(order: FakeOrder, token: string) {
  return {
    id: nextId(),
    token,
    masked_pan: 'xxxx-xxxx-xxxx-2346',
    merchant_id: 246_628,
    card_subtype: 'MasterCard',
    created_at: timeNow(),
    email: 'amina.otieno@example.com',
    order_id: String(order.id),
    user_added: false,
  }
}

export function signCardToken(secret: string, obj: ReturnType<typeof makeCardToken>): string {
  const { card_subtype, created_at, email, id, masked_pan, merchant_id, order_id, token } = obj
  const values = [card_subtype, created_at, email, id, masked_pan, merchant_id, order_id, token]
  return createHmac('sha512', secret).update(values.join('')).digest('hex')
}
