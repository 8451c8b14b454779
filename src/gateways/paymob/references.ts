// The reference of an attempt: Paymob's order while it is open, with the encrypted secret of the intention if it is a charge
// that waits for its pay request, and the transaction when it is paid. The API shows references, so the secret is never in one.

import type { Intention } from './intentions.ts'
import type { Sealer } from './sealed-text.ts'

export const toOrderReference = ({ intention_order_id: order }: Intention) => `order-${order}`

export const toChargeReference = (intention: Intention, sealer: Sealer) =>
  `${toOrderReference(intention)}:${sealer.seal(intention.client_secret)}`

const ORDER = /^order-([0-9]{1,15})(?::([A-Za-z0-9_-]+))?$/
const TRANSACTION = /^[0-9]{1,18}$/

/** A charge that waits for its pay request: its order, and the encrypted secret of its intention. */
export function readChargeReference(
  reference: string | null,
): { order: string; sealedSecret: string } | undefined {
  const [, order, sealedSecret] = ORDER.exec(reference ?? '') ?? []
  return order !== undefined && sealedSecret !== undefined
    ? { order: `order-${order}`, sealedSecret }
    : undefined
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
