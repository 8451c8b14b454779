// The signing secrets of webhook endpoints, as Standard Webhooks defines them.

import type { Vault, VaultContext } from '../kit/crypto.ts'
import type { Random } from '../kit/random.ts'

// Standard Webhooks recommends at least 24; the digest has 32.
const SECRET_BYTES = 32

export function newSecret(random: Random): string {
  return `whsec_${Buffer.from(random.bytes(SECRET_BYTES)).toString('base64')}`
}

interface Owner {
  merchantId: string
  endpointId: string
}

/** The previous secret keeps the encryption context of the current one, because it was sealed as the current one. */
export function sealSecret(vault: Vault, owner: Owner, secret: string): string {
  return vault.seal(secret, contextOf(owner))
}

export function openSecret(vault: Vault, owner: Owner, sealed: string): string {
  return vault.open(sealed, contextOf(owner))
}

function contextOf({ merchantId, endpointId }: Owner): VaultContext {
  return { table: 'webhook_endpoints', column: 'secret_sealed', rowId: endpointId, merchantId }
}
