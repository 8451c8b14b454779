// Fills a staging instance with a believable merchant: months of history, written by the services themselves in simulated
// time. So states, ledger, events and sums are what the service makes of such a history, and every invariant holds.

import { type Job, runJobsNow } from '../kit/jobs.ts'
import { countOnePayment } from '../links/link-events.ts'
import { createEndpoint } from '../webhook-endpoints/endpoints.ts'
import type { DemoApp, History } from './app.ts'
import { beginCheckout, beginLinkPayment } from './checkout-orders.ts'
import { actAs, leaveWork } from './decisions.ts'
import { createAccounts, createLinks, type DemoMerchant } from './merchant.ts'
import { type DemoPlan, type Order, planOrders, startOf } from './orders.ts'
import { beginTransfer, chargeCard } from './other-orders.ts'
import { analyzeHistory, findNextDelivery } from './queries.ts'
import { BOOKKEEPING, SHOP } from './receiver.ts'
import { writeRequests } from './request-lines.ts'
import { createSchedule } from './schedule.ts'
import { reconcileDay } from './settlement-file.ts'
import { runAt } from './simulated-time.ts'
import { createTeam, saveViews } from './team.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

// The merchant has webhooks since then: deliveries are made one by one, which takes longer than all else.
const WEBHOOKS_SINCE_MS = 3 * DAY_MS

// The hour of the day (UTC) at which due money is settled.
const SETTLEMENT_HOUR_MS = 4 * 60 * MINUTE_MS

const BEGIN: Readonly<Record<Order['kind'], (history: History, order: Order) => Promise<void>>> = {
  checkout: beginCheckout,
  link: beginLinkPayment,
  charge: chargeCard,
  p2p: beginTransfer,
}

/** Writes the history of the merchant. */
export async function writeHistory(
  app: DemoApp,
  { merchant, key }: DemoMerchant,
  plan: DemoPlan,
  onProgress: (share: number) => void,
): Promise<void> {
  const { nowMs } = plan
  const firstMs = startOf(plan)
  const schedule = createSchedule()
  const { links, team } = await runAt(firstMs, async () => {
    await createAccounts(app, merchant)
    return { links: await createLinks(app, merchant), team: await createTeam(app, merchant.id) }
  })
  const history: History = {
    app,
    merchant,
    keyId: key.key.keyId,
    nowMs,
    schedule,
    links,
    team,
    paid: [],
    uncountedAtMs: null,
    cards: new Map(),
  }
  const orders = planOrders(plan)
  for (const order of orders)
    schedule.add(order.atMs, order.kind === 'charge' ? order.market.currency : null, () =>
      BEGIN[order.kind](history, order),
    )
  const webhooksMs = Math.max(nowMs - WEBHOOKS_SINCE_MS, firstMs)
  let days = 0
  for (const timeMs of [...settlementTimes(firstMs, nowMs), webhooksMs, nowMs].toSorted((a, b) => a - b)) {
    await schedule.runUntil(timeMs, () => countLinkPayments(history))
    days += 1
    // Whenever the history has doubled, and before the deliveries.
    if (timeMs === nowMs || Number.isInteger(Math.log2(days))) await analyzeHistory(app.db)
    await runAt(timeMs, () =>
      app.db.asTenant(merchant.id, () => runDue(app, timeMs === nowMs ? app.dueJobs : app.dailyJobs)),
    )
    if (timeMs === webhooksMs) await runAt(timeMs, () => addEndpoints(history))
    onProgress((timeMs - firstMs) / (nowMs - firstMs))
  }
  await app.db.asTenant(merchant.id, () => deliverEvents(history))
  await leaveWork(history)
  await runAt(nowMs - RECONCILED_MS, () => reconcileDay(history))
  await runAt(nowMs, async () => {
    await saveViews(history)
    await writeRequests(history, orders)
  })
}

// How long ago an operator has compared the last settlement file.
const RECONCILED_MS = 18 * 60 * MINUTE_MS

// How long after the event the worker calls the endpoint.
const DELIVERY_DELAY_MS = 300

/** Makes the deliveries in the order of time, each when it is due. Retries after the end are still to come. */
async function deliverEvents({ app, merchant, nowMs }: History): Promise<void> {
  for (let timeMs = 0; ; ) {
    const dueAt = await findNextDelivery(app.db, merchant.id)
    timeMs = Math.max(timeMs, (dueAt?.getTime() ?? Number.POSITIVE_INFINITY) + DELIVERY_DELAY_MS)
    if (timeMs > nowMs) return
    await runAt(timeMs, () => runJobsNow(app, app.deliveryJobs))
  }
}

function settlementTimes(firstMs: number, nowMs: number): number[] {
  const days = Math.ceil((nowMs - firstMs) / DAY_MS) + 1
  const firstDayMs = Math.floor(firstMs / DAY_MS) * DAY_MS + SETTLEMENT_HOUR_MS
  return Array.from({ length: days }, (_, day) => firstDayMs + day * DAY_MS).filter(
    (timeMs) => timeMs > firstMs && timeMs < nowMs,
  )
}

async function addEndpoints(history: History): Promise<void> {
  const { app, merchant } = history
  for (const endpoint of [SHOP, BOOKKEEPING])
    await actAs(history, 'developer', 'POST /api/v1/webhooks/endpoints', () =>
      createEndpoint(app, merchant, endpoint, undefined),
    )
}

/** Counts the payments of links that were paid in the last wave. */
async function countLinkPayments(history: History): Promise<void> {
  const { app, merchant, uncountedAtMs } = history
  if (uncountedAtMs === null) return
  history.uncountedAtMs = null
  const countAll = async () => {
    while ((await countOnePayment(app)) > 0);
  }
  await runAt(uncountedAtMs, () => app.db.asTenant(merchant.id, countAll))
}

/** Runs each job until nothing is due for it. */
async function runDue(app: DemoApp, jobs: readonly Job[]): Promise<void> {
  for (const job of jobs) while ((await runJobsNow(app, [job])) > 0);
}
