// The connector to Flutterwave, API version 3: prompts and transfers on our page, a hosted page for the rest, charges by card
// token, refunds. Its webhooks prove the sender but not the content, its errors have messages without codes, and our
// reference is its only idempotency key.

import { isCountry } from '../../core/countries.ts'
import type { Mode } from '../../core/merchant.ts'
import { constantTimeEquals } from '../../kit/crypto.ts'
import { collectionField, collectsDirectly, onProvidersPage } from '../collection.ts'
import type { Connection, CredentialField, GatewayDefinition, ManualCheck } from '../definition.ts'
import type { Attempt, Gateway, GatewayBehavior, GatewayCheck, Outcome, StatusQuery } from '../gateway.ts'
import { assumeSubmitted, checkByHand, checkFailed, checkOk, unknown } from '../reply.ts'
import { createChargebackOperations } from './chargebacks.ts'
import { createClient } from './client.ts'
import { type DirectCharge, fromDirectCharge, toDirectCharge } from './direct.ts'
import { RAILS } from './rails.ts'
import { createRefundOperations } from './refunds.ts'
import { isKeyRefused, readReply } from './response.ts'
import { readCredential } from './saved-method.ts'
import {
  type DuplicateReference,
  fromCharge,
  fromStart,
  fromVerify,
  fromWebhookBody,
  toChargeBody,
  toPaymentBody,
} from './wire.ts'

const BEHAVIOR: GatewayBehavior = {
  // A used reference is refused for two minutes ("Try again in 2 minutes time to use the same ref"). After that the
  // same charge would execute again, so an attempt that is still unknown then needs manual review.
  keyRetentionHours: 2 / 60,
  // A second request is refused as a duplicate or executed again: nothing is replayed.
  cachesErrors: false,
  lookupByReference: true,
  paysAfterDecline: true,
  // Only the response has the link of the page, or the account of a transfer.
  lostPageIsUnpayable: true,
  sequentialRefunds: true,
  nonIdempotentRefunds: true,
}

// The API of Flutterwave tells none of these.
const MANUAL_CHECKS: readonly ManualCheck[] = [
  {
    about: 'NOAUTH',
    detail:
      'By default a charge of a saved card needs the payer (3DS), so recurring charges end with authentication_required. Ask the support of Flutterwave to enable NOAUTH for the account.',
  },
  {
    about: 'payment options',
    detail:
      'Clear "Enable Dashboard Payment Options" in the account settings of the dashboard, otherwise Flutterwave ignores the channel that the payer chose.',
  },
  {
    about: 'webhook URL',
    detail:
      'Enter the webhook URL (cowry gateways list) in Settings → Webhooks of the dashboard, and let it repeat failed webhooks.',
  },
]

const KEY_PREFIXES: Readonly<Record<Mode, string>> = { test: 'FLWSECK_TEST-', live: 'FLWSECK-' }
const OTHER_MODE: Readonly<Record<Mode, Mode>> = { test: 'live', live: 'test' }

const CREDENTIALS: readonly CredentialField[] = [
  {
    name: 'secretKey',
    isRequired: true,
    meaning: 'The secret key of the account, from Settings → API keys of the Flutterwave dashboard.',
    validate: validateSecretKey,
  },
  {
    name: 'webhookHash',
    isRequired: false,
    meaning:
      'The secret hash typed in Settings → Webhooks of the Flutterwave dashboard. Without it webhooks are rejected, and payments are found by polling only.',
    validate: validateWebhookHash,
  },
  {
    name: 'merchantCountry',
    isRequired: false,
    meaning:
      'The country in which the account is registered, two letters such as NG. Flutterwave asks for it in charges of saved cards; without it the country of the currency is sent.',
    validate: (text) =>
      /^[A-Z]{2}$/.test(text) && isCountry(text)
        ? undefined
        : 'must be a country in two capital letters, such as NG',
  },
  collectionField(
    'our page asks for the number of mobile money, and shows the account for a transfer in NGN',
  ),
]

function validateSecretKey(text: string, mode: Mode): string | undefined {
  if (text.startsWith('FLWPUBK')) return 'is a public key; the secret key begins with FLWSECK'
  const prefix = KEY_PREFIXES[mode]
  if (text.startsWith(KEY_PREFIXES[OTHER_MODE[mode]]))
    return `is a ${OTHER_MODE[mode]} key; ${mode} mode takes keys that begin with ${prefix}`
  if (!text.startsWith(prefix)) return `must begin with ${prefix}`
  return /^[\w-]{20,200}$/.test(text)
    ? undefined
    : 'is not a whole key: letters, digits and dashes after its beginning'
}

/** Whatever the dashboard takes and a header can carry: a space at an end would be lost on the way. */
function validateWebhookHash(text: string): string | undefined {
  return /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text)
    ? undefined
    : 'must be plain letters, digits, signs and inner spaces, exactly as in the dashboard'
}

