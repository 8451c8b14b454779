// The options that the HTTP shell needs from the service, and the interface that it offers.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ApiError } from '../core/errors.ts'
import type { GrantedScope, Merchant } from '../core/merchant.ts'
import type { RateLimit } from '../core/rate-limit.ts'
import type { Clock } from '../kit/clock.ts'
import type { Failpoints } from '../kit/failpoints.ts'
import type { ErrorPage, GatewayWebhookRoute, OperatorRoute, PageRoute, Route } from '../kit/http/route.ts'
import type { Log } from '../kit/observability/log.ts'
import type { LoopDelay } from '../kit/observability/loop-delay.ts'
import type { ProcessLines, ProcessLinesQuery } from '../kit/observability/recent-lines.ts'
import type { Tracer } from '../kit/observability/trace.ts'
import type { Random } from '../kit/random.ts'
import type { McpEndpoint } from '../mcp/protocol.ts'
import type { RecordRequest } from '../request-log/request.ts'
import type { MeasuredRequest, ReadMetrics } from './metrics.ts'
import type { EventData } from './openapi/events.ts'
import type { SyncRateLimits } from './security/shared-rate-limit.ts'

/**
 * The owner and the permissions of an API key. A rate limit of null means the service default; 0 per second means no
 * limit.
 */
export interface Caller {
  merchant: Merchant
  keyId: string
  scopes: readonly GrantedScope[]
  rateLimit: RateLimit | null
}

/** A handler that uses the socket directly, for an embedded server. It sees the URL unchanged. */
export type Mount = (request: IncomingMessage, response: ServerResponse) => void

export interface HttpShellOptions {
  routes: Route[]
  operatorRoutes: OperatorRoute[]
  /** For the OpenAPI document. */
  eventData?: EventData
  pageRoutes: PageRoute[]
  /** Renders error pages for payers; if absent, the HTTP shell renders a small page. */
  errorPage?: ErrorPage
  gatewayWebhookRoutes: GatewayWebhookRoute[]
  /** Answers the messages of agents at /mcp; if absent, the path does not exist. */
  mcp?: McpEndpoint
  /** Embedded servers by path prefix, such as /sandbox. */
  mounts: Record<string, Mount>
  /** Throws an ApiError for a key that is missing, wrong, expired, revoked or not allowed. */
  authenticate(input: { apiKey: string | undefined; ip: string }): Promise<Caller>
  /**
   * Whether an ApiError of authenticate counts as a guessed secret, which is rate limited by address. A missing key
   * or a key with a wrong checksum does not count. If absent, every invalid_api_key counts.
   */
  isWrongSecret?(error: ApiError): boolean
  adminTokenMatches(token: string): boolean
  /** Checks the metrics token; if absent, only the operator token can read the metrics. */
  metricsTokenMatches?(token: string): boolean
  /** Renders the metrics; if absent, /metrics does not exist. */
  readMetrics?: ReadMetrics
  measure?(measured: MeasuredRequest): void
  /** Called for every request with an API key, for the merchant's request log. */
  recordRequest?: RecordRequest
  /** Records each request as a span; if absent, nothing is traced. */
  tracer?: Tracer
  ready(): Promise<{ ready: boolean; reasons: string[] }>
  /** The public origin of the service. A function, because the port may only be known after listening. */
  publicUrl(): string
  environment: 'staging' | 'production'
  /** The rate limit of keys without their own limit; null means none. */
  rateLimit: RateLimit | null
  /** Synchronizes the rate limits with the other processes; if absent, each process counts alone. */
  syncRateLimits?: SyncRateLimits
  /** The average delay of the event loop above which requests of merchants get 503; absent or 0 means no limit. */
  maxLoopDelayMs?: number
  /** Absent: that of this process. */
  loopDelay?: LoopDelay
  /** True behind a trusted proxy: the client's address is the one that the proxy saw. */
  trustProxy: boolean
  clock: Clock
  random: Random
  log: Log
  /** Where a test crashes the process; absent in production. */
  failpoints?: Failpoints
  /** Reads the log lines for operators; if absent, the endpoint does not exist. */
  readLines?: (question: ProcessLinesQuery) => Promise<ProcessLines[]>
}

/** A request without a socket, for tests. */
export interface InjectedRequest {
  method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'
  url: string
  headers?: Record<string, string>
  payload?: string | Buffer | object
  remoteAddress?: string
}

export interface InjectedResponse {
  http: number
  headers: Record<string, string | number | string[] | undefined>
  body: string
}

export interface HttpShell {
  listen(host: string, port: number): Promise<{ port: number }>
  /** Turns readiness off, stops accepting connections, and waits a limited time for requests in flight. */
  stop(): Promise<void>
  inject(request: InjectedRequest): Promise<InjectedResponse>
  openApi(): object
}
