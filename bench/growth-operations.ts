// The operations that are measured as tables grow: requests of merchants and claims of background jobs. A claim is
// rolled back, so that the next one finds the same rows.

import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { claimDueDeliveries, findDueEndpoints, START_CURSOR } from '../src/deliveries/claim-queries.ts'
import type { Db, Tx } from '../src/kit/db/db.ts'
import { claimDueSettlements } from '../src/ledger/queries.ts'
import { claimDueAttempts } from '../src/resolver/queries.ts'
import { emailOf, FIRSTNAMES, LASTNAMES, nameOf, paymentCount, referenceOf } from './growth-rows.ts'

export interface Subject {
  rows: number
  url: string
  key: string
  db: Db
  /** A cursor in the middle of the list of customers. */
  cursor: string
}

export interface Operation {
  name: string
  /**
   * The largest allowed ratio of the p50 at the largest size to the smallest; null where the result, or the capped
   * total, grows too.
   */
  limit: number | null
  run(subject: Subject, n: number): Promise<unknown>
}

const LIST_LIMIT = 1.5
const BALANCE_LIMIT = 1.2
const CLAIM_LIMIT = 25

const agent = new Agent({ keepAlive: true, maxSockets: 1 })

export function closeConnections(): void {
  agent.destroy()
}

export function get({ url, key }: Pick<Subject, 'url' | 'key'>, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { agent, headers: { 'x-api-key': key } }, async (answer) => {
      const body = await text(answer)
      if (answer.statusCode === 200) resolve(body)
      else reject(new Error(`${path} answered ${answer.statusCode}: ${body}`))
    })
    sent.on('error', reject).end()
  })
}

type Path = (n: number, subject: Subject) => string

const readOperation = (name: string, limit: number | null, path: Path): Operation => ({
  name,
  limit,
  run: (subject, n) => get(subject, path(n, subject)),
})

const search = (query: string) => `/api/v1/customers?search=${encodeURIComponent(query)}`

const READS: Operation[] = [
  readOperation('customers: first page', LIST_LIMIT, () => '/api/v1/customers'),
  readOperation(
    'customers: of an hour',
    LIST_LIMIT,
    () => '/api/v1/customers?createdFrom=2026-02-01T00:00:00Z&createdTo=2026-02-01T01:00:00Z',
  ),
  readOperation(
    'customers: page in the middle, by cursor',
    LIST_LIMIT,
    (_, { cursor }) => `/api/v1/customers?cursor=${cursor}`,
  ),
  readOperation('customers: search for an e-mail', LIST_LIMIT, (n) => search(emailOf(n))),
  readOperation('customers: search for a part of an e-mail', LIST_LIMIT, (n) => search(`${n}@mail${n % 7}`)),
  readOperation('customers: search for a name and a number', LIST_LIMIT, (n) =>
    search(`${nameOf(LASTNAMES, Math.floor(n / FIRSTNAMES.length))}${n}`),
  ),
  readOperation('customers: search for a phone, which is not searchable', LIST_LIMIT, (n) =>
    search(`+2547${String(n).padStart(8, '0')}`),
  ),
  readOperation('customers: search for two characters without a match', LIST_LIMIT, (n) =>
    search(`${String.fromCharCode(97 + (n % 26))}\u00df`),
  ),
  readOperation('customers: search for two characters with few matches', null, (n) => search(`q${n % 10}`)),
  readOperation('customers: search for first and last name', null, (n) =>
    search(`${nameOf(FIRSTNAMES, n)} ${nameOf(LASTNAMES, n)}`),
  ),
  readOperation('customers: search for a first name', null, (n) => search(nameOf(FIRSTNAMES, n))),
  readOperation('customers: search for a text that matches every customer', null, (n) =>
    search(`@mail${n % 7}`),
  ),
  readOperation('payments: first page', LIST_LIMIT, () => '/api/v1/checkout/payments'),
  readOperation('payments: by status', null, () => '/api/v1/checkout/payments?status=successful'),
  // Planned again for each text, a millisecond that a thousand rows do not need (src/payments/list-queries.ts).
  readOperation(
    'payments: search for a reference',
    null,
    (n, { rows }) => `/api/v1/checkout/payments?search=${referenceOf(n % paymentCount(rows))}`,
  ),
  readOperation(
    'payments: verify',
    LIST_LIMIT,
    (n, { rows }) => `/api/v1/checkout/verify-payment?reference=${referenceOf(n % paymentCount(rows))}`,
  ),
  ...[
    `gatewayReference=sandbox-77`,
    'metadata[order]=77',
    'metadata[shop]=north',
    'status=successful,refunded&channel=card',
    'status=failed&failureCode=insufficient_funds',
    'minAmount=1250&maxAmount=1300',
    'minAmount=2000&currency=KES',
    'paidFrom=2026-02-01T00:00:00Z&paidTo=2026-02-01T01:00:00Z',
  ].map((query) => readOperation(`all payments: ${query}`, null, () => `/api/v1/payments?${query}`)),
  ...[
    ...['day', 'currency', 'gateway', 'channel', 'status'],
    ...[
      'day&timeZone=Africa/Nairobi',
      'gateway&timeZone=Africa/Nairobi',
      'day,gateway&timeZone=Africa/Nairobi',
    ],
  ].map((group) =>
    readOperation(
      `reports: 90 days by ${group}`,
      LIST_LIMIT,
      () => `/api/v1/reports/collections?from=2026-01-01&to=2026-03-31&groupBy=${group}`,
    ),
  ),
  readOperation('wallet: balance', BALANCE_LIMIT, () => '/api/v1/wallet/balance'),
  readOperation('wallet: statement, first page', null, () => '/api/v1/wallet/transactions'),
  readOperation('events: first page', null, () => '/api/v1/events'),
]

const claimOperation = (name: string, claim: (tx: Db, now: Date) => Promise<unknown[]>): Operation => ({
  name,
  limit: LIST_LIMIT,
  run: ({ db }) => rolledBack(db, (tx) => claim(tx, new Date())),
})

const CLAIMS: Operation[] = [
  claimOperation('resolver: claim', (db, now) => claimDueAttempts(db, now, now, CLAIM_LIMIT, [])),
  claimOperation('deliveries: claim', async (db, now) => {
    const { due } = await findDueEndpoints(db, now, START_CURSOR)
    const allotments = due.map((one) => ({ ...one, quota: CLAIM_LIMIT }))
    return (await claimDueDeliveries(db, now, allotments)).claimed
  }),
  claimOperation('settlements: claim', (db, now) =>
    claimDueSettlements(db, now, CLAIM_LIMIT, () => crypto.randomUUID()),
  ),
]

export const OPERATIONS: readonly Operation[] = [...READS, ...CLAIMS]

const ROLLBACK = new Error('rolled back')

async function rolledBack(db: Db, claim: (tx: Db) => Promise<unknown[]>): Promise<void> {
  let found = 0
  await db
    .transaction(async (tx: Tx) => {
      // Claims take a Db and only ever query it.
      found = (await claim(tx as Db)).length
      throw ROLLBACK
    })
    .catch((error: unknown) => {
      if (error !== ROLLBACK) throw error
    })
  if (found === 0) throw new Error('a claim found nothing')
}
