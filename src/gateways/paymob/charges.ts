// Charges of saved cards, in two calls: an intention with the MOTO integration, which takes no money, and the pay request
// with the card's token. The intention is stored between them, and only its holder can pay it.

import type { Attempt, Gateway, Outcome } from '../gateway.ts'
import { declined, refused, type Unknown, unknown, unrecognized } from '../reply.ts'
import { type Client, describeError, type ErrorReply } from './client.ts'
import {
  fromIntentionReply,
  fromRefusedIntention,
  fromRetrievedIntention,
  INTENTIONS,
  isIntention,
  type PaymentKeys,
  toIntentionBody,
  withoutPhone,
} from './intentions.ts'
import { readChargeReference, toChargeReference } from './references.ts'
import { readCredential } from './saved-card.ts'
import { openSealer } from './sealed-text.ts'
import { fromTransaction, fromTransactionReply } from './transactions.ts'

interface Charges {
  client: Client
  /** The id of the MOTO integration. */
  moto: string
  /** Of the account. */
  secretKey: string
  notificationUrl(key: string): string
}

export function openCharges({ client, moto, secretKey, notificationUrl }: Charges) {
  const sealer = openSealer(secretKey, 'paymob intention')
  return {
    async chargeSaved(attempt: Attempt, credential): Promise<Outcome> {
      const phone = attempt.customer.phone ?? readCredential(credential).phone
      if (phone === undefined) return withoutPhone()
      const body = toIntentionBody(attempt, {
        phone,
        integrations: [moto],
        notificationUrl: notificationUrl(attempt.key),
      })
      const made = fromIntentionReply(await client.submit(INTENTIONS, body), attempt.key)
      if (isIntention(made))
        return { kind: 'pending', gatewayReference: toChargeReference(made, sealer), canComplete: true }
      if (made.kind !== 'error') return made
      return made.http === 429 ? unknown('no_answer', describeError(made)) : fromRefusedIntention(made)
    },

    async complete({ key }, reference, credential): Promise<Outcome> {
      const charge = readChargeReference(reference)
      if (!charge || !credential)
        return refused('provider_unavailable', 'Paymob completes only charges of saved cards')
      const secret = sealer.unseal(charge.sealedSecret)
      if (secret === undefined) return UNREADABLE
      const found = fromRetrievedIntention(await client.retrieveIntention(secret), key)
      if ('kind' in found) return fromMissing(found, charge.order)
      const paymentKey = paymentKeyOf(found, moto)
      const source = { identifier: readCredential(credential).token, subtype: 'TOKEN' }
      const paid = fromTransactionReply(await client.pay({ source, payment_token: paymentKey }))
      if (paid.kind === 'found') return fromTransaction(paid.transaction, { key, reference })
      // Even a rejected request: the order may have been paid by an earlier one.
      return paid.kind === 'unknown' ? paid : unrecognized(fromRejected(paid))
    },
  } satisfies Pick<Gateway, 'chargeSaved' | 'complete'>
}

const fromRejected = (paid: ErrorReply | { kind: 'nothing' }) =>
  paid.kind === 'error' ? describeError(paid) : 'Paymob answered the pay request with nothing'

const UNREADABLE: Unknown = {
  ...unrecognized('the charge was begun with another secret key of the account at Paymob'),
  unsent: true,
}

function paymentKeyOf({ payment_keys: keys }: PaymentKeys, moto: string): string | undefined {
  return (keys.find(({ integration }) => integration === moto) ?? keys[0])?.key
}

/** The pay request was not sent. An intention that is gone can never be paid. */
function fromMissing(found: ErrorReply | Unknown, order: string): Outcome {
  if (found.kind === 'unknown')
    return found.reason === 'unrecognized' ? { ...found, unsent: true } : { ...found, reason: 'not_sent' }
  if (found.http !== 404) return unknown('not_sent', describeError(found))
  return declined(
    order,
    'provider_unavailable',
    'the intention of Paymob has expired, and nothing was charged',
  )
}
