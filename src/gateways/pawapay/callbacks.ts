// Callbacks, which is what pawaPay calls its webhooks. One comes per change of a deposit, payout or refund; its body is
// flat and is never believed.

import type { KeyObject } from 'node:crypto'
import { Type } from 'typebox'
import { isUuid } from '../../core/ids.ts'
import type { ParsedWebhook } from '../gateway.ts'
import { reader, Text } from './response.ts'
import { isSignedBy } from './signature.ts'

const Callback = Type.Object({ depositId: Text(100), status: Text(50) })
/** A refund also names the deposit that it gives back. */
const OtherCallback = Type.Union([
  Type.Object({ refundId: Type.String() }),
  Type.Object({ payoutId: Type.String() }),
  Type.Object({ checkoutId: Type.String() }),
])

const readDepositCallback = reader(Callback)
const readOtherCallback = reader(OtherCallback)

export interface CallbackContext {
  /** Where pawaPay calls us, as it was told in its dashboard. */
  url: string
  /** Without a key nobody can tell a callback from a forged one, so none is taken. */
  keys: readonly KeyObject[]
  now: Date
}

export function readCallback(
  { url, keys, now }: CallbackContext,
  headers: Record<string, string>,
  body: Buffer,
): ParsedWebhook {
  const { host: authority, pathname: path } = new URL(url)
  const isOurs = isSignedBy(keys, { method: 'POST', authority, path, headers, body }, now)
  if (!isOurs) return { kind: 'forged' }
  if (readOtherCallback(body)) return { kind: 'ignored', reason: 'not about a deposit' }
  const callback = readDepositCallback(body)
  if (!callback || !isUuid(callback.depositId))
    return { kind: 'ignored', reason: 'not a callback that we know' }
  // A callback has no id of its own. A deposit comes to each status once, and a callback that is tried again says the
  // same.
  const { depositId, status } = callback
  return { kind: 'payment', key: depositId, eventId: `${depositId}:${status}` }
}
