// The connector to MTN MoMo: mobile money of MTN, with a prompt on the payer's phone. An API user collects in one country.

import { isIP } from 'node:net'
import { findNetwork } from '../../core/networks.ts'
import { addMs } from '../../kit/clock.ts'
import type { Connection, GatewayDefinition } from '../definition.ts'
import type {
  Attempt,
  CheckoutChoice,
  Gateway,
  GatewayBehavior,
  Outcome,
  RefundOutcome,
  StartedCheckout,
  StatusQuery,
} from '../gateway.ts'
import { refused, unknown } from '../reply.ts'
import { checkMomoAccount } from './account-checks.ts'
import { openProduct, type Product } from './client.ts'
import { CREDENTIALS } from './credentials.ts'
import { RAILS, railsOf } from './markets.ts'
import { fromRefundReply, fromRefundStatus, toRefundBody } from './refunds.ts'
import { readStatus, readSubmission } from './response.ts'
import { fromRejection, fromTransaction, readCallback, toPaymentBody } from './wire.ts'

const BEHAVIOR: GatewayBehavior = {
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
    {
      about: 'callbacks',
      detail:
        'Register the host of COWRY_PUBLIC_URL as the callback host of the API user. MTN sends a callback once, and only to https with a certificate of a well-known authority.',
    },
  ],
  baseUrl: { test: 'https://sandbox.momodeveloper.mtn.com', live: 'https://proxy.momoapi.mtn.com' },
  open,
}

function open(connection: Connection): Gateway {
  const { clock, callbackUrl } = connection
  const { targetEnvironment = '' } = connection.credentials
  const rails = railsOf(targetEnvironment)
  const collection = openCollection(connection)
  const disbursement = openDisbursement(connection)

  const verify = async ({ key }: Pick<StatusQuery, 'key'>): Promise<Outcome> => {
    const answer = await collection.get(`/v1_0/requesttopay/${key}`, readStatus)
    return 'kind' in answer ? answer : fromTransaction(answer, key)
  }

  const requestToPay = async (attempt: Attempt, phone: string): Promise<Outcome> => {
    const { key } = attempt
    const url = callbackUrl({ kind: 'attempt', key })
    const submission = {
      id: key,
      body: toPaymentBody(attempt, phone),
      ...(isCallable(url) && { callbackUrl: url }),
    }
    const reply = await collection.submit('/v1_0/requesttopay', submission, readSubmission)
    switch (reply.kind) {
      case 'accepted':
        return { kind: 'pending', gatewayReference: key }
      case 'repeated':
        return settle(await verify(attempt), REPEATED)
      case 'denied':
        return settle(await verify(attempt), fromRejection(reply))
      case 'rejected':
        return fromRejection(reply)
      default:
        return reply
    }
  }

  return {
    name: MTN_MOMO.name,
    rails,
    behavior: BEHAVIOR,

    async startCheckout(attempt, choice) {
      if (choice.phone === undefined) return refused('provider_unavailable', 'MTN MoMo needs a phone number')
      const outcome = await requestToPay(attempt, choice.phone)
      return outcome.kind === 'pending' ? toStarted(attempt.key, choice, choice.phone, clock.now()) : outcome
    },

    verify,

    ...(disbursement && openRefunds(disbursement)),

    parseWebhook: readCallback,

    probe: () => collection.probe(),

    checkAccount: () => {
      const url = callbackUrl({ kind: 'account' })
      const currency = rails[0]?.currency ?? ''
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

function openRefunds(disbursement: Product): Required<Pick<Gateway, 'refund' | 'verifyRefund'>> {
  const verifyRefund: NonNullable<Gateway['verifyRefund']> = async (request) =>
    fromRefundStatus(await disbursement.get(`/v1_0/refund/${request.key}`, readStatus), request)
  return {
    verifyRefund,
    async refund(request) {
      const submission = { id: request.key, body: toRefundBody(request) }
      const reply = await disbursement.submitLater('/v1_0/refund', submission, readSubmission)
      const outcome = fromRefundReply(reply, request.key)
      return outcome.kind === 'ask' ? settle(await verifyRefund(request, null), outcome.otherwise) : outcome
    },
  }
}

const REPEATED: Outcome = unknown('no_answer', 'MTN MoMo has this payment and does not return it')

/**
 * The outcome of a status check after a request. `otherwise`: the outcome if MTN does not have it. A check that was not
 * sent does not mean that the request was not.
 */
function settle<Result extends Outcome | RefundOutcome>(checked: Result, otherwise: Result): Result {
  if (checked.kind !== 'unknown') return checked
  if (checked.reason === 'not_found') return otherwise
  return checked.reason === 'not_sent' ? { ...checked, reason: 'no_answer' } : checked
}

function toStarted(key: string, choice: CheckoutChoice, phone: string, now: Date): StartedCheckout {
  const network = findNetwork(choice.network ?? '')?.name ?? MTN_MOMO.title
  const expiresAt = addMs(now, PROMPT_MS).toISOString()
  return { kind: 'started', gatewayReference: key, next: { kind: 'prompt', phone, network, expiresAt } }
}

/** MTN calls back only https addresses with a name and without a port, and rejects a request with any other. */
function isCallable(url: string): boolean {
  const { protocol, port, hostname } = new URL(url)
  return protocol === 'https:' && port === '' && isIP(hostname.replace(/^\[(.*)\]$/, '$1')) === 0
}
