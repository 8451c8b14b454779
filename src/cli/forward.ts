// Forwards events to an address on the developer's machine, signed like a real delivery.

import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { deliveryHeaders } from '../deliveries/signature.ts'
import type { Clock } from '../kit/clock.ts'
import type { HttpClient } from '../kit/http/http-client.ts'
import { ensurePrivateFile } from '../kit/private-files.ts'
import type { Random } from '../kit/random.ts'
import { newSecret } from '../webhook-endpoints/secret.ts'
import type { StreamedEvent } from './event-stream.ts'
import { CommandError } from './terminal.ts'

export interface Forwarded {
  /** Null: no response. */
  http: number | null
  error: string | null
  durationMs: number
}

export interface Forwarding {
  http: HttpClient
  clock: Clock
  url: string
  secret: string
  /** Called once when the address stops responding, and once when it responds again. */
  onChange(isReachable: boolean, error: string | null): void
}

/** Keeps the secret between runs, so that a developer sets it once. */
export async function ensureListenSecret(dataDir: string, random: Random): Promise<string> {
  const path = join(dataDir, 'listen-secret')
  const secret = await ensurePrivateFile(path, newSecret(random), random)
  if (/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(secret)) return secret
  throw new CommandError(
    'unusable_secret',
    `${path} does not hold a signing secret. Delete it, and the next "cowry listen" writes a new one.`,
  )
}

// The timeout of a real delivery.
const TIMEOUT_MS = 15_000

/** A restarting consumer is back by then, and later events wait not much longer. */
const BACKOFF_MS = [500, 1_000, 2_000, 4_000]

/** Sends events in order. An event without a response is retried a few times before the next one is sent. */
export function createForwarder({ http, clock, url, secret, onChange }: Forwarding) {
  const webhook = new Webhook(secret)
  let isReachable = true
  const attempt = async (event: StreamedEvent): Promise<Forwarded> => {
    const at = clock.now()
    const body = JSON.stringify(event)
    const headers = deliveryHeaders(event.id, at, webhook.sign(event.id, at, body))
    const response = await http.request({ method: 'POST', url, headers, body, totalTimeoutMs: TIMEOUT_MS })
    const durationMs = clock.now().getTime() - at.getTime()
    return response.kind === 'answered'
      ? { http: response.status, error: null, durationMs }
      : { http: null, error: response.error, durationMs }
  }
  const send = async (event: StreamedEvent): Promise<Forwarded> => {
    const result = await attempt(event)
    if ((result.http !== null) !== isReachable) {
      isReachable = !isReachable
      onChange(isReachable, result.error)
    }
    return result
  }
  return async (event: StreamedEvent, signal: AbortSignal): Promise<Forwarded> => {
    let result = await send(event)
    for (const waitMs of BACKOFF_MS) {
      if (result.http !== null || signal.aborted) break
      await clock.sleep(waitMs, signal)
      if (!signal.aborted) result = await send(event)
    }
    return result
  }
}
