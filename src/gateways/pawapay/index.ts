// pawaPay: mobile money of many African operators behind one API. The payer types the number on pawaPay's own page.
// There are no saved methods, and a page cannot be closed before its time, so there is neither chargeSaved nor cancel.

import { Type } from 'typebox'
import type { HttpResult } from '../../kit/http-client.ts'
import type { Connection, CredentialField, GatewayDefinition } from '../definition.ts'
import type { Gateway, Outcome, RecoveryProperties, RefundOutcome, StatusQuery } from '../gateway.ts'
import { readCallback } from './callbacks.ts'
import { RAILS } from './rails.ts'
import { fromRefund, fromRefundStatus, toRefundBody } from './refunds.ts'
import { reader } from './response.ts'
import { readPublicKeys } from './signature.ts'
import { fromDepositStatus, fromStart, refused, toPageBody } from './wire.ts'

const RECOVERY: RecoveryProperties = {
  // The ids of deposits and refunds are unique for good, and a second request under one is ignored. How long they are
  // kept is not published, so no more than what providers commonly keep is relied on. A page that is opened twice is
  // two doors to one deposit.
  keyRetentionHours: 24,
  // What was rejected leaves no deposit behind: the same id is judged anew.
  cachesErrors: false,
  lookupByReference: true,
  // While one is in progress the next is turned away.
  sequentialRefunds: true,
}

const CREDENTIALS: readonly CredentialField[] = [
  {
    name: 'apiToken',
    isRequired: true,
    meaning: 'The API token of the dashboard; the sandbox and the live environment have each their own.',
    validate: validateToken,
  },
  {
    name: 'publicKey',
    isRequired: false,
    meaning:
      'The public key of the environment (GET /v2/public-key/http), PEM, with which pawaPay signs callbacks. Signed ' +
      'callbacks are switched on in the dashboard. Without the key callbacks are refused, and payments are found by asking.',
    validate: validatePublicKey,
  },
]

/** A token does not tell its environment; the provider does, when it is tried. */
function validateToken(text: string): string | undefined {
  if (/^bearer\s/i.test(text)) return 'must be the token alone, without the word Bearer'
  if (!/^[\x21-\x7e]+$/.test(text))
    return 'must be the API token of the dashboard: letters, digits and signs, no spaces'
  return undefined
}

function validatePublicKey(text: string): string | undefined {
  if (text.includes('PRIVATE KEY')) return 'must be the public key of pawaPay, and this is a private key'
  if (readPublicKeys(text).length > 0) return undefined
  return 'must be the public key of pawaPay in PEM, from -----BEGIN PUBLIC KEY----- to -----END PUBLIC KEY-----, P-256'
}

export const PAWAPAY: GatewayDefinition = {
  name: 'pawapay',
  title: 'pawaPay',
  rails: RAILS,
  recovery: RECOVERY,
  credentials: CREDENTIALS,
  baseUrl: { test: 'https://api.sandbox.pawapay.io', live: 'https://api.pawapay.io' },
  open,
}

function open(connection: Connection): Gateway {
  const { http, clock, webhookPath = `/hooks/${PAWAPAY.name}` } = connection
  const { apiToken, publicKey = '' } = connection.credentials
  if (!apiToken) throw new Error('pawaPay cannot be opened without its apiToken')
  const keys = readPublicKeys(publicKey)

  const call = (method: 'GET' | 'POST', path: string, body?: unknown): Promise<HttpResult> =>
    http.request({
      method,
      url: `${connection.baseUrl}/v2${path}`,
      headers: {
        authorization: `Bearer ${apiToken}`,
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    })

  const verify = async (query: StatusQuery, gatewayReference: string | null) => {
    const answer = await call('GET', `/deposits/${encodeURIComponent(query.key)}`)
    return fromDepositStatus(answer, { query, gatewayReference, now: clock.now() })
  }

  const verifyRefund: Gateway['verifyRefund'] = async (request) =>
    fromRefundStatus(await call('GET', `/refunds/${encodeURIComponent(request.key)}`), request)

  /** The duplicate proves that an earlier request got through, so a query that did not leave us proves nothing. */
  const assumeSubmitted = <Result extends Outcome | RefundOutcome>(result: Result): Result =>
    result.kind === 'unknown' && result.reason === 'not_sent' ? { ...result, reason: 'no_answer' } : result

  return {
    name: PAWAPAY.name,
    rails: RAILS,
    recovery: RECOVERY,

    async startCheckout(attempt, _choice, returnUrl) {
      const body = toPageBody(attempt, returnUrl)
      if ('issue' in body) return refused('provider_unavailable', body.issue)
      const started = fromStart(await call('POST', '/paymentpage', body), attempt.key)
      return started.kind === 'duplicate' ? assumeSubmitted(await verify(attempt, attempt.key)) : started
    },

    verify,

    async refund(request) {
      const outcome = fromRefund(await call('POST', '/refunds', toRefundBody(request)), request.key)
      return outcome.kind === 'duplicate'
        ? assumeSubmitted(await verifyRefund(request, request.key))
        : outcome
    },

    verifyRefund,

    parseWebhook(headers, rawBody) {
      const url = `${connection.publicUrl()}${webhookPath}`
      return readCallback({ url, keys, now: clock.now() }, headers, rawBody)
    },

    probe: async () => fromConfiguration(await call('GET', '/active-conf?operationType=DEPOSIT')),
  }
}

// The account's own configuration: readable with any token that may collect, and without effect.
const readConfiguration = reader(Type.Object({ countries: Type.Array(Type.Unknown()) }))

function fromConfiguration(answer: HttpResult): 'works' | 'refused' | 'unreachable' {
  if (answer.kind !== 'answered') return 'unreachable'
  if (answer.status === 401 || answer.status === 403) return 'refused'
  return answer.status === 200 && readConfiguration(answer.body) ? 'works' : 'unreachable'
}
