// Sends a plan as bytes and parses the response; the pool fills in the plan's open values.

import { randomUUID } from 'node:crypto'
import { Pool as Connections } from 'undici'
import type { ApiResponse } from '../support/api.ts'
import { UNKNOWN_UUID } from '../support/assertions.ts'
import { isObject } from '../support/fields.ts'
import { itemTemplateOf } from '../support/one-of-everything.ts'
import { sendBytes } from '../support/raw-http.ts'
import type { Plan } from './plan.ts'
import type { Pool } from './pool.ts'
import { PoolValue, RawJson, UniqueName } from './values.ts'

export interface SentRequest {
  method: string
  address: string
  headers: Record<string, string>
  body: string | Buffer | undefined
  bytes: string | undefined
}

export interface TimedResponse extends ApiResponse {
  tookMs: number
}

/** The request as it is sent. */
export function buildRequest(plan: Plan, pool: Pool, key: string): SentRequest {
  const value = (one: unknown) => resolveValue(one, pool)
  const headers = Object.entries({
    'x-api-key': key,
    ...(plan.body !== undefined && { 'content-type': 'application/json' }),
    ...plan.headers,
  })
  const address = addressOf(plan, pool)
  const given = headers.filter(([, header]) => header !== undefined)
  return {
    method: plan.method,
    address,
    headers: Object.fromEntries(given.map(([name, header]) => [name, String(value(header))])),
    body: bodyOf(plan, pool),
    bytes: plan.bytes?.(address, key),
  }
}

function addressOf(plan: Plan, pool: Pool): string {
  const { item, tail, query, rawQuery, next, tamper } = plan
  const following = next && pool.find(next)
  if (typeof following === 'string') return tamper ? tampered(following, tamper) : following
  const path = item ? `${pool.find(item) ?? unknownItem(plan)}${tail}` : tail
  const pairs = query
    .flatMap(explode)
    .map(([name, value]) => `${encodeURIComponent(name.toWellFormed())}=${parameter(value, pool)}`)
  // Without a next page there is no cursor to change, so send an invalid one.
  if (tamper) pairs.push('cursor=none')
  const text = [...pairs.filter((pair) => !pair.endsWith('=undefined')), rawQuery]
    .filter((part) => part !== '')
    .join('&')
  return text === '' ? path : `${path}?${text}`
}

function unknownItem({ operation }: Plan): string {
  return (itemTemplateOf(operation) ?? '').replaceAll(/\{\w+\}/g, UNKNOWN_UUID)
}

/** An object has a parameter for each member, such as metadata[orderId]=7. */
function explode([name, value]: readonly [string, unknown]): (readonly [string, unknown])[] {
  if (value instanceof PoolValue || value instanceof UniqueName || !isObject(value)) return [[name, value]]
  return Object.entries(value).map(([key, member]) => [`${name}[${key}]`, member])
}

function parameter(value: unknown, pool: Pool): string {
  return encodeURIComponent(String(resolveValue(value, pool)).toWellFormed())
}

function tampered(address: string, { at, sign }: NonNullable<Plan['tamper']>): string {
  const begin = address.indexOf('cursor=') + 'cursor='.length
  const place = begin + (at % Math.max(address.length - begin, 1))
  const other = address[place] === sign ? '-' : sign
  return `${address.slice(0, place)}${other}${address.slice(place + 1)}`
}

function bodyOf({ body, merged, rewrite }: Plan, pool: Pool): string | Buffer | undefined {
  const together = merged && pool.find(merged)
  const whole = isObject(body) && isObject(together) ? { ...body, ...together } : body
  const text = whole === undefined ? undefined : json(whole, pool)
  return rewrite ? rewrite(text ?? '') : text
}

function resolveValue(value: unknown, pool: Pool): unknown {
  if (value instanceof PoolValue) return pool.find(value) ?? UNKNOWN_UUID
  return value instanceof UniqueName ? `fuzz-${randomUUID()}` : value
}

/** JSON, with raw text for values that JSON.stringify cannot produce. */
function json(given: unknown, pool: Pool): string {
  const value = resolveValue(given, pool)
  if (value instanceof RawJson) return value.text
  if (Array.isArray(value)) return `[${value.map((item) => json(item, pool)).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${json(member, pool)}`).join(',')}}`
}

export interface Client {
  send(request: SentRequest): Promise<TimedResponse>
  close(): Promise<void>
}

export function createClient(url: string, connections: number): Client {
  const agent = new Connections(url, {
    connections,
    pipelining: 1,
    headersTimeout: 30_000,
    bodyTimeout: 30_000,
  })
  return {
    close: () => agent.close(),
    async send(request) {
      const startedAt = performance.now()
      const answer =
        request.bytes === undefined ? await sendHttp(agent, request) : await sendRaw(url, request.bytes)
      return { ...answer, tookMs: performance.now() - startedAt }
    },
  }
}

async function sendHttp(
  agent: Connections,
  { method, address, headers, body }: SentRequest,
): Promise<ApiResponse> {
  const path = Buffer.from(address, 'latin1').toString('latin1')
  // A boundary: the type lists only the usual methods.
  const answer = await agent.request({ method: method as 'GET', path, headers, body: body ?? null })
  const text = await answer.body.text()
  const received = new Headers()
  for (const [name, value] of Object.entries(answer.headers)) received.set(name, String(value))
  return { http: answer.statusCode, headers: received, text, body: parseJson(text) }
}

async function sendRaw(url: string, bytes: string): Promise<ApiResponse> {
  const answer = await sendBytes(url, Buffer.from(bytes, 'latin1'))
  const { text, http } = answer
  return { http, headers: new Headers(answer.headers), text, body: parseJson(text) }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
