// The columns of an event. The row types, the select list and the insert list follow from these tables.

import { column, columnTable, type RowOf } from '../kit/db/columns.ts'
import { unpackEvent } from './packed.ts'

const ENVELOPE = {
  id: column<string>('uuid'),
  type: column<string>('text'),
  resourceType: column<string>('text'),
  resourceId: column<string>('uuid'),
  version: column<number>('integer'),
  createdAt: column<Date>('timestamptz'),
}

/** As it is stored: with its body, or, of a payment, packed. */
export const EVENT = columnTable({
  ...ENVELOPE,
  body: column<Record<string, unknown> | null>('jsonb'),
  packed: column<Buffer | null>('bytea'),
})

export type StoredEvent = RowOf<typeof EVENT>

/** An event as the API returns it: what orders a list, and the body that endpoints receive. */
export interface EventRow {
  id: string
  createdAt: Date
  body: Record<string, unknown>
}

export function toEventRow({ body, packed, ...event }: StoredEvent): EventRow {
  const { id, createdAt } = event
  return { id, createdAt, body: packed ? JSON.parse(unpackEvent({ ...event, packed })) : (body ?? {}) }
}

export const NEW_EVENT = columnTable({
  ...ENVELOPE,
  merchantId: column<string>('uuid'),
  body: column<Record<string, unknown>>('jsonb'),
})

export type NewEvent = RowOf<typeof NEW_EVENT>

export interface EventFilter {
  type: string | undefined
  resource: string | undefined
}
