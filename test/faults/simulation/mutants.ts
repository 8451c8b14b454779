// Typical defects of payment services, each injected at one port of the simulated world: a connector that misreads, a
// statement without its guard, a missing job. The simulation must detect every one of them, or it proves nothing.

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
  withBehavior,
  withOutcomeReading,
  withoutConstraints,
  withoutJob,
  withRefundReading,
  writeBehind,
} from './mutations.ts'
import type { Mutation } from './schedule.ts'

export interface Mutant {
  name: string
  /** The wrong assumption behind the defect. */
  rationale: string
  mutation: Mutation
  /** A schedule that detects it, where few do: tried first. */
  detectedBySeed?: number
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'fresh key per attempt',
    detectedBySeed: 1,
    rationale: 'Every request to the gateway gets a new idempotency key.',
    mutation: { gateway: newKeyPerAttempt },
  },
  {
    name: 'timeout means failed',
    detectedBySeed: 1,
    rationale: 'A gateway that does not respond has not charged.',
    mutation: withOutcomeReading(
      (outcome) => (isUnknown(outcome, 'no_answer') ? declined('timeout') : outcome),
      ['submit'],
    ),
  },
  {
    name: 'not found means failed',
    detectedBySeed: 3,
    rationale: 'A payment that the gateway does not know will not be executed.',
    mutation: withOutcomeReading(
      (outcome) => (isUnknown(outcome, 'not_found') ? declined('gone') : outcome),
      ['verify'],
    ),
  },
  {
    name: 'garbage means failed',
    detectedBySeed: 1,
    rationale: 'An unreadable response is an error of the gateway.',
    mutation: withOutcomeReading((outcome) =>
      isUnknown(outcome, 'unreadable') ? declined('garbage') : outcome,
    ),
  },
  {
    name: 'no answer means not sent',
    detectedBySeed: 4,
    rationale: 'Without a response nothing was sent.',
    mutation: withOutcomeReading((outcome) =>
      isUnknown(outcome, 'no_answer') ? { kind: 'unknown', reason: 'not_sent', message: '' } : outcome,
    ),
  },
  {
    name: 'pending means paid',
    detectedBySeed: 1,
    rationale: 'The gateway has accepted the payment, so it is as good as paid.',
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
    detectedBySeed: 297,
    rationale: 'The gateway reports the payment as paid, and we know the requested amount.',
    mutation: withOutcomeReading((outcome, { amount }) =>
      outcome.kind === 'succeeded' ? { ...outcome, paid: amount } : outcome,
    ),
  },
  {
    name: 'keys trusted without expiry',
    detectedBySeed: 10_265,
    rationale: 'A gateway keeps our keys without a time limit.',
    mutation: withBehavior({ keyRetentionHours: 10_000 }),
  },
  {
    name: 'refunds without a key sent again',
    detectedBySeed: 1_016,
    rationale: 'A gateway identifies a refund by its key, as it does a charge.',
    mutation: {
      gateway: (gateway) => {
        const { nonIdempotentRefunds: _, ...behavior } = gateway.behavior
        return { ...gateway, behavior }
      },
    },
  },
  {
    name: 'refund that timed out has failed',
    detectedBySeed: 440,
    rationale: 'Without a response there is no refund.',
    mutation: withRefundReading((outcome) =>
      isUnknown(outcome, 'no_answer')
        ? { kind: 'failed', message: 'timeout', gatewayReference: null }
        : outcome,
    ),
  },
  {
    name: 'late success dropped',
    detectedBySeed: 35,
    rationale: 'A checkout that is over cannot be paid.',
    mutation: withOutcomeReading(
      (outcome, { expiresAt }) =>
        outcome.kind === 'succeeded' && expiresAt !== null && (outcome.paidAt ?? expiresAt) > expiresAt
          ? { kind: 'pending', gatewayReference: null }
          : outcome,
      ['verify'],
    ),
  },
  {
    name: 'outcome without version check',
    detectedBySeed: 15,
    rationale: 'No other process applies an outcome to the same payment at the same moment.',
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
    detectedBySeed: 6,
    rationale: 'A success is a success, however often it is reported.',
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
    name: 'stalled process without fence',
    detectedBySeed: 1_777,
    rationale: 'The process that started an attempt may always write its outcome.',
    mutation: { statements: movesWithout('fence') },
  },
  {
    name: 'webhook believed',
    detectedBySeed: 1,
    rationale: 'The gateway has signed the webhook, so it is true.',
    mutation: { webhookRoutes: believeWebhooks },
  },
  {
    name: 'outbox after commit',
    detectedBySeed: 1,
    rationale: 'The event can be written after the move commits.',
    mutation: {
      statements: movesWithout('event'),
      db: replacingStatement('applyMoves', emitEventsAfterCommit),
    },
  },
  {
    name: 'ledger after commit',
    detectedBySeed: 1,
    rationale: 'The ledger entry can be written after the move commits.',
    mutation: { statements: movesWithout('ledger'), db: replacingStatement('applyMoves', bookAfterCommit) },
  },
  {
    name: 'event emitted twice',
    detectedBySeed: 1,
    rationale: 'The move emits an event, and so does the outcome.',
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
    detectedBySeed: 17,
    rationale: 'If the reference does not exist, no other process is writing it.',
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
    detectedBySeed: 1,
    rationale: 'The disk can wait, the merchant cannot.',
    mutation: { db: replacingStatement('recordPayments', writeBehind) },
  },
  {
    name: 'idempotency key not claimed',
    detectedBySeed: 38,
    rationale: 'No client sends the same request twice.',
    mutation: { statements: { claimKey: () => (_access, values) => [{ key: values[1] }] } },
  },
  {
    name: 'no resolver',
    detectedBySeed: 1,
    rationale: 'Gateways report every outcome by webhook.',
    mutation: withoutJob('resolve-attempts'),
  },
  {
    name: 'refunds never polled',
    detectedBySeed: 13,
    rationale: 'A refund is complete when it was sent.',
    mutation: withoutJob('resolve-refunds'),
  },
  {
    name: 'expired without status check',
    detectedBySeed: 493,
    rationale: 'A checkout ends when its time is over.',
    mutation: { jobs: expireWithoutStatusCheck },
  },
  {
    name: 'refund without reservation',
    detectedBySeed: 6,
    rationale: 'The refunded amount so far says how much is left.',
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
    detectedBySeed: 6,
    rationale: 'The submission of a refund is known when the gateway has responded.',
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
    detectedBySeed: 16,
    rationale: 'The payment was paid already, so there is nothing to do.',
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
    name: 'duplicate refunded twice',
    detectedBySeed: 16,
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
    name: 'settlement applied twice',
    detectedBySeed: 1,
    rationale: 'The settlement is due, so it becomes available.',
    mutation: {
      rules: withoutConstraints('ledger_entries', 'one_settlement'),
      statements: {
        claimDueSettlements: (run) => (access, values) => run({ ...access, remove: () => undefined }, values),
      },
    },
  },
  {
    name: 'completed again after an unknown outcome',
    detectedBySeed: 116,
    rationale: 'The gateway still waits, so the completing call was lost.',
    mutation: {
      completes: true,
      ...withBehavior({ completesWithinMs: 0 }),
      statements: {
        endCompletion:
          (run) =>
          (access, [merchantId, id, at]) =>
            run(access, [merchantId, id, at, true]),
      },
    },
  },
  {
    name: 'completed for as long as we wait',
    detectedBySeed: 130,
    rationale: 'We no longer wait for the completing call, so the payer may pay in another way.',
    mutation: {
      completes: true,
      ...withBehavior({ completesWithinMs: 0 }),
    },
  },
  {
    name: 'one row fails its batch',
    detectedBySeed: 376,
    rationale: 'All rows of a failed batch failed for the same reason.',
    mutation: { app: batchWithoutIsolation },
  },
  {
    name: 'results of a batch mixed up',
    detectedBySeed: 1,
    rationale: 'Rows are returned in the order in which they were sent.',
    mutation: { app: shuffleBatchResults },
  },
]
