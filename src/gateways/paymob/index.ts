// The connector to Paymob in Egypt: cards, mobile wallets and kiosks on Paymob's page, and charges of saved cards.

import { addMs } from '../../kit/clock.ts'
import type { Connection, GatewayDefinition, ManualCheck } from '../definition.ts'
import type {
  CheckoutChoice,
  Gateway,
  GatewayBehavior,
  GatewayCheck,
  Outcome,
  Rail,
  StatusQuery,
} from '../gateway.ts'
import { checkByHand, checkOk, declined, refused, unknown, unrecognized } from '../reply.ts'
import { readCallback } from './callbacks.ts'
import { openCharges } from './charges.ts'
import { createClient, INQUIRY } from './client.ts'
import { type Account, COLLECTING_INTEGRATIONS, CREDENTIALS, readAccount } from './credentials.ts'
import {
  fromIntentionReply,
  fromRefusedIntention,
  INTENTIONS,
  isIntention,
  toIntentionBody,
  withoutPhone,
} from './intentions.ts'
import { lookupOf, readChargeReference, toOrderReference } from './references.ts'
import { openRefunds, pathOf } from './refunds.ts'
import { openCardReports, toSavedMethod } from './saved-card.ts'
import {
  type Found,
  fromRefusedQuery,
  fromTransaction,
  fromTransactionReply,
  parentOf,
} from './transactions.ts'

const BEHAVIOR: GatewayBehavior = {
  // Whether Paymob refuses a second intention with the same reference is not documented, so none is sent.
  keyRetentionHours: 0,
  cachesErrors: false,
  lookupByReference: true,
  notResendable: { absentAfterHours: 1 },
  // Only the response has the secret that opens the page, or that pays the charge.
  lostPageIsUnpayable: true,
  // The payer may try again on the same page.
  paysAfterDecline: true,
  sequentialRefunds: true,
  nonIdempotentRefunds: true,
  listsRefundsByPayment: true,
}

const EGYPT = { currency: 'EGP', countries: ['EG'], needsPhone: true } as const
const CARD: Rail = { ...EGYPT, channels: ['card'] }
const WALLET: Rail = { ...EGYPT, channels: ['mobile_money'] }

const MANUAL_CHECKS: readonly ManualCheck[] = [
  {
    about: 'integrations',
    detail:
      'Every integration id belongs to one mode: use the ids of live integrations with the live keys (Developers → Payment integrations). The card integration must take the money at once: not Auth, not Verification.',
  },
  {
    about: 'saved cards',
    detail:
      'Ask Paymob to enable "save card" on the page and a MOTO integration, and set GATEWAY_PAYMOB_MOTO_INTEGRATION. Without both no card is saved.',
  },
  {
    about: 'refunds',
    detail:
      'Refund here, not in the dashboard of Paymob: it reports only how much was returned. After a refund there, further refunds of that payment fail here. One that is made there while the response to one of ours is lost is taken for ours if the amount is the same.',
  },
]

export const PAYMOB: GatewayDefinition = {
  name: 'paymob',
  title: 'Paymob',
  rails: [CARD, WALLET],
  behavior: BEHAVIOR,
  credentials: CREDENTIALS,
  requiresOneOf: COLLECTING_INTEGRATIONS,
  manualChecks: MANUAL_CHECKS,
  baseUrl: { test: 'https://accept.paymob.com', live: 'https://accept.paymob.com' },
  open,
}

