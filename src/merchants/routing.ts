// The routing rules of a merchant, which operators set: validates a change, and reads the stored document.

import { Value } from 'typebox/value'
import type { Issue } from '../core/errors.ts'
import { parseAccountName } from '../core/gateway-accounts/name.ts'
import { type MerchantSettings, type RoutingInput, RoutingList } from './schema.ts'

/** Fills in the absent fields, so that the API always returns complete rules. */
export function completeRules(rules: RoutingInput): MerchantSettings['routing'] {
  return rules.map(({ currency = null, prefer = [], exclude = [], split = [] }) => ({
    currency,
    prefer: [...new Set(prefer)],
    exclude: [...new Set(exclude)],
    split,
  }))
}

export function readRules(stored: unknown): MerchantSettings['routing'] {
  return Value.Check(RoutingList, stored) ? completeRules(stored) : []
}

/** Validates what the schema cannot. Without `gatewayNames`, any gateway name is accepted. */
export function routingIssues(rules: RoutingInput, gatewayNames?: readonly string[]): Issue[] {
  const issues: Issue[] = []
  const currencies = rules.map(({ currency }) => currency ?? null)
  for (const [index, rule] of completeRules(rules).entries()) {
    const addIssue = (field: string, message: string) => {
      const path = `settings.routing.${index}.${field}`
      issues.push({ field: path, code: 'not_allowed', message: `${path} ${message}` })
    }
    if (currencies.indexOf(rule.currency) < index)
      addIssue('currency', 'has a rule already: there is one for each.')
    const percent = rule.split.reduce((sum, share) => sum + share.percent, 0)
    if (percent > 100) addIssue('split', `must share out at most 100 percent, not ${percent}.`)
    const shared = rule.split.map(({ gateway }) => gateway)
    if (new Set(shared).size < shared.length) addIssue('split', 'must name each gateway once.')
    const named = { prefer: rule.prefer, exclude: rule.exclude, split: shared }
    for (const [field, names] of Object.entries(named)) {
      const unknown = names.filter((name) => gatewayNames && !parseAccountName(gatewayNames, name))
      if (unknown.length > 0)
        addIssue(
          field,
          `names ${unknown.join(', ')}; there are ${gatewayNames?.join(', ')}, and their accounts.`,
        )
    }
    const both = rule.exclude.filter((name) => rule.prefer.includes(name) || shared.includes(name))
    if (both.length > 0) addIssue('exclude', `names ${both.join(', ')}, which the rule also asks for.`)
  }
  return issues
}
