// The state of the instance, read from the database: due background jobs, open cases for manual review, and the last
// invariant check. It is the same in every process. The metrics, the operators' API and `cowry doctor` show it.

import { Type } from 'typebox'
import type { CaseOwner } from './cases/case-kinds.ts'
import { countOpenCases } from './cases/find.ts'
import { readDeliveryBacklog } from './deliveries/backlog.ts'
import type { DeliveryBacklog } from './deliveries/delivery.ts'
import { type Cells, inEveryUpCell } from './kit/cells/cells.ts'
import type { Clock } from './kit/clock.ts'
import type { Db } from './kit/db/db.ts'
import { addChecks, findInvariantCheck, type InvariantCheck } from './kit/db/invariant-checks.ts'
import { type OperatorRoute, ok, operatorRoute } from './kit/http/route.ts'
import { count, Nullable, namedObject, Timestamp, text } from './kit/http/schema.ts'
import type { Backlog } from './kit/observability/backlog.ts'
import { readSettlementBacklog } from './ledger/service.ts'
import { InvariantRecord } from './merchants/schema.ts'
import { readRefundBacklog } from './refunds/find.ts'
import { readPaymentBacklog } from './resolver/backlog.ts'

export interface InstanceState {
  jobs: Backlog[]
  deliveries: DeliveryBacklog
  openCases: Record<CaseOwner, number>
  /** Undefined before the first check. */
  invariants: InvariantCheck | undefined
}

interface Needs {
  db: Db
  cells?: Pick<Cells, 'numbers'>
  clock: Clock
}

/** Over every cell. The gauges of one that does not answer are missing, so that those of the others can be seen. */
export async function readInstanceState(app: Needs): Promise<InstanceState> {
  return (await inEveryUpCell(app.cells, () => readState(app))).reduce(addStates)
}

function addStates(one: InstanceState, other: InstanceState): InstanceState {
  const { pending, oldestPendingAt, failingEndpoints } = one.deliveries
  return {
    jobs: one.jobs.map((job) =>
      addBacklogs(
        job,
        other.jobs.find(({ name }) => name === job.name),
      ),
    ),
    deliveries: {
      ...addBacklogs(one.deliveries, other.deliveries),
      pending: pending + other.deliveries.pending,
      oldestPendingAt: earlier(oldestPendingAt, other.deliveries.oldestPendingAt),
      failingEndpoints: failingEndpoints + other.deliveries.failingEndpoints,
    },
    openCases: {
      merchant: one.openCases.merchant + other.openCases.merchant,
      operator: one.openCases.operator + other.openCases.operator,
    },
    invariants: addChecks(one.invariants, other.invariants),
  }
}

function addBacklogs<One extends Backlog>(one: One, other: Backlog | undefined): One {
  if (!other) return one
  return { ...one, due: one.due + other.due, oldestDueAt: earlier(one.oldestDueAt, other.oldestDueAt) }
}

const earlier = (one: Date | null, other: Date | null) =>
  one === null || (other !== null && other < one) ? other : one

async function readState({ db, clock }: Needs): Promise<InstanceState> {
  const now = clock.now()
  const [payments, refunds, settlements, deliveries, openCases, invariants] = await Promise.all([
    readPaymentBacklog(db, now),
    readRefundBacklog(db, now),
    readSettlementBacklog(db, now),
    readDeliveryBacklog(db, now),
    countOpenCases(db),
    findInvariantCheck(db),
  ])
  return { jobs: [...payments, ...refunds, ...settlements, deliveries], deliveries, openCases, invariants }
}

const JobsState = namedObject(
  'Backlog',
  {
    jobs: Type.Array(
      namedObject('JobBacklog', {
        name: text('The name of the job.'),
        due: count('How many records are due for it. The count stops at 10,000.'),
        oldestDueAt: Nullable(
          Timestamp,
          'Since when the oldest of them is due, in UTC. Null if none is due.',
        ),
      }),
      { description: 'The background jobs and their backlog.' },
    ),
    deliveries: namedObject(
      'DeliveryBacklog',
      {
        pending: count('How many deliveries are not finished.'),
        oldestPendingAt: Nullable(
          Timestamp,
          'When the oldest of them was created, in UTC. Null if there is none.',
        ),
        failingEndpoints: count('How many webhook endpoints fail at present.'),
      },
      { description: 'The deliveries of events to webhook endpoints.' },
    ),
    openCases: namedObject(
      'OpenCases',
      {
        merchant: count('Those that merchants decide.'),
        operator: count('Those that the operator decides.'),
      },
      { description: 'How many cases are open.' },
    ),
    invariantsCheckedAt: Nullable(
      Timestamp,
      'When the invariants were last checked, in UTC. Null before the first check.',
    ),
    invariants: Type.Array(InvariantRecord, {
      description: 'What the last check found. Empty before the first check.',
    }),
  },
  { description: 'What the background jobs have to do.' },
)

export function instanceRoutes(app: Needs): OperatorRoute[] {
  return [
    operatorRoute({
      method: 'GET',
      path: '/admin/v1/jobs',
      operationId: 'jobs.get',
      summary: 'Get the backlog of background jobs and of event deliveries',
      description:
        'The same in every process. A job whose oldest record is due for minutes does not keep up.',
      response: { http: 200, data: JobsState },
      errors: [],
      examples: {
        data: {
          jobs: [{ name: 'resolve-attempts', due: 2, oldestDueAt: '2026-03-14T09:26:53.589Z' }],
          deliveries: { pending: 0, oldestPendingAt: null, failingEndpoints: 0 },
          openCases: { merchant: 1, operator: 0 },
          invariantsCheckedAt: '2026-03-14T09:00:00.000Z',
          invariants: [{ name: 'invariant_i01_entries_balance', violations: 0 }],
        },
      },
      handle: async () => ok('Background jobs.', serializeState(await readInstanceState(app))),
    }),
  ]
}

function serializeState({ jobs, deliveries, openCases, invariants }: InstanceState) {
  const { pending, oldestPendingAt, failingEndpoints } = deliveries
  return {
    jobs: jobs.map(({ name, due, oldestDueAt }) => ({ name, due, oldestDueAt: textOf(oldestDueAt) })),
    deliveries: { pending, oldestPendingAt: textOf(oldestPendingAt), failingEndpoints },
    openCases,
    invariantsCheckedAt: textOf(invariants?.finishedAt ?? null),
    invariants: Object.entries(invariants?.report ?? {})
      .map(([name, violations]) => ({ name, violations }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
  }
}

const textOf = (at: Date | null) => at?.toISOString() ?? null
