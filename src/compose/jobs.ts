import { apiKeyJobs } from '../api-keys/jobs.ts'
import { checkoutJobs } from '../checkout/jobs.ts'
import type { Config } from '../config.ts'
import { customerJobs } from '../customers/jobs.ts'
import type { DeliveriesApp } from '../deliveries/app.ts'
import { deliveryJobs } from '../deliveries/jobs.ts'
import { gatewayTokenJobs } from '../gateway-tokens/jobs.ts'
import { gatewayWebhookJobs } from '../gateway-webhooks/jobs.ts'
import { invariantJobs } from '../kit/db/invariant-checks.ts'
import type { DueJobs } from '../kit/due-poll.ts'
import type { Job } from '../kit/jobs.ts'
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
export function backgroundJobs(
  app: App,
  { invariantCheckMinutes, idempotencyRetentionDays, deliveryRetentionDays, requestLogDays }: Config,
): Job[] {
  return [
    ...apiKeyJobs(app),
    ...peopleJobs(app),
    ...paymentJobs(app, idempotencyRetentionDays),
    ...checkoutJobs(app),
    ...resolverJobs(app),
    ...gatewayWebhookJobs(app),
    ...gatewayTokenJobs(app),
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

/** When background jobs have due work. The raw handle: a poll is no step at which a failpoint may fire. */
export function dueJobs({ db, clock }: Pick<Parts, 'db' | 'clock'>): DueJobs {
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
