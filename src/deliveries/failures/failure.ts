// Failed deliveries, the health of an endpoint and the outcome of a replay, as the dashboard gets them.

export interface LastAttempt {
  at: string
  /** Null without a response. */
  http: number | null
  error: string | null
  durationMs: number
}

export interface FailedDelivery {
  event: string
  type: string
  endpoint: string
  url: string
  status: 'failing' | 'dead'
  /** Why no more attempts are made, in a sentence. */
  message: string | null
  attempts: number
  lastAttempt: LastAttempt | null
  nextAttemptAt: string | null
  createdAt: string
}

/** Of the deliveries that the replay of a period has restarted so far. */
export interface ReplayOutcome {
  from: string
  to: string
  delivered: number
  waiting: number
  failing: number
  dead: number
  /** Only the first events of the period are counted. */
  isCapped: boolean
}

export interface EndpointHealth {
  delivered: number
  failing: number
  dead: number
  /** The deliveries are the latest ones of all endpoints, and do not go back for the whole period. */
  isCapped: boolean
  lastAttempt: LastAttempt | null
}
