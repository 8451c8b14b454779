// The columns of an event. The row types, the select list and the insert list follow from these tables.

import { column, columnTable, type RowOf } from '../kit/db/columns.ts'

/** An event as the API returns it: the columns that order a list, and the body that endpoints receive. */
export const EVENT = columnTable({
  id: column<string>('uuid'),
  createdAt: column<Date>('timestamptz'),
  body: column<Record<string, unknown>>('jsonb'),
})

export type EventRow = RowOf<typeof EVENT>

export const NEW_EVENT = columnTable({
  ...EVENT.columns,
  merchantId: column<string>('uuid'),
  type: column<string>('text'),
  resourceType: column<string>('text'),
  resourceId: column<string>('uuid'),
  version: column<number>('integer'),
})

export type NewEvent = RowOf<typeof NEW_EVENT>

export interface EventFilter {
  type: string | undefined
  resource: string | undefined
}
