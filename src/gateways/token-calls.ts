// Calls with an access token. A call whose token could not be had was provably not sent: nothing was submitted, so routing
// may try another gateway. If the provider rejects the token, the call is repeated once with a new one.

import type { TokenFailure, TokenGrant, TokenReply, TokenSource } from '../gateway-tokens/token.ts'
import type { Clock } from '../kit/clock.ts'
import type { HttpResult } from '../kit/http/http-client.ts'
import { type Declined, isJsonBody, refused, type Unknown, unknown, withoutResponse } from './reply.ts'

/**
 * What a call returns if the provider rejects the token and provably began nothing (401, in most cases). Nothing else may be
 * reported so: the call is repeated.
 */
export const TOKEN_REJECTED = Symbol('the provider rejects the token')

export type Probed = 'works' | 'refused' | 'unreachable'

type Call<Result> = (token: string) => Promise<Result | typeof TOKEN_REJECTED>

export interface TokenCalls {
  /** For startCheckout and chargeSaved. Wrong credentials refuse the attempt, so that another gateway is tried. */
  submit<Result>(grant: TokenGrant, call: Call<Result>): Promise<Result | Unknown | Declined>
  /** For all other operations, which are made again later: without a token they are unknown, and not sent. */
  query<Result>(grant: TokenGrant, call: Call<Result>): Promise<Result | Unknown>
  /**
   * For probe: whether the provider grants a token, and answers a call without effect. A stored token proves neither, so the
   * call makes a request.
   */
  probe(grant: TokenGrant, call: Call<Probed>): Promise<Probed>
}

/** `timeoutMs`: the limit of one request. An operation must begin its last request within this time. */
export function createTokenCalls(
  tokens: TokenSource,
  { clock, timeoutMs }: { clock: Clock; timeoutMs: number },
): TokenCalls {
  const attempt = async <Result>(grant: TokenGrant, call: Call<Result>): Promise<Result | NoToken> => {
    const startedMs = clock.now().getTime()
    const first = await tokens.get(grant)
    if (first.kind !== 'token') return new NoToken(first)
    const result = await call(first.token)
    if (result !== TOKEN_REJECTED) return result
    // The new token may take the other half. After that another process may have taken over the operation.
    if (clock.now().getTime() - startedMs > timeoutMs / 2) return new NoToken(REJECTED_LATE)
    const second = await tokens.replace(grant, first.token)
    if (second.kind !== 'token') return new NoToken(second)
    const repeated = await call(second.token)
    return repeated === TOKEN_REJECTED ? new NoToken(NEW_TOKEN_REJECTED) : repeated
  }
  return {
    async submit(grant, call) {
      const result = await attempt(grant, call)
      if (!(result instanceof NoToken)) return result
      const { kind, message } = result.failure
      return kind === 'refused' ? refused('provider_unavailable', message) : unknown('not_sent', message)
    },
    async query(grant, call) {
      const result = await attempt(grant, call)
      return result instanceof NoToken ? unknown('not_sent', result.failure.message) : result
    },
    async probe(grant, call) {
      const result = await attempt(grant, call)
      if (!(result instanceof NoToken)) return result
      return result.failure.kind === 'refused' ? 'refused' : 'unreachable'
    },
  }
}

/** Distinguishes our failure from any result of a connector. */
class NoToken {
  readonly failure: TokenFailure
  constructor(failure: TokenFailure) {
    this.failure = failure
  }
}

const REJECTED_LATE: TokenFailure = {
  kind: 'unavailable',
  message: 'the provider rejects the token, and took too long to repeat the call',
}

const NEW_TOKEN_REJECTED: TokenFailure = {
  kind: 'refused',
  message: 'the provider rejects a token that it has just granted',
}

/** The statuses with which OAuth servers refuse credentials. */
const REFUSALS: readonly number[] = [400, 401, 403]

/** The usual reply to a request for a token. `read` returns undefined for a body without a token. */
export function readTokenReply(
  result: HttpResult,
  title: string,
  read: (body: Buffer) => { token: string; expiresInMs: number } | undefined,
): TokenReply {
  if (result.kind !== 'answered') return { kind: 'failed', message: withoutResponse(result).message }
  const { status, body } = result
  if (REFUSALS.includes(status) && isJsonBody(body))
    return { kind: 'refused', message: `${title} refuses the credentials: HTTP ${status}` }
  const granted = status === 200 ? read(body) : undefined
  if (granted) return { kind: 'granted', ...granted }
  return { kind: 'failed', message: `${title} granted no access token: HTTP ${status}` }
}

/** The usual reply to a probe: an error of the provider also shows that it works, unless it is down or busy. */
export function readProbeReply(result: HttpResult): 'works' | 'unreachable' {
  if (result.kind !== 'answered') return 'unreachable'
  const { status, body } = result
  return status < 500 && status !== 429 && isJsonBody(body) ? 'works' : 'unreachable'
}
