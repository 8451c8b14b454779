// Requests to pay at MTN MoMo: asking the payer, and asking MTN what has become of it.

import { isIP } from 'node:net'
import type { Outcome } from '../gateway.ts'
import { assumeSubmitted, unknown } from '../reply.ts'
import type { Product, Submission } from './client.ts'
import { type Busy, readStatus, readSubmission } from './response.ts'
import { fromRejection, fromTransaction, type PaymentBody } from './wire.ts'

export interface Payments {
  verify(key: string): Promise<Outcome>
  /** Asks for the money once, however often it is called for the same key. Pending: MTN has accepted the request. */
  request(body: PaymentBody): Promise<Outcome | Busy>
}

export function openPayments(collection: Product, callback: (key: string) => CallbackAddress): Payments {
  const verify = async (key: string): Promise<Outcome> => {
    const answer = await collection.get(`/v1_0/requesttopay/${key}`, readStatus)
    return 'kind' in answer ? answer : fromTransaction(answer, key)
  }
  return {
    verify,
    async request(body) {
      const { externalId: key } = body
      const submission = { id: key, body, ...callback(key) }
      const reply = await collection.submit('/v1_0/requesttopay', readSubmission, submission)
      switch (reply.kind) {
        case 'accepted':
          return { kind: 'pending', gatewayReference: key }
        case 'repeated':
          return assumeSubmitted(await verify(key), REPEATED)
        case 'denied':
          return assumeSubmitted(await verify(key), fromRejection(reply))
        case 'rejected':
          return fromRejection(reply)
        default:
          return reply
      }
    },
  }
}

export const REPEATED: Outcome = unknown('no_answer', 'MTN MoMo has this request and does not return it')

export type CallbackAddress = Pick<Submission, 'callbackUrl'>

/** MTN calls back only https addresses with a name and without a port, and rejects a request with any other. */
export function isCallable(url: string): boolean {
  const { protocol, port, hostname } = new URL(url)
  return protocol === 'https:' && port === '' && isIP(hostname.replace(/^\[(.*)\]$/, '$1')) === 0
}
