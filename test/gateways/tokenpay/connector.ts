// For tests: the connector to Tokenpay, a provider that wants an access token with each call. It is also the shortest
// connector with every operation that needs one.

import { type Static, Type } from 'typebox'
import { isCurrency } from '../../../src/core/currency.ts'
import { FAILURES, type FailureCode } from '../../../src/core/failures.ts'
import { money } from '../../../src/core/money.ts'
import type { TokenGrant, TokenRation } from '../../../src/gateway-tokens/token.ts'
import type { Connection } from '../../../src/gateways/definition.ts'
import type {
  Attempt,
  Gateway,
  Outcome,
  ParsedWebhook,
  RefundOutcome,
  WebhookRequest,
} from '../../../src/gateways/gateway.ts'
import {
  declined,
  fromUnexpectedBody,
  refused,
  type Unknown,
  unknown,
  unrecognized,
  withoutResponse,
} from '../../../src/gateways/reply.ts'
import { readProbeReply, readTokenReply, TOKEN_REJECTED } from '../../../src/gateways/token-calls.ts'
import { constantTimeEquals, hmacSha256 } from '../../../src/kit/crypto.ts'
import { jsonReader } from '../../../src/kit/exact-json.ts'
import type { HttpResult } from '../../../src/kit/http/http-client.ts'

const readToken = jsonReader(
  Type.Object({
    access_token: Type.String({ minLength: 1, maxLength: 4_000 }),
    expires_in: Type.String({ pattern: '^[1-9][0-9]{0,8}$' }),
  }),
)

const Payment = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 100 }),
  reference: Type.String({ maxLength: 100 }),
  status: Type.String({ maxLength: 50 }),
  amount: Type.String({ pattern: '^[1-9][0-9]{0,17}$' }),
  currency: Type.String({ maxLength: 10 }),
  reason: Type.Optional(Type.String({ maxLength: 100 })),
  method: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  paidAt: Type.Optional(Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' })),
})
const readPayment = jsonReader(Payment)

const readRefund = jsonReader(
  Type.Object({ id: Type.String({ minLength: 1, maxLength: 100 }), status: Type.String({ maxLength: 50 }) }),
)
const readHook = jsonReader(Type.Object({ id: Type.String({ minLength: 1 }), reference: Type.String() }))

const NAME = 'tokenpay'
export const TOKEN_PATH = '/oauth/token'

