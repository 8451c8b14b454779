// Receives browser reports of content security policy violations: a mistake of ours, a browser extension, or an
// injected script. Reports contain URLs with access codes, and any client can send them. So the log gets only the
// directive and the blocked origin, and logging is rate limited.

import type { FastifyInstance } from 'fastify'
import { isRecord } from '../../core/canonical.ts'
import type { RateLimit } from '../../core/rate-limit.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Log } from '../../kit/observability/log.ts'
import { REPORTS_PATH } from './headers.ts'
import { createRateLimiter } from './rate-limit.ts'

/** Browsers send a few reports at once, each with the policy and the URL: about 2 KB. */
const REPORTS_LIMIT = 32_768

/** Enough lines to identify the problem. */
const LOG_LIMIT: RateLimit = { perSecond: 5 / 60, burst: 5 }

export function registerPolicyReports(app: FastifyInstance, clock: Clock, log: Log): void {
  const limiter = createRateLimiter(clock)
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'string', bodyLimit: REPORTS_LIMIT }, (_request, body, done) =>
      done(null, body),
    )
    scope.post(REPORTS_PATH, { bodyLimit: REPORTS_LIMIT }, async (request, reply) => {
      for (const { directive, blocked } of violationsIn(request.body)) {
        if (!limiter.take('reports', LOG_LIMIT).allowed) break
        const reason = `${directive} kept out ${blocked}`
        log.write('http.csp_violation', { requestId: request.id, reason })
      }
      return reply.code(204).send()
    })
  })
}

interface Violation {
  directive: string
  blocked: string
}

/** Reads both report formats, and ignores everything else. */
function violationsIn(body: unknown): Violation[] {
  const parsed = parseJson(body)
  return [parsed].flat().flatMap((report) => {
    if (!isRecord(report)) return []
    const { type, body: modern, 'csp-report': old } = report
    if (type === 'csp-violation' && isRecord(modern))
      return violation(modern.effectiveDirective, modern.blockedURL)
    if (!isRecord(old)) return []
    return violation(old['effective-directive'] ?? old['violated-directive'], old['blocked-uri'])
  })
}

function parseJson(text: unknown): unknown {
  try {
    return JSON.parse(String(text))
  } catch {
    return undefined
  }
}

/** A keyword of the standard, such as script-src-elem, or inline in place of a URL. */
const KEYWORD = /^[a-z-]{1,40}$/

function violation(directive: unknown, blocked: unknown): Violation[] {
  // Older browsers send the whole directive, such as script-src 'self'.
  const [name = ''] = typeof directive === 'string' ? directive.split(' ') : []
  return KEYWORD.test(name) ? [{ directive: name, blocked: originOf(blocked) }] : []
}

/** A host name has at most 253 characters, so a longer text is not an origin. */
const MAX_ORIGIN_LENGTH = 280

function originOf(blocked: unknown): string {
  if (typeof blocked === 'string' && KEYWORD.test(blocked)) return blocked
  if (typeof blocked !== 'string' || !URL.canParse(blocked)) return 'something unnamed'
  const { origin, protocol } = new URL(blocked)
  // An extension or a data URL has no origin.
  return origin === 'null' || origin.length > MAX_ORIGIN_LENGTH ? protocol : origin
}
