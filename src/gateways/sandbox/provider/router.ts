// Minimal routing over node:http, so that the provider can be mounted in any server without a web framework.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Clock } from '../../../kit/clock.ts'

export type Reply = (
  | { kind: 'json'; http: number; body: unknown }
  | { kind: 'text'; http: number; type: string; text: string; headers?: Record<string, string> }
  | { kind: 'redirect'; url: string }
  /** Cuts the connection without a response. */
  | { kind: 'drop' }
) & { delayMs?: number }

export interface RouteRequest {
  params: string[]
  query: URLSearchParams
  headers: IncomingMessage['headers']
  text: string
}

export interface ProviderRoute {
  method: 'GET' | 'POST' | 'DELETE'
  /** Below the base path; its groups become params. */
  path: RegExp
  handle(request: RouteRequest): Promise<Reply>
}

export function errorReply(http: number, code: string, message: string): Reply {
  return { kind: 'json', http, body: { error: { code, message } } }
}

/** Finds the route of a request and runs it. */
export async function dispatch(
  routes: readonly ProviderRoute[],
  basePath: string,
  req: IncomingMessage,
): Promise<Reply> {
  // The base is never used; URL needs one to parse a path.
  const url = new URL(req.url ?? '/', 'http://sandbox')
  const path = url.pathname.startsWith(`${basePath}/`) ? url.pathname.slice(basePath.length) : ''
  for (const route of routes) {
    const match = route.method === req.method ? route.path.exec(path) : null
    if (!match) continue
    const text = await readBody(req)
    if (text === undefined) return errorReply(413, 'too_large', 'The body is larger than 64 KB.')
    const params = match.slice(1).map(decode)
    return route.handle({ params, query: url.searchParams, headers: req.headers, text })
  }
  return errorReply(404, 'no_such_route', 'There is no such operation.')
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // An invalid percent escape is taken literally and matches no record.
    return text
  }
}

const MAX_BODY_BYTES = 65_536

async function readBody(req: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of req) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

export async function send(res: ServerResponse, reply: Reply, clock: Clock): Promise<void> {
  if (reply.delayMs) await clock.sleep(reply.delayMs)
  switch (reply.kind) {
    case 'drop':
      res.socket?.destroy()
      return
    case 'redirect':
      // The URL of the page contains a secret, which must not leak in the referrer.
      res.writeHead(303, { ...SECURITY_HEADERS, location: reply.url, 'content-length': 0 })
      res.end()
      return
    case 'json':
      write(res, reply.http, 'application/json', Buffer.from(JSON.stringify(reply.body)))
      return
    case 'text':
      await writeText(res, reply)
  }
}

const SECURITY_HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

const gzipAsync = promisify(gzip)

/**
 * Compressed for slow networks. Gzip is enough: without TLS, as test providers mostly run, browsers accept nothing
 * better. The length reveals nothing: the only secret in a page is the one in its own URL.
 */
async function writeText(res: ServerResponse, reply: Reply & { kind: 'text' }): Promise<void> {
  const isZipped = acceptsGzip(res.req)
  const body = isZipped ? await gzipAsync(reply.text) : Buffer.from(reply.text)
  const headers: Record<string, string> = { ...reply.headers, vary: 'accept-encoding' }
  if (isZipped) headers['content-encoding'] = 'gzip'
  write(res, reply.http, reply.type, body, headers)
}

function acceptsGzip({ headers }: IncomingMessage): boolean {
  const [accepted] = /\bgzip\b[^,]*/.exec(String(headers['accept-encoding'] ?? '')) ?? []
  return accepted !== undefined && !/q=0(?:\.0*)?\s*$/.test(accepted)
}

function write(
  res: ServerResponse,
  http: number,
  type: string,
  body: Buffer,
  headers: Record<string, string> = {},
): void {
  res.writeHead(http, {
    'content-type': `${type}; charset=utf-8`,
    'content-length': body.length,
    ...SECURITY_HEADERS,
    ...headers,
  })
  res.end(body)
}
