// Calls addresses that merchants have given us. Only what kit/http/public-address.ts permits is connected to, by the address
// that was checked; redirects are not followed, little of an answer is read, and nothing takes longer than its time.
// Every trouble is a value, in message for the merchant: they say nothing about the operator's own network.

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
      /** The beginning of what was answered, as text that a database and a page can hold. */
      body: string
      durationMs: number
    }
  | { kind: 'failed'; failure: PublicFailure; message: string; durationMs: number }

export interface PublicRequest {
  headers?: Record<string, string>
  body: string | Buffer
  /** From the call to the last byte that is read, the lookup of the name included. */
  timeoutMs?: number
  maxBodyBytes?: number
}

export interface PublicHttp {
  /** Never throws for what the other side does. */
  post(url: string, request: PublicRequest): Promise<PublicHttpResult>
  /** What is wrong with an address that shall be kept, as the rest of a sentence that begins with its name. */
  validateUrl(url: string): string | undefined
  close(): Promise<void>
}

export interface PublicHttpOptions {
  allow: AllowList
  /** Where hosts that the operator has not listed may be called. */
  ports: readonly number[]
  /** Who answers for names; the system's name servers by themselves. */
  resolve?: ResolveHost
}

const TIMEOUT_MS = 15_000
const MAX_BODY_BYTES = 4_096
const CONNECT_TIMEOUT_MS = 5_000
// More than a process has deliveries under way: whose turn it is, is for the caller to say. Many merchants may have
// their endpoints at one host, and none shall wait for another's.
const CONNECTIONS = 1_024

export function createPublicHttp(options: PublicHttpOptions): PublicHttp {
  const rules = createAddressRules(options.allow, options.ports)
  const http = createHttpClient({
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    connections: CONNECTIONS,
    resolve: resolveChecked(rules, options.resolve),
  })
  return {
    validateUrl: rules.validate,
    close: http.close,
    async post(url, { headers, body, timeoutMs = TIMEOUT_MS, maxBodyBytes = MAX_BODY_BYTES }) {
      const startedAt = performance.now()
      const durationMs = () => Math.round(performance.now() - startedAt)
      // The rules may have changed since the address was kept.
      const issue = rules.validate(url)
      if (issue !== undefined) return failed('refused_address', `The address ${issue}.`, durationMs())
      const request = { method: 'POST', url, headers, body } as const
      const limits = { totalTimeoutMs: timeoutMs, truncateBodyAfterBytes: maxBodyBytes }
      return toPublicResult(await http.request({ ...request, ...limits }), durationMs())
    },
  }
}

function failed(failure: PublicFailure, message: string, durationMs: number): PublicHttpResult {
  return { kind: 'failed', failure, message: message, durationMs }
}

function toPublicResult(answer: HttpResult, durationMs: number): PublicHttpResult {
  if (answer.kind === 'answered') {
    const { kind, status, headers } = answer
    return { kind, status, headers, body: readText(answer.body), durationMs }
  }
  const failure = FAILURES.find(({ codes }) => codes.test(answer.code))?.failure
  const otherwise = answer.kind === 'not_sent' ? 'connect_failed' : 'closed'
  return failed(failure ?? otherwise, FAILURE_MESSAGES[failure ?? otherwise](answer.code), durationMs)
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

// The same for both: otherwise anybody could ask us which names the operator's own network knows. The log tells them apart.
const NOT_PUBLIC = () => 'The name does not lead to a public address, so nothing was called.'

const FAILURE_MESSAGES: Record<PublicFailure, (code: string) => string> = {
  refused_address: NOT_PUBLIC,
  resolve_failed: NOT_PUBLIC,
  connect_failed: (code) => `No connection could be made (${code}).`,
  tls_failed: (code) => `The server's certificate or encryption could not be accepted (${code}).`,
  timeout: () => 'No complete answer came in time.',
  closed: (code) => `The connection ended before the answer was complete (${code}).`,
  bad_response: (code) => `What came back was not an HTTP answer (${code}).`,
}

// What Postgres does not store as text, and what would move a person's terminal about.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that are meant
const UNPRINTABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g

/** Bytes that are no text become the sign for that; a sign that was cut at the end is left out. */
function readText(bytes: Buffer): string {
  return new TextDecoder().decode(bytes, { stream: true }).replaceAll(UNPRINTABLE, '\ufffd')
}

/** One address that is not permitted spoils them all: whoever answers for the name also chooses which comes first. */
function resolveChecked(rules: AddressRules, resolve: ResolveHost = queryNameServers): ResolveHost {
  return async (hostname) => {
    const host = bareHost(hostname)
    const found = isIP(host) ? [{ address: host, family: isIP(host) }] : await find(host)
    if (!found.every(({ address }) => rules.permits(host, address)))
      throw errorWithCode(REFUSED, 'the address is not public')
    return found
  }

  async function find(host: string): Promise<LookupAddress[]> {
    // A host that the operator has listed may stand in the system's own table of hosts.
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
 * Not the system's lookup: that one waits on one of a few threads, so a few names whose servers do not answer would
 * hold up every other.
 */
async function queryNameServers(host: string): Promise<LookupAddress[]> {
  const resolver = new dns.Resolver({ timeout: NAME_SERVER_TIMEOUT_MS, tries: NAME_SERVER_ATTEMPTS })
  const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  if (four.status === 'rejected' && six.status === 'rejected') throw four.reason
  return [...addressesOf(four, 4), ...addressesOf(six, 6)]
}

function addressesOf(answer: PromiseSettledResult<string[]>, family: number): LookupAddress[] {
  return answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : []
}
