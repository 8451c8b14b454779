/** An event as it is told: what a list is ordered by, and the body that endpoints get. */
export interface EventRow {
  id: string
  createdAt: Date
  body: Record<string, unknown>
}
export const EVENT_COLUMNS = 'id, created_at as "createdAt", body'
export interface EventFilter {
  type: string | undefined
  resource: string | undefined
}
export interface NewEventRow {
  merchant_id: string
  id: string
  type: string
  resource_type: string
  resource_id: string
  version: number
  body: unknown
  created_at: Date
}
