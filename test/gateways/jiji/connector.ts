// The connector to Jiji, a fictitious provider of mobile money that has what Acme of docs/adding-a-gateway.md has not:
// callbacks by PUT that are not signed, requests that are accepted without a body, records without a time, and refunds
// whose end is reported in a callback only.

import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import { isCurrency } from '../../../src/core/currency.ts'
import type { FailureCode } from '../../../src/core/failures.ts'
import { money } from '../../../src/core/money.ts'
import type { Connection } from '../../../src/gateways/definition.ts'
import type {
  Attempt,
  Gateway,
  Outcome,
  ParsedWebhook,
  RefundOutcome,
  RefundRequest,
  WebhookRequest,
} from '../../../src/gateways/gateway.ts'
import {
  fromUnexpectedBody,
  isAcceptedWithoutBody,
  refused,
  unknown,
  unrecognized,
  withoutResponse,
} from '../../../src/gateways/reply.ts'
import { addMs } from '../../../src/kit/clock.ts'
import { jsonReader } from '../../../src/kit/exact-json.ts'
import type { HttpResult } from '../../../src/kit/http/http-client.ts'

const Text = Type.String({ minLength: 1, maxLength: 100 })
const readRecord = jsonReader(
  Type.Object({
    externalId: Text,
    transactionId: Text,
    status: Text,
    amount: Type.String({ pattern: '^(0|[1-9][0-9]{0,17})$' }),
    currency: Text,
    reason: Type.Optional(Text),
  }),
)
const readResult = jsonReader(
  Type.Object({ result: Type.Union([Type.Literal('DONE'), Type.Literal('FAILED')]), transactionId: Text }),
)

const PROMPT_MS = 300_000
const PHONE = '+256772000001'

export function openJiji({ credentials, baseUrl, http, clock, callbackUrl }: Connection): Gateway {
  const call = (method: 'GET' | 'POST', path: string, headers: Record<string, string> = {}, body?: unknown) =>
    http.request({
      method,
      url: `${baseUrl}${path}`,
      headers: { ...headers, authorization: `Bearer ${credentials.apiKey}` },
      body: body === undefined ? undefined : JSON.stringify(body),
    })

  const verify = async ({ key }: Pick<Attempt, 'key'>): Promise<Outcome> =>
    fromRecord(await call('GET', `/requests/${key}`), key)

  return {
    name: 'jiji',
    rails: [{ currency: 'UGX', countries: ['UG'], channels: ['mobile_money'] }],
    behavior: { keyRetentionHours: 24, cachesErrors: false, lookupByReference: true },
    webhookAnswer: { received: true },

    async startCheckout(attempt, { phone = PHONE }) {
      const { key, amount } = attempt
      const headers = { 'x-reference-id': key, 'x-callback-url': callbackUrl({ kind: 'attempt', key }) }
      const body = { amount: String(amount.minor), currency: amount.currency, phone }
      const result = await call('POST', '/requests', headers, body)
      if (!isAcceptedWithoutBody(result)) return fromRejection(result)
      const expiresAt = addMs(clock.now(), PROMPT_MS).toISOString()
      return {
        kind: 'started',
        gatewayReference: key,
        next: { kind: 'prompt', phone, network: 'Jiji Money', expiresAt },
      }
    },

    verify,

    async refund({ key, attemptKey, amount }) {
      const headers = { 'x-reference-id': key, 'x-callback-url': callbackUrl({ kind: 'refund', key }) }
      const body = { amount: String(amount.minor), original: attemptKey }
      const result = await call('POST', '/refunds', headers, body)
      if (isAcceptedWithoutBody(result)) return { kind: 'pending', gatewayReference: key }
      // The key is used: this refund arrived before.
      if (result.kind === 'answered' && readConflict(result.body))
        return { kind: 'pending', gatewayReference: key }
      const outcome = fromRejection(result)
      if (outcome.kind === 'unknown') return outcome
      return unknown('no_answer', 'Jiji did not accept the refund')
    },

    /** Jiji has no status query for refunds. Not found, so that a person is asked if the callback never comes. */
    verifyRefund: async (request) =>
      fromReport(request) ?? unknown('not_found', 'Jiji has not reported the end of this refund'),

    parseWebhook,
  }
}

/** Without the secret path anyone could have sent it. The path says what it is about; the body only adds to it. */
function parseWebhook({ callback, rawBody }: WebhookRequest): ParsedWebhook {
  if (callback === null || callback.kind === 'account') return { kind: 'forged' }
  const { key } = callback
  if (callback.kind === 'attempt') {
    const record = readRecord(rawBody)
    if (!record || record.externalId !== key)
      return { kind: 'ignored', reason: 'not a record of this payment' }
    const eventId = createHash('sha256').update(rawBody).digest('hex')
    return { kind: 'payment', key, eventId, referenceHint: record.transactionId }
  }
  const result = readResult(rawBody)
  if (!result) return { kind: 'ignored', reason: 'not the result of a refund' }
  return { kind: 'own_refund', key, report: JSON.stringify(result), isFinalReport: true }
}

function fromReport({ report }: RefundRequest): RefundOutcome | undefined {
  const result = report === undefined ? undefined : readResult(Buffer.from(report))
  if (!result) return undefined
  const { transactionId: gatewayReference } = result
  return result.result === 'DONE'
    ? { kind: 'succeeded', gatewayReference }
    : { kind: 'failed', message: 'Jiji could not pay it out', gatewayReference }
}

const readConflict = jsonReader(Type.Object({ code: Type.Literal('REFERENCE_USED') }))

function fromRejection(result: HttpResult): Outcome {
  if (result.kind !== 'answered') return withoutResponse(result)
  const message = `Jiji answered HTTP ${result.status}`
  if ([400, 401, 429].includes(result.status)) return refused('provider_unavailable', message)
  if (result.status >= 500 || result.status === 409) return unknown('no_answer', message)
  return fromUnexpectedBody(result.body, message)
}

const DECLINES = new Map<string, FailureCode>([
  ['NOT_ENOUGH_FUNDS', 'insufficient_funds'],
  ['APPROVAL_REJECTED', 'customer_cancelled'],
])

function fromRecord(result: HttpResult, key: string): Outcome {
  if (result.kind !== 'answered') return withoutResponse(result)
  const message = `Jiji answered HTTP ${result.status}`
  if (result.status === 404) return unknown('not_found', 'Jiji does not know this payment')
  if (result.status >= 500) return unknown('no_answer', message)
  const record = result.status === 200 ? readRecord(result.body) : undefined
  if (!record) return fromUnexpectedBody(result.body, message)
  if (record.status !== 'SUCCESSFUL' && record.externalId !== key)
    return unrecognized('Jiji answered about another payment')
  switch (record.status) {
    case 'PENDING':
      return { kind: 'pending', gatewayReference: record.transactionId }
    case 'FAILED': {
      const reason = record.reason ?? 'failed'
      const code = DECLINES.get(reason) ?? 'unknown'
      return { kind: 'declined', code, message: reason, gatewayReference: record.transactionId }
    }
    case 'SUCCESSFUL':
      if (!isCurrency(record.currency)) return unrecognized('Jiji answered a currency that we do not know')
      return {
        kind: 'succeeded',
        gatewayReference: record.transactionId,
        paid: money(BigInt(record.amount), record.currency),
        key: record.externalId,
        savedMethod: null,
        paidAt: null,
      }
    default:
      return unrecognized('Jiji answered a status that we do not know')
  }
}
