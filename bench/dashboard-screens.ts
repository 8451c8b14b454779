// The screens of the dashboard that are measured: every one without an id in its path, and those below, which have
// filters, texts to search for, or an id. A new screen with an id must be added here.

import { OPS_SCREENS } from '../src/dashboard/ops/routes.ts'
import { SCREENS } from '../src/dashboard/routes.ts'
import { requestIdOf } from './dashboard-rows.ts'
import { emailOf, FIRSTNAMES, LASTNAMES, nameOf, referenceOf } from './growth-rows.ts'

/** Ids and names of one merchant, of which a round takes one after the other. */
export interface Records {
  paid: readonly string[]
  declined: readonly string[]
  refunded: readonly string[]
  customers: readonly string[]
  events: readonly string[]
  merchant: string
}

export interface Target {
  records: Records
  payments: number
  customers: number
  now: Date
}

export interface MeasuredScreen {
  name: string
  /** The screen as its route names it, such as /app/payments/{uuid}. */
  screen: string
  area: 'app' | 'ops'
  /** Undefined: the merchant has no such record. */
  path(target: Target, n: number): string | undefined
  /** Milliseconds of the 95th percentile; absent: the limit of all. Null, with the reason beside it: none. */
  limitMs?: number | null
}

const DAY_MS = 86_400_000
const one = (list: readonly string[], n: number) => (list.length === 0 ? undefined : list[n % list.length])
const day = ({ now }: Target, ago: number) =>
  new Date(now.getTime() - ago * DAY_MS).toISOString().slice(0, 10)
const query = (values: Record<string, string>) => new URLSearchParams(values).toString()

type Query = (target: Target, n: number) => Record<string, string>

const filtered = (screen: string, name: string, values: Query): MeasuredScreen => ({
  name: `${screen} ${name}`,
  screen,
  area: 'app',
  path: (target, n) => `${screen}?${query(values(target, n))}`,
})

const ofOperators = (screen: string, name: string, values: Record<string, string>): MeasuredScreen => ({
  ...filtered(screen, name, () => values),
  area: 'ops',
})

const search = (name: string, text: (n: number, target: Target) => string): MeasuredScreen =>
  filtered('/app/search', `for ${name}`, (target, n) => ({ q: text(n, target) }))

const record = (screen: string, kind: keyof Omit<Records, 'merchant'>): MeasuredScreen => ({
  name: `${screen}, ${kind}`,
  screen,
  area: 'app',
  path: ({ records }, n) => {
    const id = one(records[kind], n)
    return id && screen.replace('{uuid}', id)
  },
})

/** Of the later half, so that it is not the beginning of many others. */
const lateReference = (n: number, { payments }: Target) =>
  referenceOf(payments - 1 - (n % Math.ceil(payments / 2)))

const DAYS_90: Query = (target) => ({ from: day(target, 89), to: day(target, 0) })

