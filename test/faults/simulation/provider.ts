// A payment provider in simulated time. Its books are the truth about money: what it has collected and given back, under
// which key. It keeps keys for a while, may begin late what it was asked for, may tell what was true a moment ago, and
// rings when something has changed.

import type { FailureCode } from '../../../src/core/failures.ts'
import { type Money, money } from '../../../src/core/money.ts'
import type {
  Attempt,
  Outcome,
  RecoveryProperties,
  RefundOutcome,
  RefundRequest,
  SavedMethod,
  StartedCheckout,
} from '../../../src/gateways/gateway.ts'
import type { Chance } from './chance.ts'
import type { Sim } from './sim.ts'

type DealStatus = 'begun' | 'open' | 'succeeded' | 'declined' | 'cancelled'

/** What the provider knows of one of our keys. */
export interface Deal {
  key: string
  operation: 'checkout' | 'charge'
  paymentId: string
  amount: Money
  paid: Money
  reference: string
  firstSeenMs: number
  status: DealStatus
  code: FailureCode
  savedMethod: SavedMethod | null
  /** What it says when it is asked, and since when. */
  told: { atMs: number; status: DealStatus }[]
}

export interface Execution {
  key: string
  paymentId: string
  amountMinor: bigint
  atMs: number
}

export interface Given {
  key: string
  attemptKey: string
  amountMinor: bigint
  /** The payer's bank could not take it, and a person has to find another way. */
  cameBack: boolean
}

interface RefundDeal {
  status: 'pending' | 'succeeded' | 'failed'
  /** Until then it says that it does not know it. */
  knownAtMs: number
}

export interface Provider {
  readonly name: string
  readonly recovery: RecoveryProperties
  readonly deals: ReadonlyMap<string, Deal>
  /** Money that was collected, in the order in which it was. */
  readonly executions: readonly Execution[]
  readonly given: readonly Given[]
  /** Whether it can close a page that nobody has paid. */
  readonly cancels: boolean
  hasRefused(key: string): boolean
  charge(attempt: Attempt): Outcome | 'silence'
  openPage(attempt: Attempt): StartedCheckout | Outcome | 'silence'
  ask(key: string): Outcome
  cancel(key: string): Outcome
  refund(request: RefundRequest): RefundOutcome | 'silence'
  askRefund(key: string): RefundOutcome
  /** The payer acts on the provider's page; false when there is no page to act on. */
  pay(key: string): boolean
  decline(key: string): boolean
}

export interface ProviderOptions {
  name: string
  recovery: RecoveryProperties
  /** How long it really keeps keys. */
  keepsKeysMs: number
  /** Something has changed about the attempt with this key. */
  ring: (key: string) => void
}

const HOUR_MS = 3_600_000

const NOT_FOUND = { kind: 'unknown', reason: 'not_found', message: 'unknown key' } as const

