// The invariants. After every commit the changed rows are compared with each other, with the providers' executions, and
// with earlier responses; at the end the ledger is compared as a whole. The ids are those in
// migrations/0012_invariants.sql.

import type { PaymentRow } from '../../../src/payments/payment.ts'
import { canMove, FIRST_STATES, type PaymentStatus } from '../../../src/payments/states.ts'
import type { RefundRow } from '../../../src/refunds/refund.ts'
import type { Change, Row, Store } from './model/store.ts'
import type { ArrivedVerb } from './network.ts'
import type { Provider } from './provider.ts'
import type { Sim } from './sim.ts'

export interface InvariantChecker {
  /** A response reported this status of a payment. */
  observePayment(payment: PaymentRow): void
  observeRefund(key: string, refund: RefundRow): void
  /** This many requests with the key will arrive at a provider. */
  recordSent(key: string): void
  recordArrival(provider: Provider, verb: ArrivedVerb, key: string): void
}

const PAID: unknown[] = ['successful', 'partially_refunded', 'refunded', 'disputed', 'reversed']
const OPEN: unknown[] = ['pending', 'processing']
export const MANUAL_REVIEW_STATES: unknown[] = ['amount_mismatch', 'requires_review']

// A status check may take ten seconds, its result may be twenty seconds old, and it has to be written.
const MAX_STALENESS_MS = 33_000

// A boundary: the column contains a kind.
const firstStatusOf = (payment: Row | undefined) =>
  payment && FIRST_STATES[payment.kind as keyof typeof FIRST_STATES].status

