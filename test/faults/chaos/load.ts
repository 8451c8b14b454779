// What merchants do while the town falls apart: they initiate and complete checkouts, charge saved methods, give money
// back and ask how things stand. Every answer goes into the book of acknowledgements before the next question.

import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Chance } from '../random-walk/chance.ts'
import type { Acknowledgement, AcknowledgementLog } from './acknowledgements.ts'
import { type Answered, type Asked, type Client, type ClientNeeds, createClient } from './client.ts'

const CUSTOMER = { email: 'amina@example.com', firstname: 'Amina', lastname: 'Odhiambo' }

/** What a checkout is paid with. Some are saved cards that are charged again later, each in its own manner. */
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

const THINKING_MS = 60
// Some of the merchants' servers give up after the first try: then only the service itself brings a charge to its end.
const LEAVES = 0.2

interface Known {
  reference: string
  uuid: string
}

export interface Load {
  /** Nothing new is begun; resolves when what was begun is answered. */
  stop(): Promise<void>
  /** How many operations were begun, and how many of each answer there were. */
  operations(): number
  answers: Map<string, number>
  acknowledged(): number
  complaints: string[]
}

export interface LoadNeeds extends Pick<ClientNeeds, 'apiUrls' | 'apiKey' | 'isOver'> {
  chance: Chance
  log: AcknowledgementLog
  clients: number
}

export async function startLoad(needs: LoadNeeds): Promise<Load> {
  const answers = new Map<string, number>()
  const complaints: string[] = []
  const clientNeeds: ClientNeeds = {
    ...needs,
    complain: (words) => void complaints.push(words),
    count: (what) => void answers.set(what, (answers.get(what) ?? 0) + 1),
  }
  const totals = { operations: 0, acknowledged: 0 }
  const note = async (line: Omit<Acknowledgement, 'at'>) => {
    await needs.log.write({ ...line, at: new Date().toISOString() })
    totals.acknowledged += 1
  }
  const memory: Memory = { payments: [], charges: [], tokens: [] }
  let isStopping = false
  const live = async (n: number) => {
    const merchant: Merchant = {
      client: createClient(clientNeeds, n),
      chance: needs.chance.branch(),
      note,
      memory,
    }
    while (!isStopping) {
      totals.operations += 1
      await merchant.chance.weighed(OPERATIONS).run(merchant)
      await delay(merchant.chance.below(2 * THINKING_MS))
    }
  }
  // Before anything goes wrong each card is saved once, so that there is something to charge.
  const first: Merchant = {
    client: createClient(clientNeeds, 0),
    chance: needs.chance.branch(),
    note,
    memory,
  }
  for (const { name } of INSTRUMENTS) await payWith(first, name)
  const lives = Promise.all(Array.from({ length: needs.clients }, (_, n) => live(n)))
  return {
    answers,
    complaints,
    operations: () => totals.operations,
    acknowledged: () => totals.acknowledged,
    async stop() {
      isStopping = true
      await lives
    },
  }
}

interface Memory {
  payments: Known[]
  charges: Known[]
  tokens: string[]
}

interface Merchant {
  client: Client
  chance: Chance
  note(line: Omit<Acknowledgement, 'at'>): Promise<void>
  memory: Memory
}

const OPERATIONS = [
  { weight: 8, run: charge },
  { weight: 4, run: (merchant: Merchant) => payWith(merchant, merchant.chance.weighed(INSTRUMENTS).name) },
  { weight: 4, run: refund },
  { weight: 4, run: read },
]

async function payWith(merchant: Merchant, instrument: string): Promise<void> {
  const { client, memory } = merchant
  const reference = `order-${randomUUID()}`
  const body = { amount: 1250.5, currency: 'KES', reference, customer: CUSTOMER }
  const initiated = await client.persist({ ...POST, path: '/api/v1/checkout/initiate-payment', body })
  if (!(await noted(merchant, 'initiate', initiated))) return
  await client.persist({
    ...POST,
    path: `/api/v1/sandbox/payments/${reference}/complete`,
    body: { instrument },
    // Nobody else plays the payer: it is played until the payment has an end, whatever it is.
    isEnough: ({ status }) => !OPEN.includes(status),
    doneCode: 'invalid_state',
  })
  const verified = await client.persist({ method: 'GET', path: verifyPath(reference) })
  if (!(await noted(merchant, 'complete', verified)) || verified?.data.status !== 'successful') return
  const { uuid, paymentMethod } = verified.data
  memory.payments.push({ reference, uuid })
  if (paymentMethod?.recurringToken) memory.tokens.push(paymentMethod.recurringToken)
}

const OPEN = ['pending', 'processing']
const verifyPath = (reference: string) => `/api/v1/checkout/verify-payment?reference=${reference}`

const POST = { method: 'POST' } as const

async function charge(merchant: Merchant): Promise<void> {
  const { client, chance, memory } = merchant
  const recurringToken = chance.pick(memory.tokens)
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
  const key = chance.happens(0.5) ? randomUUID() : undefined
  const asked: Asked = { ...POST, path: '/api/v1/charges/recurring', body, key }
  const answer = chance.happens(LEAVES) ? await client.askOnce(asked) : await client.persist(asked)
  if (await noted(merchant, 'charge', answer)) memory.charges.push({ reference, uuid: answer?.data.uuid })
}

async function refund(merchant: Merchant): Promise<void> {
  const { client, chance, memory } = merchant
  const paid = chance.pick(memory.payments)
  if (!paid) return
  // Small parts, so that even one that is picked often has something left.
  const body = { uuid: paid.uuid, amount: 1 + chance.below(9) }
  const answer = await client.persist({ ...POST, path: '/api/v1/refunds', body, key: randomUUID() })
  if (!answer?.data) return
  const { uuid, status } = answer.data
  await merchant.note({ asked: 'refund', about: 'refund', reference: null, uuid, status })
}

async function read(merchant: Merchant): Promise<void> {
  const { client, chance, memory } = merchant
  const isCharge = chance.happens(0.5)
  const known = chance.pick(isCharge ? memory.charges : memory.payments)
  if (!known) return
  const path = isCharge ? `/api/v1/charges/${known.uuid}` : verifyPath(known.reference)
  await noted(merchant, 'read', await client.persist({ method: 'GET', path }))
}

/** Whether it was an acknowledgement of a payment, which is in the book then. */
async function noted(merchant: Merchant, asked: string, answer: Answered | undefined): Promise<boolean> {
  if (!answer?.data) return false
  const { uuid, reference, status } = answer.data
  await merchant.note({ asked, about: 'payment', reference, uuid, status })
  return true
}
