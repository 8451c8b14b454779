// Receives the provider's webhooks during a live run, if it can reach this machine.

import { createServer, type IncomingMessage } from 'node:http'
import type { Gateway, WebhookRequest } from '../../../src/gateways/gateway.ts'
import { verifyCallbackUrl } from '../webhook-request.ts'
import { type Finding, leftOut } from './steps.ts'

export interface Webhooks {
  finding(gateway: Gateway): Finding
  close(): Promise<void>
}

export const NO_WEBHOOKS: Webhooks = {
  finding: () => leftOut('No address was given at which the provider reaches this run (--public-url).'),
  close: async () => {},
}

const MAX_BODY_BYTES = 262_144

export async function receiveWebhooks(port: number, gateway: string): Promise<Webhooks & { port: number }> {
  const received: WebhookRequest[] = []
  const server = createServer((request, response) => {
    readRequest(request, gateway).then(
      (webhook) => {
        if (webhook) received.push(webhook)
        response.writeHead(200, { 'content-type': 'text/plain' }).end('You can close this page.\n')
      },
      () => response.destroy(),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, resolve)
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : port,
    finding: (opened) => describe(received.map((webhook) => opened.parseWebhook(webhook).kind)),
    close: () => new Promise((resolve) => void server.close(() => resolve())),
  }
}

/** Undefined for the payer's return, and for a request to another path. */
async function readRequest(request: IncomingMessage, gateway: string): Promise<WebhookRequest | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) throw new Error('the webhook is too large')
    chunks.push(chunk)
  }
  const { method = '', url = '/', headers } = request
  const { pathname, searchParams } = new URL(url, 'http://localhost')
  if (!pathname.startsWith(`/hooks/${gateway}`) || (method !== 'POST' && method !== 'PUT')) return undefined
  const isSecretPath = pathname !== `/hooks/${gateway}`
  const callback = isSecretPath ? verifyCallbackUrl(`http://localhost${pathname}`) : null
  if (callback === undefined) return undefined
  const flat = Object.entries(headers).map(([name, value]) => [name, String(value)])
  return {
    method,
    headers: Object.fromEntries(flat),
    query: Object.fromEntries(searchParams),
    rawBody: Buffer.concat(chunks),
    callback,
  }
}

function describe(kinds: readonly string[]): Finding {
  if (kinds.length === 0) return { result: 'not seen', detail: 'No webhook arrived.' }
  const forged = kinds.filter((kind) => kind === 'forged').length
  const detail = `${kinds.length} webhooks arrived: ${kinds.join(', ')}.`
  return { result: forged === kinds.length ? 'not seen' : 'seen', detail }
}
