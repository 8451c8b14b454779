// What must be true. After every commit the rows that it changed are held against each other, against what the providers
// have done, and against what people were told; in the end the books are compared as a whole. The letters are those of the
// invariants in migrations/0007_invariants.sql.

import type { PaymentRow } from '../../../src/payments/payment.ts'
import { canMove, type PaymentStatus } from '../../../src/payments/states.ts'
import type { RefundRow } from '../../../src/refunds/queries.ts'
import type { Change, Row, Store } from './model/store.ts'
import type { Provider } from './provider.ts'
import type { Sim } from './sim.ts'

export interface Oracle {
  /** Somebody was told that a payment is so. */
  hear(payment: PaymentRow): void
  hearRefund(key: string, refund: RefundRow): void
  /** So many requests with this key will arrive at a provider. */
  noteLeaving(key: string): void
  noteArrival(provider: Provider, verb: 'charge' | 'checkout' | 'refund', key: string): void
}

const PAID: unknown[] = ['successful', 'partially_refunded', 'refunded', 'disputed', 'reversed']
const OPEN: unknown[] = ['pending', 'processing']
export const LEFT_TO_A_PERSON: unknown[] = ['amount_mismatch', 'requires_review']

// A question may take ten seconds, its answer may be twenty seconds old, and what it says has to be written.
const OLD_NEWS_MS = 33_000

