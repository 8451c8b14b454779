// The connector to SSLCommerz: a hosted page with the cards, wallets and banks of Bangladesh. Nothing is saved: tokens need
// another contract.

import { createHash } from 'node:crypto'
import { uuidToBase36 } from '../../core/ids.ts'
import type { Connection, CredentialField, GatewayDefinition, ManualCheck } from '../definition.ts'
import type { Gateway, GatewayBehavior, ParsedWebhook, Rail, WebhookRequest } from '../gateway.ts'
import { createClient, readReply } from './client.ts'
import { createRefundOperations } from './refunds.ts'
import { fromQuery, fromSession, fromUnpaid, fromValidation, isPaid, toSessionFields } from './wire.ts'

// One page for all channels. The limits are those of public client libraries: the documentation has none.
const RAILS: readonly Rail[] = [
  {
    currency: 'BDT',
    countries: ['BD'],
    channels: ['card', 'mobile_money', 'bank_transfer'],
    networks: ['bkash_bd', 'nagad_bd', 'rocket_bd'],
    minimumMinor: 1_000n,
    maximumMinor: 50_000_000n,
  },
]

const BEHAVIOR: GatewayBehavior = {
  // Whether a second page for the same tran_id is refused is not documented: two pages could be paid twice.
  keyRetentionHours: 0,
  notResendable: { absentAfterHours: 24 },
  cachesErrors: false,
  lookupByReference: true,
  lostPageIsUnpayable: true,
  // A payer who failed can try again on the same page, which makes another transaction.
  paysAfterDecline: true,
  sequentialRefunds: true,
  nonIdempotentRefunds: true,
}

const MANUAL_CHECKS: readonly ManualCheck[] = [
  {
    about: 'registered addresses',
    detail:
      'Ask SSLCommerz to register the public IP addresses of this server. Otherwise refunds wait, and a case is opened.',
  },
]

const isPlain = (text: string) => /^[\x21-\x7e]{3,100}$/.test(text)

const CREDENTIALS: readonly CredentialField[] = [
  {
    name: 'storeId',
    isRequired: true,
    meaning: 'The store id that SSLCommerz sent. Test and live stores have different ones.',
    validate: (text) =>
      /^[A-Za-z0-9_]{3,50}$/.test(text) ? undefined : 'must be the store id: letters, digits and underscores',
  },
  {
    name: 'storePassword',
    isRequired: true,
    meaning: 'The store password for the API, which is not the password of the merchant panel.',
    validate: (text) =>
      isPlain(text) ? undefined : 'must be the password that SSLCommerz sent, without spaces',
  },
]

export const SSLCOMMERZ: GatewayDefinition = {
  name: 'sslcommerz',
  title: 'SSLCommerz',
  rails: RAILS,
  behavior: BEHAVIOR,
  credentials: CREDENTIALS,
  manualChecks: MANUAL_CHECKS,
  baseUrl: { test: 'https://sandbox.sslcommerz.com', live: 'https://securepay.sslcommerz.com' },
  open: openSslcommerz,
}

const readNothing = () => true

function openSslcommerz(connection: Connection): Gateway {
  const client = createClient(connection)
  return {
    name: SSLCOMMERZ.name,
    rails: RAILS,
    behavior: BEHAVIOR,

    async startCheckout(attempt, _choice, returnUrl) {
      const ipnUrl = connection.callbackUrl({ kind: 'attempt', key: attempt.key })
      return fromSession(await client.open(toSessionFields(attempt, { returnUrl, ipnUrl })))
    },

    async verify({ key }, reference) {
      const found = fromQuery(await client.query({ tran_id: uuidToBase36(key) }))
      if (!Array.isArray(found)) return found
      const valId = found.find(isPaid)?.val_id
      return valId ? fromValidation(await client.validate(valId), valId) : fromUnpaid(found, key, reference)
    },

    ...createRefundOperations(client),

    parseWebhook,

    // No payment has this tran_id: the response says whether the store was accepted.
    async probe() {
      const reply = readReply(await client.query({ tran_id: 'probe' }), readNothing)
      if (reply.kind === 'body') return 'works'
      const isRefused = reply.kind === 'rejected' && (reply.word === 'FAILED' || reply.word === 'INACTIVE')
      return isRefused ? 'refused' : 'unreachable'
    },
  }
}

/** The path of the attempt proves the sender, so the signature in the body (MD5) is not needed. */
function parseWebhook({ callback, rawBody }: WebhookRequest): ParsedWebhook {
  if (callback === null) return { kind: 'forged' }
  if (callback.kind !== 'attempt') return { kind: 'ignored', reason: 'not the path of an attempt' }
  const eventId = createHash('sha256').update(rawBody).digest('hex')
  return { kind: 'payment', key: callback.key, eventId }
}
