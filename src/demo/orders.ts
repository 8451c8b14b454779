// The orders of the demo merchant: who buys what, when and for how much. A pure function of the seed: more orders on
// Fridays, few at night, and more in every month.

import { CURRENCIES } from '../core/currency.ts'
import { type Money, money } from '../core/money.ts'
import { MARKETS, type Market } from './markets.ts'
import { OUTAGE_BEGIN_MS, OUTAGE_END_MS } from './outage.ts'
import { createSeeded, type Seeded } from './seeded.ts'

export interface DemoPlan {
  seed: number
  months: number
  payments: number
  /** The history ends now. */
  nowMs: number
}

export interface Person {
  firstname: string
  lastname: string
  email: string
  phone: string
  /** The code of their mobile-money network; null where the market has none. */
  network: string | null
  card: { brand: string; last4: string }
}

export interface Order {
  /** From 1, in the order of time. */
  number: number
  atMs: number
  market: Market
  person: Person
  amount: Money
  kind: 'checkout' | 'charge' | 'link' | 'p2p'
  /** The provider answers with a status that we do not know. */
  hasUnknownOutcome: boolean
  /** The further fate of this order: independent of the fates of the others. */
  seeded: Seeded
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const DAYS_PER_MONTH = 30

export const startOf = ({ nowMs, months }: Pick<DemoPlan, 'nowMs' | 'months'>) =>
  nowMs - months * DAYS_PER_MONTH * DAY_MS

// From Sunday to Saturday.
const WEEKDAYS = [0.65, 0.95, 1, 1, 1.1, 1.35, 1.15]
const HOURS = [1, 1, 0, 0, 0, 1, 3, 6, 9, 11, 12, 13, 14, 12, 11, 11, 12, 14, 16, 18, 19, 15, 9, 4]

// Orders of the last days are twice those of the first ones.
const FIRST_DAY = 0.65
const LAST_DAY = 1.35

// How often a customer buys.
const ORDERS_PER_CUSTOMER = 3

export function planOrders(plan: DemoPlan): Order[] {
  const seeded = createSeeded(plan.seed)
  const days = dayWeights(plan)
  const markets = MARKETS.map((market) => [market, market.weight] as const)
  const total = MARKETS.reduce((sum, { weight }) => sum + weight, 0)
  const drafts = Array.from({ length: plan.payments }, (_, index) => {
    const market = seeded.choose(markets)
    const customers = Math.ceil((plan.payments * market.weight) / total / ORDERS_PER_CUSTOMER)
    // Some customers buy often, and most of them seldom.
    const customer = Math.floor(customers * seeded.fraction() ** 1.6)
    return {
      atMs: fixedTime(seeded, plan, index) ?? drawTime(seeded, plan, days, market),
      market,
      person: personOf(plan.seed, market, customer),
      amount: drawAmount(seeded, market),
      kind: drawKind(seeded, market),
      seeded: createSeeded(seeded.between(0, 2 ** 31)),
    }
  })
  const sorted = drafts.toSorted((one, other) => one.atMs - other.atMs)
  const unknown = sorted.findLast((draft) => mayBeUnknown(draft, plan))
  return sorted.map((draft, index) => ({ ...draft, number: index + 1, hasUnknownOutcome: draft === unknown }))
}

/** Paid by card some hours ago, so that no person has decided about it yet. */
function mayBeUnknown(
  { atMs, market, kind }: Pick<Order, 'atMs' | 'market' | 'kind'>,
  { nowMs }: DemoPlan,
): boolean {
  const isCard = Object.keys(market.channels).join() === 'card'
  return kind === 'checkout' && isCard && nowMs - atMs > 3 * HOUR_MS && nowMs - atMs < 5 * DAY_MS
}

// A few orders of the last minutes, so that checkouts are open; and a sale in the bad hour of the gateway, so that it shows.
const LAST_MINUTES = 0.002
const SALE = 0.006

function fixedTime(seeded: Seeded, { nowMs, payments }: DemoPlan, index: number): number | undefined {
  const lastOrders = Math.ceil(payments * LAST_MINUTES)
  if (index < lastOrders) return nowMs - seeded.between(60_000, HOUR_MS / 2)
  if (index < lastOrders + payments * SALE) return nowMs - seeded.between(OUTAGE_END_MS, OUTAGE_BEGIN_MS)
  return undefined
}

function dayWeights(plan: DemoPlan): (readonly [number, number])[] {
  const firstMs = startOf(plan)
  const count = Math.ceil((plan.nowMs - firstMs) / DAY_MS) + 1
  return Array.from({ length: count }, (_, day) => {
    const dayMs = Math.floor(firstMs / DAY_MS) * DAY_MS + day * DAY_MS
    const growth = FIRST_DAY + ((LAST_DAY - FIRST_DAY) * day) / count
    return [dayMs, growth * (WEEKDAYS[new Date(dayMs).getUTCDay()] ?? 1)] as const
  })
}

function drawTime(
  seeded: Seeded,
  plan: DemoPlan,
  days: readonly (readonly [number, number])[],
  { offsetHours }: Market,
): number {
  const hours = HOURS.map((weight, hour) => [hour, weight] as const)
  // A time outside of the period is drawn again: only the first and the last day have some.
  for (;;) {
    const hourMs = seeded.choose(days) + (seeded.choose(hours) - offsetHours) * HOUR_MS
    const atMs = hourMs + seeded.between(0, HOUR_MS - 1)
    if (atMs >= startOf(plan) && atMs < plan.nowMs) return atMs
  }
}

function drawAmount(seeded: Seeded, { currency, median, step }: Market): Money {
  const steps = Math.max(1, Math.round((median * seeded.spread(0.75)) / step))
  return money(BigInt(steps * step) * 10n ** BigInt(CURRENCIES[currency].decimals), currency)
}

function drawKind(seeded: Seeded, { p2pAccount, channels }: Market): Order['kind'] {
  return seeded.choose([
    ['checkout', 78],
    ['charge', (channels.card ?? 0) / 4],
    ['link', 7],
    ['p2p', p2pAccount ? 7 : 0],
  ])
}

/** The same person for the same number. */
function personOf(seed: number, market: Market, number: number): Person {
  const marketNumber = MARKETS.indexOf(market) + 1
  const seeded = createSeeded(seed ^ Math.imul(number + 1, 0x9e3779b1) ^ (marketNumber << 24))
  const firstname = seeded.pick(market.firstnames)
  const lastname = seeded.pick(market.lastnames)
  const networks = Object.entries(market.networks)
  const network =
    networks.length > 0 ? seeded.choose(networks.map(([code, { weight }]) => [code, weight] as const)) : null
  const prefix = (network && market.networks[network]?.prefix) ?? ''
  const digits = String(seeded.between(0, 10 ** market.digits - 1)).padStart(market.digits, '0')
  const brand = seeded.choose([
    ['visa', 6],
    ['mastercard', 4],
    ['verve', market.currency === 'NGN' ? 5 : 0],
  ])
  const last4 = String(seeded.between(0, 9_999)).padStart(4, '0')
  return {
    firstname,
    lastname,
    email: emailOf(firstname, lastname, number),
    phone: `${prefix}${digits}`,
    network,
    card: { brand, last4 },
  }
}

function emailOf(firstname: string, lastname: string, number: number): string {
  const name = `${firstname}.${lastname}`.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
  return `${name}${number}@example.com`
}