export function createOracle(sim: Sim, store: Store, providers: readonly Provider[]): Oracle {
  const told = new Map<string, string>()
  const underWay = new Map<string, number>()
  const captures = new Map<unknown, number>()
  const settled = new Set<unknown>()
  const { violate } = sim

  const executionsOf = (key: unknown) =>
    providers.flatMap(({ executions }) => executions.filter((one) => one.key === key))
  const dealOf = (key: unknown) =>
    providers.map(({ deals }) => deals.get(String(key))).find((deal) => deal !== undefined)

  /** I8 and I9: one move, one event, one step on a path that exists. */
  const checkMoves = (inserted: (table: string) => Row[]) => {
    const moves = inserted('moves')
    const events = inserted('events')
    const isOf = (move: Row) => (event: Row) =>
      event.resource_id === move.payment_id && event.version === move.version
    for (const move of moves) {
      const name = `${move.payment_id} v${move.version}`
      if (events.filter(isOf(move)).length !== 1) violate(`I9: ${name} moved without exactly one event`)
      const before = store.find('moves', `${move.payment_id}|${Number(move.version) - 1}`)
      if ((before?.to_status ?? null) !== move.from_status) violate(`I8: ${name} does not go on from before`)
      // A boundary: what stands in the columns are states.
      const [from, to] = [move.from_status as PaymentStatus | null, move.to_status as PaymentStatus]
      if (from !== null && !canMove(from, to)) violate(`I8: ${name} went from ${from} to ${to}`)
      checkProof(move)
    }
    for (const event of events) {
      if (event.resource_type !== 'payment' && event.resource_type !== 'charge') continue
      if (!moves.some((move) => isOf(move)(event))) violate(`I9: an event without a move: ${event.type}`)
    }
  }

  /** I14: failed only on proof that is true, and expired only if nobody has paid long ago. */
  const checkProof = (move: Row) => {
    const attempt = store.find('attempts', String(move.attempt_id))
    const key = attempt?.gateway_key
    if (attempt && move.proof === 'declined') {
      const isTold = dealOf(key)?.told.some(({ status }) => status === 'declined' || status === 'cancelled')
      if (!isTold) violate(`I14: ${move.payment_id} is ${move.to_status}, but the gateway never declined`)
    }
    if (attempt && move.proof === 'not_sent' && (dealOf(key) || (underWay.get(String(key)) ?? 0) > 0))
      violate(`I14: ${move.payment_id} is ${move.to_status} as not sent, but it was`)
    if (move.to_status !== 'expired') return
    const paid = store
      .rows('attempts')
      .filter((one) => one.payment_id === move.payment_id && !LEFT_TO_A_PERSON.includes(one.status))
      .flatMap((one) => executionsOf(one.gateway_key))
    if (paid.some(({ atMs }) => atMs < sim.scheduler.now() - OLD_NEWS_MS))
      violate(`F-35: ${move.payment_id} expires although it was paid before`)
  }

  /** I1, I4 and I5: entries balance, and a credit has its proof at the gateway. */
  const checkEntries = (inserted: (table: string) => Row[]) => {
    const postings = inserted('postings')
    for (const entry of inserted('ledger_entries')) {
      const own = postings.filter((posting) => posting.entry_id === entry.id)
      const sum = own.reduce((total, posting) => total + (posting.amount_minor as bigint), 0n)
      if (own.length === 0 || sum !== 0n) violate(`I1: an entry of ${entry.payment_id} does not balance`)
      if (entry.kind === 'capture') checkCapture(entry)
      if (entry.kind === 'settlement') checkSettlement(entry)
    }
  }
  const checkSettlement = ({ payment_id: id }: Row) => {
    if (settled.has(id)) violate(`I3: ${id} is settled twice`)
    settled.add(id)
  }
  const checkCapture = (entry: Row) => {
    captures.set(entry.payment_id, (captures.get(entry.payment_id) ?? 0) + 1)
    const attempt = store.find('attempts', String(entry.attempt_id))
    const payment = store.find('payments', String(entry.payment_id))
    const [execution] = executionsOf(attempt?.gateway_key)
    if (!execution) violate(`I5: ${entry.payment_id} is credited, but nothing was collected`)
    else if (execution.amountMinor !== payment?.amount_minor)
      violate(`I5: ${entry.payment_id} is credited with another amount than was collected`)
    if (attempt?.paid_minor !== payment?.amount_minor) violate(`I5: ${entry.payment_id} has no proof on disk`)
  }

  /** I4 and I13 for a payment as it now stands. */
  const checkPayment = (payment: Row) => {
    const { id, status } = payment
    const move = store.find('moves', `${id}|${payment.version}`)
    if (move?.to_status !== status) violate(`I8: ${id} is ${status}, but its last move led elsewhere`)
    const wanted = PAID.includes(status) ? 1 : 0
    if ((captures.get(id) ?? 0) !== wanted)
      violate(`I4: ${id} is ${status} and has ${captures.get(id) ?? 0} credits`)
    checkRefunds(payment)
    if (!OPEN.includes(status) || payment.due_at !== null || LEFT_TO_A_PERSON.includes(payment.status_reason))
      return
    const attempts = store.rows('attempts').filter((attempt) => attempt.payment_id === id)
    if (attempts.every((attempt) => attempt.due_at === null)) violate(`I13: ${id} is ${status} and forgotten`)
  }
  const checkRefunds = (payment: Row) => {
    const refunds = store.rows('refunds').filter((one) => one.payment_id === payment.id && !one.is_duplicate)
    const sum = (status: string) =>
      refunds
        .filter((one) => one.status === status)
        .reduce((total, one) => total + (one.amount_minor as bigint), 0n)
    const [given, reserved] = [sum('successful'), sum('pending')]
    if (given !== payment.refunded_minor || reserved !== payment.refund_reserved_minor)
      violate(`I4: ${payment.id} does not say what its refunds do`)
    if (given + reserved > ((payment.amount_paid_minor ?? 0n) as bigint))
      violate(`I4: more is refunded of ${payment.id} than was paid`)
  }

  store.onCommit((changes: readonly Change[]) => {
    const inserted = (table: string) =>
      changes.filter((one) => one.table === table && !one.before).map(({ after }) => after ?? {})
    checkMoves(inserted)
    checkEntries(inserted)
    const touched = new Set<unknown>()
    for (const { table, before, after } of changes) {
      const row = after ?? before
      if (table === 'payments') touched.add(row?.id)
      else if (table === 'attempts' || table === 'ledger_entries' || table === 'refunds')
        touched.add(row?.payment_id)
    }
    for (const id of touched) {
      const payment = store.find('payments', String(id))
      if (payment) checkPayment(payment)
    }
  })

  return {
    hear({ id, reference, status, version }) {
      const known = told.get(reference) ?? id
      told.set(reference, known)
      if (known !== id) violate(`I12: ${reference} was told as ${known} and as ${id}`)
      const move = store.find('moves', `${id}|${version}`)
      if (move?.to_status !== status) violate(`I11: ${id} was told to be ${status}, which is not on disk`)
    },
    hearRefund(key, { id }) {
      const known = told.get(key) ?? id
      told.set(key, known)
      if (known !== id) violate(`I12: one key made two refunds`)
      if (!store.find('refunds', id)) violate(`I11: a refund was told of that is not on disk`)
    },
    noteLeaving: (key) => void underWay.set(key, (underWay.get(key) ?? 0) + 1),
    noteArrival(provider, verb, key) {
      const table = verb === 'refund' ? 'refunds' : 'attempts'
      const intent = store.rows(table).find((row) => row.gateway_key === key)
      if (!intent || intent.gateway !== provider.name) violate(`I7: ${verb} ${key} without an intent on disk`)
      else if (verb === 'refund' && intent.submitted_at === null && intent.status === 'pending')
        violate(`I7: a refund was sent that is not marked`)
      underWay.set(key, (underWay.get(key) ?? 1) - 1)
    },
  }
}
