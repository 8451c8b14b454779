// The rate limit of what every client can read without a key: the landing page, the documentation, the OpenAPI document,
// and pages that do not exist. One address cannot take the time of the process from the API with them, so a refusal does
// as little as possible: no rendering, no compression, and a line in the log only now and then.

import type { FastifyRequest } from 'fastify'
import { API_ERRORS, ApiError } from '../../core/errors.ts'
import type { RateLimit } from '../../core/rate-limit.ts'
import { createIntervalLog } from '../../kit/observability/log-interval.ts'
import { errorResponse } from '../errors.ts'
import { isApiPath, pathOf } from '../known-paths.ts'
import type { HttpShellOptions } from '../options.ts'
import { addressOwner, createRateLimiter } from './rate-limit.ts'
import { type RefusalNeeds, type Refuse, sendRefusal } from './refusal.ts'

/** A program can read all pages at once, in HTML or as markdown; readers behind one address open fewer pages a second. */
export const DOCUMENTATION_LIMIT: RateLimit = { perSecond: 10, burst: 120 }

const DOCUMENTATION = /^\/(?:$|docs(?:\/|\.md$|$)|openapi\.json$|llms\.txt$)/

type Options = Pick<HttpShellOptions, 'clock' | 'rateLimit' | 'log' | 'publicUrl'>

/** Operators who turn off the rate limit of keys turn off this one too. */
export function createDocumentationLimit(
  { clock, rateLimit, log, publicUrl }: Options,
  needs: RefusalNeeds,
): Refuse {
  if (!rateLimit || rateLimit.perSecond <= 0) return () => false
  const limiter = createRateLimiter(clock)
  const report = createIntervalLog({ clock }, (address, count) =>
    log.write('http.address_rate_limited', { address, count }),
  )
  return (request, reply) => {
    const path = pathOf(request.raw.url)
    if (!DOCUMENTATION.test(path) && (!request.is404 || isApiPath(path))) return false
    const owner = addressOwner(request.ip)
    const { allowed, retryAfterSeconds } = limiter.take(owner, DOCUMENTATION_LIMIT)
    if (allowed) return false
    report(owner)
    const headers = { 'retry-after': String(retryAfterSeconds) }
    sendRefusal(request, reply, needs, { ...refusalFor(request, publicUrl()), http: HTTP_STATUS, headers })
    return true
  }
}

const { http: HTTP_STATUS } = API_ERRORS.rate_limited

const REFUSAL_PAGE = {
  contentType: 'text/html; charset=utf-8',
  body: `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Too many requests</title>
<h1>Too many requests</h1><p>Your address has sent too many requests. Wait a few seconds, then load the page again.</p></html>
`,
}

/** Made once: an error records its stack, which takes longer than the rest of a refusal. */
const RATE_LIMITED = new ApiError('rate_limited')

/** A page for browsers, and the error envelope for programs. */
function refusalFor({ id, headers: { accept } }: FastifyRequest, publicUrl: string) {
  if (accept?.includes('text/html')) return REFUSAL_PAGE
  return errorResponse(RATE_LIMITED, { requestId: id, accept, publicUrl })
}
