// Reads the stored records of a payment directly from the database.

import { EVENT, type StoredEvent, toEventRow } from '../../src/events/event.ts'
import { type Db, sql } from '../../src/kit/db/db.ts'
import { FIRST_STATES } from '../../src/payments/states.ts'

export interface MoveRow {
  version: number
  from: string
  to: string
  reason: string | null
  proof: string | null
  source: string
}

const selectMoves = sql<MoveRow>`
select version, from_status as "from", to_status as "to", reason, proof, source
from moves
where payment_id = $1
order by version`

/** The changes of the payment's status. */
export function movesOf(db: Db, paymentId: string): Promise<MoveRow[]> {
  return db.query(selectMoves, [paymentId])
}

const selectKind = sql<{ kind: keyof typeof FIRST_STATES }>`
select kind
from payments
where id = $1`

/** The states of a payment, in order. */
export async function pathOf(db: Db, paymentId: string): Promise<string[]> {
  const [payments, moves] = await Promise.all([db.query(selectKind, [paymentId]), movesOf(db, paymentId)])
  return [...payments.map(({ kind }) => FIRST_STATES[kind].status), ...moves.map(({ to }) => to)]
}

export interface EventRow {
  id: string
  type: string
  version: number
  resourceType: string
  createdAt: Date
  packed: Buffer | null
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any shape and asserts on it
  body: any
}

const selectEvents = sql<StoredEvent>`
select ${EVENT.select()}
from events
where resource_id = $1
order by version`

export async function eventsOf(db: Db, paymentId: string): Promise<EventRow[]> {
  const rows = await db.query(selectEvents, [paymentId])
  return rows.map((row) => ({ ...row, ...toEventRow(row) }))
}

const selectPostings = sql<{ kind: string; account: string; currency: string; amountMinor: bigint }>`
select e.kind, p.account, p.currency, p.amount_minor as "amountMinor"
from ledger_entries e
join postings p on p.merchant_id = e.merchant_id and p.entry_id = e.id
where e.payment_id = $1
order by e.at, e.id, p.position`

/** The ledger lines of a payment, each as "capture pending KES 100". */
export async function postingsOf(db: Db, paymentId: string): Promise<string[]> {
  const rows = await db.query(selectPostings, [paymentId])
  return rows.map(
    ({ kind, account, currency, amountMinor }) => `${kind} ${account} ${currency} ${amountMinor}`,
  )
}
