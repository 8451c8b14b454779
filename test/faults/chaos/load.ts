// The merchants' load: initiates and completes checkouts, charges saved methods, refunds and reads. Every response is
// written to the log of acknowledgements before the next request.

import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Prng } from '../random-walk/prng.ts'
import type { Acknowledgement, AcknowledgementLog } from './acknowledgements.ts'
import {
  type Client,
  type ClientOptions,
  type ClientRequest,
  type ClientResponse,
  createClient,
} from './client.ts'

const CUSTOMER = { email: 'amina@example.com', firstname: 'Amina', lastname: 'Odhiambo' }

/** The instruments of checkouts. Some save cards with different behaviours, which are charged again later. */
const INSTRUMENTS = [
  { weight: 5, name: 'card_success' },
  { weight: 1, name: 'mobile_success' },
  { weight: 1, name: 'transfer_success' },
  { weight: 1, name: 'card_declined_later' },
  { weight: 1, name: 'card_lost_answer_later' },
  { weight: 1, name: 'card_slow_later' },
  { weight: 1, name: 'card_refund_pending' },
  { weight: 1, name: 'card_refund_lost_answer' },
  { weight: 1, name: 'card_refund_declined' },
]

const THINK_TIME_MS = 60
// Some merchants do not retry: then only the service completes the charge.
const ABANDON_PROBABILITY = 0.2

interface SeenPayment {
  reference: string
  uuid: string
}

export interface Load {
  /** Starts no new operation; resolves when the open ones are complete. */
  stop(): Promise<void>
  /** The number of operations, and of each response status. */
  operations(): number
  answers: Map<string, number>
  acknowledged(): number
  errors: string[]
}

export interface LoadOptions extends Pick<ClientOptions, 'apiUrls' | 'apiKey' | 'isOver'> {
  prng: Prng
  log: AcknowledgementLog
  clients: number
}

export async function startLoad(options: LoadOptions): Promise<Load> {
  const answers = new Map<string, number>()
  const errors: string[] = []
  const clientOptions: ClientOptions = {
    ...options,
    reportError: (message) => void errors.push(message),
    count: (what) => void answers.set(what, (answers.get(what) ?? 0) + 1),
  }
  const totals = { operations: 0, acknowledged: 0 }
  const acknowledge = async (line: Omit<Acknowledgement, 'at'>) => {
    await options.log.write({ ...line, at: new Date().toISOString() })
    totals.acknowledged += 1
  }
  const seen: SeenRecords = { payments: [], charges: [], tokens: [] }
  let isStopping = false
  const runMerchant = async (n: number) => {
    const merchant: Merchant = {
      client: createClient(clientOptions, n),
      prng: options.prng.fork(),
      acknowledge,
      seen,
    }
    while (!isStopping) {
      totals.operations += 1
      await merchant.prng.pickWeighted(OPERATIONS).run(merchant)
      await delay(merchant.prng.nextInt(2 * THINK_TIME_MS))
    }
  }
  // Save each card once before the first fault, so that there are methods to charge.
  const first: Merchant = {
    client: createClient(clientOptions, 0),
    prng: options.prng.fork(),
    acknowledge,
    seen,
  }
  for (const { name } of INSTRUMENTS) await payWith(first, name)
  const running = Promise.all(Array.from({ length: options.clients }, (_, n) => runMerchant(n)))
  return {
    answers,
    errors,
    operations: () => totals.operations,
    acknowledged: () => totals.acknowledged,
    async stop() {
      isStopping = true
      await running
    },
  }
}

interface SeenRecords {
  payments: SeenPayment[]
  charges: SeenPayment[]
  tokens: string[]
}

interface Merchant {
  client: Client
  prng: Prng
  acknowledge(line: Omit<Acknowledgement, 'at'>): Promise<void>
  seen: SeenRecords
}

