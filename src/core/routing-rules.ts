// What an operator decides about the order of gateways for one merchant, as data.

import type { Currency } from './currency.ts'

export interface Share {
  gateway: string
  /** Of the merchant's payments; whole numbers. What all shares leave over goes the usual way. */
  percent: number
}

export interface RoutingRule {
  /** Null: every currency that has no rule of its own. */
  currency: Currency | null
  /** Tried first, in this order, wherever they collect. */
  prefer: readonly string[]
  /** Never tried. */
  exclude: readonly string[]
  split: readonly Share[]
}

/** At most one rule per currency. */
export type RoutingRules = readonly RoutingRule[]

/** The rule of the currency, else the one for every currency. They are not added up: one rule tells everything. */
export function ruleFor(rules: RoutingRules, currency: Currency): RoutingRule | undefined {
  return rules.find((rule) => rule.currency === currency) ?? rules.find((rule) => rule.currency === null)
}
