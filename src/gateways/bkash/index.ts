// The connector to bKash, Tokenized Checkout: the payer confirms on a page of bKash, and then we execute the payment, once.
// bKash calls us nowhere: payments are found when the payer returns, and by polling. Nothing is saved, because a payer with
// an agreement still enters the PIN on the page of bKash.

import type { Connection, GatewayDefinition, ManualCheck } from '../definition.ts'
import type { Gateway, GatewayBehavior, Outcome, Rail, StatusQuery } from '../gateway.ts'
import { unknown } from '../reply.ts'
import { CHECKOUT, createClient, STATUS } from './client.ts'
import { CREDENTIALS } from './credentials.ts'
import { createRefundOperations } from './refunds.ts'
import { confirmDecline, fromCreate, fromExecute, fromStatus, toPaymentBody } from './wire.ts'

const RAILS: readonly Rail[] = [
  { currency: 'BDT', countries: ['BD'], channels: ['mobile_money'], networks: ['bkash_bd'] },
]

const BEHAVIOR: GatewayBehavior = {
  keyRetentionHours: 0,
  cachesErrors: false,
  // Only by its own id.
  lookupByReference: false,
  worksWithoutEmail: true,
  // A payment whose id is lost can be neither confirmed nor executed; bKash drops it after 24 hours.
  notResendable: { absentAfterHours: 24 },
  lostPageIsUnpayable: true,
  // Its own limit for every call is 30 seconds.
  completesWithinMs: 120_000,
  sequentialRefunds: true,
  nonIdempotentRefunds: true,
  listsRefundsByPayment: true,
}

const MANUAL_CHECKS: readonly ManualCheck[] = [
  {
    about: 'access tokens',
    detail:
      'bKash grants two access tokens per hour and blocks the account for an hour after a third request. Use the app key with this service alone, and ask bKash for another one for other programs and for tests.',
  },
  {
    about: 'refunds',
    detail:
      'Ask bKash to enable the refund API of version 2 for the app key. Otherwise refunds wait, and a case is opened.',
  },
]

export const BKASH: GatewayDefinition = {
  name: 'bkash',
  title: 'bKash',
  rails: RAILS,
  behavior: BEHAVIOR,
  credentials: CREDENTIALS,
  manualChecks: MANUAL_CHECKS,
  baseUrl: { test: 'https://tokenized.sandbox.bka.sh', live: 'https://tokenized.pay.bka.sh' },
  open: openBkash,
}

function openBkash(connection: Connection): Gateway {
  const client = createClient(connection)

  const verifyById = async (query: StatusQuery, paymentID: string): Promise<Outcome> => {
    const result = await client.call(STATUS, { paymentID })
    return fromStatus(result, query, paymentID, connection.clock.now())
  }

  return {
    name: BKASH.name,
    rails: RAILS,
    behavior: BEHAVIOR,

    async startCheckout(attempt, _choice, returnUrl) {
      const result = await client.submit(`${CHECKOUT}/create`, toPaymentBody(attempt, returnUrl))
      return result.kind === 'declined' ? result : fromCreate(result, attempt.key)
    },

    async verify(query, gatewayReference) {
      if (gatewayReference !== null) return verifyById(query, gatewayReference)
      return unknown('not_found', 'bKash finds a payment by its own id alone, and that is not known')
    },

    async complete(query, paymentID) {
      const outcome = fromExecute(await client.call(`${CHECKOUT}/execute`, { paymentID }), paymentID)
      if (outcome.kind !== 'declined') return outcome
      return confirmDecline(outcome, await verifyById(query, paymentID))
    },

    ...createRefundOperations(client),

    parseWebhook: () => ({ kind: 'forged' }),

    probe: client.probe,
  }
}
