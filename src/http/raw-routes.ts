// Routes that get bytes instead of JSON: gateway webhooks, whose signatures cover the raw body, and embedded servers
// that are mounted under a path prefix.

import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { GatewayWebhookRoute } from '../kit/http/route.ts'
import { errorFields, type Log } from '../kit/observability/log.ts'
import { createBoundedBodies } from './input/bounded-bodies.ts'
import { queryTextOf } from './input/query.ts'
import { frameworkPath } from './json-routes.ts'
import type { Mount } from './options.ts'
import { headerTexts, parseQueryLeniently } from './pages/page-input.ts'
import type { RequestTracker } from './request-context.ts'

interface Needs {
  requestTracker: RequestTracker
}

// Anyone can send these bodies, and their signature is checked only when they are complete. Gateways send some kilobytes.
const WEBHOOK_BODY_LIMIT = 65_536
// Five hundred bodies of the usual size at the same moment, or 128 of the largest.
const WEBHOOK_BODIES_LIMIT = 8_388_608

export function registerGatewayWebhookRoutes(
  app: FastifyInstance,
  needs: Needs,
  routes: readonly GatewayWebhookRoute[],
): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    const bodies = createBoundedBodies({
      maxBodyBytes: WEBHOOK_BODY_LIMIT,
      maxTotalBytes: WEBHOOK_BODIES_LIMIT,
    })
    scope.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) =>
      bodies.read(payload, Number(request.headers['content-length'] ?? 0)),
    )
    for (const route of routes) {
      scope.route({
        // Some providers send callbacks by PUT.
        method: ['POST', 'PUT'],
        url: frameworkPath(route.path),
        handler: (request, reply) =>
          needs.requestTracker.run(request, reply, async () => {
            const { http, json } = await route.handle({
              method: request.method === 'PUT' ? 'PUT' : 'POST',
              // A boundary: the router's parameters are strings by name.
              params: request.params as Record<string, string>,
              query: parseQueryLeniently(queryTextOf(request.raw.url)),
              headers: headerTexts(request),
              rawBody: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
            })
            return json === undefined ? reply.code(http).send() : reply.code(http).send(json)
          }),
      })
    }
  })
}

/** Takes over the reply before the body is read, so that the mounted server reads the request itself. */
export function registerMounts(
  app: FastifyInstance,
  mounts: Readonly<Record<string, Mount>>,
  log: Log,
): void {
  for (const [prefix, mount] of Object.entries(mounts)) {
    for (const url of [prefix, `${prefix}/*`]) {
      app.route({
        method: app.supportedMethods,
        url,
        onRequest: (request, reply, _done) => {
          reply.hijack()
          reply.raw.setHeader('x-request-id', request.id)
          try {
            mount(request.raw, reply.raw)
          } catch (error) {
            log.write('http.mounted_server_failed', {
              requestId: request.id,
              route: url,
              ...errorFields(error),
            })
            reply.raw.destroy()
          }
        },
        handler: () => {
          throw new Error('a mounted server responds before the handler')
        },
      })
    }
  }
}
