// Routes that get bytes instead of JSON: gateway webhooks, whose signatures cover the raw body, and embedded servers
// that are mounted under a path prefix.

import type { FastifyInstance } from 'fastify'
import type { GatewayWebhookRoute } from '../kit/http/route.ts'
import { errorFields, type Log } from '../kit/observability/log.ts'
import { frameworkPath } from './json-routes.ts'
import type { Mount } from './options.ts'
import { headerTexts } from './pages/page-input.ts'
import type { RequestTracker } from './request-context.ts'

interface Needs {
  requestTracker: RequestTracker
}

// Far above the size that any gateway sends, and small enough for ten at once.
const WEBHOOK_BODY_LIMIT = 1_048_576

export function registerGatewayWebhookRoutes(
  app: FastifyInstance,
  needs: Needs,
  routes: readonly GatewayWebhookRoute[],
): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      '*',
      { parseAs: 'buffer', bodyLimit: WEBHOOK_BODY_LIMIT },
      (_request, body, done) => {
        done(null, body)
      },
    )
    for (const route of routes) {
      scope.route({
        method: 'POST',
        url: frameworkPath(route.path),
        bodyLimit: WEBHOOK_BODY_LIMIT,
        handler: (request, reply) =>
          needs.requestTracker.run(request, reply, async () => {
            const { http } = await route.handle({
              // A boundary: the router's parameters are strings by name.
              params: request.params as Record<string, string>,
              headers: headerTexts(request),
              rawBody: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
            })
            return reply.code(http).send()
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
