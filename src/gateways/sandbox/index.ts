// The connector to the sandbox provider. It uses HTTP like any other gateway. More operations exist for sandbox-api and
// test-clock only: to simulate the payer and the payer's bank, to advance time, and to list what was executed.

import { Type } from 'typebox'
import { ApiError } from '../../core/errors.ts'
import { SANDBOX } from '../../core/gateway-accounts/name.ts'
import type { Clock } from '../../kit/clock.ts'
import { jsonReader } from '../../kit/exact-json.ts'
import type { HttpClient, HttpResult } from '../../kit/http/http-client.ts'
import type { DisputeReport, Gateway, Outcome } from '../gateway.ts'
import { SANDBOX_INSTRUMENTS } from './instruments.ts'
import { ALL_RAILS } from './rails.ts'
import { parseSignedWebhook } from './webhooks.ts'
import {
  ClockReply,
  ExecutionBody,
  fromCharge,
  fromReply,
  fromStart,
  toChargeBody,
  toCheckoutBody,
} from './wire.ts'
import { fromRefund, toRefundBody } from './wire-refund.ts'

export { SANDBOX_INSTRUMENTS }

export interface SandboxGatewayOptions {
  http: HttpClient
  /** The provider's URL with its base path. Read at each call, because a port may be known only after listening. */
  readonly baseUrl: string
  readonly secret: string
  readonly webhookSecret: string
  clock: Clock
}

/** One time that the provider took money or refunded it. */
export type Execution = ExecutionBody

/** Has every operation except the completing call, the probe and the lists of refunds and disputes, and no direct settlement to the merchant. */
export interface SandboxGateway
  extends Required<
    Omit<
      Gateway,
      | 'probe'
      | 'settlesDirectly'
      | 'findKey'
      | 'complete'
      | 'listRefunds'
      | 'listDisputes'
      | 'checkAccount'
      | 'webhookAnswer'
    >
  > {
  /** Simulates the payer of the attempt, and the passing of time, until the attempt ends. */
  simulatePayer(key: string, instrument?: string): Promise<Outcome>
  /** Simulates the payer's bank: opens or decides a dispute, or reverses the money without one. */
  dispute(key: string, outcome: DisputeReport['status']): Promise<Outcome>
  /** Advances the provider's test clock for the merchant; returns what has changed, and what is planned next. */
  advanceClock(merchantId: string, ms: number): Promise<ClockReply>
  /** What the provider executed for a payment, under all keys. */
  executions(paymentId: string): Promise<Execution[]>
}

const readClockReply = jsonReader(ClockReply)
const readExecutions = jsonReader(Type.Array(ExecutionBody))

export function createSandboxGateway(options: SandboxGatewayOptions): SandboxGateway {
  const { http, clock } = options

  const call = (method: 'GET' | 'POST', path: string, body?: unknown, key?: string): Promise<HttpResult> =>
    http.request({
      method,
      url: `${options.baseUrl}/v1${path}`,
      headers: {
        authorization: `Bearer ${options.secret}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
  const pathOf = (key: string) => `/payments/${encodeURIComponent(key)}`

  return {
    name: SANDBOX,
    rails: ALL_RAILS,
    behavior: { keyRetentionHours: 24, cachesErrors: false, lookupByReference: true },
    instruments: SANDBOX_INSTRUMENTS,

    startCheckout: async (attempt, choice, returnUrl) =>
      fromStart(
        await call('POST', '/checkouts', toCheckoutBody(attempt, choice, returnUrl), attempt.key),
        attempt.key,
      ),

    chargeSaved: async (attempt, credential) =>
      fromCharge(await call('POST', '/charges', toChargeBody(attempt, credential), attempt.key), attempt.key),

    verify: async ({ key }) => fromReply(await call('GET', pathOf(key)), key),

    refund: async (request) =>
      fromRefund(await call('POST', '/refunds', toRefundBody(request), request.key), request),

    verifyRefund: async (request) =>
      fromRefund(await call('GET', `/refunds/${encodeURIComponent(request.key)}`), request),

    cancel: async ({ key }) => fromReply(await call('POST', `${pathOf(key)}/cancel`), key),

    simulatePayer: async (key, instrument) =>
      fromReply(await call('POST', `${pathOf(key)}/simulate`, { instrument: instrument ?? null }), key),

    dispute: async (key, outcome) =>
      fromReply(await call('POST', `${pathOf(key)}/dispute`, { outcome }), key),

    async advanceClock(merchantId, ms) {
      const result = await call('POST', '/clock/advance', { account: merchantId, ms })
      const reply = result.kind === 'answered' ? readClockReply(result.body.toString()) : undefined
      if (!reply) throw new ApiError('temporarily_unavailable')
      return reply
    },

    async executions(paymentId) {
      const result = await call('GET', `/executions?order=${encodeURIComponent(paymentId)}`)
      const executions = result.kind === 'answered' ? readExecutions(result.body.toString()) : undefined
      if (!executions) throw new ApiError('temporarily_unavailable')
      return executions
    },

    parseWebhook: ({ headers, rawBody }) =>
      parseSignedWebhook(options.webhookSecret, clock.now(), headers, rawBody),
  }
}
