// The connector to Wave, a mobile-money network: a checkout session with a page that opens Wave's app. A key belongs to
// one wallet in one country. There are no saved methods, and only whole payments can be refunded.

import type { Mode } from '../../core/merchant.ts'
import type { Connection, CredentialField, GatewayDefinition, ManualCheck } from '../definition.ts'
import type {
  Gateway,
  GatewayBehavior,
  GatewayCheck,
  Outcome,
  Rail,
  StartedCheckout,
  StatusQuery,
} from '../gateway.ts'
import { checkByHand, checkOk, isJsonBody, unknown } from '../reply.ts'
import { createClient, describeError, readReply } from './client.ts'
import { fromRefund, isAccepted } from './refunds.ts'
import { readSignedEvent } from './webhooks.ts'
import {
  chooseSession,
  fromRefusedQuery,
  fromRefusedStart,
  fromSearch,
  fromSession,
  fromSessionReply,
  isSession,
  toSessionBody,
  toStarted,
} from './wire.ts'

const RAILS: readonly Rail[] = [
  { currency: 'XOF', countries: ['SN'], channels: ['mobile_money'], networks: ['wave_sn'] },
  { currency: 'XOF', countries: ['CI'], channels: ['mobile_money'], networks: ['wave_ci'] },
  { currency: 'GMD', countries: ['GM'], channels: ['mobile_money'], networks: ['wave_gm'] },
]

const BEHAVIOR: GatewayBehavior = {
  worksWithoutEmail: true,
  // A key is not an idempotency key of Wave. Before a session is made, an earlier one of the same key is searched for; how
  // long sessions can be found is not published.
  keyRetentionHours: 24,
  cachesErrors: false,
  lookupByReference: true,
  // Wave learns nothing about the payer: only the response has the address of the page.
  lostPageIsUnpayable: true,
  fullRefundsOnly: true,
}

const MANUAL_CHECKS: readonly ManualCheck[] = [
  {
    about: 'rights of the API key',
    detail:
      'Create the key in the developer section of the Wave Business Portal with the right to use the Checkout API. If you switch on request signing for it, set GATEWAY_WAVE_SIGNING_SECRET, otherwise Wave refuses every request.',
  },
  {
    about: 'webhook',
    detail:
      'Add a webhook with the URL that cowry gateways list shows in the developer section of the Wave Business Portal: security strategy "signing secret", events checkout.session.completed and checkout.session.payment_failed.',
  },
  {
    about: 'no test environment',
    detail: 'Wave has none: before the first day, pay and refund a small amount with the live key.',
  },
]

const COUNTRIES = 'sn|ci|gm'
const KEY = new RegExp(`^wave_(${COUNTRIES})_([a-z]+)_[\\x21-\\x7e]{8,500}$`)

const CREDENTIALS: readonly CredentialField[] = [
  {
    name: 'apiKey',
    isRequired: true,
    meaning:
      'The API key of a wallet, from the developer section of the Wave Business Portal. It names the country: wave_sn_prod_… collects in Senegal only. Several wallets are several accounts with a label.',
    validate: validateApiKey,
  },
  {
    name: 'webhookSecret',
    isRequired: false,
    meaning:
      'The signing secret of the webhook, shown once when it is added in the portal. Without it webhooks are rejected, and payments are found by polling only.',
    validate: validateSecret,
  },
  {
    name: 'signingSecret',
    isRequired: false,
    meaning:
      'The secret with which requests are signed. Needed only if request signing is on for the API key.',
    validate: validateSecret,
  },
]

/** Wave has no test environment, so a live key in test mode would take real money. */
function validateApiKey(text: string, mode: Mode): string | undefined {
  if (/^bearer\s/i.test(text)) return 'must be the key alone, without the word Bearer'
  const [, , kind] = KEY.exec(text) ?? []
  if (kind === undefined)
    return 'must be a whole key of Wave in Senegal, Côte d’Ivoire or The Gambia: it begins with wave_sn_, wave_ci_ or wave_gm_'
  if (mode === 'live' && kind !== 'prod') return 'must be a live key, such as wave_sn_prod_…'
  if (mode === 'test' && kind === 'prod')
    return 'is a live key: Wave has no test environment, so test mode takes only keys of a simulator (GATEWAY_WAVE_BASE_URL)'
  return undefined
}

function validateSecret(text: string): string | undefined {
  return /^[\x21-\x7e]{8,500}$/.test(text)
    ? undefined
    : 'must be the secret as the portal shows it: letters, digits and signs, no spaces'
}

export const WAVE: GatewayDefinition = {
  name: 'wave',
  title: 'Wave',
  rails: RAILS,
  behavior: BEHAVIOR,
  credentials: CREDENTIALS,
  manualChecks: MANUAL_CHECKS,
  baseUrl: { test: 'https://api.wave.com', live: 'https://api.wave.com' },
  open: openWave,
}

