// What an endpoint, an event and a delivery look like, and what a merchant may say about them.

import { type Static, Type } from 'typebox'
import { Nullable, Timestamp, Uuid, Words } from '../kit/schema.ts'
import type { EndpointRow } from './endpoint-queries.ts'
import { DISABLED_REASONS, type DisabledReason, ENDPOINT_STATUSES } from './states.ts'

const REASONS = Object.keys(DISABLED_REASONS) as DisabledReason[]

const ENDPOINT = {
  uuid: Uuid,
  url: Type.String(),
  description: Nullable(Type.String()),
  events: Type.Array(Type.String()),
  status: Words(ENDPOINT_STATUSES),
  disabled: Nullable(
    Type.Object(
      { reason: Words(REASONS), message: Type.String(), at: Timestamp },
      { description: 'Why it is not called.' },
    ),
  ),
  failingSince: Nullable(
    Type.String({ format: 'date-time', description: 'The first failure since the last success.' }),
  ),
  previousSecretUntil: Nullable(
    Type.String({
      format: 'date-time',
      description: 'Until then deliveries are signed with the secret before this one too.',
    }),
  ),
  createdAt: Timestamp,
  updatedAt: Timestamp,
}

export const EndpointRecord = Type.Object(ENDPOINT)

export type EndpointView = Static<typeof EndpointRecord>

export const EndpointWithSecret = Type.Object({
  ...ENDPOINT,
  secret: Type.String({ description: 'Verifies the signature of every delivery. Shown here only: keep it.' }),
})

export function toEndpoint(row: EndpointRow): EndpointView {
  const { disabledReason: reason, disabledAt: at } = row
  return {
    uuid: row.id,
    url: row.url,
    description: row.description,
    events: row.events,
    status: row.status,
    disabled: reason && at && { reason, message: DISABLED_REASONS[reason], at: at.toISOString() },
    failingSince: row.failingSince?.toISOString() ?? null,
    previousSecretUntil: row.previousUntil?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  }
}
