// What is measured as the tables grow: what merchants ask over HTTP, and what the background claims. A claim is undone, so
// that the next one finds the same.

import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { claimDueDeliveries, findDueEndpoints, START_CURSOR } from '../src/deliveries/claim-queries.ts'
import type { Db, Tx } from '../src/kit/db.ts'
import { claimDueSettlements } from '../src/ledger/queries.ts'
import { claimDueAttempts } from '../src/resolver/queries.ts'
import { emailOf, FIRSTNAMES, LASTNAMES, nameOf, paymentsAmong, referenceOf } from './growth-rows.ts'

export interface Subject {
  rows: number
  url: string
  key: string
  db: Db
  /** Of the list of customers, in its middle. */
  cursor: string
}

export interface Operation {
  name: string
  /**
   * How many times the p50 of the smallest size the largest may take; null where what is found, or counted for the total up to
   * its cap, is more there as well.
   */
  limit: number | null
  run(subject: Subject, n: number): Promise<unknown>
}

const LIST_LIMIT = 1.5
const BALANCE_LIMIT = 1.2
const CLAIMED = 25

const agent = new Agent({ keepAlive: true, maxSockets: 1 })

export function closeConnections(): void {
  agent.destroy()
}

export function get({ url, key }: Pick<Subject, 'url' | 'key'>, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request(`${url}${path}`, { agent, headers: { 'x-api-key': key } }, async (answer) => {
      const body = await text(answer)
      if (answer.statusCode === 200) resolve(body)
      else reject(new Error(`${path} answered ${answer.statusCode}: ${body}`))
    })
    asked.on('error', reject).end()
  })
}

type Path = (n: number, subject: Subject) => string

const asked = (name: string, limit: number | null, path: Path): Operation => ({
  name,
  limit,
  run: (subject, n) => get(subject, path(n, subject)),
})

const search = (words: string) => `/api/v1/customers?search=${encodeURIComponent(words)}`

const READS: Operation[] = [
  asked('customers: first page', LIST_LIMIT, () => '/api/v1/customers'),
  asked(
    'customers: of an hour',
    LIST_LIMIT,
    () => '/api/v1/customers?createdFrom=2026-02-01T00:00:00Z&createdTo=2026-02-01T01:00:00Z',
  ),
  asked(
    'customers: page in the middle, by cursor',
    LIST_LIMIT,
    (_, { cursor }) => `/api/v1/customers?cursor=${cursor}`,
  ),
  asked('customers: search for an e-mail', LIST_LIMIT, (n) => search(emailOf(n))),
  asked('customers: search for a part of an e-mail', LIST_LIMIT, (n) => search(`${n}@mail${n % 7}`)),
  asked('customers: search for a name and a number', LIST_LIMIT, (n) =>
    search(`${nameOf(LASTNAMES, Math.floor(n / FIRSTNAMES.length))}${n}`),
  ),
  asked('customers: search for a phone, which nobody is found by', LIST_LIMIT, (n) =>
    search(`+2547${String(n).padStart(8, '0')}`),
  ),
  asked('customers: search for two characters that nobody has', LIST_LIMIT, (n) =>
    search(`${String.fromCharCode(97 + (n % 26))}\u00df`),
  ),
  asked('customers: search for two characters that few have', null, (n) => search(`q${n % 10}`)),
  asked('customers: search for first and last name', null, (n) =>
    search(`${nameOf(FIRSTNAMES, n)} ${nameOf(LASTNAMES, n)}`),
  ),
  asked('customers: search for a first name', null, (n) => search(nameOf(FIRSTNAMES, n))),
  asked('customers: search for what everybody has', null, (n) => search(`@mail${n % 7}`)),
  asked('payments: first page', LIST_LIMIT, () => '/api/v1/checkout/payments'),
  asked('payments: by status', null, () => '/api/v1/checkout/payments?status=successful'),
  // Planned anew for each text, a millisecond that a thousand do not need (src/payments/list-queries.ts).
  asked(
    'payments: search for a reference',
    null,
    (n, { rows }) => `/api/v1/checkout/payments?search=${referenceOf(n % paymentsAmong(rows))}`,
  ),
  asked(
    'payments: verify',
    LIST_LIMIT,
    (n, { rows }) => `/api/v1/checkout/verify-payment?reference=${referenceOf(n % paymentsAmong(rows))}`,
  ),
  asked('wallet: balance', BALANCE_LIMIT, () => '/api/v1/wallet/balance'),
  asked('wallet: statement, first page', null, () => '/api/v1/wallet/transactions'),
  asked('events: first page', null, () => '/api/v1/events'),
]

const claimed = (name: string, claim: (tx: Db, now: Date) => Promise<unknown[]>): Operation => ({
  name,
  limit: LIST_LIMIT,
  run: ({ db }) => undone(db, (tx) => claim(tx, new Date())),
})

const CLAIMS: Operation[] = [
  claimed('resolver: claim', (db, now) => claimDueAttempts(db, now, now, CLAIMED, [])),
  claimed('deliveries: claim', async (db, now) => {
    const { due } = await findDueEndpoints(db, now, START_CURSOR)
    const allotments = due.map((one) => ({ ...one, quota: CLAIMED }))
    return (await claimDueDeliveries(db, now, allotments)).claimed
  }),
  claimed('settlements: claim', (db, now) =>
    claimDueSettlements(db, now, CLAIMED, () => crypto.randomUUID()),
  ),
]

export const OPERATIONS: readonly Operation[] = [...READS, ...CLAIMS]

const UNDO = new Error('nothing of it is kept')

async function undone(db: Db, claim: (tx: Db) => Promise<unknown[]>): Promise<void> {
  let found = 0
  await db
    .transaction(async (tx: Tx) => {
      // Claims ask for a whole Db and only ever query it.
      found = (await claim(tx as Db)).length
      throw UNDO
    })
    .catch((error: unknown) => {
      if (error !== UNDO) throw error
    })
  if (found === 0) throw new Error('a claim found nothing')
}