const VARIANTS: readonly MeasuredScreen[] = [
  ...(['successful', 'failed', 'partially_refunded', 'disputed'] as const).map((status) =>
    filtered('/app/payments', `status ${status}`, () => ({ status })),
  ),
  filtered('/app/payments', 'currency', () => ({ currency: 'KES' })),
  filtered('/app/payments', 'method', () => ({ channel: 'mobile_money' })),
  filtered('/app/payments', 'of a day', (target) => ({
    createdFrom: day(target, 40),
    createdTo: day(target, 40),
  })),
  filtered('/app/payments', 'failed of a month', (target) => ({
    status: 'failed',
    createdFrom: day(target, 60),
    createdTo: day(target, 30),
  })),
  filtered('/app/payments', 'search', (target, n) => ({ search: lateReference(n, target) })),
  filtered('/app/payments', 'page 100', () => ({ page: '100' })),
  search('a reference', lateReference),
  search('the beginning of the references of many old payments', () => 'order-13'),
  search('an e-mail', (n, { customers }) => emailOf(n % customers)),
  search('the beginning of an e-mail', (n, { customers }) => emailOf(n % customers).split('@')[0] ?? ''),
  search('a first and last name', (n) => `${nameOf(FIRSTNAMES, n)} ${nameOf(LASTNAMES, n)}`),
  search('a phone number', (n) => `+2547${String((n * 7919) % 100_000_000).padStart(8, '0')}`),
  search('an amount', (n, { payments }) =>
    ((100_000 + (((n % payments) * 7919) % 900_001)) / 100).toFixed(2),
  ),
  search("the provider's reference", (n, { payments }) => `sandbox-${n % payments}`),
  search('a receipt number', (n, { payments }) => `MP${String(n % payments).padStart(8, '0')}`),
  search('a text without a match', (n) => `nothing-${n}-xyz`),
  search('a text of every payment', () => 'order'),
  search('a text of every seventh e-mail', (n) => `@mail${n % 7}`),
  search('three digits', (n) => String(100 + (n % 900))),
  record('/app/payments/{uuid}', 'paid'),
  record('/app/payments/{uuid}', 'declined'),
  record('/app/payments/{uuid}', 'refunded'),
  filtered('/app/refunds', 'search', (_, n) => ({ search: `refund-${n * 50 + 1}` })),
  filtered('/app/refunds', 'status', () => ({ status: 'successful' })),
  filtered('/app/customers', 'search', (target, n) => ({ search: emailOf(n % target.customers) })),
  filtered('/app/customers', 'first name', (_, n) => ({ search: nameOf(FIRSTNAMES, n) })),
  record('/app/customers/{uuid}', 'customers'),
  filtered('/app/wallet', 'currency', () => ({ currency: 'KES' })),
  filtered('/app/wallet', 'of a day', (target) => ({
    createdFrom: day(target, 40),
    createdTo: day(target, 40),
  })),
  ...['day', 'gateway', 'channel', 'status', 'currency'].map((by) =>
    filtered('/app/reports', `90 days by ${by}`, (target, n) => ({ ...DAYS_90(target, n), by })),
  ),
  filtered('/app/developers/events', 'of a type', () => ({ type: 'charge.failed' })),
  record('/app/developers/events/{uuid}', 'events'),
  filtered('/app/developers/requests', 'failed', () => ({ outcome: 'failed' })),
  filtered('/app/developers/requests', 'of a reference', (target, n) => ({
    reference: lateReference(n, target),
  })),
  filtered('/app/developers/requests', 'of a route without requests', () => ({ route: '/api/v1/wallet' })),
  {
    name: '/app/developers/requests/{requestId}',
    screen: '/app/developers/requests/{requestId}',
    area: 'app',
    path: ({ payments }, n) =>
      payments === 0 ? undefined : `/app/developers/requests/${requestIdOf(n % Math.min(payments, 1_000))}`,
  },
  ofOperators('/ops/cases', 'of operators, all', { owner: 'operator', state: 'all' }),
  ofOperators('/ops/people', 'members', { kind: 'member' }),
  ofOperators('/ops/merchants', 'page 2', { page: '2' }),
  {
    name: '/ops/merchants/{uuid}',
    screen: '/ops/merchants/{uuid}',
    area: 'ops',
    path: ({ records: { merchant } }) => `/ops/merchants/${merchant}`,
  },
]

/** Screens of one record of a kind that a merchant has few of, whatever its payments: they read nothing else. */
const OF_FEW_RECORDS: readonly RegExp[] = [
  /^\/(?:app|ops)\/(?:cases|breaks)\/\{/,
  /^\/app\/(?:links|views|refunds\/requests)\/\{/,
  /^\/app\/p2p\/(?:accounts\/)?\{/,
  /^\/app\/developers\/endpoints\/\{/,
  /^\/app\/developers\/keys\/\{/,
  /^\/app\/settings\/gateways\/\{/,
  /^\/ops\/merchants\/\{uuid\}\//,
]

const isGet = ({ method }: { method: string }) => method === 'GET'

const ALL: readonly { screen: string; area: 'app' | 'ops' }[] = [
  ...SCREENS.filter(isGet).map(({ path }) => ({ screen: `/app${path}`, area: 'app' as const })),
  ...OPS_SCREENS.filter(isGet).map(({ path }) => ({ screen: `/ops${path}`, area: 'ops' as const })),
]

const PLAIN: readonly MeasuredScreen[] = ALL.filter(({ screen }) => !screen.includes('{')).map(
  ({ screen, area }) => ({ name: screen, screen, area, path: () => screen }),
)

export const MEASURED_SCREENS: readonly MeasuredScreen[] = [...PLAIN, ...VARIANTS].toSorted((a, b) =>
  a.screen < b.screen ? -1 : Number(a.screen > b.screen),
)

/** Screens that nothing here measures. */
export function unmeasuredScreens(): string[] {
  const measured = new Set(MEASURED_SCREENS.map(({ screen }) => screen))
  return ALL.map(({ screen }) => screen).filter(
    (screen) => !measured.has(screen) && !OF_FEW_RECORDS.some((pattern) => pattern.test(screen)),
  )
}
