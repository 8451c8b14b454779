// Which gateways are tried, and in which order: default routes, rails, the operator's rules for the merchant, and
// health. Pure, so that every process and every retry routes the same payment the same way.

import { createHash } from 'node:crypto'
import type { Currency } from '../../core/currency.ts'
import { meansAccount } from '../../core/gateway-accounts/name.ts'
import { type RoutingRule, type RoutingRules, ruleFor } from '../../core/routing-rules.ts'
import type { Rail } from '../gateway.ts'
import { type RailCriteria, servingRails, type Way, waysOf } from '../rails.ts'
import type { Route } from './default-routes.ts'

/** `down`: the circuit breaker is open. */
export type Health = 'up' | 'down'

export interface AvailableGateway {
  name: string
  /** The gateway's own name, if this account has a label: an entry of a route or rule with it means all accounts. */
  gateway?: string
  rails: readonly Rail[]
  health: Health
  /** Tried after all others, regardless of health: the sandbox. */
  isFallback?: boolean
}

export interface RoutingInput extends RailCriteria {
  routes: readonly Route[]
  available: readonly AvailableGateway[]
  rules: RoutingRules
  /** The key of the weighted split: the same for every retry of a payment. Null: no split, to explain the rules. */
  key: string | null
}

/** Why a gateway is in the list: the weighted split, a preference, the default route, or only its own rails. */
export type CandidateReason = 'split' | 'preferred' | 'route' | 'rails'

export type LeftOutReason = 'not_configured' | 'excluded' | 'not_in_route' | 'not_collected' | 'amount'

interface RankedGateway {
  name: string
  reason: CandidateReason
  health: Health
  /** The share of payments that go here first, if the merchant's payments are split. */
  percent: number | null
}

export interface RoutedCandidate extends RankedGateway {
  /** How it can collect the payment. */
  ways: readonly Way[]
}

export interface Routing {
  /** In the order to try. */
  candidates: readonly RoutedCandidate[]
  leftOut: readonly { name: string; reason: LeftOutReason }[]
}

const NO_RULE: RoutingRule = { currency: null, prefer: [], exclude: [], split: [] }

export function orderCandidates(input: RoutingInput): Routing {
  const { ranked, leftOut } = rankGateways(input)
  const candidates = ranked.map(({ rails, rank: _, ...one }) => ({
    ...one,
    ways: waysOf(rails, input.country),
  }))
  return { candidates, leftOut }
}

/** The name of the first candidate. An initiate needs no more, and the ways take half of the time. */
export function firstCandidateOf(input: RoutingInput): string | undefined {
  return rankGateways(input).ranked[0]?.name
}

function rankGateways(input: RoutingInput) {
  const rule = ruleFor(input.rules, input.currency) ?? NO_RULE
  const routed = findRoute(input.routes, input.currency, input.country)?.gateways ?? []
  const leftOut: { name: string; reason: LeftOutReason }[] = routed
    .filter((name) => !input.available.some((gateway) => means(name, gateway)))
    .map((name) => ({ name, reason: 'not_configured' }))

  const picked = pickBySplit(rule, input.key)
  const ranked: (RankedGateway & { rails: readonly Rail[]; rank: number })[] = []
  for (const [position, gateway] of input.available.entries()) {
    const rails = servingRails(gateway.rails, input)
    const reason = reasonFor(gateway, input.routes, routed, rule, picked)
    const exclusion = exclusionFor(gateway, input, rule, rails, reason)
    if (exclusion || !reason) leftOut.push({ name: gateway.name, reason: exclusion ?? 'not_in_route' })
    else {
      const { name, health } = gateway
      const percent = rule.split.find((share) => means(share.gateway, gateway))?.percent ?? null
      const rank = rankOf(gateway, position, reason, routed, rule)
      ranked.push({ name, health, reason, percent, rails, rank })
    }
  }
  ranked.sort((one, other) => one.rank - other.rank)
  return { ranked, leftOut }
}

/** The row of this country, else the row for any other country. */
export function findRoute(
  routes: readonly Route[],
  currency: Currency,
  country: string | null,
): Route | undefined {
  const rows = routes.filter((row) => row.currency === currency)
  return rows.find((row) => row.country === country) ?? rows.find((row) => row.country === null)
}

const means = (entry: string, { name, gateway = name }: AvailableGateway) =>
  meansAccount(entry, { name, gateway })

function reasonFor(
  account: AvailableGateway,
  routes: readonly Route[],
  routed: readonly string[],
  rule: RoutingRule,
  picked: string | undefined,
): CandidateReason | undefined {
  const isNamedIn = (entries: readonly string[]) => entries.some((entry) => means(entry, account))
  if (picked !== undefined && isNamedIn([picked])) return 'split'
  if (isNamedIn(rule.prefer)) return 'preferred'
  if (isNamedIn(routed)) return 'route'
  // A gateway that the table never names is a candidate by its own rails, so adding one needs no row.
  return routes.some(({ gateways }) => isNamedIn(gateways)) ? undefined : 'rails'
}

function exclusionFor(
  account: AvailableGateway,
  input: RoutingInput,
  rule: RoutingRule,
  serving: readonly Rail[],
  reason: CandidateReason | undefined,
): LeftOutReason | undefined {
  if (rule.exclude.some((entry) => means(entry, account))) return 'excluded'
  if (serving.length > 0) return reason ? undefined : 'not_in_route'
  return servingRails(account.rails, { ...input, amountMinor: null }).length > 0 ? 'amount' : 'not_collected'
}

// Larger than any list, so that each digit decides only between candidates with equal digits before it.
const RANK_STEP = 10_000
const REASON_ORDER: readonly CandidateReason[] = ['split', 'preferred', 'route', 'rails']

/** Lower is earlier: fallback last, then health, then the reason, then the position in the list of that reason. */
function rankOf(
  account: AvailableGateway,
  position: number,
  reason: CandidateReason,
  routed: readonly string[],
  rule: RoutingRule,
): number {
  const positions = {
    split: 0,
    preferred: rule.prefer.findIndex((entry) => means(entry, account)),
    route: routed.findIndex((entry) => means(entry, account)),
    rails: position,
  }
  const { health, isFallback } = account
  const tier = (isFallback ? 2 : 0) + (health === 'down' ? 1 : 0)
  return (tier * REASON_ORDER.length + REASON_ORDER.indexOf(reason)) * RANK_STEP + positions[reason]
}

/**
 * The gateway that the weighted split assigns, if any. The bucket is a hash of the key, so a retry gets the same one.
 */
function pickBySplit({ split }: RoutingRule, key: string | null): string | undefined {
  if (key === null || split.length === 0) return undefined
  const bucket = createHash('sha256').update(key).digest().readUInt32BE(0) % 100
  let cumulativePercent = 0
  for (const { gateway, percent } of split) {
    cumulativePercent += percent
    if (bucket < cumulativePercent) return gateway
  }
  return undefined
}