export function createInvariantChecker(
  sim: Sim,
  store: Store,
  providers: readonly Provider[],
): InvariantChecker {
  const acknowledgedIds = new Map<string, string>()
  const inFlight = new Map<string, number>()
  const captures = new Map<unknown, number>()
  const settled = new Set<unknown>()
  const { reportViolation } = sim

  const executionsOf = (key: unknown) =>
    providers.flatMap(({ executions }) => executions.filter((one) => one.key === key))
  const providerPaymentOf = (key: unknown) =>
    providers.map(({ payments }) => payments.get(String(key))).find((payment) => payment !== undefined)

  /** The status of a payment at this version. */
  const statusAt = (payment: Row | undefined, version: number): unknown =>
    version === 1 ? firstStatusOf(payment) : store.find('moves', `${payment?.id}|${version}`)?.to_status

  /** I8 and I9: each transition is legal, and it and each new payment have exactly one event. */
  const checkMoves = (inserted: (table: string) => Row[]) => {
    const moves = inserted('moves')
    const events = inserted('events')
    const isOf = (move: Row) => (event: Row) =>
      event.resource_id === move.payment_id && event.version === move.version
    const changes = [...inserted('payments').map(({ id }) => ({ payment_id: id, version: 1 })), ...moves]
    for (const change of changes)
      if (events.filter(isOf(change)).length !== 1)
        reportViolation(`I9: ${change.payment_id} v${change.version} has not exactly one event`)
    for (const move of moves) {
      const name = `${move.payment_id} v${move.version}`
      const payment = store.find('payments', String(move.payment_id))
      if (statusAt(payment, Number(move.version) - 1) !== move.from_status)
        reportViolation(`I8: ${name} does not continue from the previous status`)
      // A boundary: the columns contain statuses.
      const [from, to] = [move.from_status as PaymentStatus, move.to_status as PaymentStatus]
      if (!canMove(from, to)) reportViolation(`I8: ${name} went from ${from} to ${to}`)
      checkProof(move)
    }
    for (const event of events) {
      if (event.resource_type !== 'payment' && event.resource_type !== 'charge') continue
      if (!changes.some((change) => isOf(change)(event)))
        reportViolation(`I9: an event without a move: ${event.type}`)
    }
  }

  /** I14: failed only with a true proof, and expired only if it was not paid before. */
  const checkProof = (move: Row) => {
    const attempt = store.find('attempts', String(move.attempt_id))
    const key = attempt?.gateway_key
    if (attempt && move.proof === 'declined') {
      const wasReported = providerPaymentOf(key)?.reportedStatuses.some(
        ({ status }) => status === 'declined' || status === 'cancelled',
      )
      if (!wasReported)
        reportViolation(`I14: ${move.payment_id} is ${move.to_status}, but the gateway never declined`)
    }
    if (
      attempt &&
      move.proof === 'not_sent' &&
      (providerPaymentOf(key) || (inFlight.get(String(key)) ?? 0) > 0)
    )
      reportViolation(`I14: ${move.payment_id} is ${move.to_status} as not sent, but it was`)
    if (move.to_status !== 'expired') return
    const paid = store
      .rows('attempts')
      .filter((one) => one.payment_id === move.payment_id && !MANUAL_REVIEW_STATES.includes(one.status))
      .flatMap((one) => executionsOf(one.gateway_key))
    if (paid.some(({ atMs }) => atMs < sim.scheduler.now() - MAX_STALENESS_MS))
      reportViolation(`F-35: ${move.payment_id} expires although it was paid before`)
  }

  /** I1, I4 and I5: entries balance, and a credit has its proof at the gateway. */
  const checkEntries = (inserted: (table: string) => Row[]) => {
    const postings = inserted('postings')
    for (const entry of inserted('ledger_entries')) {
      const own = postings.filter((posting) => posting.entry_id === entry.id)
      const sum = own.reduce((total, posting) => total + (posting.amount_minor as bigint), 0n)
      if (own.length === 0 || sum !== 0n)
        reportViolation(`I1: an entry of ${entry.payment_id} does not balance`)
      if (entry.kind === 'capture') checkCapture(entry)
      if (entry.kind === 'settlement') checkSettlement(entry)
    }
  }
  const checkSettlement = ({ payment_id: id }: Row) => {
    if (settled.has(id)) reportViolation(`I3: ${id} is settled twice`)
    settled.add(id)
  }
  const checkCapture = (entry: Row) => {
    captures.set(entry.payment_id, (captures.get(entry.payment_id) ?? 0) + 1)
    const attempt = store.find('attempts', String(entry.attempt_id))
    const payment = store.find('payments', String(entry.payment_id))
    const [execution] = executionsOf(attempt?.gateway_key)
    if (!execution) reportViolation(`I5: ${entry.payment_id} is credited, but nothing was collected`)
    else if (execution.amountMinor !== payment?.amount_minor)
      reportViolation(`I5: ${entry.payment_id} is credited with another amount than was collected`)
    if (attempt?.paid_minor !== payment?.amount_minor)
      reportViolation(`I5: ${entry.payment_id} has no proof on disk`)
  }

  /** I4 and I13 for the current state of a payment. */
  const checkPayment = (payment: Row) => {
    const { id, status } = payment
    if (statusAt(payment, Number(payment.version)) !== status)
      reportViolation(`I8: ${id} is ${status}, but its last move has another status`)
    const wanted = PAID.includes(status) ? 1 : 0
    if ((captures.get(id) ?? 0) !== wanted)
      reportViolation(`I4: ${id} is ${status} and has ${captures.get(id) ?? 0} credits`)
    checkRefunds(payment)
    if (!OPEN.includes(status) || payment.due_at !== null) return
    if (store.rows('cases').some((one) => one.payment_id === id && one.closed_at === null)) return
    const attempts = store.rows('attempts').filter((attempt) => attempt.payment_id === id)
    if (attempts.every((attempt) => attempt.due_at === null))
      reportViolation(`I13: ${id} is ${status} and is never polled`)
  }
  const checkRefunds = (payment: Row) => {
    const refunds = store.rows('refunds').filter((one) => one.payment_id === payment.id && !one.is_duplicate)
    const sum = (status: string) =>
      refunds
        .filter((one) => one.status === status)
        .reduce((total, one) => total + (one.amount_minor as bigint), 0n)
    const [given, reserved] = [sum('successful'), sum('pending')]
    if (given !== payment.refunded_minor || reserved !== payment.refund_reserved_minor)
      reportViolation(`I4: ${payment.id} has another refunded amount than its refunds`)
    if (given + reserved > ((payment.amount_paid_minor ?? 0n) as bigint))
      reportViolation(`I4: more is refunded of ${payment.id} than was paid`)
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
    observePayment({ id, reference, status, version }) {
      const known = acknowledgedIds.get(reference) ?? id
      acknowledgedIds.set(reference, known)
      if (known !== id) reportViolation(`I12: ${reference} was reported as ${known} and as ${id}`)
      if (statusAt(store.find('payments', id), version) !== status)
        reportViolation(`I11: ${id} was reported as ${status}, which is not stored`)
    },
    observeRefund(key, { id }) {
      const known = acknowledgedIds.get(key) ?? id
      acknowledgedIds.set(key, known)
      if (known !== id) reportViolation(`I12: one key made two refunds`)
      if (!store.find('refunds', id)) reportViolation(`I11: a refund was reported that is not stored`)
    },
    recordSent: (key) => void inFlight.set(key, (inFlight.get(key) ?? 0) + 1),
    recordArrival(provider, verb, key) {
      const table = verb === 'refund' ? 'refunds' : 'attempts'
      const intent = store.rows(table).find((row) => row.gateway_key === key)
      if (!intent || intent.gateway !== provider.name)
        reportViolation(`I7: ${verb} ${key} without a stored intent`)
      else if (verb === 'refund' && intent.submitted_at === null && intent.status === 'pending')
        reportViolation(`I7: a refund was sent before it was marked as submitted`)
      if (verb !== 'completion') inFlight.set(key, (inFlight.get(key) ?? 1) - 1)
      else if (intent?.completion_started_at === null)
        reportViolation(`I7: ${key} was completed before it was marked`)
    },
  }
}
