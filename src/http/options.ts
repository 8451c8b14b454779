// What the shell needs from the rest of the service, and what the service gets from it.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ApiError } from '../core/errors.ts'
import type { GrantedScope, Merchant } from '../core/merchant.ts'
import type { RateLimit } from '../core/rate-limit.ts'
import type { Clock } from '../kit/clock.ts'
import type { Failpoints } from '../kit/failpoints.ts'
import type { Log } from '../kit/log.ts'
import type { Random } from '../kit/random.ts'
import type { ProcessLines, ProcessLinesQuery } from '../kit/recent-lines.ts'
import type { ErrorPage, GatewayWebhookRoute, OperatorRoute, PageRoute, Route } from '../kit/route.ts'
import type { Tracer } from '../kit/trace.ts'
import type { CompletedRequest, ReadMetrics } from './metrics.ts'

import type { SyncRateLimits } from './security/shared-rate-limit.ts'

/** Who a key belongs to and what it may do. A rate limit of null is the service's own; one of 0 per second is none. */
export interface Caller {
  merchant: Merchant
  keyId: string
  scopes: readonly GrantedScope[]
  rateLimit: RateLimit | null
}

/** A handler that speaks to the socket itself, for a server inside the server. It sees the URL as it came. */
export type Mount = (request: IncomingMessage, response: ServerResponse) => void

export interface HttpShellOptions {
  routes: Route[]
  operatorRoutes: OperatorRoute[]
  pageRoutes: PageRoute[]
  /** What people see when something goes wrong; without it, a small page of the shell's own. */
  errorPage?: ErrorPage
  gatewayWebhookRoutes: GatewayWebhookRoute[]
  /** By path prefix, such as /sandbox. */
  mounts: Record<string, Mount>
  /** Throws a Refusal for a key that is missing, wrong, expired, revoked or not welcome. */
  authenticate(input: { apiKey: string | undefined; ip: string }): Promise<Caller>
  /**
   * Whether a refusal of authenticate was a try at a secret, which is counted by address. A key that is absent or whose
   * check digits are wrong costs nothing and is none. Without this, every invalid_api_key is one.
   */
  isWrongSecret?(error: ApiError): boolean
  adminTokenMatches(token: string): boolean
  /** The token for those who only read the metrics; absent: the operators' alone. */
  metricsTokenMatches?(token: string): boolean
  /** What stands at /metrics; without it there is no such path. */
  readMetrics?: ReadMetrics
  /** Called at the end of every request. */
  measure?(completed: CompletedRequest): void
  /** Makes every request a span; absent: nobody wants traces. */
  tracer?: Tracer
  ready(): Promise<{ ready: boolean; reasons: string[] }>
  /** The origin under which callers reach us. A function, because a port may be chosen only when we listen. */
  publicUrl(): string
  environment: 'staging' | 'production'
  /** For keys without a limit of their own; null is none. */
  rateLimit: RateLimit | null
  /** Brings what this process lets through together with the others; absent: it counts for itself. */
  syncRateLimits?: SyncRateLimits
  /** Behind a proxy of our own: the caller's address is the one that this proxy saw. */
  trustProxy: boolean
  clock: Clock
  random: Random
  log: Log
  /** Where a test makes the process die; without it, nowhere. */
  failpoints?: Failpoints
  /** What operators are shown of the log; without it there is no such operation. */
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
  /** Readiness goes first, then no new connection, then what is under way ends, within a bound. */
  stop(): Promise<void>
  inject(request: InjectedRequest): Promise<InjectedResponse>
  openApi(): object
}
