// The rate limit of what every client can read without a key: the documentation, the OpenAPI document, and pages that do
// not exist. One address cannot take the time of the process from the API with them.

import type { FastifyRequest } from 'fastify'
import { ApiError } from '../../core/errors.ts'
import type { RateLimit } from '../../core/rate-limit.ts'
import { isApiPath, pathOf } from '../known-paths.ts'
import type { HttpShellOptions } from '../options.ts'
import { addressOwner, createRateLimiter } from './rate-limit.ts'

/** A program can read all pages at once, in HTML or as markdown; readers behind one address open fewer pages a second. */
export const DOCUMENTATION_LIMIT: RateLimit = { perSecond: 10, burst: 120 }

const DOCUMENTATION = /^\/(?:docs(?:\/|$)|openapi\.json$|llms\.txt$)/

/** Operators who turn off the rate limit of keys turn off this one too. */
export function createDocumentationLimit({
  clock,
  rateLimit,
}: Pick<HttpShellOptions, 'clock' | 'rateLimit'>): (request: FastifyRequest) => ApiError | undefined {
  if (!rateLimit || rateLimit.perSecond <= 0) return () => undefined
  const limiter = createRateLimiter(clock)
  return (request) => {
    const path = pathOf(request.raw.url)
    const isLimited = DOCUMENTATION.test(path) || (request.is404 && !isApiPath(path))
    if (!isLimited) return undefined
    const { allowed, retryAfterSeconds } = limiter.take(addressOwner(request.ip), DOCUMENTATION_LIMIT)
    return allowed ? undefined : new ApiError('rate_limited', { retryAfterSeconds })
  }
}
