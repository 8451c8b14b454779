import { apiKeyJobs } from '../api-keys/jobs.ts'
import { moveJobs } from '../cells/moves/jobs.ts'
import { checkoutJobs } from '../checkout/jobs.ts'
import type { Config } from '../config.ts'
import { customerJobs } from '../customers/jobs.ts'
import type { DeliveriesApp } from '../deliveries/app.ts'
import { deliveryJobs } from '../deliveries/jobs.ts'
import { gatewayTokenJobs } from '../gateway-tokens/jobs.ts'
import { gatewayWebhookJobs } from '../gateway-webhooks/jobs.ts'
import { areSeveral, type Cells, runInCell } from '../kit/cells/cells.ts'
import type { Clock } from '../kit/clock.ts'
import { type ConnectedDb, movedMerchantOf } from '../kit/db/db.ts'
import { invariantJobs } from '../kit/db/invariant-checks.ts'
import type { DueJobs } from '../kit/due-poll.ts'
import { type Job, type JobRunner, startJobs } from '../kit/jobs.ts'
import type { Log } from '../kit/observability/log.ts'
import { ledgerJobs } from '../ledger/jobs.ts'
import type { LinksApp } from '../links/app.ts'
import { linkJobs } from '../links/jobs.ts'
import { p2pJobs } from '../p2p/jobs.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { paymentJobs } from '../payments/jobs.ts'
import { peopleJobs } from '../people/jobs.ts'
import { providerRefundJobs } from '../provider-refunds/jobs.ts'
import { refundJobs } from '../refunds/jobs.ts'
import { reportJobs } from '../reports/jobs.ts'
import { requestLogJobs } from '../request-log/jobs.ts'
import { resolverJobs } from '../resolver/jobs.ts'
import { webhookEndpointJobs } from '../webhook-endpoints/jobs.ts'
import type { App } from './app-object.ts'
import { findDueTimes, POLLED_JOBS } from './due-queries.ts'
import type { Parts } from './parts.ts'

/** The background jobs of every slice. Any number of processes share them: a job claims its work in the database. */
export function startBackgroundJobs(parts: Parts, app: App): JobRunner {
  const { cells, config } = parts
  if (!areSeveral(cells)) return startJobs(app, backgroundJobs(app, config), dueJobs(parts.db, app.clock))
  // Each cell has its own loops and its own backoff, so that a cell that is down delays no other.
  const stopping = new AbortController()
  const runners = [
    startJobs(app, [
      ...instanceJobs(app),
      ...(app.placement?.jobs ?? []),
      ...movingJobs(app, stopping.signal),
    ]),
    ...cells.numbers.map((cell) => {
      const jobs = cellJobs(app, config).map((job) => inCell(cells, cell, job))
      const log = withCell(app.log, cells.nameOf(cell))
      return startJobs({ ...app, log }, jobs, dueJobsOf(cells, cell, app.clock))
    }),
  ]
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all(runners.map((runner) => runner.stop()))
    },
  }
}

function movingJobs(app: App, signal: AbortSignal): Job[] {
  const { placement } = app
  return placement ? moveJobs({ ...app, copyMerchant: placement.copyMerchant }, signal) : []
}

/** The lines name the cell in which a job has failed. */
function withCell(log: Log, cell: string): Log {
  return { ...log, write: (key, fields) => log.write(key, { ...fields, cell }) }
}

/** All jobs of an instance with one cell. */
export function backgroundJobs(app: App, config: Config): Job[] {
  return [...instanceJobs(app), ...cellJobs(app, config)]
}

/** The same job over one cell, until that is removed. */
function inCell({ numbers }: Cells, cell: number, job: Job): Job {
  const isThere = () => numbers.includes(cell)
  if ('run' in job) return { ...job, run: async () => (isThere() ? runInCell(cell, job.run) : 0) }
  const claim = async (limit: number) => {
    if (!isThere()) return []
    const tasks = await runInCell(cell, () => job.claim(limit))
    return tasks.map((task) => () => runInCell(cell, () => task().catch(ignoreMoved)))
  }
  return { ...job, claim }
}

/** The work of a merchant that was moved meanwhile is claimed again in its new cell. */
function ignoreMoved(error: unknown): void {
  if (movedMerchantOf(error) === undefined) throw error
}

function instanceJobs(app: App): Job[] {
  return [...apiKeyJobs(app), ...peopleJobs(app), ...checkoutJobs(app), ...gatewayTokenJobs(app)]
}

function cellJobs(
  app: App,
  { invariantCheckMinutes, idempotencyRetentionDays, deliveryRetentionDays, requestLogDays }: Config,
): Job[] {
  return [
    ...paymentJobs(app, idempotencyRetentionDays),
    ...resolverJobs(app),
    ...gatewayWebhookJobs(app),
    ...refundJobs(app),
    ...providerRefundJobs(app),
    ...linkJobs(app),
    ...p2pJobs(app),
    ...customerJobs(app),
    ...ledgerJobs(app),
    ...reportJobs(app),
    ...webhookEndpointJobs(app),
    ...deliveryJobs(app, deliveryRetentionDays),
    ...requestLogJobs(app, requestLogDays),
    ...invariantJobs(app, invariantCheckMinutes * 60_000),
  ]
}

function dueJobsOf(cells: Cells, cell: number, clock: Clock): DueJobs {
  return {
    names: POLLED_JOBS,
    find: async () =>
      cells.numbers.includes(cell) ? findDueTimes(cells.open(cell), clock.now()) : new Map(),
    writeCount: () => (cells.isOpen(cell) ? cells.open(cell).writeCount() : 0),
  }
}

/** When background jobs have due work. The raw handle: a poll is no step at which a failpoint may fire. */
function dueJobs(db: ConnectedDb, clock: Clock): DueJobs {
  return { names: POLLED_JOBS, find: () => findDueTimes(db, clock.now()), writeCount: db.writeCount }
}

/** The jobs that make time pass for one merchant. The test clock runs them at once, as the merchant of the request. */
export function testClockJobs(app: PaymentsApp & LinksApp & DeliveriesApp): Job[] {
  return [
    ...resolverJobs(app),
    ...refundJobs(app),
    ...p2pJobs(app),
    ...linkJobs(app),
    ...customerJobs(app),
    ...ledgerJobs(app).filter(({ name }) => name === 'settle-money'),
    ...deliveryJobs(app).filter(({ name }) => ['deliver-events', 'dead-letter-deliveries'].includes(name)),
  ]
}
