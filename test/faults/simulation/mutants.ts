// Mistakes that payment services make, each planted into the simulated world at one of its ports: a connector that says
// too much, a statement without its guard, a job that is not there. The simulation must notice every one of them, or it
// proves nothing.

import { timeOf } from './model/statement.ts'
import {
  batchWithoutIsolation,
  believeWebhooks,
  bookAfterCommit,
  checkThenInsert,
  declined,
  emitEventsAfterCommit,
  expireWithoutStatusCheck,
  findByScan,
  isUnknown,
  movesWithout,
  newKeyPerAttempt,
  reapplySuccess,
  replacingStatement,
  shuffleBatchResults,
  withOutcomeReading,
  withoutConstraints,
  withoutJob,
  withRecoveryPromise,
  withRefundReading,
  writeBehind,
} from './mutations.ts'
import type { Mutation } from './schedule.ts'

export interface Mutant {
  name: string
  /** What its author thought, or forgot. */
  rationale: string
  mutation: Mutation
  /** A schedule in which it was noticed, where few are: tried first. */
  detectedBySeed?: number
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'fresh key per try',
    rationale: 'Every request to the gateway gets a new idempotency key.',
    mutation: { gateway: newKeyPerAttempt },
  },
  {
    name: 'timeout means failed',
    rationale: 'A gateway that does not answer has not charged.',
    mutation: withOutcomeReading(
      (outcome) => (isUnknown(outcome, 'no_answer') ? declined('timeout') : outcome),
      ['submit'],
    ),
  },
  {
    name: 'not found means failed',
    rationale: 'What the gateway does not know it will not do.',
    mutation: withOutcomeReading(
      (outcome) => (isUnknown(outcome, 'not_found') ? declined('gone') : outcome),
      ['verify'],
    ),
  },
  {
    name: 'garbage means failed',
    rationale: 'An answer that cannot be read is an error of the gateway.',
    mutation: withOutcomeReading((outcome) =>
      isUnknown(outcome, 'unreadable') ? declined('garbage') : outcome,
    ),
  },
  {
    name: 'no answer means not sent',
    rationale: 'If nothing came back, nothing was sent.',
    mutation: withOutcomeReading((outcome) =>
      isUnknown(outcome, 'no_answer') ? { kind: 'unknown', reason: 'not_sent', message: '' } : outcome,
    ),
  },
  {
    name: 'pending means paid',
    rationale: 'The gateway has taken it, so it is as good as paid.',
    mutation: withOutcomeReading((outcome, { key, amount }) =>
      outcome.kind === 'pending'
        ? {
            ...outcome,
            kind: 'succeeded',
            gatewayReference: '',
            paid: amount,
            key,
            savedMethod: null,
            paidAt: new Date(0),
          }
        : outcome,
    ),
  },
  {
    name: 'amount not compared',
    rationale: 'The gateway says that it was paid, and we know what was asked for.',
    mutation: withOutcomeReading((outcome, { amount }) =>
      outcome.kind === 'succeeded' ? { ...outcome, paid: amount } : outcome,
    ),
  },
  {
    name: 'keys trusted for ever',
    detectedBySeed: 10_265,
    rationale: 'A gateway remembers our keys for as long as we like.',
    mutation: withRecoveryPromise({ keyRetentionHours: 10_000 }),
  },
  {
    name: 'refunds without a key sent again',
    detectedBySeed: 1_404,
    rationale: 'A gateway knows a refund by its key, as it knows a charge.',
    mutation: {
      gateway: (gateway) => {
        const { nonIdempotentRefunds: _, ...recovery } = gateway.recovery
        return { ...gateway, recovery }
      },
    },
  },
  {
    name: 'refund that timed out has failed',
    detectedBySeed: 166,
    rationale: 'No answer, no refund.',
    mutation: withRefundReading((outcome) =>
      isUnknown(outcome, 'no_answer')
        ? { kind: 'failed', message: 'timeout', gatewayReference: null }
        : outcome,
    ),
  },
  {
    name: 'late success dropped',
    rationale: 'A checkout that is over cannot be paid.',
    mutation: withOutcomeReading(
      (outcome, { expiresAt }) =>
        outcome.kind === 'succeeded' && expiresAt !== null && outcome.paidAt > expiresAt
          ? { kind: 'pending', gatewayReference: null }
          : outcome,
      ['verify'],
    ),
  },
  {
    name: 'settle without version check',
    rationale: 'Nobody else settles the same payment at the same moment.',
    mutation: {
      statements: movesWithout('version'),
      rules: (rules) => {
        withoutConstraints('ledger_entries', 'one_capture', 'one_credit_per_attempt')(rules)
        withoutConstraints('moves', 'legal')(rules)
      },
    },
  },
  {
    name: 'no terminal guard',
    rationale: 'A success is a success, however often it is told.',
    mutation: {
      jobs: reapplySuccess,
      statements: {
        ...movesWithout('version'),
        saveGatewayWebhook: (run) => (access, values) => run(access, values.with(6, true)),
      },
      rules: (rules) => {
        withoutConstraints('ledger_entries', 'one_capture', 'one_credit_per_attempt')(rules)
        withoutConstraints('moves', 'legal')(rules)
        const { pending_settlements: settlements } = rules
        if (settlements) settlements.primaryKey = (row) => `${row.payment_id}|${timeOf(row.due_at)}`
      },
    },
  },
  {
    name: 'zombie without fence',
    detectedBySeed: 1_777,
    rationale: 'Whoever began an attempt may always speak for it.',
    mutation: { statements: movesWithout('fence') },
  },
  {
    name: 'webhook believed',
    rationale: 'The gateway has signed it, so it is true.',
    mutation: { webhookRoutes: believeWebhooks },
  },
  {
    name: 'outbox after commit',
    rationale: 'The event can be written when the move is done.',
    mutation: {
      statements: movesWithout('event'),
      db: replacingStatement('applyMoves', emitEventsAfterCommit),
    },
  },
  {
    name: 'ledger after commit',
    rationale: 'The money can be booked when the move is done.',
    mutation: { statements: movesWithout('ledger'), db: replacingStatement('applyMoves', bookAfterCommit) },
  },
  {
    name: 'event told twice',
    rationale: 'Whoever moves tells, and whoever settles tells as well.',
    mutation: {
      rules: withoutConstraints('events', 'version'),
      statements: {
        applyMoves: (run) => (access, values) => {
          const before = new Set(access.all('events'))
          const rows = run(access, values)
          for (const event of access.all('events').filter((one) => !before.has(one)))
            access.insert('events', { ...event, id: `${event.id}-again` })
          return rows
        },
      },
    },
  },
  {
    name: 'check then insert',
    rationale: 'If the reference is not there, nobody else is writing it.',
    mutation: {
      db: replacingStatement('recordPayments', checkThenInsert),
      statements: { findReference: findByScan },
      rules: ({ payment_references: references }) => {
        if (references) references.primaryKey = (row) => `${row.reference}|${row.payment_id}`
      },
    },
  },
  {
    name: 'written behind',
    rationale: 'The disk can wait, the merchant cannot.',
    mutation: { db: replacingStatement('recordPayments', writeBehind) },
  },
  {
    name: 'idempotency key not claimed',
    rationale: 'Nobody sends the same request twice.',
    mutation: { statements: { claimKey: () => (_access, values) => [{ key: values[1] }] } },
  },
  {
    name: 'no resolver',
    rationale: 'Gateways tell us what happened by webhook.',
    mutation: withoutJob('resolve-attempts'),
  },
  {
    name: 'refunds never looked at again',
    rationale: 'A refund is done when it was sent.',
    mutation: withoutJob('resolve-refunds'),
  },
  {
    name: 'expired without asking',
    detectedBySeed: 493,
    rationale: 'When the time is over, it is over.',
    mutation: { jobs: expireWithoutStatusCheck },
  },
  {
    name: 'refund without reservation',
    rationale: 'What was refunded so far says how much is left.',
    mutation: {
      statements: {
        updateRefundTotals:
          (run) =>
          (access, [merchantId, id, refunded]) =>
            run(access, [merchantId, id, refunded, 0n]),
      },
    },
  },
  {
    name: 'refund not marked before the call',
    rationale: 'That it was sent is known when the gateway has answered.',
    mutation: {
      statements: {
        markSubmitted: (run) => (access, values) => {
          const rows = run(access, values)
          const refund = access.get('refunds', String(values[1]))
          if (refund && rows.length > 0) access.update('refunds', refund, { submitted_at: null })
          return rows
        },
      },
    },
  },
  {
    name: 'second success ignored',
    rationale: 'It was paid already, so there is nothing to do.',
    mutation: {
      statements: {
        closeAttempt: (run) => (access, values) =>
          values[2] === 'duplicate_success'
            ? run(access, values.with(9, null).with(2, 'declined'))
            : run(access, values),
      },
    },
  },
  {
    name: 'duplicate given back twice',
    rationale: 'The job runs once.',
    mutation: {
      statements: {
        unscheduleDuplicateRefund:
          () =>
          (_access, [, id]) => [{ id }],
      },
      rules: withoutConstraints('refunds', 'one_refund_per_duplicate'),
    },
  },
  {
    name: 'settled money settled again',
    rationale: 'It is due, so it becomes available.',
    mutation: {
      rules: withoutConstraints('ledger_entries', 'one_settlement'),
      statements: {
        claimDueSettlements: (run) => (access, values) => run({ ...access, remove: () => undefined }, values),
      },
    },
  },
  {
    name: 'one row spoils its batch',
    detectedBySeed: 376,
    rationale: 'What failed together failed for the same reason.',
    mutation: { app: batchWithoutIsolation },
  },
  {
    name: 'answers of a batch mixed up',
    rationale: 'Rows come back in the order in which they were sent.',
    mutation: { app: shuffleBatchResults },
  },
]
