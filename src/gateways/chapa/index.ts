// The connector to Chapa: a hosted page with the wallets, banks and cards of Ethiopia. It has no saved methods, and a page
// cannot be closed early, so chargeSaved and cancel are absent.

import type { Mode } from '../../core/merchant.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Connection, CredentialField, GatewayDefinition, ManualCheck } from '../definition.ts'
import type { Gateway, GatewayBehavior, GatewayCheck, Outcome, Rail, StatusQuery } from '../gateway.ts'
import { assumeSubmitted, checkByHand, checkOk, unknown } from '../reply.ts'
import { createRefundOperations } from './refunds.ts'
import { isKeyRefused, readReply } from './response.ts'
import { readSignedEvent } from './webhooks.ts'
import { fromStart, fromVerify, toPaymentBody } from './wire.ts'

const RAILS: readonly Rail[] = [
  { currency: 'ETB', countries: ['ET'], channels: ['mobile_money', 'card', 'bank_transfer'] },
]

const BEHAVIOR: GatewayBehavior = {
  // A used reference is refused for good. How long Chapa keeps it is not published, so we rely on a common time only.
  keyRetentionHours: 24,
  cachesErrors: false,
  lookupByReference: true,
  // Only the response to a payment request has the address of the page.
  lostPageIsUnpayable: true,
  // Whether the page takes another try after a failure is not documented.
  paysAfterDecline: true,
  nonIdempotentRefunds: true,
  listsRefundsByPayment: true,
}

const MANUAL_CHECKS: readonly ManualCheck[] = [
  {
    about: 'webhook URL',
    detail:
      'Enter the webhook URL (cowry gateways list) and a secret hash in Settings → Webhooks of the Chapa dashboard.',
  },
  {
    about: 'refunds',
    detail: 'Chapa refunds in live mode only: refund a small live payment before the first day.',
  },
]

const KEY_PREFIXES: Readonly<Record<Mode, string>> = { test: 'CHASECK_TEST-', live: 'CHASECK-' }
const OTHER_MODE: Readonly<Record<Mode, Mode>> = { test: 'live', live: 'test' }

const CREDENTIALS: readonly CredentialField[] = [
  {
    name: 'secretKey',
    isRequired: true,
    meaning: 'The secret key of the account, from Settings → API of the Chapa dashboard.',
    validate: validateSecretKey,
  },
  {
    name: 'webhookSecret',
    isRequired: false,
    meaning:
      'The secret hash typed in Settings → Webhooks of the Chapa dashboard. Without it only webhooks that are signed with the secret key are accepted; otherwise payments are found by polling.',
    validate: (text) =>
      /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text)
        ? undefined
        : 'must be plain letters, digits, signs and inner spaces, exactly as in the dashboard',
  },
]

function validateSecretKey(text: string, mode: Mode): string | undefined {
  if (text.startsWith('CHAPUBK')) return 'is a public key; the secret key begins with CHASECK'
  const [prefix, other] = [KEY_PREFIXES[mode], KEY_PREFIXES[OTHER_MODE[mode]]]
  if (text.startsWith(other))
    return `is a ${OTHER_MODE[mode]} key; ${mode} mode takes keys that begin with ${prefix}`
  if (!text.startsWith(prefix)) return `must begin with ${prefix}`
  return /^[\w-]{20,200}$/.test(text)
    ? undefined
    : 'is not a whole key: letters, digits and dashes after its beginning'
}

export const CHAPA: GatewayDefinition = {
  name: 'chapa',
  title: 'Chapa',
  rails: RAILS,
  behavior: BEHAVIOR,
  credentials: CREDENTIALS,
  manualChecks: MANUAL_CHECKS,
  // One URL for both modes: the key decides.
  baseUrl: { test: 'https://api.chapa.co', live: 'https://api.chapa.co' },
  open: openChapa,
}

const REFERENCE_TAKEN = unknown(
  'no_answer',
  'Chapa already has this reference, and its status check does not',
)

function openChapa({ credentials, baseUrl, http, mode, clock }: Connection): Gateway {
  const { secretKey, webhookSecret } = credentials
  // With an empty secret anyone could sign a webhook.
  if (!secretKey) throw new Error('Chapa cannot be opened without its secretKey')
  const authorization = { authorization: `Bearer ${secretKey}`, accept: 'application/json' }

  const get = (path: string): Promise<HttpResult> =>
    http.request({ method: 'GET', url: `${baseUrl}/v1${path}`, headers: authorization })

  const post = (path: string, contentType: string, body: string): Promise<HttpResult> => {
    const headers = { ...authorization, 'content-type': contentType }
    return http.request({ method: 'POST', url: `${baseUrl}/v1${path}`, headers, body })
  }

  const verify = async (query: StatusQuery): Promise<Outcome> =>
    fromVerify(await get(`/transaction/verify/${encodeURIComponent(query.key)}`), query, mode, clock.now())

  return {
    name: CHAPA.name,
    rails: RAILS,
    behavior: BEHAVIOR,

    async startCheckout(attempt, _choice, returnUrl) {
      const body = JSON.stringify(toPaymentBody(attempt, returnUrl))
      const started = fromStart(await post('/transaction/initialize', 'application/json', body), attempt.key)
      if (started.kind !== 'duplicate') return started
      return assumeSubmitted(await verify(attempt), REFERENCE_TAKEN)
    },

    verify,

    ...createRefundOperations({
      get,
      postForm: (path, form) => post(path, 'application/x-www-form-urlencoded', form.toString()),
    }),

    parseWebhook: ({ headers, rawBody }) =>
      readSignedEvent([...(webhookSecret ? [webhookSecret] : []), secretKey], headers, rawBody),

    // A reference that no payment has: the error says whether the key was accepted.
    async probe() {
      const reply = readReply(await get('/transaction/verify/probe'))
      if (reply.kind === 'data') return 'works'
      if (reply.kind === 'unknown') return 'unreachable'
      if (isKeyRefused(reply)) return 'refused'
      return reply.http === 404 ? 'works' : 'unreachable'
    },

    checkAccount: async () => [checkWebhookSecret(webhookSecret)],
  }
}

function checkWebhookSecret(secret: string | undefined): GatewayCheck {
  const name = 'webhooks'
  if (secret) return checkOk(name)
  return checkByHand(
    name,
    'Without the secret hash webhooks may be rejected, and payments are then found by polling only. Enter one in Settings → Webhooks of the dashboard, and set GATEWAY_CHAPA_WEBHOOK_SECRET.',
  )
}
