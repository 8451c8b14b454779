// Encrypts and decrypts an account's credentials, and validates those that an operator enters.

import type { Issue } from '../core/errors.ts'
import type { Mode } from '../core/merchant.ts'
import type { Vault, VaultContext } from '../kit/crypto.ts'
import type { AccountRow } from './account-queries.ts'
import type { GatewayDefinition } from './definition.ts'

export type Credentials = Readonly<Record<string, string>>

type AccountKey = Pick<AccountRow, 'merchantId' | 'id' | 'gateway'>

/** Binds the ciphertext to merchant, account and gateway: copied to another row it cannot be decrypted. */
function vaultContextOf({ merchantId, id, gateway }: AccountKey): VaultContext {
  return { table: 'gateway_accounts', column: 'sealed', rowId: `${gateway} ${id}`, merchantId }
}

export function sealCredentials(vault: Vault, accountKey: AccountKey, credentials: Credentials): string {
  return vault.seal(JSON.stringify(credentials), vaultContextOf(accountKey))
}

export function openCredentials(vault: Vault, account: AccountRow): Credentials {
  // A boundary: only the output of sealCredentials can be decrypted.
  return JSON.parse(vault.open(account.sealed, vaultContextOf(account))) as Credentials
}

/** All validation issues of the credentials for one gateway. Issues never repeat a value, which may be a secret. */
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
  return [...unknown, ...wrong, ...missingChoice(definition, given)]
}

function missingChoice(
  { requiresOneOf: [first, ...others] = [] }: GatewayDefinition,
  given: Credentials,
): Issue[] {
  if (first === undefined || [first, ...others].some((name) => given[name])) return []
  return [issue(first, 'required', `is required, or one of these: ${others.join(', ')}.`)]
}

function issue(name: string, code: string, message: string): Issue {
  return { field: `credentials.${name}`, code, message }
}