const SESSIONS = '/v1/checkout/sessions'
const pathOf = (id: string) => `${SESSIONS}/${encodeURIComponent(id)}`
const searchOf = (key: string) => `${SESSIONS}/search?client_reference=${encodeURIComponent(key)}`

function openWave(connection: Connection): Gateway {
  const { apiKey, webhookSecret, signingSecret } = connection.credentials
  if (!apiKey) throw new Error('Wave cannot be opened without its apiKey')
  const country = KEY.exec(apiKey)?.[1]?.toUpperCase() ?? ''
  const { get, post } = createClient(connection)
  const search = async (key: string) => fromSearch(await get(searchOf(key)), key)

  const verifyById = async ({ key }: StatusQuery, id: string): Promise<Outcome> => {
    const found = fromSessionReply(await get(pathOf(id)))
    if (isSession(found)) return fromSession(found, key)
    return found.kind === 'error' ? fromRefusedQuery(found) : found
  }

  /** By our key, which finds every session of it; by its id if the search does not find it. */
  const verify = async (query: StatusQuery, gatewayReference: string | null): Promise<Outcome> => {
    const found = await search(query.key)
    if (!Array.isArray(found)) return found.kind === 'error' ? fromRefusedQuery(found) : found
    const session = chooseSession(found)
    if (session) return fromSession(session, query.key)
    if (gatewayReference !== null) return verifyById(query, gatewayReference)
    return unknown('not_found', 'Wave has no session with this reference')
  }

  /** The session of an earlier request with the same key. If the search fails, nothing was sent. */
  const findEarlier = async (key: string): Promise<StartedCheckout | Outcome | undefined> => {
    const found = await search(key)
    if (Array.isArray(found)) {
      const session = chooseSession(found)
      return session && toStarted(session, key)
    }
    if (found.kind !== 'error') return { ...found, reason: 'not_sent' }
    const outcome = fromRefusedStart(found)
    return outcome.kind === 'unknown' ? { ...outcome, reason: 'not_sent' } : outcome
  }

  return {
    name: WAVE.name,
    rails: RAILS.filter(({ countries }) => countries?.includes(country)),
    behavior: BEHAVIOR,

    async startCheckout(attempt, _choice, returnUrl) {
      const earlier = await findEarlier(attempt.key)
      if (earlier) return earlier
      // The header is documented for payouts only. If it works here too, two requests at the same time make one session.
      const headers = { 'idempotency-key': attempt.key }
      const made = fromSessionReply(await post(SESSIONS, toSessionBody(attempt, returnUrl), headers))
      if (isSession(made)) return toStarted(made, attempt.key)
      return made.kind === 'error' ? fromRefusedStart(made) : made
    },

    verify,

    async cancel(query, gatewayReference) {
      const before = gatewayReference === null ? await verify(query, null) : undefined
      if (before && before.kind !== 'pending') return before
      const id = gatewayReference ?? before?.gatewayReference ?? ''
      const result = await post(`${pathOf(id)}/expire`)
      if (isAccepted(result)) return asCancelled(await verify(query, id))
      const reply = readReply(result, () => undefined)
      if (reply.kind === 'unknown') return reply
      // It is complete or has expired already.
      const outcome = await verify(query, id)
      if (outcome.kind !== 'pending') return outcome
      return unknown('no_answer', reply.kind === 'error' ? describeError(reply) : 'unreadable response')
    },

    refund: async (request) => fromRefund(await post(`${pathOf(request.attemptReference)}/refund`), request),

    parseWebhook: ({ headers, rawBody }) => readSignedEvent(webhookSecret, headers, rawBody),

    async probe() {
      const result = await get(searchOf('probe'))
      if (Array.isArray(fromSearch(result, 'probe'))) return 'works'
      const isRefused = result.kind === 'answered' && (result.status === 401 || result.status === 403)
      return isRefused && isJsonBody(result.body) ? 'refused' : 'unreachable'
    },

    checkAccount: async () => [checkWebhookSecret(webhookSecret), checkSigning(signingSecret)],
  }
}

function asCancelled(outcome: Outcome): Outcome {
  return outcome.kind === 'declined' && outcome.code === 'customer_timeout'
    ? { ...outcome, code: 'customer_cancelled', message: 'the checkout session of Wave was closed' }
    : outcome
}

function checkWebhookSecret(secret: string | undefined): GatewayCheck {
  const name = 'webhooks'
  if (secret) return checkOk(name)
  return checkByHand(
    name,
    'Without the signing secret webhooks are rejected, and payments are found by polling only. Add a webhook in the Wave Business Portal, and set GATEWAY_WAVE_WEBHOOK_SECRET.',
  )
}

function checkSigning(secret: string | undefined): GatewayCheck {
  const name = 'request signing'
  return checkOk(name, secret ? 'requests are signed' : 'requests are not signed')
}
