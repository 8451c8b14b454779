// Failed deliveries and the health of an endpoint, as the dashboard gets them.

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

export interface EndpointHealth {
  delivered: number
  failing: number
  dead: number
  /** The deliveries are the latest ones of all endpoints, and do not go back for the whole period. */
  isCapped: boolean
  lastAttempt: LastAttempt | null
}
