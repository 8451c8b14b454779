// Calls addresses that merchants and operators have configured. It connects only to the address that kit/http/public-address.ts has
// checked, follows no redirects, reads little of a response, and has a timeout. Every failure is a value with a message
// for the merchant, which says nothing about the operator's network.

import { promises as dns, type LookupAddress } from 'node:dns'
import { isIP } from 'node:net'
import { createHttpClient, type HttpResult, type ResolveHost, TOTAL_TIMEOUT } from './http-client.ts'
import { type AddressRules, type AllowList, bareHost, createAddressRules } from './public-address.ts'

export type PublicFailure =
  | 'refused_address'
  | 'resolve_failed'
  | 'connect_failed'
  | 'tls_failed'
  | 'timeout'
  | 'closed'
  | 'bad_response'

export type PublicHttpResult =
  | {
      kind: 'answered'
      status: number
      headers: Record<string, string>
      /** The beginning of the response, as text that PostgreSQL and a page can hold. */
      body: string
      durationMs: number
    }
  | { kind: 'failed'; failure: PublicFailure; message: string; durationMs: number }

export interface PublicGet {
  headers?: Record<string, string>
  /** From the call to the last byte that is read, including the DNS lookup. */
  timeoutMs?: number
  maxBodyBytes?: number
}

export interface PublicRequest extends PublicGet {
  body: string | Buffer
}

export interface PublicHttp {
  /** Never throws for anything that the other side does. */
  get(url: string, request: PublicGet): Promise<PublicHttpResult>
  /** Likewise. */
  post(url: string, request: PublicRequest): Promise<PublicHttpResult>
  /** The issue with an address that is to be saved, as the rest of a sentence that begins with the field's name. */
  validateUrl(url: string): string | undefined
  close(): Promise<void>
}

export interface PublicHttpOptions {
  allow: AllowList
  /** The ports that hosts may use which the operator has not listed. */
  ports: readonly number[]
  /** Resolves names; absent: the system's name servers. */
  resolve?: ResolveHost
}

const TIMEOUT_MS = 15_000
const MAX_BODY_BYTES = 4_096
const CONNECT_TIMEOUT_MS = 5_000
// More than the deliveries of a process in flight: the caller limits concurrency. Many merchants may share one host,
// and none must wait for another.
const CONNECTIONS = 1_024

export function createPublicHttp(options: PublicHttpOptions): PublicHttp {
  const rules = createAddressRules(options.allow, options.ports)
  const http = createHttpClient({
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    connections: CONNECTIONS,
    resolve: resolveChecked(rules, options.resolve),
  })
  const call = async (
    method: 'GET' | 'POST',
    url: string,
    {
      headers,
      timeoutMs = TIMEOUT_MS,
      maxBodyBytes = MAX_BODY_BYTES,
      body,
    }: PublicGet & { body?: string | Buffer },
  ): Promise<PublicHttpResult> => {
    const startedAt = performance.now()
    const durationMs = () => Math.round(performance.now() - startedAt)
    // The rules may have changed since the address was saved.
    const issue = rules.validate(url)
    if (issue !== undefined) return failed('refused_address', `The address ${issue}.`, durationMs())
    const limits = { totalTimeoutMs: timeoutMs, truncateBodyAfterBytes: maxBodyBytes }
    return toPublicResult(await http.request({ method, url, headers, body, ...limits }), durationMs())
  }
  return {
    validateUrl: rules.validate,
    close: http.close,
    get: (url, request) => call('GET', url, request),
    post: (url, request) => call('POST', url, request),
  }
}

function failed(failure: PublicFailure, message: string, durationMs: number): PublicHttpResult {
  return { kind: 'failed', failure, message: message, durationMs }
}

function toPublicResult(result: HttpResult, durationMs: number): PublicHttpResult {
  if (result.kind === 'answered') {
    const { kind, status, headers } = result
    return { kind, status, headers, body: readText(result.body), durationMs }
  }
  const failure = FAILURES.find(({ codes }) => codes.test(result.code))?.failure
  const otherwise = result.kind === 'not_sent' ? 'connect_failed' : 'closed'
  return failed(failure ?? otherwise, FAILURE_MESSAGES[failure ?? otherwise](result.code), durationMs)
}

