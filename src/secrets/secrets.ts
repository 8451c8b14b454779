// The secrets of an instance. Production reads them from the settings. Staging generates the missing ones once per database,
// so that several processes with separate data folders share them.

import { deriveSecret, keyIdOf, type Vault, VaultError, type VaultKey } from '../kit/crypto.ts'
import type { Tx } from '../kit/db/db.ts'
import type { Random } from '../kit/random.ts'
import { ensureSecrets, listSecrets } from './queries.ts'

export interface InstanceSecrets {
  encryptionKeys: readonly VaultKey[]
  keyPepper: Uint8Array
  /** Signs list cursors, the same in every process. */
  cursorKey: Uint8Array
  /** Make and verify secret callback paths, in the order of the encryption keys. */
  callbackKeys: readonly Uint8Array[]
  /** Hashes phone numbers that are only counted, not stored. */
  promptKey: Uint8Array
  /** Signs confirmation tokens of agents' writes, the same in every process. */
  confirmationKey: Uint8Array
  /** Hashes recovery codes of people, and the accounts and addresses of failed sign-ins. */
  peopleKey: Uint8Array
  /** Hashes the accounts and secrets of gateways' access tokens. */
  tokenKey: Uint8Array
  /** Shared by the sandbox connector and its provider; empty in production, which has no sandbox. */
  sandboxSecret: string
  sandboxWebhookSecret: string
}

interface Settings {
  environment: 'staging' | 'production'
  encryptionKeys: readonly VaultKey[] | null
  keyPepper: Uint8Array | null
  sandboxSecret: string | null
}

const SECRET_BYTES = 32
const GENERATED_KEY_ID = 'generated'

export async function loadSecrets(db: Tx, config: Settings, random: Random): Promise<InstanceSecrets> {
  const generated =
    config.environment === 'staging' ? await ensureGeneratedSecrets(db, config, random) : new Map()
  const keyPepper = config.keyPepper ?? readGenerated(generated, 'key_pepper')
  const encryptionKeys = config.encryptionKeys ?? [
    { id: GENERATED_KEY_ID, key: readGenerated(generated, 'encryption_key') },
  ]
  const sandboxSecret = config.sandboxSecret ?? generated.get('sandbox_secret') ?? ''
  return {
    encryptionKeys,
    keyPepper,
    cursorKey: deriveSecret(keyPepper, 'list cursors'),
    callbackKeys: encryptionKeys.map(({ key }) => deriveSecret(key, 'callback paths')),
    promptKey: deriveSecret(keyPepper, 'phone prompts'),
    confirmationKey: deriveSecret(keyPepper, 'confirmations'),
    peopleKey: deriveSecret(keyPepper, 'people'),
    tokenKey: deriveSecret(keyPepper, 'gateway tokens'),
    sandboxSecret,
    sandboxWebhookSecret: sandboxSecret && sandboxWebhookSecretOf(sandboxSecret),
  }
}

/** Derived, so that a sandbox provider in another process needs one secret and not two. */
export function sandboxWebhookSecretOf(sandboxSecret: string): string {
  return deriveSecret(sandboxSecret, 'sandbox webhooks').toString('base64url')
}

async function ensureGeneratedSecrets(
  db: Tx,
  config: Settings,
  random: Random,
): Promise<Map<string, string>> {
  const fresh: Record<string, string> = {}
  const addGenerated = (name: string) => {
    fresh[name] = Buffer.from(random.bytes(SECRET_BYTES)).toString('base64')
  }
  if (!config.encryptionKeys) addGenerated('encryption_key')
  if (!config.keyPepper) addGenerated('key_pepper')
  if (!config.sandboxSecret) addGenerated('sandbox_secret')
  return Object.keys(fresh).length > 0 ? ensureSecrets(db, fresh) : new Map()
}

function readGenerated(generated: ReadonlyMap<string, string>, name: string): Buffer {
  const bytes = Buffer.from(generated.get(name) ?? '', 'base64')
  if (bytes.length !== SECRET_BYTES)
    throw new Error(`the secret ${name} is neither in the settings nor in the table service_secrets`)
  return bytes
}

export const KEYRING_CHECK = 'keyring_check'
const CHECK_CONTEXT = { table: 'service_secrets', column: 'value', rowId: KEYRING_CHECK, merchantId: 'none' }

/**
 * Fails the start if this database was written with a key that is not on the keyring. Otherwise saved methods would fail one
 * by one, long after the mistake. Every key that was ever first on the keyring stores a text that only it decrypts, until
 * cowry keys reseal retires it.
 */
export async function requireKeyring(db: Tx, vault: Vault): Promise<void> {
  for (const sealed of await listSecrets(db, KEYRING_CHECK)) assertDecryptable(vault, sealed)
  const fresh = vault.seal(KEYRING_CHECK, CHECK_CONTEXT)
  const name = `${KEYRING_CHECK}:${keyIdOf(fresh)}`
  const stored = await ensureSecrets(db, { [name]: fresh })
  assertDecryptable(vault, stored.get(name) ?? '')
}

function assertDecryptable(vault: Vault, sealed: string): void {
  try {
    vault.open(sealed, CHECK_CONTEXT)
  } catch (error) {
    if (!(error instanceof VaultError)) throw error
    throw new Error(
      `COWRY_ENCRYPTION_KEYS does not fit this database: it was written with the key "${error.keyId ?? '?'}". ` +
        'Put that key back on the keyring; it may stand behind a new first key.',
      { cause: error },
    )
  }
}
