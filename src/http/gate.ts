// Who may come in: the key, its pace and its scope for merchants, the operator's token for operators. All of it happens
// before a byte of the body is read.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../core/errors.ts'
import type { Scope } from '../core/merchant.ts'
import type { Caller, HttpShellOptions } from './options.ts'
import { addressOwner, createRateLimiter, permitText, policyText, type RateLimit } from './rate-limit.ts'
import { createSharedLimiter } from './shared-pace.ts'

type Needs = Pick<
  HttpShellOptions,
  | 'authenticate'
  | 'isGuess'
  | 'adminTokenMatches'
  | 'metricsTokenMatches'
  | 'rateLimit'
  | 'sharePaces'
  | 'clock'
  | 'log'
>

export interface Gate {
  /** Leaves the merchant in the exchange. */
  admitMerchant(request: FastifyRequest, reply: FastifyReply, scope: Scope): Promise<void>
  admitOperator(request: FastifyRequest): void
  /** Whoever may read the metrics: operators too. */
  admitScraper(request: FastifyRequest): void
  /** Nothing is shared with other processes any more. */
  stop(): void
}

/** Twenty wrong secrets at once, then twenty a minute. */
const GUESSES: RateLimit = { perSecond: 20 / 60, burst: 20 }

export function createGate(options: Needs): Gate {
  const { clock, log, sharePaces: share } = options
  const shared = share && createSharedLimiter({ clock, log, share })
  const paces = shared ?? createRateLimiter(clock)
  const guesses = createRateLimiter(options.clock)
  const isGuess = options.isGuess ?? ((refusal: Refusal) => refusal.code === 'invalid_api_key')

  /**
   * Only the wrong secret is slowed down, never a right one from the same address: behind a proxy many merchants share
   * one, and a stranger's guesses must not lock them out. Secrets of 256 bits are safe by themselves; this keeps the
   * noise down.
   */
  const countGuess = (ip: string): void => {
    const permit = guesses.take(addressOwner(ip), GUESSES)
    if (permit.allowed) return
    const message = 'Too many wrong keys from this address; wait as Retry-After says.'
    throw new Refusal('rate_limited', { message, retryAfterSeconds: permit.retryAfterSeconds })
  }

  const identify = async (request: FastifyRequest): Promise<Caller> => {
    try {
      // The header alone: a key in a URL ends up in logs and histories.
      return await options.authenticate({ apiKey: headerText(request, 'x-api-key'), ip: request.ip })
    } catch (error) {
      if (error instanceof Refusal && isGuess(error)) countGuess(request.ip)
      throw error
    }
  }

  const keepPace = (reply: FastifyReply, caller: Caller): void => {
    const limit = caller.rateLimit ?? options.rateLimit
    if (!limit || limit.perSecond <= 0) return
    const permit = paces.take(caller.keyId, limit)
    reply.header('ratelimit-policy', policyText(limit)).header('ratelimit', permitText(permit))
    if (!permit.allowed) throw new Refusal('rate_limited', { retryAfterSeconds: permit.retryAfterSeconds })
  }

  const admitToken = (request: FastifyRequest, isRight: (token: string) => boolean): void => {
    const token = operatorToken(request)
    if (token !== undefined && isRight(token)) return
    if (token !== undefined) countGuess(request.ip)
    throw new Refusal('invalid_admin_token')
  }

  return {
    stop: () => shared?.stop(),
    async admitMerchant(request, reply, scope) {
      const caller = await identify(request)
      request.exchange.merchant = caller.merchant
      request.exchange.keyId = caller.keyId
      keepPace(reply, caller)
      if (!caller.scopes.includes('*') && !caller.scopes.includes(scope))
        throw new Refusal('insufficient_scope', { message: `The API key lacks the scope ${scope}.` })
    },
    admitOperator: (request) => admitToken(request, options.adminTokenMatches),
    admitScraper: (request) =>
      admitToken(
        request,
        (token) => options.adminTokenMatches(token) || options.metricsTokenMatches?.(token) === true,
      ),
  }
}

function operatorToken(request: FastifyRequest): string | undefined {
  const bearer = /^Bearer +(\S+)$/i.exec(headerText(request, 'authorization') ?? '')?.[1]
  return bearer ?? headerText(request, 'x-admin-token')
}

export function headerText(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}
