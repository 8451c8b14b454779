// Signs deliveries and builds their headers as Standard Webhooks defines them.

import { Webhook } from 'standardwebhooks'
import type { Vault } from '../kit/crypto.ts'
import { openSecret } from '../webhook-endpoints/secret.ts'
import type { ClaimedDelivery } from './delivery.ts'

/** The current secret signs first. During the overlap the previous secret also signs, so that a consumer can switch. */
export function signDelivery(vault: Vault, delivery: ClaimedDelivery, at: Date): string {
  const { secretSealed, previousSecretSealed, previousSecretUntil } = delivery
  const isPreviousValid = previousSecretUntil !== null && at < previousSecretUntil
  const sealed =
    isPreviousValid && previousSecretSealed !== null ? [secretSealed, previousSecretSealed] : [secretSealed]
  return sealed
    .map((text) => new Webhook(openSecret(vault, delivery, text)).sign(delivery.eventId, at, delivery.body))
    .join(' ')
}

const USER_AGENT = 'Cowry-Webhooks/1.0'

/** The webhook id is the event's id, so that a consumer can detect duplicates; the time is that of this attempt. */
export function deliveryHeaders(eventId: string, at: Date, signature: string): Record<string, string> {
  return {
    'content-type': 'application/json',
    'user-agent': USER_AGENT,
    'webhook-id': eventId,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': signature,
  }
}
