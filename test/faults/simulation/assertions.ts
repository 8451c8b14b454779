// The end of a schedule: the faults have stopped long ago, so all work must be complete, and the records of the service
// must agree with those of the providers.

import { MANUAL_REVIEW_STATES } from './invariants.ts'
import { timeOf } from './model/statement.ts'
import type { Row, Store } from './model/store.ts'
import { type Provider, SLOWEST_COMPLETION_MS } from './provider.ts'
import type { Sim } from './sim.ts'

const MINUTE_MS = 60_000

/** I22: a minute after the last fault no outcome is unknown. A payer may still take their time. */
export function checkLiveness(sim: Sim, store: Store): void {
  // A payer who confirmed only now: the provider may be slow to complete the payment.
  const slowestMs = sim.scheduler.now() - SLOWEST_COMPLETION_MS - MINUTE_MS
  const isJustCompleted = ({ id }: Row) =>
    store
      .rows('attempts')
      .some(
        ({ payment_id: paymentId, completion_started_at: at }) =>
          paymentId === id && at !== null && timeOf(at) > slowestMs,
      )
  for (const payment of store.rows('payments')) {
    const isWaiting = payment.status === 'processing' && payment.status_reason === 'outcome_unknown'
    if (isWaiting && !isJustCompleted(payment))
      sim.reportViolation(`I22: ${payment.kind} ${payment.id} is still processing`)
  }
}

/** No payment and no refund is open, except those that need manual review. */
export function checkEnd(sim: Sim, store: Store, providers: readonly Provider[]): void {
  for (const payment of store.rows('payments')) {
    const isOpen = payment.status === 'pending' || payment.status === 'processing'
    if (isOpen && !MANUAL_REVIEW_STATES.includes(payment.status_reason))
      sim.reportViolation(`I22: ${payment.kind} ${payment.id} is ${payment.status} in the end`)
  }
  for (const refund of store.rows('refunds')) {
    if (refund.status === 'pending' && !needsManualReview(store, refund))
      sim.reportViolation(`I22: refund ${refund.id} is pending in the end`)
  }
  for (const provider of providers) checkProvider(sim, store, provider)
  checkBalances(sim, store)
}

/** A request that must not be sent twice and was lost stays unknown, and so does work that depends on it. */
function needsManualReview(store: Store, { payment_id: paymentId, status_reason: reason }: Row): boolean {
  const others = store
    .rows('refunds')
    .filter((one) => one.payment_id === paymentId && one.status === 'pending')
  const reasons = reason === 'queued' ? others.map((one) => one.status_reason) : [reason]
  return reasons.some((one) => MANUAL_REVIEW_STATES.includes(one))
}

const sum = (rows: readonly Row[], column = 'amount_minor') =>
  rows.reduce((total, row) => total + (row[column] as bigint), 0n)

/** I6 and I21: the ledger agrees with the provider's executions. */
function checkProvider(sim: Sim, store: Store, provider: Provider): void {
  const { reportViolation } = sim
  let expected = 0n
  const paidCharges = new Set<string>()
  const keys = new Set<string>()
  for (const { key, paymentId, amountMinor, atMs } of provider.executions) {
    const attempt = store.rows('attempts').find((row) => row.gateway_key === key)
    if (keys.has(key)) reportViolation(`I6: ${key} was executed twice`)
    keys.add(key)
    if (attempt && wasReleasedEarly(store, attempt, atMs))
      reportViolation(`I6: ${paymentId} could be paid in another way while its completing call ran`)
    if (store.find('payments', paymentId)?.kind === 'charge') {
      if (paidCharges.has(paymentId)) reportViolation(`I6: charge ${paymentId} was executed twice`)
      paidCharges.add(paymentId)
    }
    const back = provider.executedRefunds.filter((one) => one.attemptKey === key && !one.wasReturned)
    if (back.reduce((total, one) => total + one.amountMinor, 0n) > amountMinor)
      reportViolation(`I4: more was refunded of ${paymentId} than was collected`)
    const isCounted = attempt?.status === 'succeeded' || attempt?.status === 'duplicate_success'
    if (isCounted) expected -= amountMinor
    // Another amount than ours is held as it was reported.
    else if (attempt?.status === 'amount_mismatch') expected -= (attempt.paid_minor ?? 0n) as bigint
    else if (!MANUAL_REVIEW_STATES.includes(attempt?.status))
      reportViolation(`I21: ${paymentId} was paid, but its attempt is ${attempt?.status}`)
  }
  for (const refund of store.rows('refunds').filter(({ gateway }) => gateway === provider.name)) {
    const given = provider.executedRefunds.filter(({ key }) => key === refund.gateway_key)
    const kept = refund.status === 'successful' ? given : given.filter(({ wasReturned }) => !wasReturned)
    if (given.length > 1) reportViolation(`I6: refund ${refund.id} was executed ${given.length} times`)
    if (kept.length !== (refund.status === 'successful' ? 1 : 0))
      reportViolation(`I21: refund ${refund.id} is ${refund.status} and was executed ${kept.length} times`)
    expected += kept.reduce((total, { amountMinor }) => total + amountMinor, 0n)
  }
  const postings = store.rows('postings').filter(({ account }) => account === `gateway:${provider.name}`)
  if (sum(postings) !== expected)
    reportViolation(`I21: the ledger has ${sum(postings)} at ${provider.name}, which has ${expected}`)
}

/** Whether the payment was ended or given back to the payer after the completing call began and before it was executed. */
function wasReleasedEarly(store: Store, attempt: Row, executedAtMs: number): boolean {
  const { payment_id: paymentId, completion_started_at: startedAt } = attempt
  if (startedAt === null) return false
  return store.rows('moves').some(({ payment_id: id, to_status: to, proof, at }) => {
    const isRelease = RELEASED.includes(to) && proof !== 'declined'
    return id === paymentId && isRelease && timeOf(at) > timeOf(startedAt) && timeOf(at) < executedAtMs
  })
}

const RELEASED: unknown[] = ['pending', 'cancelled', 'expired']

/** I3: balances, pending settlements and the statement agree with the postings. */
function checkBalances(sim: Sim, store: Store): void {
  const [balance] = store.rows('balances')
  const posted = (account: string) => sum(store.rows('postings').filter((row) => row.account === account))
  const available = (balance?.available_minor ?? 0n) as bigint
  const pending = (balance?.pending_minor ?? 0n) as bigint
  if (available !== posted('available') || pending !== posted('pending'))
    sim.reportViolation(`I3: the balances are ${available} and ${pending}, which differs from the postings`)
  if (sum(store.rows('pending_settlements')) !== pending)
    sim.reportViolation('I3: the pending settlements differ from the pending balance')
  const lines = store.rows('wallet_lines')
  if (BigInt(lines.length) !== ((balance?.lines ?? 0n) as bigint))
    sim.reportViolation('I3: the statement has gaps')
}
