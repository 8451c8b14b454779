// Webhooks as connectors get them in tests, and secret callback paths with a key of the tests.

import type { WebhookRequest } from '../../src/gateways/gateway.ts'
import { type CallbackSubject, createCallbackPaths } from '../../src/secrets/callback-paths.ts'

export function requestOf(
  headers: Record<string, string>,
  rawBody: Buffer,
  changes: Partial<WebhookRequest> = {},
): WebhookRequest {
  return { method: 'POST', headers, query: {}, rawBody, callback: null, ...changes }
}

const PATHS = createCallbackPaths([new Uint8Array(32).fill(7)])

/** The secret address of an account of the instance; its gateway is the first part of the path. */
export function callbackUrlAt(publicUrl: string, gateway: string) {
  return (subject: CallbackSubject) =>
    `${publicUrl}${PATHS.pathOf({ gateway, merchantId: null, accountId: null }, subject)}`
}

/** What the path of a callback proves; undefined if it is not genuine. */
export function verifyCallbackUrl(url: string): CallbackSubject | undefined {
  const [gateway = '', , subject = '', mac = ''] = new URL(url).pathname.replace('/hooks/', '').split('/')
  return PATHS.verify({ gateway, merchantId: null, accountId: null }, subject, mac)
}
