// Callbacks are pawaPay's webhooks: one per change of a deposit, payout or refund. The body is flat and never trusted.

import type { KeyObject } from 'node:crypto'
import { Type } from 'typebox'
import { isUuid } from '../../core/ids.ts'
import { jsonReader } from '../../kit/exact-json.ts'
import type { ParsedWebhook } from '../gateway.ts'
import { Text } from './response.ts'
import { isSignedBy } from './signature.ts'

const Callback = Type.Object({ depositId: Text(100), status: Text(50) })
/** A refund callback also names its deposit. */
const OtherCallback = Type.Union([
  Type.Object({ refundId: Type.String() }),
  Type.Object({ payoutId: Type.String() }),
  Type.Object({ checkoutId: Type.String() }),
])

const readDepositCallback = jsonReader(Callback)
const readOtherCallback = jsonReader(OtherCallback)

export interface CallbackContext {
  method: string
  /** The callback URL as configured in pawaPay's dashboard. */
  url: string
  /** Without a key no callback can be verified, so all count as forged. */
  keys: readonly KeyObject[]
  now: Date
}

export function readCallback(
  { method, url, keys, now }: CallbackContext,
  headers: Record<string, string>,
  body: Buffer,
): ParsedWebhook {
  const { host: authority, pathname: path } = new URL(url)
  const isOurs = isSignedBy(keys, { method, authority, path, headers, body }, now)
  if (!isOurs) return { kind: 'forged' }
  if (readOtherCallback(body)) return { kind: 'ignored', reason: 'not about a deposit' }
  const callback = readDepositCallback(body)
  if (!callback || !isUuid(callback.depositId))
    return { kind: 'ignored', reason: 'not a callback that we know' }
  // A callback has no id. A deposit reaches each status once, and a repeated callback is identical.
  const { depositId, status } = callback
  return { kind: 'payment', key: depositId, eventId: `${depositId}:${status}` }
}
