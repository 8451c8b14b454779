// The routing rules that an operator sets for one merchant: which gateways to prefer, exclude or split payments over.

import type { Currency } from './currency.ts'

export interface Share {
  gateway: string
  /** Whole percent of the merchant's payments. Payments outside all shares use the default order. */
  percent: number
}

export interface RoutingRule {
  /** Null: every currency without its own rule. */
  currency: Currency | null
  /** These gateways come first, in this order, where they serve the currency and country. */
  prefer: readonly string[]
  /** These gateways are never used. */
  exclude: readonly string[]
  split: readonly Share[]
}

/** At most one rule per currency. */
export type RoutingRules = readonly RoutingRule[]

/** The rule of the currency, or else the rule for every currency. The two are never combined. */
export function ruleFor(rules: RoutingRules, currency: Currency): RoutingRule | undefined {
  return rules.find((rule) => rule.currency === currency) ?? rules.find((rule) => rule.currency === null)
}
