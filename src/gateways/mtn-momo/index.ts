// The connector to MTN MoMo: mobile money of MTN, with a prompt on the payer's phone. An API user collects in one country.

import { findNetwork } from '../../core/networks.ts'
import { addMs } from '../../kit/clock.ts'
import type { Connection, GatewayDefinition } from '../definition.ts'
import type {
  Attempt,
  CheckoutChoice,
  Gateway,
  GatewayBehavior,
  Outcome,
  StartedCheckout,
} from '../gateway.ts'
import { refused } from '../reply.ts'
import { checkMomoAccount } from './account-checks.ts'
import { openProduct, type Product } from './client.ts'
import { CREDENTIALS } from './credentials.ts'
import { RAILS, railOf } from './markets.ts'
import { type CallbackAddress, isCallable, openPayments } from './payments.ts'
import { openRecurring } from './recurring.ts'
import { openRefunds } from './refunds.ts'
import type { Busy } from './response.ts'
import { readCallback, toPaymentBody } from './wire.ts'

const BEHAVIOR: GatewayBehavior = {
  worksWithoutEmail: true,
  // MTN accepts an id once, and answers 409 to the next request with it. It does not say how long it keeps ids.
  keyRetentionHours: 24,
  // A rejected request leaves nothing, so the same id is evaluated again.
  cachesErrors: false,
  lookupByReference: true,
}

/** MTN gives the payer five minutes to approve. */
const PROMPT_MS = 5 * 60_000

export const MTN_MOMO: GatewayDefinition = {
  name: 'mtn_momo',
  title: 'MTN MoMo',
  rails: RAILS,
  behavior: BEHAVIOR,
  credentials: CREDENTIALS,
  manualChecks: [
    {
      about: 'addresses',
      detail:
        'MTN accepts live calls only from registered addresses: give the addresses of this service to the MTN of the country, for Collection and for Disbursement.',
    },
  ],
  baseUrl: { test: 'https://sandbox.momodeveloper.mtn.com', live: 'https://proxy.momoapi.mtn.com' },
  open,
}

function open(connection: Connection): Gateway {
  const { clock, callbackUrl, credentials } = connection
  const rail = railOf(credentials.targetEnvironment ?? '')
  const collection = openCollection(connection)
  const disbursement = openDisbursement(connection)
  const callback = (key: string): CallbackAddress => {
    const url = callbackUrl({ kind: 'attempt', key })
    return isCallable(url) ? { callbackUrl: url } : {}
  }
  const payments = openPayments(collection, callback)
  const validitySeconds = Number(credentials.preapprovalSeconds ?? 0)
  const recurring =
    validitySeconds > 0 ? openRecurring({ collection, payments, callback, validitySeconds, clock }) : null

  const begin = (attempt: Attempt, phone: string, isSaved: boolean): Promise<Outcome | Busy> =>
    recurring ? recurring.begin(attempt, phone, isSaved) : payments.request(toPaymentBody(attempt, phone))

  return {
    name: MTN_MOMO.name,
    rails: rail ? [{ ...rail, ...(recurring && { saves: true }) }] : [],
    behavior: BEHAVIOR,

    async startCheckout(attempt, choice) {
      const { phone, consent } = choice
      if (phone === undefined) return refused('provider_unavailable', 'MTN MoMo needs a phone number')
      const outcome = await begin(attempt, phone, Boolean(consent))
      if (outcome.kind === 'busy') return refused('provider_unavailable', outcome.message)
      return outcome.kind === 'pending' ? toStarted(attempt.key, choice, phone, clock.now()) : outcome
    },

    ...(recurring
      ? {
          verify: recurring.verify,
          complete: recurring.complete,
          chargeSaved: recurring.chargeSaved,
        }
      : { verify: ({ key }) => payments.verify(key) }),

    ...(disbursement && openRefunds(disbursement)),

    parseWebhook: readCallback,

    probe: () => collection.probe(),

    checkAccount: () => {
      const url = callbackUrl({ kind: 'account' })
      const currency = rail?.currency ?? ''
      const addresses = { callbackUrl: url, sendsCallbackUrl: isCallable(url) }
      return checkMomoAccount({ currency, collection, disbursement, ...addresses })
    },
  }
}

function openCollection(connection: Connection): Product {
  const { targetEnvironment, subscriptionKey, apiUser, apiKey } = connection.credentials
  if (!(targetEnvironment && subscriptionKey && apiUser && apiKey))
    throw new Error('MTN MoMo cannot be opened without its API user, its keys and its target environment')
  const keys = { targetEnvironment, subscriptionKey, apiUser, apiKey }
  return openProduct(connection, { product: 'collection', ...keys })
}

function openDisbursement(connection: Connection): Product | null {
  const { targetEnvironment = '', apiUser: user = '', apiKey: key = '', ...own } = connection.credentials
  const { disbursementSubscriptionKey, disbursementApiUser = user, disbursementApiKey = key } = own
  if (!disbursementSubscriptionKey) return null
  return openProduct(connection, {
    product: 'disbursement',
    targetEnvironment,
    subscriptionKey: disbursementSubscriptionKey,
    apiUser: disbursementApiUser,
    apiKey: disbursementApiKey,
  })
}

function toStarted(key: string, choice: CheckoutChoice, phone: string, now: Date): StartedCheckout {
  const network = findNetwork(choice.network ?? '')?.name ?? MTN_MOMO.title
  const expiresAt = addMs(now, PROMPT_MS).toISOString()
  return { kind: 'started', gatewayReference: key, next: { kind: 'prompt', phone, network, expiresAt } }
}
