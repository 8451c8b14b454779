// The connector to Ahadi, a fictitious wallet in two steps: the payer confirms on its page, and the money moves when we
// execute the payment. It takes our reference once and has no idempotency key, so nothing is sent again.

import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import { isCurrency } from '../../../src/core/currency.ts'
import type { FailureCode } from '../../../src/core/failures.ts'
import { money } from '../../../src/core/money.ts'
import type { Connection } from '../../../src/gateways/definition.ts'
import type { Gateway, Outcome, ParsedWebhook, WebhookRequest } from '../../../src/gateways/gateway.ts'
import {
  fromUnexpectedBody,
  readTime,
  refused,
  unknown,
  unrecognized,
  withoutResponse,
} from '../../../src/gateways/reply.ts'
import { jsonReader } from '../../../src/kit/exact-json.ts'
import type { HttpResult } from '../../../src/kit/http/http-client.ts'

const Text = Type.String({ minLength: 1, maxLength: 200 })
const readRecord = jsonReader(
  Type.Object({
    id: Text,
    reference: Text,
    status: Text,
    amount: Type.String({ pattern: '^(0|[1-9][0-9]{0,17})$' }),
    currency: Text,
    reason: Type.Optional(Text),
    page: Type.String({ pattern: '^https://' }),
    paidAt: Type.Optional(Text),
  }),
)

export function openAhadi({ credentials, baseUrl, http, callbackUrl }: Connection): Gateway {
  const call = (method: 'GET' | 'POST', path: string, body?: unknown): Promise<HttpResult> =>
    http.request({
      method,
      url: `${baseUrl}${path}`,
      headers: { authorization: `Bearer ${credentials.apiKey}` },
      body: body === undefined ? undefined : JSON.stringify(body),
    })

  return {
    name: 'ahadi',
    rails: [{ currency: 'BDT', countries: ['BD'], channels: ['mobile_money'] }],
    behavior: {
      ...{ keyRetentionHours: 0, cachesErrors: false, lookupByReference: true },
      // The list of payments is complete within minutes.
      notResendable: { absentAfterHours: 1 },
    },

    async startCheckout({ key, amount }, _choice, returnUrl) {
      const callback = callbackUrl({ kind: 'attempt', key })
      const body = {
        reference: key,
        amount: String(amount.minor),
        currency: amount.currency,
        returnUrl,
        callback,
      }
      const result = await call('POST', '/payments', body)
      const record = result.kind === 'answered' && result.status === 201 ? readRecord(result.body) : undefined
      if (record?.reference !== key || record.status !== 'CREATED') return fromRejection(result)
      return { kind: 'started', gatewayReference: record.id, next: { kind: 'redirect', url: record.page } }
    },

    verify: async ({ key }) => fromRecord(await call('GET', `/payments/by-reference/${key}`), key),

    /** Ahadi executes a payment once; it answers a second request with the record. */
    complete: async ({ key }, gatewayReference) =>
      fromRecord(await call('POST', `/payments/${encodeURIComponent(gatewayReference)}/execute`), key),

    parseWebhook,
  }
}

function parseWebhook({ callback, rawBody }: WebhookRequest): ParsedWebhook {
  if (callback?.kind !== 'attempt') return { kind: 'forged' }
  const record = readRecord(rawBody)
  if (record?.reference !== callback.key) return { kind: 'ignored', reason: 'not a record of this payment' }
  const eventId = createHash('sha256').update(rawBody).digest('hex')
  return { kind: 'payment', key: callback.key, eventId, referenceHint: record.id }
}

function fromRejection(result: HttpResult): Outcome {
  if (result.kind !== 'answered') return withoutResponse(result)
  const message = `Ahadi answered HTTP ${result.status}`
  if ([400, 401, 429].includes(result.status)) return refused('provider_unavailable', message)
  if (result.status >= 500 || result.status === 409) return unknown('no_answer', message)
  return fromUnexpectedBody(result.body, message)
}

const DECLINES = new Map<string, FailureCode>([
  ['NO_FUNDS', 'insufficient_funds'],
  ['CANCELLED', 'customer_cancelled'],
])

function fromRecord(result: HttpResult, key: string): Outcome {
  if (result.kind !== 'answered') return withoutResponse(result)
  const message = `Ahadi answered HTTP ${result.status}`
  if (result.status === 404) return unknown('not_found', 'Ahadi does not know this payment')
  if (result.status >= 500) return unknown('no_answer', message)
  const record = result.status === 200 ? readRecord(result.body) : undefined
  if (!record) return fromUnexpectedBody(result.body, message)
  const { id: gatewayReference, status, reference } = record
  if (status !== 'EXECUTED' && reference !== key) return unrecognized('Ahadi answered about another payment')
  switch (status) {
    case 'CREATED':
    case 'EXECUTING':
      return { kind: 'pending', gatewayReference }
    case 'CONFIRMED':
      return { kind: 'pending', gatewayReference, canComplete: true }
    case 'FAILED': {
      const reason = record.reason ?? 'failed'
      return { kind: 'declined', code: DECLINES.get(reason) ?? 'unknown', message: reason, gatewayReference }
    }
    case 'EXECUTED': {
      const { currency, amount } = record
      if (!isCurrency(currency)) return unrecognized('Ahadi answered a currency that we do not know')
      const paid = money(BigInt(amount), currency)
      const paidAt = readTime(record.paidAt) ?? null
      return { kind: 'succeeded', gatewayReference, paid, key: reference, savedMethod: null, paidAt }
    }
    default:
      return unrecognized('Ahadi answered a status that we do not know')
  }
}
