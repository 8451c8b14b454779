// The building blocks of mutants: other ways to read a response, statements without a guard, steps in another order.

import { money } from '../../../src/core/money.ts'
import type {
  Attempt,
  Gateway,
  Outcome,
  RefundOutcome,
  RefundRequest,
} from '../../../src/gateways/gateway.ts'
import { createBatcher } from '../../../src/kit/db/batch.ts'
import type { Db, Statement } from '../../../src/kit/db/db.ts'
import type { GatewayWebhookRoute } from '../../../src/kit/http/route.ts'
import type { Job } from '../../../src/kit/jobs.ts'
import { applyOutcome } from '../../../src/outcomes/apply.ts'
import { createPaymentWriters, type PaymentsApp } from '../../../src/payments/app.ts'
import { findPayment, listAttempts } from '../../../src/payments/find.ts'
import { gatewayOf } from '../../../src/payments/gateway-request.ts'
import { movePayment, plainMove } from '../../../src/payments/move.ts'
import { applyMoves } from '../../../src/payments/move-queries.ts'
import { recordPayments } from '../../../src/payments/record-queries.ts'
import { resolverJobs } from '../../../src/resolver/jobs.ts'
import { claimDueCheckouts } from '../../../src/resolver/queries.ts'
import { EVERY_GUARD, type Guards, move } from './model/moves.ts'
import type { Run } from './model/statement.ts'
import { STATEMENTS } from './model/statements.ts'
import type { Row, Rules, Store, TableAccess } from './model/store.ts'

export const declined = (message: string): Outcome => ({
  kind: 'declined',
  code: 'provider_unavailable',
  message,
  gatewayReference: null,
})

type Change = (outcome: Outcome, asked: Pick<Attempt, 'key' | 'amount' | 'expiresAt'>) => Outcome

/** Changes the outcomes of a gateway in these operations. */
export const withOutcomeReading = (
  change: Change,
  verbs: readonly ('submit' | 'verify')[] = ['submit', 'verify'],
) => ({
  gateway: (gateway: Gateway): Gateway => {
    const { chargeSaved } = gateway
    const isSubmitted = verbs.includes('submit')
    return {
      ...gateway,
      async startCheckout(attempt, choice, url) {
        const answer = await gateway.startCheckout(attempt, choice, url)
        return answer.kind === 'started' || !isSubmitted ? answer : change(answer, attempt)
      },
      ...(chargeSaved && {
        chargeSaved: async (attempt: Attempt, credential: string) => {
          const answer = await chargeSaved(attempt, credential)
          return isSubmitted ? change(answer, attempt) : answer
        },
      }),
      async verify(attempt, reference) {
        const answer = await gateway.verify(attempt, reference)
        return verbs.includes('verify') ? change(answer, attempt) : answer
      },
    }
  },
})

export const withRefundReading = (change: (outcome: RefundOutcome) => RefundOutcome) => ({
  gateway: (gateway: Gateway): Gateway => ({
    ...gateway,
    refund: async (request: RefundRequest) =>
      change((await gateway.refund?.(request)) ?? { kind: 'unknown', reason: 'not_sent', message: '' }),
  }),
})

export const isUnknown = (outcome: Outcome | RefundOutcome, ...reasons: string[]) =>
  outcome.kind === 'unknown' && reasons.includes(outcome.reason)

export const withBehavior = (behavior: Partial<Gateway['behavior']>) => ({
  gateway: (gateway: Gateway): Gateway => ({
    ...gateway,
    behavior: { ...gateway.behavior, ...behavior },
  }),
})

/** The moves without one of their guards or writes. */
export const movesWithout = (...guards: (keyof Guards)[]) => {
  const left: Guards = { ...EVERY_GUARD, ...Object.fromEntries(guards.map((guard) => [guard, false])) }
  return { applyMoves: (): Run => (access, values) => move(access, values, left) }
}

/** Removes constraints from tables. */
export const withoutConstraints =
  (table: string, ...names: string[]) =>
  (rules: Rules) => {
    for (const name of names) {
      delete rules[table]?.uniques[name]
      delete rules[table]?.checks[name]
    }
  }