/** The ration is an argument, because only some tests want one. */
export const openTokenpay =
  (ration?: TokenRation) =>
  ({ credentials, baseUrl, http, tokens }: Connection): Gateway => {
    const { appKey = '', appSecret = '' } = credentials
    const grant: TokenGrant = {
      name: 'access',
      account: appKey,
      secrets: [appSecret],
      ...(ration && { ration }),
      async request() {
        const authorization = `Basic ${Buffer.from(`${appKey}:${appSecret}`).toString('base64')}`
        const url = `${baseUrl}${TOKEN_PATH}`
        const result = await http.request({ method: 'POST', url, headers: { authorization } })
        return readTokenReply(result, 'Tokenpay', (body) => {
          const read = readToken(body)
          return read && { token: read.access_token, expiresInMs: Number(read.expires_in) * 1_000 }
        })
      },
    }
    const call = (path: string, body?: object) => async (token: string) => {
      const result = await http.request({
        method: body ? 'POST' : 'GET',
        url: `${baseUrl}${path}`,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      return result.kind === 'answered' && result.status === 401 ? TOKEN_REJECTED : result
    }
    const read = async <Result>(path: string, from: (result: HttpResult) => Result, body?: object) => {
      const result = await tokens.query(grant, call(path, body))
      return result.kind === 'unknown' && 'reason' in result ? result : from(result)
    }
    const submit = async (path: string, body: object, from: (result: HttpResult) => Outcome) => {
      const result = await tokens.submit(grant, call(path, body))
      if (result.kind === 'declined' || (result.kind === 'unknown' && 'reason' in result)) return result
      return from(result)
    }
    return {
      name: NAME,
      rails: [{ currency: 'KES', channels: ['card'] }],
      behavior: { keyRetentionHours: 24, cachesErrors: false, lookupByReference: true },
      async startCheckout(attempt) {
        const outcome = await submit('/payments', toBody(attempt), (result) =>
          isBusy(result)
            ? refused('provider_unavailable', 'too many requests')
            : fromPayment(result, attempt.key),
        )
        if (outcome.kind !== 'pending' || outcome.gatewayReference === null) return outcome
        const url = `https://tokenpay.example/${attempt.key}`
        return {
          kind: 'started',
          gatewayReference: outcome.gatewayReference,
          next: { kind: 'redirect', url },
        }
      },
      verify: ({ key }) => read(`/payments/${key}`, (result) => fromPayment(result, key)),
      chargeSaved: (attempt, method) =>
        submit('/charges', { ...toBody(attempt), method }, (result) => fromPayment(result, attempt.key)),
      refund: ({ key, attemptKey, amount: { minor } }) =>
        read('/refunds', fromRefund, { key, payment: attemptKey, amount: String(minor) }),
      verifyRefund: ({ key }) => read(`/refunds/${key}`, fromRefund),
      probe: () =>
        tokens.probe(grant, async (token) => {
          const result = await call('/payments/probe')(token)
          return result === TOKEN_REJECTED ? result : readProbeReply(result)
        }),
      parseWebhook: readSigned(appSecret),
    }
  }

function toBody({ key, amount: { minor, currency } }: Attempt) {
  return { reference: key, amount: String(minor), currency }
}

const isBusy = (result: HttpResult) => result.kind === 'answered' && result.status === 429

function readReply<Body>(result: HttpResult, read: (body: Buffer) => Body | undefined): Body | Unknown {
  if (result.kind !== 'answered') return withoutResponse(result)
  if (result.status === 404) return unknown('not_found', 'Tokenpay does not know it')
  const message = `Tokenpay answered HTTP ${result.status}`
  if (result.status >= 500 || isBusy(result)) return unknown('no_answer', message)
  return (result.status === 200 && read(result.body)) || fromUnexpectedBody(result.body, message)
}

function fromPayment(result: HttpResult, key: string): Outcome {
  const body = readReply(result, readPayment)
  if ('message' in body) return body
  if (body.status !== 'paid' && body.reference !== key) return unrecognized('another payment')
  switch (body.status) {
    case 'open':
      return { kind: 'pending', gatewayReference: body.id }
    case 'failed':
      return declined(body.id, toFailureCode(body.reason), body.reason ?? 'failed')
    case 'paid':
      return fromPaid(body)
    default:
      return unrecognized('a status that we do not know')
  }
}

function fromPaid({ id, reference, amount, currency, method, paidAt }: Static<typeof Payment>): Outcome {
  if (paidAt === undefined || !isCurrency(currency)) return unrecognized('a success without time or currency')
  const card = { brand: 'visa', last4: '4242', expiryMonth: 12, expiryYear: 2030, country: null }
  const savedMethod = { type: 'card', credential: method ?? '', fingerprint: method ?? '' } as const
  return {
    kind: 'succeeded',
    gatewayReference: id,
    paid: money(BigInt(amount), currency),
    key: reference,
    savedMethod: method ? { ...savedMethod, card, mobileMoney: null, currencies: [currency] } : null,
    paidAt: new Date(paidAt),
  }
}

/** Tokenpay uses our codes. */
function toFailureCode(reason: string | undefined): FailureCode {
  const codes = Object.keys(FAILURES) as FailureCode[]
  return codes.find((code) => code === reason) ?? 'unknown'
}

function fromRefund(result: HttpResult): RefundOutcome {
  const body = readReply(result, readRefund)
  if ('message' in body) return body
  switch (body.status) {
    case 'done':
      return { kind: 'succeeded', gatewayReference: body.id }
    case 'open':
      return { kind: 'pending', gatewayReference: body.id }
    case 'failed':
      return { kind: 'failed', message: 'failed', gatewayReference: body.id }
    default:
      return unrecognized('a status that we do not know')
  }
}

const readSigned =
  (secret: string) =>
  ({ headers, rawBody }: WebhookRequest): ParsedWebhook => {
    const given = Buffer.from(headers['tokenpay-signature'] ?? '', 'hex')
    if (!constantTimeEquals(given, hmacSha256(secret, rawBody))) return { kind: 'forged' }
    const hook = readHook(rawBody)
    if (!hook) return { kind: 'ignored', reason: 'not a webhook that we know' }
    return { kind: 'payment', key: hook.reference, eventId: hook.id }
  }