export const FLUTTERWAVE: GatewayDefinition = {
  name: 'flutterwave',
  title: 'Flutterwave',
  rails: RAILS,
  behavior: BEHAVIOR,
  credentials: CREDENTIALS,
  manualChecks: MANUAL_CHECKS,
  // One URL for both modes: the key decides.
  baseUrl: { test: 'https://api.flutterwave.com', live: 'https://api.flutterwave.com' },
  open: openFlutterwave,
}

const REFERENCE_TAKEN = unknown(
  'no_answer',
  'Flutterwave already has this reference, and its status check does not',
)

function openFlutterwave(connection: Connection): Gateway {
  const { clock, publicUrl } = connection
  const { webhookHash = '', merchantCountry } = connection.credentials
  const client = createClient(connection)
  const { get, post } = client
  const { addChargebacks, ...chargebackOperations } = createChargebackOperations(client)

  const verify = async (query: StatusQuery): Promise<Outcome> => {
    const result = await get(`/transactions/verify_by_reference?tx_ref=${encodeURIComponent(query.key)}`)
    const paid = fromVerify(result, query, clock.now())
    return query.isPaid && paid.kind === 'succeeded' ? addChargebacks(paid) : paid
  }

  /** The outcome of the earlier request, if this one was refused as its duplicate. */
  const resolveDuplicate = async <Result extends { kind: string }>(
    result: Result | DuplicateReference,
    attempt: Attempt,
  ) => {
    if (!isDuplicateReference(result)) return result
    return assumeSubmitted(await verify(attempt), REFERENCE_TAKEN)
  }

  const startDirect = async (charge: DirectCharge) => {
    const { attempt, path, body, prompt } = charge
    const started = fromDirectCharge(await post(path, body), charge, clock.now())
    const outcome = await resolveDuplicate(started, attempt)
    // The earlier request has prompted the phone. Its page or account was returned once.
    const isPrompted = isDuplicateReference(started) && outcome.kind === 'pending' && prompt !== undefined
    return isPrompted ? ({ kind: 'started', gatewayReference: attempt.key, next: prompt } as const) : outcome
  }

  const isDirect = collectsDirectly(connection.credentials)

  return {
    name: FLUTTERWAVE.name,
    rails: isDirect ? RAILS : onProvidersPage(RAILS),
    behavior: FLUTTERWAVE.behavior,

    async startCheckout(attempt, choice, returnUrl) {
      const direct = isDirect ? toDirectCharge(attempt, choice, returnUrl, clock.now()) : undefined
      if (direct) return startDirect(direct)
      const result = await post('/payments', toPaymentBody(attempt, choice, returnUrl, clock.now()))
      return resolveDuplicate(fromStart(result, attempt.key), attempt)
    },

    verify,

    async chargeSaved(attempt, text) {
      const credential = readCredential(text)
      if (!credential) {
        const message = 'the saved credential of the card cannot be read'
        return { kind: 'declined', code: 'invalid_card', message, gatewayReference: null }
      }
      const result = await post(
        '/tokenized-charges',
        toChargeBody(attempt, credential, { merchantCountry, redirectUrl: publicUrl() }),
      )
      return resolveDuplicate(fromCharge(result, attempt, clock.now()), attempt)
    },

    ...createRefundOperations(client),

    ...chargebackOperations,

    parseWebhook({ headers, rawBody }) {
      const given = Buffer.from(headers['verif-hash'] ?? '')
      // Two empty texts are equal, so without a configured hash every webhook is forged.
      const isGenuine = webhookHash !== '' && constantTimeEquals(given, Buffer.from(webhookHash))
      return isGenuine ? fromWebhookBody(rawBody) : { kind: 'forged' }
    },

    checkAccount: async () => [checkWebhookHash(webhookHash), checkCountry(merchantCountry)],

    async probe() {
      const reply = readReply(await get('/balances'))
      if (reply.kind === 'data') return 'works'
      return reply.kind === 'error' && isKeyRefused(reply) ? 'refused' : 'unreachable'
    },
  }
}

function isDuplicateReference(result: { kind: string }): result is DuplicateReference {
  return result.kind === 'duplicate'
}

// The hash is the only proof of a webhook, so it should be hard to guess.
const SAFE_HASH_LENGTH = 8

function checkWebhookHash(hash: string): GatewayCheck {
  const name = 'webhooks'
  if (hash === '')
    return checkByHand(
      name,
      'Without the secret hash webhooks are rejected, and payments are found by polling only. Enter one in Settings → Webhooks of the dashboard, and set GATEWAY_FLUTTERWAVE_WEBHOOK_HASH.',
    )
  if (hash.length >= SAFE_HASH_LENGTH) return checkOk(name)
  return checkFailed(
    name,
    'The secret hash is short enough to be guessed: enter a long random one in both places.',
  )
}

function checkCountry(country: string | undefined): GatewayCheck {
  const name = 'merchant country'
  if (country !== undefined) return checkOk(name, country)
  return checkByHand(
    name,
    'Charges of saved cards name the country of their currency. If the account is registered in another country, set GATEWAY_FLUTTERWAVE_MERCHANT_COUNTRY.',
  )
}
