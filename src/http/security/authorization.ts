// Authorizes requests before the body is read: API key, rate limit and scope for merchants, the operator token for
// operators.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../core/errors.ts'
import { grantsScope, type Scope } from '../../core/merchant.ts'
import type { RateLimit } from '../../core/rate-limit.ts'
import { hmacSha256 } from '../../kit/crypto.ts'
import type { Caller, HttpShellOptions } from '../options.ts'
import { addressOwner, createRateLimiter, rateLimitHeader, rateLimitPolicyHeader } from './rate-limit.ts'
import { createSharedRateLimiter } from './shared-rate-limit.ts'

type Needs = Pick<
  HttpShellOptions,
  | 'authenticate'
  | 'isWrongSecret'
  | 'adminTokenMatches'
  | 'metricsTokenMatches'
  | 'rateLimit'
  | 'syncRateLimits'
  | 'clock'
  | 'log'
>

export interface Agent extends Caller {
  /** With which the agent's requests of the API are sent. */
  apiKey: string
}

export interface Authorization {
  /** Sets the merchant in the request context. The cost is what the request takes from the rate limit. */
  authorizeMerchant(
    request: FastifyRequest,
    reply: FastifyReply,
    scopes: readonly Scope[],
    cost?: number,
  ): Promise<void>
  /** Like a merchant without any scope, with the key in x-api-key or as a bearer token. */
  authorizeAgent(request: FastifyRequest, reply: FastifyReply): Promise<Agent>
  authorizeOperator(request: FastifyRequest): void
  /** Allows the metrics token and the operator token. */
  authorizeScraper(request: FastifyRequest): void
  /** Stops the synchronization with other processes. */
  stop(): void
}

/** A whole key of ours, with its public id, and the parameters in which other services take theirs. */
const KEY_IN_URL = /cowry_(?:live|test)_([0-9A-Za-z]{12})_[0-9A-Za-z]{20,}/
const KEY_PARAMETER = /[?&](?:x-)?(?:api[-_]?)?key=/i

const AUTHORIZATION_MESSAGE =
  'Send your API key in the x-api-key header; the Authorization header is not read here.'

/** A burst of twenty wrong secrets, then twenty a minute. */
const WRONG_SECRET_LIMIT: RateLimit = { perSecond: 20 / 60, burst: 20 }

export function createAuthorization(options: Needs): Authorization {
  const { clock, log, syncRateLimits: sync } = options
  const shared = sync && createSharedRateLimiter({ clock, log, sync })
  const limiter = shared ?? createRateLimiter(clock)
  const wrongSecrets = createRateLimiter(options.clock)
  const isWrongSecret = options.isWrongSecret ?? ((apiError: ApiError) => apiError.code === 'invalid_api_key')

  /**
   * Rate limits wrong secrets only, never a right one from the same address: merchants behind one proxy share an
   * address, and an attacker must not lock them out. Secrets of 256 bits cannot be guessed; this limit reduces noise.
   */
  const limitWrongSecrets = (ip: string): void => {
    const result = wrongSecrets.take(addressOwner(ip), WRONG_SECRET_LIMIT)
    if (result.allowed) return
    const message = 'Too many wrong keys from this address; wait for the time in Retry-After.'
    throw new ApiError('rate_limited', { message, retryAfterSeconds: result.retryAfterSeconds })
  }

  /** Only the header: a key in a URL ends up in logs and browser histories, so it counts as leaked. */
  const refuseKeyInUrl = (request: FastifyRequest): void => {
    const url = request.raw.url ?? ''
    const keyId = KEY_IN_URL.exec(url)?.[1]
    if (keyId === undefined && (request.headers['x-api-key'] !== undefined || !KEY_PARAMETER.test(url)))
      return
    log.write('api_key.in_url', { requestId: request.id, keyId })
    throw new ApiError('api_key_in_url')
  }

  const authenticate = async (request: FastifyRequest, bearer?: string): Promise<Caller> => {
    refuseKeyInUrl(request)
    const apiKey = headerText(request, 'x-api-key') ?? bearer
    if (apiKey === undefined && request.headers.authorization !== undefined)
      throw new ApiError('missing_api_key', { message: AUTHORIZATION_MESSAGE })
    try {
      return await options.authenticate({ apiKey, ip: request.ip })
    } catch (error) {
      if (error instanceof ApiError && isWrongSecret(error)) limitWrongSecrets(request.ip)
      throw error
    }
  }

  const enforceRateLimit = (reply: FastifyReply, caller: Caller, cost?: number): void => {
    const limit = caller.rateLimit ?? options.rateLimit
    if (!limit || limit.perSecond <= 0) return
    const result = limiter.take(caller.keyId, limit, cost)
    reply
      .header('ratelimit-policy', rateLimitPolicyHeader(limit))
      .header('ratelimit', rateLimitHeader(result))
    if (!result.allowed) throw new ApiError('rate_limited', { retryAfterSeconds: result.retryAfterSeconds })
  }

  const admit = async (
    request: FastifyRequest,
    reply: FastifyReply,
    cost?: number,
    bearer?: string,
  ): Promise<Caller> => {
    const caller = await authenticate(request, bearer)
    request.requestContext.merchant = caller.merchant
    request.requestContext.keyId = caller.keyId
    enforceRateLimit(reply, caller, cost)
    return caller
  }

  const authorizeToken = (request: FastifyRequest, matches: (token: string) => boolean): string => {
    const token = operatorToken(request)
    if (token !== undefined && matches(token)) return token
    if (token !== undefined) limitWrongSecrets(request.ip)
    throw new ApiError('invalid_admin_token')
  }

  return {
    stop: () => shared?.stop(),
    async authorizeMerchant(request, reply, scopes, cost) {
      const caller = await admit(request, reply, cost)
      const missing = scopes.find((scope) => !grantsScope(caller.scopes, scope))
      if (missing !== undefined)
        throw new ApiError('insufficient_scope', { message: lacksScopeMessage(missing) })
    },
    async authorizeAgent(request, reply) {
      const bearer = bearerToken(request)
      const caller = await admit(request, reply, 1, bearer)
      return { ...caller, apiKey: headerText(request, 'x-api-key') ?? bearer ?? '' }
    },
    authorizeOperator(request) {
      const token = authorizeToken(request, options.adminTokenMatches)
      request.requestContext.operatorId = fingerprint(token)
    },
    authorizeScraper(request) {
      authorizeToken(
        request,
        (token) => options.adminTokenMatches(token) || options.metricsTokenMatches?.(token) === true,
      )
    },
  }
}

const FINGERPRINT_LENGTH = 12

/** Tells tokens apart in logs and the audit log. Tokens are random, so no token can be found from it. */
function fingerprint(token: string): string {
  return hmacSha256(token, 'operator token').toString('hex').slice(0, FINGERPRINT_LENGTH)
}

function lacksScopeMessage(scope: Scope): string {
  return `The API key lacks the scope ${scope}; use a key that has it, or create one.`
}

function operatorToken(request: FastifyRequest): string | undefined {
  return bearerToken(request) ?? headerText(request, 'x-admin-token')
}

function bearerToken(request: FastifyRequest): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headerText(request, 'authorization') ?? '')?.[1]
}

export function headerText(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}
