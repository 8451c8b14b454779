// The definition of one account of a gateway. It differs from the gateway's own definition by its name and title, which
// carry the label, and by the limits, which narrow the rails. So connections, checks and records work per account.

import { LIMIT_FIELDS, readLimits, withoutLimits } from '../core/gateway-accounts/limits.ts'
import { accountTitle, parseAccountName } from '../core/gateway-accounts/name.ts'
import type { GatewayDefinition } from './definition.ts'
import { narrowRails } from './rails.ts'

/** Its name and title are those of the account, and its credentials include the limits. */
export interface AccountDefinition extends GatewayDefinition {
  /** The gateway's own name, without a label. */
  readonly gateway: string
}

/** Undefined if no gateway has such an account. */
export function findAccountDefinition(
  definitions: readonly GatewayDefinition[],
  name: string,
): AccountDefinition | undefined {
  const names = definitions.map((definition) => definition.name)
  const parsed = parseAccountName(names, name)
  const definition = definitions.find((one) => one.name === parsed?.gateway)
  return parsed && definition && defineAccount(definition, name, parsed.label)
}

function defineAccount(definition: GatewayDefinition, name: string, label: string | null): AccountDefinition {
  return {
    ...definition,
    gateway: definition.name,
    name,
    title: accountTitle(definition.title, label),
    credentials: [...definition.credentials, ...LIMIT_FIELDS],
    open(connection) {
      const { credentials } = connection
      const opened = definition.open({ ...connection, credentials: withoutLimits(credentials) })
      return { ...opened, name, rails: narrowRails(opened.rails, readLimits(credentials)) }
    },
  }
}
