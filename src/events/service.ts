// The outbox. The row of an event is written by the statement that makes the move it tells of; this module says what
// stands in it.

import type { Mode } from '../core/merchant.ts'

export interface EventFacts {
  id: string
  type: string
  mode: Mode
  createdAt: Date
  resource: { type: 'payment' | 'charge'; uuid: string; version: number }
  /**
   * The record as the API shows it, without what is a secret at rest (access code, recurring token): a stored event must
   * not open what the tables keep sealed.
   */
  data: unknown
}

export const API_VERSION = '1.0'

export function toEventBody(event: EventFacts) {
  return {
    id: event.id,
    type: event.type,
    apiVersion: API_VERSION,
    mode: event.mode,
    createdAt: event.createdAt.toISOString(),
    resource: event.resource,
    data: event.data,
  }
}