const OPERATIONS = [
  { weight: 8, run: charge },
  { weight: 4, run: (merchant: Merchant) => payWith(merchant, merchant.prng.pickWeighted(INSTRUMENTS).name) },
  { weight: 4, run: refund },
  { weight: 4, run: read },
]

async function payWith(merchant: Merchant, instrument: string): Promise<void> {
  const { client, seen } = merchant
  const reference = `order-${randomUUID()}`
  const body = { amount: 1250.5, currency: 'KES', reference, customer: CUSTOMER }
  const initiated = await client.sendUntilAnswered({
    ...POST,
    path: '/api/v1/checkout/initiate-payment',
    body,
  })
  if (!(await acknowledgePayment(merchant, 'initiate', initiated))) return
  await client.sendUntilAnswered({
    ...POST,
    path: `/api/v1/sandbox/payments/${reference}/complete`,
    body: { instrument },
    // No other client acts for the payer, so retry until the payment is final.
    isFinal: ({ status }) => !OPEN.includes(status),
    alreadyDoneCode: 'invalid_state',
  })
  const verified = await client.sendUntilAnswered({ method: 'GET', path: verifyPath(reference) })
  if (!(await acknowledgePayment(merchant, 'complete', verified)) || verified?.data.status !== 'successful')
    return
  const { uuid, paymentMethod } = verified.data
  seen.payments.push({ reference, uuid })
  if (paymentMethod?.recurringToken) seen.tokens.push(paymentMethod.recurringToken)
}

const OPEN = ['pending', 'processing']
const verifyPath = (reference: string) => `/api/v1/checkout/verify-payment?reference=${reference}`

const POST = { method: 'POST' } as const

async function charge(merchant: Merchant): Promise<void> {
  const { client, prng, seen } = merchant
  const recurringToken = prng.pick(seen.tokens)
  if (!recurringToken) return
  const reference = `charge-${randomUUID()}`
  const body = {
    reference,
    customer: CUSTOMER,
    metadata: {},
    currency: 'KES',
    amount: 100,
    recurringToken,
    description: 'Again',
  }
  const key = prng.nextBool(0.5) ? randomUUID() : undefined
  const request: ClientRequest = { ...POST, path: '/api/v1/charges/recurring', body, key }
  const answer = prng.nextBool(ABANDON_PROBABILITY)
    ? await client.sendOnce(request)
    : await client.sendUntilAnswered(request)
  if (await acknowledgePayment(merchant, 'charge', answer))
    seen.charges.push({ reference, uuid: answer?.data.uuid })
}

async function refund(merchant: Merchant): Promise<void> {
  const { client, prng, seen } = merchant
  const paid = prng.pick(seen.payments)
  if (!paid) return
  // Small amounts, so that a payment that is picked often has something left to refund.
  const body = { uuid: paid.uuid, amount: 1 + prng.nextInt(9) }
  const answer = await client.sendUntilAnswered({ ...POST, path: '/api/v1/refunds', body, key: randomUUID() })
  if (!answer?.data) return
  const { uuid, status } = answer.data
  await merchant.acknowledge({ operation: 'refund', about: 'refund', reference: null, uuid, status })
}

async function read(merchant: Merchant): Promise<void> {
  const { client, prng, seen } = merchant
  const isCharge = prng.nextBool(0.5)
  const known = prng.pick(isCharge ? seen.charges : seen.payments)
  if (!known) return
  const path = isCharge ? `/api/v1/charges/${known.uuid}` : verifyPath(known.reference)
  await acknowledgePayment(merchant, 'read', await client.sendUntilAnswered({ method: 'GET', path }))
}

/** Whether the response acknowledged a payment, which is then in the log. */
async function acknowledgePayment(
  merchant: Merchant,
  operation: string,
  answer: ClientResponse | undefined,
): Promise<boolean> {
  if (!answer?.data) return false
  const { uuid, reference, status } = answer.data
  await merchant.acknowledge({ operation, about: 'payment', reference, uuid, status })
  return true
}