const REFUSED = 'ERR_ADDRESS_REFUSED'
const UNRESOLVED = 'ERR_NAME_UNRESOLVED'

const FAILURES: readonly { failure: PublicFailure; codes: RegExp }[] = [
  { failure: 'refused_address', codes: new RegExp(`^${REFUSED}$`) },
  { failure: 'resolve_failed', codes: new RegExp(`^${UNRESOLVED}$`) },
  { failure: 'timeout', codes: new RegExp(`^(?:${TOTAL_TIMEOUT}|UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$`) },
  { failure: 'tls_failed', codes: /^(?:ERR_(?:TLS|SSL)_|EPROTO$)|CERT|UNABLE_TO_|HOSTNAME_MISMATCH/ },
  { failure: 'bad_response', codes: /^(?:HPE_|HTTPParserError$|UND_ERR_(?:HEADERS_OVERFLOW|RES_|REQ_))/ },
]

// The same message for both: otherwise a merchant could probe which names the private network has. The log
// distinguishes them.
const NOT_PUBLIC = () => 'The name does not lead to a public address, so nothing was called.'

const FAILURE_MESSAGES: Record<PublicFailure, (code: string) => string> = {
  refused_address: NOT_PUBLIC,
  resolve_failed: NOT_PUBLIC,
  connect_failed: (code) => `No connection could be made (${code}).`,
  tls_failed: (code) => `The server's certificate or encryption could not be accepted (${code}).`,
  timeout: () => 'No complete response arrived in time.',
  closed: (code) => `The connection ended before the response was complete (${code}).`,
  bad_response: (code) => `The reply was not an HTTP response (${code}).`,
}

// Characters that PostgreSQL does not store as text, and those that control a terminal.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that are meant
const UNPRINTABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g

/** Invalid bytes become the replacement character; a character cut off at the end is dropped. */
function readText(bytes: Buffer): string {
  return new TextDecoder().decode(bytes, { stream: true }).replaceAll(UNPRINTABLE, '\ufffd')
}

/** If any address is not permitted, none is used: the owner of the name also chooses their order. */
function resolveChecked(rules: AddressRules, resolve: ResolveHost = queryNameServers): ResolveHost {
  return async (hostname) => {
    const host = bareHost(hostname)
    const found = isIP(host) ? [{ address: host, family: isIP(host) }] : await find(host)
    if (!found.every(({ address }) => rules.permits(host, address)))
      throw errorWithCode(REFUSED, 'the address is not public')
    return found
  }

  async function find(host: string): Promise<LookupAddress[]> {
    // A listed host may be in the system's hosts file.
    const lookup = rules.isListedName(host) ? lookupHost : resolve
    const found = await lookup(host).catch((error: unknown) => {
      throw errorWithCode(UNRESOLVED, 'the name could not be looked up', error)
    })
    if (found.length === 0) throw errorWithCode(UNRESOLVED, 'the name has no address')
    return found
  }
}

function errorWithCode(code: string, message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { code })
}

const lookupHost: ResolveHost = (host) => dns.lookup(host, { all: true })

const NAME_SERVER_TIMEOUT_MS = 2_000
const NAME_SERVER_ATTEMPTS = 2

/**
 * Not the system's lookup, which blocks one of a few threads: a few names with silent servers would delay every other
 * one.
 */
async function queryNameServers(host: string): Promise<LookupAddress[]> {
  const resolver = new dns.Resolver({ timeout: NAME_SERVER_TIMEOUT_MS, tries: NAME_SERVER_ATTEMPTS })
  const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  if (four.status === 'rejected' && six.status === 'rejected') throw four.reason
  return [...addressesOf(four, 4), ...addressesOf(six, 6)]
}

function addressesOf(result: PromiseSettledResult<string[]>, family: number): LookupAddress[] {
  return result.status === 'fulfilled' ? result.value.map((address) => ({ address, family })) : []
}
