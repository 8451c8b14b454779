// For tests of an integration: signed events, and the instruments of the sandbox.

import type { Event } from './generated/schemas.ts'
import { RECORDS, TEST_EVENTS } from './generated/test-events.ts'
import { sign } from './webhooks.ts'

export { INSTRUMENTS } from './generated/instruments.ts'

export interface SignedEvent {
  body: string
  headers: { 'webhook-id': string; 'webhook-timestamp': string; 'webhook-signature': string }
}

/** The event of one type. */
export type EventOf<Type extends Event['type']> = Extract<Event, { type: Type }>

/** An event of this type with an example record, in which these fields are changed. */
export function createTestEvent<Type extends Event['type']>(
  type: Type,
  changes: Partial<EventOf<Type>['data']> = {},
): EventOf<Type> {
  const { resource, record, state } = TEST_EVENTS[type]
  const data: Record<string, unknown> = { ...RECORDS[record], ...state, ...changes }
  const event = {
    id: crypto.randomUUID(),
    type,
    apiVersion: '1.0',
    mode: 'test',
    createdAt: new Date().toISOString(),
    resource: { type: resource, uuid: data.uuid ?? crypto.randomUUID(), version: 1 },
    data,
  }
  // A boundary: the tables have the record of each type.
  return event as unknown as EventOf<Type>
}

/** The request that Cowry would send for the event: post it to your own endpoint, or pass it to `unwrap`. */
export async function signTestEvent(
  event: Event,
  secret: string,
  options: { sentAt?: Date | undefined } = {},
): Promise<SignedEvent> {
  const body = JSON.stringify(event)
  const timestamp = String(Math.floor((options.sentAt?.getTime() ?? Date.now()) / 1000))
  const signature = await sign(secret, event.id, timestamp, body)
  return {
    body,
    headers: { 'webhook-id': event.id, 'webhook-timestamp': timestamp, 'webhook-signature': signature },
  }
}
