// Secret callback paths, for providers that do not sign their callbacks. The path ends in a MAC over the gateway, the
// account and the subject, so only we can make one. A sender that uses it knows what we sent to the provider. It proves
// the sender, and nothing about the body.

import { isUuid } from '../core/ids.ts'
import { constantTimeEquals, hmacSha256 } from '../kit/crypto.ts'

/**
 * What callbacks to a path are about: the account, or one attempt or refund by our key at the gateway. `refund_status`: where
 * the reply to a status query about a refund is a callback too, its address distinguishes it from the result of the refund.
 */
export type CallbackSubject = { kind: 'account' } | { kind: KeyedKind; key: string }

const KEYED_KINDS = ['attempt', 'refund', 'refund_status'] as const
type KeyedKind = (typeof KEYED_KINDS)[number]

/** The account of a gateway. Both ids are null for the account of the instance. */
export interface CallbackAccount {
  gateway: string
  merchantId: string | null
  accountId: string | null
}

export interface CallbackPaths {
  pathOf(account: CallbackAccount, subject: CallbackSubject): string
  /** The subject that the path proves for this account; undefined if the MAC is wrong. */
  verify(account: CallbackAccount, subject: string, mac: string): CallbackSubject | undefined
}

/** The scope in the path of the instance's account; a merchant's account has the merchant's id. */
export const INSTANCE_SCOPE = 'instance'

export const CALLBACK_PATH = '/hooks/{gateway}/{scope}/{subject}/{mac}'

// 128 bits cannot be guessed, and keep the address short: some providers limit its length.
const MAC_BYTES = 16
const MAC = /^[0-9a-f]{32}$/

/** The first key makes paths, and every key verifies them, so that paths stay valid while keys are rotated. */
export function createCallbackPaths(keys: readonly Uint8Array[]): CallbackPaths {
  const [first] = keys
  if (!first) throw new Error('callback paths need at least one key')
  const macOf = (key: Uint8Array, account: CallbackAccount, subject: string) =>
    hmacSha256(key, messageOf(account, subject)).subarray(0, MAC_BYTES)
  return {
    pathOf(account, subject) {
      const text = formatSubject(subject)
      const mac = macOf(first, account, text).toString('hex')
      return `/hooks/${account.gateway}/${account.merchantId ?? INSTANCE_SCOPE}/${text}/${mac}`
    },
    verify(account, subject, mac) {
      if (!MAC.test(mac)) return undefined
      const given = Buffer.from(mac, 'hex')
      const isGenuine = keys.some((key) => constantTimeEquals(given, macOf(key, account, subject)))
      return isGenuine ? parseSubject(subject) : undefined
    },
  }
}

// The account is part of the message, though not of the path: a path of a replaced account does not speak for the new one.
function messageOf({ gateway, merchantId, accountId }: CallbackAccount, subject: string): string {
  return [gateway, merchantId ?? INSTANCE_SCOPE, accountId ?? '', subject].join('|')
}

function formatSubject(subject: CallbackSubject): string {
  if (subject.kind === 'account') return subject.kind
  if (!isUuid(subject.key)) throw new Error('the key of a callback path must be a UUID')
  return `${subject.kind}-${subject.key}`
}

function parseSubject(text: string): CallbackSubject | undefined {
  if (text === 'account') return { kind: 'account' }
  const { name, key } = /^(?<name>[a-z_]+)-(?<key>.+)$/.exec(text)?.groups ?? {}
  const kind = KEYED_KINDS.find((one) => one === name)
  return kind !== undefined && isUuid(key) ? { kind, key } : undefined
}
