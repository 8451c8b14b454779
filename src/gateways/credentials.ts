// Credentials as they are sealed in an account, and what is wrong with those that somebody gives.

import type { Issue } from '../core/errors.ts'
import type { Mode } from '../core/merchant.ts'
import type { Vault, VaultContext } from '../kit/crypto.ts'
import type { AccountRow } from './account-queries.ts'
import type { GatewayDefinition } from './definition.ts'

export type Credentials = Readonly<Record<string, string>>

type AccountKey = Pick<AccountRow, 'merchantId' | 'id' | 'gateway'>

/** Bound to the merchant, the account and the gateway: what is copied elsewhere does not open. */
function vaultContextOf({ merchantId, id, gateway }: AccountKey): VaultContext {
  return { table: 'gateway_accounts', column: 'sealed', rowId: `${gateway} ${id}`, merchantId }
}

export function sealCredentials(vault: Vault, accountKey: AccountKey, credentials: Credentials): string {
  return vault.seal(JSON.stringify(credentials), vaultContextOf(accountKey))
}

export function openCredentials(vault: Vault, account: AccountRow): Credentials {
  // A boundary: only what sealCredentials wrote opens.
  return JSON.parse(vault.open(account.sealed, vaultContextOf(account))) as Credentials
}

/** Everything that is wrong with credentials for one gateway; their values are never repeated. */
export function credentialIssues(definition: GatewayDefinition, given: Credentials, mode: Mode): Issue[] {
  const names = definition.credentials.map(({ name }) => name)
  const unknown = Object.keys(given)
    .filter((name) => !names.includes(name))
    .map((name) => issue(name, 'not_allowed', `is not a credential of it: ${names.join(', ')}.`))
  const wrong = definition.credentials.flatMap(({ name, isRequired, validate }) => {
    const text = given[name] ?? ''
    if (text === '') return isRequired ? [issue(name, 'required', 'is required.')] : []
    const message = validate(text, mode)
    return message === undefined ? [] : [issue(name, 'invalid_format', `${message}.`)]
  })
  return [...unknown, ...wrong]
}

function issue(name: string, code: string, message: string): Issue {
  return { field: `credentials.${name}`, code, message }
}
