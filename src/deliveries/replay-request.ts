// A replay: the row that shows its progress, and the range of events to replay.

export interface ReplayRow {
  id: string
  status: 'queued' | 'done'
  events: number
  deliveries: number
  createdAt: Date
  finishedAt: Date | null
}

export interface ReplayRange {
  from: Date
  to: Date
  types: readonly string[] | null
  endpointId: string | null
  /** Skips events that the endpoint has received. */
  onlyUndelivered: boolean
}

export const REPLAY_COLUMNS = `
  id, status, events, deliveries, created_at as "createdAt", finished_at as "finishedAt"`