export function createProvider(sim: Sim, options: ProviderOptions): Provider {
  const { chance, scheduler } = sim
  const deals = new Map<string, Deal>()
  const executions: Execution[] = []
  const given: Given[] = []
  const refunds = new Map<string, RefundDeal>()
  // Whoever is refused is refused again, as long as the reason is there.
  const refusedKeys = new Set<string>()
  const cancels = chance.happens(0.5)

  const tell = (deal: Deal, status: DealStatus) => {
    deal.status = status
    deal.told.push({ atMs: scheduler.now(), status })
    options.ring(deal.key)
  }
  const collect = (deal: Deal) => {
    const { key, paymentId, paid } = deal
    executions.push({ key, paymentId, amountMinor: paid.minor, atMs: scheduler.now() })
    tell(deal, 'succeeded')
  }
  const begin = (attempt: Attempt): Deal => {
    const { key, operation, paymentId, amount } = attempt
    const isOdd = operation === 'checkout' && sim.suffers('collectsAnotherAmount')
    const deal: Deal = {
      ...{ key, operation, paymentId, amount },
      paid: isOdd ? money(amount.minor - 1n, amount.currency) : amount,
      reference: `${options.name}-${deals.size + 1}`,
      firstSeenMs: scheduler.now(),
      status: 'begun',
      code: chance.happens(0.15) ? 'authentication_required' : 'insufficient_funds',
      savedMethod: operation === 'checkout' && chance.happens(0.3) ? savedCard(chance, attempt) : null,
      told: [],
    }
    deals.set(key, deal)
    return deal
  }
  const known = (key: string): Deal | undefined => {
    const deal = deals.get(key)
    return deal && scheduler.now() - deal.firstSeenMs < options.keepsKeysMs ? deal : undefined
  }
  const refused = (key: string): Outcome | undefined => {
    if (sim.isCalm() || !(refusedKeys.has(key) || sim.suffers('refuses'))) return undefined
    refusedKeys.add(key)
    return {
      kind: 'declined',
      code: 'provider_unavailable',
      message: 'no',
      gatewayReference: null,
      refused: true,
    }
  }

  /** What was asked for happens, at once or a while later. */
  const decideCharge = (deal: Deal): Outcome | 'silence' => {
    const isPaid = chance.happens(0.7)
    const end = () => (isPaid ? collect(deal) : tell(deal, 'declined'))
    if (sim.suffers('executesLate')) {
      const delayMs = chance.between(0, 40_000)
      sim.lasts(delayMs)
      scheduler.after(delayMs, `${options.name} executes late`, end)
      return 'silence'
    }
    if (chance.happens(0.2)) {
      tell(deal, 'open')
      scheduler.after(chance.between(100, 8_000), `${options.name} executes`, end)
      return toOutcome(deal, 'open')
    }
    end()
    return toOutcome(deal, deal.status)
  }

  const giveBack = (request: RefundRequest): RefundOutcome | 'silence' => {
    const { key, attemptKey, amount } = request
    const isGiven = chance.happens(0.85)
    const comesBack = chance.happens(0.1)
    const gift: Given = { key, attemptKey, amountMinor: amount.minor, cameBack: false }
    const deal: RefundDeal = { status: 'pending', knownAtMs: scheduler.now() }
    refunds.set(key, deal)
    const fail = () => {
      deal.status = 'failed'
      gift.cameBack = true
      options.ring(attemptKey)
    }
    const end = () => {
      deal.status = isGiven ? 'succeeded' : 'failed'
      deal.knownAtMs = Math.min(deal.knownAtMs, scheduler.now())
      if (isGiven) given.push(gift)
      options.ring(attemptKey)
      if (isGiven && comesBack) scheduler.after(chance.between(5_000, 60_000), 'refund comes back', fail)
    }
    if (sim.suffers('executesLate')) {
      deal.knownAtMs = Number.POSITIVE_INFINITY
      const delayMs = chance.between(0, 30_000)
      sim.lasts(delayMs)
      scheduler.after(delayMs, `${options.name} refunds late`, end)
      return 'silence'
    }
    if (chance.happens(0.4)) scheduler.after(chance.between(100, 8_000), `${options.name} refunds`, end)
    else end()
    return toRefundOutcome(key, deal)
  }

  const ofRefund = (key: string): RefundOutcome => {
    const deal = refunds.get(key)
    const isKnown = deal !== undefined && deal.knownAtMs <= scheduler.now() && !sim.suffers('tellsOldNews')
    return isKnown ? toRefundOutcome(key, deal) : NOT_FOUND
  }

  const onPage = (key: string, act: (deal: Deal) => void): boolean => {
    const deal = deals.get(key)
    const isRetried = deal?.status === 'declined' && options.recovery.paysAfterDecline === true
    if (deal?.operation !== 'checkout' || !(deal.status === 'open' || isRetried)) return false
    act(deal)
    return true
  }

  return {
    name: options.name,
    recovery: options.recovery,
    deals,
    executions,
    given,
    cancels,
    hasRefused: (key) => refusedKeys.has(key),
    charge(attempt) {
      const again = known(attempt.key)
      if (again) return again.told.length === 0 ? 'silence' : toOutcome(again, again.status)
      return refused(attempt.key) ?? decideCharge(begin(attempt))
    },
    openPage(attempt) {
      const again = known(attempt.key)
      if (again) return again.status === 'open' ? toStarted(again) : toOutcome(again, again.status)
      const no = refused(attempt.key)
      if (no) return no
      const deal = begin(attempt)
      tell(deal, 'open')
      return toStarted(deal)
    },
    ask(key) {
      const deal = deals.get(key)
      const lagMs = sim.suffers('tellsOldNews') ? chance.between(0, 20_000) : 0
      const told = deal?.told.findLast(({ atMs }) => atMs <= scheduler.now() - lagMs)
      return deal && told ? toOutcome(deal, told.status) : NOT_FOUND
    },
    cancel(key) {
      const deal = deals.get(key)
      if (!deal) return NOT_FOUND
      if (deal.status === 'open' && deal.operation === 'checkout') tell(deal, 'cancelled')
      return toOutcome(deal, deal.status)
    },
    refund(request) {
      const again = options.recovery.nonIdempotentRefunds ? undefined : refunds.get(request.key)
      if (again) return again.knownAtMs <= scheduler.now() ? toRefundOutcome(request.key, again) : 'silence'
      return giveBack(request)
    },
    askRefund: ofRefund,
    pay: (key) => onPage(key, collect),
    decline: (key) => onPage(key, (deal) => tell(deal, 'declined')),
  }
}

