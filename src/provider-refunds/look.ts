// The periodic look through the refunds and disputes of every account at a provider, for those whose webhook was lost or
// is not sent. It only makes attempts due: src/provider-refunds/lookup.ts then asks about the refunds of each, and the
// resolver about its disputes.

import type { Gateway } from '../gateways/gateway.ts'
import { addMs } from '../kit/clock.ts'
import { errorFields } from '../kit/observability/log.ts'
import type { PaymentsApp } from '../payments/app.ts'
import {
  addAccounts,
  advanceAccount,
  claimAccounts,
  type DueAccount,
  scheduleLookups,
  schedulePaid,
  wakeDisputed,
} from './queries.ts'
import { withoutBooked } from './unbooked.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** How often each account is looked through. */
const INTERVAL_MS = 15 * MINUTE_MS
// For the accounts of the instance, which have no time of creation; longer than most outages of ours.
const FIRST_LOOK_BACK_MS = 7 * DAY_MS
// The last day is looked at again: a payment may be confirmed here later than it was refunded or disputed there.
const OVERLAP_MS = DAY_MS
const BATCH_SIZE = 20
// How old a payment is when its refunds are asked about, where the provider does not list those of an account. Each is a
// request, and most refunds are made in the first days.
const PAID_AGES_MS = [DAY_MS, 3 * DAY_MS, 10 * DAY_MS, 30 * DAY_MS]

/** Adds the accounts of the instance, which are in its configuration. A trigger adds those of merchants. */
export async function addSharedAccounts(app: PaymentsApp): Promise<void> {
  const now = app.clock.now()
  const shared = app.gateways.supported.filter(({ isConfigured }) => isConfigured)
  const names = shared.map(({ definition }) => definition.name)
  await addAccounts(app.db, names, addMs(now, -FIRST_LOOK_BACK_MS), now)
}

/** Looks through the accounts that are due, and returns their number. */
export async function lookForRefunds(app: PaymentsApp): Promise<number> {
  const now = app.clock.now()
  const due = await claimAccounts(app.db, now, addMs(now, INTERVAL_MS), BATCH_SIZE)
  for (const account of due) await lookThrough(app, account, now)
  return due.length
}

async function lookThrough(app: PaymentsApp, due: DueAccount, now: Date): Promise<void> {
  const { account, lookedUntil, disputesLookedUntil } = due
  const [name = '', merchantId = null, accountId = null] = account.split('/')
  try {
    const gateway = await app.gateways.find(merchantId ?? '', name, accountId)
    if (!gateway) return
    const owner = { gateway: name, accountId, merchantId }
    const period = (until: Date) => ({ from: addMs(until, -OVERLAP_MS), to: now })
    const hasRefunds = gateway.behavior.listsRefundsByPayment
      ? await lookAtPaid(app, owner, lookedUntil, now)
      : await lookAtRefunds(app, gateway, owner, period(lookedUntil))
    const hasDisputes = await lookAtDisputes(app, gateway, owner, period(disputesLookedUntil))
    const refundsUntil = hasRefunds ? now : null
    const disputesUntil = hasDisputes ? now : null
    if (refundsUntil || disputesUntil) await advanceAccount(app.db, account, { refundsUntil, disputesUntil })
  } catch (error) {
    // The account is looked through again after the interval; the error must not stop the others.
    app.log.write('refund.lookup_failed', { gateway: name, ...errorFields(error) })
  }
}

interface Owner {
  gateway: string
  accountId: string | null
  merchantId: string | null
}
interface Period {
  from: Date
  to: Date
}

/** Makes the payments due that have reached one of the ages since the last look. */
async function lookAtPaid(app: PaymentsApp, owner: Owner, lookedUntil: Date, now: Date): Promise<true> {
  const periods = PAID_AGES_MS.map((age) => ({ from: addMs(lookedUntil, -age), to: addMs(now, -age) }))
  await schedulePaid(app.db, owner, periods, now)
  return true
}

/** False if the provider has no list, or did not answer. */
async function lookAtRefunds(
  app: PaymentsApp,
  gateway: Gateway,
  owner: Owner,
  period: Period,
): Promise<boolean> {
  const list = await gateway.listRefunds?.({ kind: 'period', ...period })
  if (list?.kind !== 'refunds') return false
  const { unknown, failedHere } = await withoutBooked(app.db, owner, list.refunds)
  const names = [...unknown, ...failedHere]
    .filter(({ status }) => status !== 'failed')
    .flatMap(({ paymentNames }) => paymentNames)
  if (names.length > 0) await scheduleLookups(app.db, { ...owner, names }, period.to)
  return true
}

/** False if the provider has no list, or did not answer. */
async function lookAtDisputes(
  app: PaymentsApp,
  gateway: Gateway,
  owner: Owner,
  period: Period,
): Promise<boolean> {
  const list = await gateway.listDisputes?.(period)
  if (list?.kind !== 'disputes') return false
  const named = list.disputes.flatMap(({ paymentNames, reference, status }) =>
    paymentNames.map((one) => ({ name: one, reference, status })),
  )
  if (named.length > 0) await wakeDisputed(app.db, owner, named, period.to)
  return true
}
