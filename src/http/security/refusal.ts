// A response that costs as little as possible, for requests that are refused because there are too many: no rendering, no
// compression, and no line in the log.

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorResponse } from '../errors.ts'
import type { RequestTracker } from '../request-context.ts'
import type { SecurityHeaders } from './headers.ts'

export interface RefusalNeeds {
  requestTracker: RequestTracker
  headers: SecurityHeaders
}

/** Returns whether the request was refused; the response is then sent. */
export type Refuse = (request: FastifyRequest, reply: FastifyReply) => boolean

export function sendRefusal(
  request: FastifyRequest,
  reply: FastifyReply,
  { requestTracker, headers }: RefusalNeeds,
  { http, headers: own, contentType, body }: ErrorResponse,
): void {
  requestTracker.refuse(request, reply, http)
  reply.hijack()
  reply.raw.writeHead(http, {
    ...headers.api,
    ...own,
    'x-request-id': request.id,
    'content-type': contentType,
    'content-length': String(Buffer.byteLength(body)),
  })
  reply.raw.end(body)
}
