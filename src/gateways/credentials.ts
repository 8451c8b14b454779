// Credentials as they are sealed in an account, and what is wrong with those that somebody gives.

import type { Complaint } from '../core/errors.ts'
import type { Mode } from '../core/merchant.ts'
import type { Vault, VaultContext } from '../kit/crypto.ts'
import type { AccountRow } from './account-queries.ts'
import type { GatewayDefinition } from './definition.ts'

export type Credentials = Readonly<Record<string, string>>

type Place = Pick<AccountRow, 'merchantId' | 'id' | 'gateway'>

/** Bound to the merchant, the account and the gateway: what is copied elsewhere does not open. */
function contextOf({ merchantId, id, gateway }: Place): VaultContext {
  return { table: 'gateway_accounts', column: 'sealed', rowId: `${gateway} ${id}`, merchantId }
}

export function sealCredentials(vault: Vault, place: Place, credentials: Credentials): string {
  return vault.seal(JSON.stringify(credentials), contextOf(place))
}

export function openCredentials(vault: Vault, account: AccountRow): Credentials {
  // A boundary: only what sealCredentials wrote opens.
  return JSON.parse(vault.open(account.sealed, contextOf(account))) as Credentials
}

/** Everything that is wrong with credentials for one gateway; their values are never repeated. */
export function complainOfCredentials(
  definition: GatewayDefinition,
  given: Credentials,
  mode: Mode,
): Complaint[] {
  const names = definition.credentials.map(({ name }) => name)
  const unknown = Object.keys(given)
    .filter((name) => !names.includes(name))
    .map((name) => complaint(name, 'not_allowed', `is not a credential of it: ${names.join(', ')}.`))
  const wrong = definition.credentials.flatMap(({ name, isRequired, complain }) => {
    const text = given[name] ?? ''
    if (text === '') return isRequired ? [complaint(name, 'required', 'is required.')] : []
    const words = complain(text, mode)
    return words === undefined ? [] : [complaint(name, 'invalid_format', `${words}.`)]
  })
  return [...unknown, ...wrong]
}

function complaint(name: string, code: string, words: string): Complaint {
  return { field: `credentials.${name}`, code, message: words }
}