const statementOf = (name: string): Statement<unknown> => {
  const known = STATEMENTS.find((one) => one.name === name)
  if (!known) throw new Error(`the model has no statement ${name}`)
  return known.statement
}

/** Replaces or extends this statement where the service runs it outside a transaction. */
export const replacingStatement =
  (name: string, work: (db: Db, values: readonly unknown[], query: () => Promise<Row[]>) => Promise<Row[]>) =>
  (db: Db): Db => {
    const { name: wanted } = statementOf(name)
    return {
      ...db,
      query: <Answer>(statement: Statement<Answer>, values: readonly unknown[] = []) =>
        statement.name === wanted
          ? // A boundary: the rows are those of this statement.
            (work(db, values, () => db.query(statement, values) as Promise<Row[]>) as Promise<Answer[]>)
          : db.query(statement, values),
    }
  }

export const withoutJob = (name: string) => ({
  jobs: (jobs: Job[]) => jobs.filter((job) => job.name !== name),
})

// A boundary: the mutation parses the JSON that the service made.
const inputsOf = ([json]: readonly unknown[]) => JSON.parse(json as string) as Row[]

export async function emitEventsAfterCommit(db: Db, values: readonly unknown[], query: () => Promise<Row[]>) {
  const rows = await query()
  const applied = inputsOf(values).filter(({ n }) => rows.some((row) => row.n === n))
  const events = applied.map((input) => ({
    ...{ merchant_id: input.merchant_id, id: input.event_id, type: input.event_type },
    ...{
      resource_type: String(input.event_type).split('.')[0],
      resource_id: input.payment_id,
    },
    ...{ version: Number(input.expected_version) + 1, body: {}, created_at: input.at },
  }))
  await db.query(statementOf('insertEvents'), [JSON.stringify(events)])
  return rows
}

export async function bookAfterCommit(db: Db, values: readonly unknown[], query: () => Promise<Row[]>) {
  const rows = await query()
  for (const input of inputsOf(values)) {
    if (input.entry_id === null || !rows.some(({ n }) => n === input.n)) continue
    const { merchant_id, entry_id, payment_id, attempt_id, paid_currency, postings, at } = input
    const facts = [merchant_id, entry_id, 'capture', payment_id, attempt_id, null, paid_currency]
    await db.query(statementOf('insertEntry'), [...facts, JSON.stringify(postings), new Date(at as string)])
  }
  return rows
}

/** Checks whether the reference is free, and then writes. */
export async function checkThenInsert(db: Db, values: readonly unknown[], query: () => Promise<Row[]>) {
  for (const { merchant_id, reference } of inputsOf(values)) {
    if ((await db.query(statementOf('findReference'), [merchant_id, reference])).length > 0) return []
  }
  return query()
}

export const findByScan =
  (): Run =>
  (access: TableAccess, [merchantId, reference]) =>
    access
      .all('payment_references')
      .filter((row) => row.merchant_id === merchantId && row.reference === reference)
      .slice(0, 1)
      .map(({ payment_id: paymentId, fingerprint }) => ({ paymentId, fingerprint }))

/** Reports the write as done, and writes later. */
export async function writeBehind(_db: Db, values: readonly unknown[], query: () => Promise<Row[]>) {
  void query().catch(() => undefined)
  return inputsOf(values).map(({ id: paymentId, customer_id: customerId }) => ({
    paymentId,
    customerId,
  }))
}

/** Trusts the body of a webhook. */
export function believeWebhooks(
  routes: GatewayWebhookRoute[],
  app: PaymentsApp,
  store: Store,
): GatewayWebhookRoute[] {
  return routes.map((route) => ({
    ...route,
    handle: async (visit) => {
      const { key, claims } = JSON.parse(visit.rawBody.toString())
      if (claims === 'succeeded') await creditAsClaimed(app, store, key)
      return route.handle(visit)
    },
  }))
}

