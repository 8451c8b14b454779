// The connector to pawaPay: mobile money of many African operators behind one API. The payer is prompted on the phone, or
// enters the number on pawaPay's page. It has no saved methods, and neither a prompt nor a page can be closed early, so
// chargeSaved and cancel are absent.

import { Type } from 'typebox'
import { jsonReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import { collectionField, collectsDirectly } from '../collection.ts'
import type { Connection, CredentialField, GatewayDefinition } from '../definition.ts'
import type { Attempt, Gateway, GatewayBehavior, StatusQuery } from '../gateway.ts'
import { assumeSubmitted, isJsonBody, refused } from '../reply.ts'
import { checkPawapayAccount } from './account-checks.ts'
import { readCallback } from './callbacks.ts'
import { startDeposit } from './deposits.ts'
import { PAGE_RAILS, RAILS } from './rails.ts'
import { fromRefund, fromRefundStatus, toRefundBody } from './refunds.ts'
import { readPublicKeys } from './signature.ts'
import { createSigner, readPrivateKey, signatureHeaders } from './signed-requests.ts'
import { fromDepositStatus, fromStart, toPageBody } from './wire.ts'

const BEHAVIOR: GatewayBehavior = {
  worksWithoutEmail: true,
  // Deposit and refund ids are unique for good, and pawaPay ignores a second request with one. It does not publish how
  // long it keeps them, so we rely on a common retention only. Opening a page twice gives two pages for one deposit.
  keyRetentionHours: 24,
  // A rejected request leaves no deposit, so the same id is evaluated again.
  cachesErrors: false,
  lookupByReference: true,
  // It rejects a refund while another one is in progress.
  sequentialRefunds: true,
}

const CREDENTIALS: readonly CredentialField[] = [
  {
    name: 'apiToken',
    isRequired: true,
    meaning:
      'The API token of the dashboard, which generates it only after the callback URLs are set there; the sandbox and ' +
      'the live environment have each their own.',
    validate: validateToken,
  },
  {
    name: 'publicKey',
    isRequired: false,
    meaning:
      'The public key of the environment (GET /v2/public-key/http), PEM, with which pawaPay signs callbacks. Signed ' +
      'callbacks are switched on in the dashboard. Without the key callbacks are rejected, and payments are found by polling only.',
    validate: validatePublicKey,
  },
  {
    name: 'signingKey',
    isRequired: false,
    meaning:
      'The private key, PEM, EC P-256, with which requests are signed; its public part is entered in the dashboard. Needed ' +
      'only if the account takes only signed requests.',
    validate: validateSigningKey,
  },
  {
    name: 'signingKeyId',
    isRequired: false,
    meaning: 'The id that the dashboard shows for the public part of the signing key.',
    validate: (text) =>
      /^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/.test(text)
        ? undefined
        : 'must be the id of the key as the dashboard shows it, without spaces and quotes',
  },
  collectionField('our page asks for the number and the network, and a prompt appears on the phone'),
]

/** A token does not reveal its environment; the credential check does. */
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

function validateSigningKey(text: string): string | undefined {
  if (readPrivateKey(text)) return undefined
  if (text.includes('PUBLIC KEY')) return 'must be the private key, and this is a public key'
  return 'must be a private key in PEM, from -----BEGIN PRIVATE KEY----- to -----END PRIVATE KEY-----, P-256'
}

export const PAWAPAY: GatewayDefinition = {
  name: 'pawapay',
  title: 'pawaPay',
  rails: RAILS,
  behavior: BEHAVIOR,
  credentials: CREDENTIALS,
  manualChecks: [
    {
      about: 'API token',
      detail:
        'Set the callback URLs in the dashboard before you generate an API token; the sandbox and the live environment have each their own token, callback URLs and public key.',
    },
    {
      about: 'firewall',
      detail:
        'If your firewall filters by address, allow the addresses from which pawaPay sends callbacks (see its documentation).',
    },
  ],
  baseUrl: { test: 'https://api.sandbox.pawapay.io', live: 'https://api.pawapay.io' },
  open,
}

function open(connection: Connection): Gateway {
  const { http, clock, webhookPath = `/hooks/${PAWAPAY.name}` } = connection
  const { apiToken, publicKey = '', signingKey, signingKeyId } = connection.credentials
  if (!apiToken) throw new Error('pawaPay cannot be opened without its apiToken')
  const keys = readPublicKeys(publicKey)
  const signer = createSigner(signingKey, signingKeyId)
  const headers = { authorization: `Bearer ${apiToken}`, accept: 'application/json' }

  const get = (path: string): Promise<HttpResult> =>
    http.request({ method: 'GET', url: `${connection.baseUrl}/v2${path}`, headers })

  const post = (path: string, fields: object): Promise<HttpResult> => {
    const request = {
      url: `${connection.baseUrl}/v2${path}`,
      contentType: 'application/json',
      body: JSON.stringify(fields),
    }
    const signature = signer && signatureHeaders(signer, request, clock.now())
    return http.request({
      method: 'POST',
      url: request.url,
      headers: { ...headers, 'content-type': request.contentType, ...signature },
      body: request.body,
    })
  }

  const read = async (query: StatusQuery, gatewayReference: string | null) => {
    const result = await get(`/deposits/${encodeURIComponent(query.key)}`)
    return fromDepositStatus(result, { query, gatewayReference, now: clock.now() })
  }

  const verify = async (query: StatusQuery, gatewayReference: string | null) =>
    (await read(query, gatewayReference)).outcome

  const verifyRefund: Gateway['verifyRefund'] = async (request) =>
    fromRefundStatus(await get(`/refunds/${encodeURIComponent(request.key)}`), request)

  const startPage = async (attempt: Attempt, returnUrl: string, phoneNumber?: string) => {
    const body = toPageBody(attempt, returnUrl, phoneNumber)
    if ('issue' in body) return refused('provider_unavailable', body.issue)
    const started = fromStart(await post('/paymentpage', body), attempt.key)
    return started.kind === 'duplicate' ? assumeSubmitted(await verify(attempt, attempt.key)) : started
  }

  const readSubmitted = async (attempt: Attempt) => {
    const state = await read(attempt, attempt.key)
    return { ...state, outcome: assumeSubmitted(state.outcome) }
  }

  const isDirect = collectsDirectly(connection.credentials)

  return {
    name: PAWAPAY.name,
    rails: isDirect ? RAILS : PAGE_RAILS,
    behavior: BEHAVIOR,

    async startCheckout(attempt, choice, returnUrl) {
      if (!isDirect || choice.phone === undefined) return startPage(attempt, returnUrl)
      const phoneNumber = choice.phone.replace('+', '')
      const api = { get, post, read: readSubmitted, clock }
      const started = await startDeposit(api, { attempt, phoneNumber, returnUrl }, choice)
      return started.kind === 'page' ? startPage(attempt, returnUrl, phoneNumber) : started
    },

    verify,

    async refund(request) {
      const outcome = fromRefund(await post('/refunds', toRefundBody(request)), request.key)
      return outcome.kind === 'duplicate'
        ? assumeSubmitted(await verifyRefund(request, request.key))
        : outcome
    },

    verifyRefund,

    parseWebhook({ method, headers, rawBody }) {
      const url = `${connection.publicUrl()}${webhookPath}`
      return readCallback({ method, url, keys, now: clock.now() }, headers, rawBody)
    },

    checkAccount: () =>
      checkPawapayAccount({
        keys,
        callbackUrl: `${connection.publicUrl()}${webhookPath}`,
        signsRequests: signer !== null,
        read: get,
      }),

    probe: async () => fromConfiguration(await get('/active-conf?operationType=DEPOSIT')),
  }
}

// The account's configuration: readable with any token that may collect, and without effect.
const readConfiguration = jsonReader(Type.Object({ countries: Type.Array(Type.Unknown()) }))

function fromConfiguration(result: HttpResult): 'works' | 'refused' | 'unreachable' {
  if (result.kind !== 'answered') return 'unreachable'
  const isRefused = result.status === 401 || result.status === 403
  if (isRefused && isJsonBody(result.body)) return 'refused'
  return result.status === 200 && readConfiguration(result.body) ? 'works' : 'unreachable'
}