function savedCard(chance: Chance, { customer: { email } }: Attempt): SavedMethod {
  return {
    type: 'card',
    credential: `credential-${chance.below(3)}`,
    fingerprint: `card of ${email}`,
    card: { brand: 'Visa', last4: '4242', expiryMonth: 12, expiryYear: 2099, country: 'KE' },
    mobileMoney: null,
    currencies: ['KES'],
  }
}

function toStarted(deal: Deal): StartedCheckout {
  const url = `https://provider.example/${deal.key}`
  return { kind: 'started', gatewayReference: deal.reference, next: { kind: 'redirect', url } }
}

function toOutcome(deal: Deal, status: DealStatus): Outcome {
  const { reference: gatewayReference, key, paid, savedMethod } = deal
  switch (status) {
    case 'succeeded': {
      const paidAt = new Date(Math.floor(deal.told.findLast((one) => one.status === status)?.atMs ?? 0))
      return { kind: 'succeeded', gatewayReference, paid, key, savedMethod, paidAt }
    }
    case 'declined':
      return { kind: 'declined', code: deal.code, message: 'declined', gatewayReference }
    case 'cancelled':
      return { kind: 'declined', code: 'customer_cancelled', message: 'cancelled', gatewayReference }
    case 'begun':
    case 'open':
      return { kind: 'pending', gatewayReference }
  }
}

function toRefundOutcome(key: string, { status }: RefundDeal): RefundOutcome {
  const gatewayReference = `refund-${key}`
  if (status === 'failed') return { kind: 'failed', message: 'not possible', gatewayReference }
  return { kind: status, gatewayReference }
}

/** What a provider promises; some of it is different from schedule to schedule. */
export function drawRecovery(
  sim: Sim,
  isHasty: boolean,
): { recovery: RecoveryProperties; keepsKeysMs: number } {
  const { chance } = sim
  // A key that is kept for seconds only makes the end of its time part of the schedule.
  const keyRetentionHours = isHasty ? 25_000 / HOUR_MS : 24
  const recovery: RecoveryProperties = {
    ...{ keyRetentionHours, cachesErrors: true, lookupByReference: true },
    ...(chance.happens(0.3) && { paysAfterDecline: true }),
    ...(chance.happens(0.2) && { sequentialRefunds: true }),
    ...(chance.happens(0.2) && { nonIdempotentRefunds: true }),
  }
  return { recovery, keepsKeysMs: keyRetentionHours * HOUR_MS }
}