async function creditAsClaimed(app: PaymentsApp, store: Store, key: string): Promise<void> {
  for (const row of store.rows('attempts').filter(({ gateway_key }) => gateway_key === key)) {
    const [merchantId, paymentId] = [String(row.merchant_id), String(row.payment_id)]
    const payment = await findPayment(app.db, merchantId, paymentId)
    const attempts = await listAttempts(app.db, merchantId, paymentId)
    const attempt = attempts.find(({ gatewayKey }) => gatewayKey === key)
    if (!payment || !attempt) continue
    const paid = money(payment.amountMinor, payment.currency)
    const facts = { gatewayReference: 'claimed', paid, key, savedMethod: null, paidAt: app.clock.now() }
    const gateway = await gatewayOf(app, attempt)
    const outcome = { kind: 'succeeded', ...facts } as const
    await applyOutcome(app, gateway, { payment, attempt }, outcome, { source: 'webhook' })
  }
}

export function expireWithoutStatusCheck(jobs: Job[], app: PaymentsApp): Job[] {
  const claim = async (limit: number) => {
    const now = app.clock.now()
    const due = await claimDueCheckouts(app.db, now, new Date(now.getTime() + 30_000), limit)
    return due.map((payment) => async () => {
      await movePayment(app, payment, plainMove(payment, 'expired'), {
        kind: 'plain',
        proof: 'time',
        source: 'expiry',
      })
    })
  }
  return jobs.map((job) =>
    job.name === 'expire-checkouts' ? { name: job.name, intervalMs: 1_000, concurrency: 10, claim } : job,
  )
}

export function batchWithoutIsolation(app: PaymentsApp): PaymentsApp {
  const options = { maxSize: 64, concurrency: 4, shouldSplit: () => false }
  return {
    ...app,
    writers: {
      ...app.writers,
      record: createBatcher({ ...options, run: (inputs) => recordPayments(app.db, inputs) }),
      move: createBatcher({ ...options, run: (inputs) => applyMoves(app.db, inputs) }),
    },
  }
}

export function shuffleBatchResults(app: PaymentsApp): PaymentsApp {
  const record = async (inputs: Parameters<typeof recordPayments>[1]) =>
    (await recordPayments(app.db, inputs)).toReversed()
  const options = { maxSize: 64, concurrency: 4, shouldSplit: () => false }
  return { ...app, writers: { ...app.writers, record: createBatcher({ ...options, run: record }) } }
}

const AS_IF_OPEN: Row = { succeeded: 'started', successful: 'processing' }

/** The background reads succeeded rows as if they were open. */
export function reapplySuccess(jobs: Job[], app: PaymentsApp): Job[] {
  const names = ['findPayment', 'listAttempts'].map((name) => statementOf(name).name)
  const db: Db = {
    ...app.db,
    query: async <Answer>(statement: Statement<Answer>, values: readonly unknown[] = []) => {
      const rows = await app.db.query(statement, values)
      if (!names.includes(statement.name)) return rows
      // A boundary: both statements return rows with a status.
      return rows.map((row) => ({
        ...row,
        status: AS_IF_OPEN[(row as Row).status as string] ?? (row as Row).status,
      }))
    },
  }
  const blind = resolverJobs({ ...app, db, writers: createPaymentWriters(db) })
  return jobs.map((job) => blind.find(({ name }) => name === job.name) ?? job)
}

/** A new key for every attempt. */
export function newKeyPerAttempt(gateway: Gateway): Gateway {
  let tries = 0
  const fresh = (attempt: Attempt): Attempt => {
    tries += 1
    return { ...attempt, key: `${attempt.key.slice(0, 24)}${String(tries).padStart(12, '0')}` }
  }
  const { chargeSaved } = gateway
  return {
    ...gateway,
    ...(chargeSaved && {
      chargeSaved: async (attempt: Attempt, credential: string) => {
        const outcome = await chargeSaved(fresh(attempt), credential)
        return outcome.kind === 'succeeded' ? { ...outcome, key: attempt.key } : outcome
      },
    }),
  }
}
