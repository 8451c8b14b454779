// What is stored as the gateway's reference of an attempt: the order while it is open, with the secret of the intention if it
// is a charge that waits for its pay request, and the transaction when it is paid.

import type { Intention } from './intentions.ts'

export const toOrderReference = ({ intention_order_id: order }: Intention) => `order-${order}`

export const toChargeReference = (intention: Intention) =>
  `${toOrderReference(intention)}:${intention.client_secret}`

const ORDER = /^order-([0-9]{1,15})(?::([A-Za-z0-9_-]+))?$/
const TRANSACTION = /^[0-9]{1,18}$/

/** The secret of the intention; undefined for any other reference. */
export function clientSecretIn(reference: string | null): string | undefined {
  return ORDER.exec(reference ?? '')?.[2]
}

/** What to ask Paymob about: its own id if it is known, otherwise our key. */
export function lookupOf(
  key: string,
  reference: string | null,
): { transaction: string } | { fields: { order_id: number } | { merchant_order_id: string } } {
  if (reference !== null && TRANSACTION.test(reference)) return { transaction: reference }
  const order = ORDER.exec(reference ?? '')?.[1]
  return { fields: order === undefined ? { merchant_order_id: key } : { order_id: Number(order) } }
}
