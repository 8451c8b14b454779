// The periodic look through the refunds of every account at a provider, for refunds whose webhook was lost or is not
// sent. It only makes the attempts of unknown refunds due; src/provider-refunds/lookup.ts then asks about each.

import { addMs } from '../kit/clock.ts'
import { errorFields } from '../kit/observability/log.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { withoutBooked } from './lookup.ts'
import { addAccounts, advanceAccount, claimAccounts, type DueAccount, scheduleLookups } from './queries.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** How often each account is looked through. */
const INTERVAL_MS = 15 * MINUTE_MS
// For the accounts of the instance, which have no time of creation; longer than most outages of ours.
const FIRST_LOOK_BACK_MS = 7 * DAY_MS
// Refunds of the last day are looked at again: a payment may be confirmed here later than it was refunded there.
const OVERLAP_MS = DAY_MS
const BATCH_SIZE = 20

/** Looks through the accounts that are due, and returns their number. */
export async function lookForRefunds(app: PaymentsApp): Promise<number> {
  const now = app.clock.now()
  // A trigger adds the accounts of merchants; those of the instance are in its configuration.
  const shared = app.gateways.supported.filter(({ isConfigured }) => isConfigured)
  const names = shared.map(({ definition }) => definition.name)
  await addAccounts(app.db, names, addMs(now, -FIRST_LOOK_BACK_MS), now)
  const due = await claimAccounts(app.db, now, addMs(now, INTERVAL_MS), BATCH_SIZE)
  for (const account of due) await lookThrough(app, account, now)
  return due.length
}

async function lookThrough(app: PaymentsApp, { account, lookedUntil }: DueAccount, now: Date): Promise<void> {
  const [name = '', merchantId = null, accountId = null] = account.split('/')
  try {
    const gateway = await app.gateways.find(merchantId ?? '', name, accountId)
    if (!gateway?.listRefunds) return
    const list = await gateway.listRefunds({ kind: 'period', from: addMs(lookedUntil, -OVERLAP_MS), to: now })
    if (list.kind === 'unknown') return
    const unknown = await withoutBooked(app, { name, accountId, merchantId }, list.refunds)
    const names = unknown
      .filter(({ status }) => status !== 'failed')
      .flatMap(({ paymentNames }) => paymentNames)
    if (names.length > 0) await scheduleLookups(app.db, { gateway: name, accountId, names }, now)
    await advanceAccount(app.db, account, now)
  } catch (error) {
    // The account is looked through again after the interval; the error must not stop the others.
    app.log.write('refund.lookup_failed', { gateway: name, ...errorFields(error) })
  }
}