function open(connection: Connection): Gateway {
  const { baseUrl, clock, callbackUrl, credentials } = connection
  const account = readAccount(credentials)
  const { secretKey, publicKey, hmacSecret, moto } = account
  const client = createClient(connection, account)
  const cards = openCardReports(secretKey)
  const notificationUrl = (key: string) => callbackUrl({ kind: 'attempt', key })

  const find = async (key: string, reference: string | null): Promise<Found> => {
    const lookup = lookupOf(key, reference)
    if ('transaction' in lookup) return client.ask(pathOf(lookup.transaction), fromTransactionReply)
    const found = await client.ask(INQUIRY, fromTransactionReply, lookup.fields)
    const parent = found.kind === 'found' ? parentOf(found.transaction) : undefined
    if (parent === undefined) return found
    // The last transaction of the order is a refund: the payment is its parent.
    if (parent === '') return unrecognized('Paymob answered a refund without its payment')
    return client.ask(pathOf(parent), fromTransactionReply)
  }

  const verify = async (query: StatusQuery, reference: string | null): Promise<Outcome> => {
    const found = await find(query.key, reference)
    if (found.kind === 'unknown') return found
    if (found.kind === 'error') return fromRefusedQuery(found)
    if (found.kind === 'nothing') return fromNothing(query, reference, clock.now())
    const outcome = fromTransaction(found.transaction, { key: query.key, reference })
    const card = query.report === undefined || !moto ? undefined : cards.read(query.report)
    // A card of another order is not the payer's of this one.
    if (outcome.kind !== 'succeeded' || card?.order !== found.transaction.order.id) return outcome
    return { ...outcome, savedMethod: toSavedMethod(card, outcome.paid.currency, query.customerPhone) }
  }

  return {
    name: PAYMOB.name,
    rails: railsOf(account),
    behavior: BEHAVIOR,

    async startCheckout(attempt, choice, returnUrl) {
      const integrations = integrationsFor(account, choice)
      if (integrations.length === 0)
        return refused('provider_unavailable', 'the account at Paymob has no integration for this channel')
      const { phone } = attempt.customer
      if (phone === undefined) return withoutPhone()
      const { expiresAt } = attempt
      const seconds = expiresAt && Math.floor((expiresAt.getTime() - clock.now().getTime()) / 1_000)
      const body = toIntentionBody(attempt, {
        phone,
        integrations,
        notificationUrl: notificationUrl(attempt.key),
        redirectionUrl: returnUrl,
        ...(seconds !== null && { expiration: Math.max(seconds, MIN_EXPIRATION_SECONDS) }),
      })
      const made = fromIntentionReply(await client.submit(INTENTIONS, body), attempt.key)
      if (!isIntention(made)) return made.kind === 'error' ? fromRefusedIntention(made) : made
      const page = new URLSearchParams({ publicKey, clientSecret: made.client_secret })
      const url = `${baseUrl}/unifiedcheckout/?${page}`
      return { kind: 'started', gatewayReference: toOrderReference(made), next: { kind: 'redirect', url } }
    },

    verify,

    ...(moto && openCharges({ client, moto, notificationUrl, secretKey })),

    ...openRefunds(client),

    parseWebhook: (request) => readCallback(request, { hmacSecret, cards }),

    probe: () => client.probe(),

    checkAccount: async () => [checkCallbacks(account)],
  }
}

// A page that closes at once would confuse its payer.
const MIN_EXPIRATION_SECONDS = 60

// For a payer who pays in the last moment, and for clocks that differ.
const PAGE_MARGIN_MS = 60 * 60_000

/**
 * Nothing was paid or tried yet. Without a reference it is not certain that Paymob has the intention. Its page closes with
 * our checkout; a code for a kiosk, which is paid later, would be a transaction.
 */
function fromNothing({ operation, expiresAt }: StatusQuery, reference: string | null, now: Date): Outcome {
  if (!reference?.startsWith('order-'))
    return unknown('not_found', 'Paymob has no payment with this reference')
  if (operation === 'checkout' && expiresAt !== null && addMs(expiresAt, PAGE_MARGIN_MS) <= now)
    return declined(reference, 'customer_timeout', 'the page of Paymob expired unpaid')
  const canComplete = readChargeReference(reference) !== undefined
  return { kind: 'pending', gatewayReference: reference, ...(canComplete && { canComplete }) }
}

function railsOf({ card, wallet, kiosk }: Account): Rail[] {
  return [...(card ? [CARD] : []), ...(wallet || kiosk ? [WALLET] : [])]
}

/** Payers who want to pay cash at a kiosk find it beside the wallets. */
function integrationsFor({ card, wallet, kiosk }: Account, { channel }: CheckoutChoice): string[] {
  const chosen = channel === 'card' ? [card] : [wallet, kiosk]
  return chosen.filter((id) => id !== undefined)
}

function checkCallbacks({ hmacSecret }: Account): GatewayCheck {
  const name = 'callbacks'
  if (hmacSecret) return checkOk(name)
  return checkByHand(
    name,
    'Without the HMAC secret callbacks are rejected, payments are found by polling only, and cards are not saved. Set GATEWAY_PAYMOB_HMAC_SECRET.',
  )
}
