// The columns of a webhook endpoint. The row type, the select list and the insert list follow from this table.

import { column, columnTable, type RowOf } from '../kit/db/columns.ts'
import type { DisabledReason } from './states.ts'

export const ENDPOINT = columnTable({
  merchantId: column<string>('uuid'),
  id: column<string>('uuid'),
  url: column<string>('text'),
  description: column<string | null>('text'),
  events: column<string[]>('text[]'),
  status: column<'enabled' | 'disabled' | 'deleted'>('text'),
  disabledReason: column<DisabledReason | null>('text'),
  disabledAt: column<Date | null>('timestamptz'),
  secretSealed: column<string>('text'),
  /** The request that made the secret. Only a retry of that request shows the secret again. */
  secretRequestId: column<string>('uuid'),
  previousSecretUntil: column<Date | null>('timestamptz'),
  failingSince: column<Date | null>('timestamptz'),
  version: column<number>('integer'),
  createdAt: column<Date>('timestamptz'),
  updatedAt: column<Date>('timestamptz'),
})

export type EndpointRow = RowOf<typeof ENDPOINT>

/** The columns that a new endpoint brings; the insert statement derives the others. */
export const NEW_ENDPOINT = [
  'merchantId',
  'id',
  'url',
  'description',
  'events',
  'secretSealed',
  'createdAt',
] as const

export type NewEndpoint = Pick<EndpointRow, (typeof NEW_ENDPOINT)[number]>

export interface EndpointChanges {
  url: string | undefined
  /** Undefined keeps the description, null removes it. */
  description: string | null | undefined
  events: readonly string[] | undefined
  status: 'enabled' | 'disabled' | undefined
  /** Nothing is changed if the endpoint has other values by now. */
  expected?: Readonly<Record<string, unknown>> | undefined
}

export interface NewSecret {
  sealed: string
  requestId: string
  at: Date
  /** The current secret also signs until then. If that is not in the future, no previous secret signs any more. */
  previousSecretUntil: Date
}

export interface DisableInput {
  merchantId: string
  endpointId: string
  /** The URL that was called: if the merchant has changed it since, the endpoint stays enabled. */
  url: string
  reason: DisabledReason
  at: Date
  /** The endpoint must have been failing since before this time; null skips this check. */
  failingBefore: Date | null
}
