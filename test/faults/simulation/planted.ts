// Mistakes that payment services make, each planted into the simulated world at one of its ports: a connector that says
// too much, a statement without its guard, a job that is not there. The simulation must notice every one of them, or it
// proves nothing.

import { timeOf } from './model/statement.ts'
import {
  answerInDisorder,
  batchTogether,
  believeHooks,
  bookAfterwards,
  declined,
  expireByTheClock,
  findByScan,
  freshKeys,
  instead,
  isUnknown,
  lookAndWrite,
  movesWithout,
  omitting,
  promising,
  reading,
  readingRefunds,
  settleAgain,
  tellAfterwards,
  without,
  writeBehind,
} from './planting.ts'
import type { Plant } from './schedule.ts'

export interface PlantedBug {
  name: string
  /** What its author thought, or forgot. */
  thought: string
  plant: Plant
  /** A schedule in which it was noticed, where few are: tried first. */
  noticedIn?: number
}

export const PLANTED: readonly PlantedBug[] = [
  {
    name: 'fresh key per try',
    thought: 'Every request to the gateway gets a new idempotency key.',
    plant: { gateway: freshKeys },
  },
  {
    name: 'timeout means failed',
    thought: 'A gateway that does not answer has not charged.',
    plant: reading(
      (outcome) => (isUnknown(outcome, 'no_answer') ? declined('timeout') : outcome),
      ['submit'],
    ),
  },
  {
    name: 'not found means failed',
    thought: 'What the gateway does not know it will not do.',
    plant: reading((outcome) => (isUnknown(outcome, 'not_found') ? declined('gone') : outcome), ['verify']),
  },
  {
    name: 'garbage means failed',
    thought: 'An answer that cannot be read is an error of the gateway.',
    plant: reading((outcome) => (isUnknown(outcome, 'unreadable') ? declined('garbage') : outcome)),
  },
  {
    name: 'no answer means not sent',
    thought: 'If nothing came back, nothing was sent.',
    plant: reading((outcome) =>
      isUnknown(outcome, 'no_answer') ? { kind: 'unknown', reason: 'not_sent', message: '' } : outcome,
    ),
  },
  {
    name: 'pending means paid',
    thought: 'The gateway has taken it, so it is as good as paid.',
    plant: reading((outcome, { key, amount }) =>
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
    thought: 'The gateway says that it was paid, and we know what was asked for.',
    plant: reading((outcome, { amount }) =>
      outcome.kind === 'succeeded' ? { ...outcome, paid: amount } : outcome,
    ),
  },
  {
    name: 'keys trusted for ever',
    noticedIn: 10_265,
    thought: 'A gateway remembers our keys for as long as we like.',
    plant: promising({ keyRetentionHours: 10_000 }),
  },
  {
    name: 'refunds without a key sent again',
    noticedIn: 1_404,
    thought: 'A gateway knows a refund by its key, as it knows a charge.',
    plant: {
      gateway: (gateway) => {
        const { nonIdempotentRefunds: _, ...recovery } = gateway.recovery
        return { ...gateway, recovery }
      },
    },
  },
  {
    name: 'refund that timed out has failed',
    noticedIn: 166,
    thought: 'No answer, no refund.',
    plant: readingRefunds((outcome) =>
      isUnknown(outcome, 'no_answer')
        ? { kind: 'failed', message: 'timeout', gatewayReference: null }
        : outcome,
    ),
  },
  {
    name: 'late success dropped',
    thought: 'A checkout that is over cannot be paid.',
    plant: reading(
      (outcome, { expiresAt }) =>
        outcome.kind === 'succeeded' && expiresAt !== null && outcome.paidAt > expiresAt
          ? { kind: 'pending', gatewayReference: null }
          : outcome,
      ['verify'],
    ),
  },
  {
    name: 'settle without version check',
    thought: 'Nobody else settles the same payment at the same moment.',
    plant: {
      statements: movesWithout('version'),
      rules: (rules) => {
        without('ledger_entries', 'one_capture', 'one_credit_per_attempt')(rules)
        without('moves', 'legal')(rules)
      },
    },
  },
  {
    name: 'no terminal guard',
    thought: 'A success is a success, however often it is told.',
    plant: {
      jobs: settleAgain,
      statements: {
        ...movesWithout('version'),
        ringDoorbell: (run) => (hands, values) => run(hands, values.with(6, true)),
      },
      rules: (rules) => {
        without('ledger_entries', 'one_capture', 'one_credit_per_attempt')(rules)
        without('moves', 'legal')(rules)
        const { pending_settlements: settlements } = rules
        if (settlements) settlements.primaryKey = (row) => `${row.payment_id}|${timeOf(row.due_at)}`
      },
    },
  },
  {
    name: 'zombie without fence',
    noticedIn: 1_777,
    thought: 'Whoever began an attempt may always speak for it.',
    plant: { statements: movesWithout('fence') },
  },
  {
    name: 'webhook believed',
    thought: 'The gateway has signed it, so it is true.',
    plant: { hooks: believeHooks },
  },
  {
    name: 'outbox after commit',
    thought: 'The event can be written when the move is done.',
    plant: { statements: movesWithout('event'), db: instead('applyMoves', tellAfterwards) },
  },
  {
    name: 'ledger after commit',
    thought: 'The money can be booked when the move is done.',
    plant: { statements: movesWithout('ledger'), db: instead('applyMoves', bookAfterwards) },
  },
  {
    name: 'event told twice',
    thought: 'Whoever moves tells, and whoever settles tells as well.',
    plant: {
      rules: without('events', 'version'),
      statements: {
        applyMoves: (run) => (hands, values) => {
          const before = new Set(hands.all('events'))
          const rows = run(hands, values)
          for (const event of hands.all('events').filter((one) => !before.has(one)))
            hands.insert('events', { ...event, id: `${event.id}-again` })
          return rows
        },
      },
    },
  },
  {
    name: 'check then insert',
    thought: 'If the reference is not there, nobody else is writing it.',
    plant: {
      db: instead('recordPayments', lookAndWrite),
      statements: { findReference: findByScan },
      rules: ({ payment_references: references }) => {
        if (references) references.primaryKey = (row) => `${row.reference}|${row.payment_id}`
      },
    },
  },
  {
    name: 'written behind',
    thought: 'The disk can wait, the merchant cannot.',
    plant: { db: instead('recordPayments', writeBehind) },
  },
  {
    name: 'idempotency key not claimed',
    thought: 'Nobody sends the same request twice.',
    plant: { statements: { claimKey: () => (_hands, values) => [{ key: values[1] }] } },
  },
  {
    name: 'no resolver',
    thought: 'Gateways tell us what happened by webhook.',
    plant: omitting('resolve-attempts'),
  },
  {
    name: 'refunds never looked at again',
    thought: 'A refund is done when it was sent.',
    plant: omitting('resolve-refunds'),
  },
  {
    name: 'expired without asking',
    noticedIn: 493,
    thought: 'When the time is over, it is over.',
    plant: { jobs: expireByTheClock },
  },
  {
    name: 'refund without reservation',
    thought: 'What was refunded so far says how much is left.',
    plant: {
      statements: {
        changeRefunds:
          (run) =>
          (hands, [merchantId, id, refunded]) =>
            run(hands, [merchantId, id, refunded, 0n]),
      },
    },
  },
  {
    name: 'refund not marked before the call',
    thought: 'That it was sent is known when the gateway has answered.',
    plant: {
      statements: {
        markSubmitted: (run) => (hands, values) => {
          const rows = run(hands, values)
          const refund = hands.get('refunds', String(values[1]))
          if (refund && rows.length > 0) hands.update('refunds', refund, { submitted_at: null })
          return rows
        },
      },
    },
  },
  {
    name: 'second success ignored',
    thought: 'It was paid already, so there is nothing to do.',
    plant: {
      statements: {
        closeAttempt: (run) => (hands, values) =>
          values[2] === 'duplicate_success'
            ? run(hands, values.with(9, null).with(2, 'declined'))
            : run(hands, values),
      },
    },
  },
  {
    name: 'duplicate given back twice',
    thought: 'The job runs once.',
    plant: {
      statements: {
        takeDuplicate:
          () =>
          (_hands, [, id]) => [{ id }],
      },
      rules: without('refunds', 'one_refund_per_duplicate'),
    },
  },
  {
    name: 'settled money settled again',
    thought: 'It is due, so it becomes available.',
    plant: {
      rules: without('ledger_entries', 'one_settlement'),
      statements: {
        claimDueSettlements: (run) => (hands, values) => run({ ...hands, remove: () => undefined }, values),
      },
    },
  },
  {
    name: 'one row spoils its batch',
    noticedIn: 376,
    thought: 'What failed together failed for the same reason.',
    plant: { app: batchTogether },
  },
  {
    name: 'answers of a batch mixed up',
    thought: 'Rows come back in the order in which they were sent.',
    plant: { app: answerInDisorder },
  },
]
