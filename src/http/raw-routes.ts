// What gets bytes instead of JSON: the doorbells of gateways, whose signatures cover the raw body, and the servers that
// are mounted whole under a prefix.

import type { FastifyInstance } from 'fastify'
import { errorFields, type Log } from '../kit/log.ts'
import type { GatewayWebhookRoute } from '../kit/route.ts'
import { frameworkPath } from './json-routes.ts'
import type { Mount } from './options.ts'
import { headerTexts } from './pages/page-input.ts'
import type { RequestTracker } from './request-context.ts'

interface Needs {
  requestTracker: RequestTracker
}

// Far more than any provider sends, and no more than ten of them at once would hurt.
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
              // A boundary: the router's parameters are texts by name.
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

/** The answer is taken over before the body is touched, so the mounted server reads the request like its own. */
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
          throw new Error('a mounted server answers before any handler')
        },
      })
    }
  }
}
