// Page routes: forms in, HTML or a redirect out. Errors are shown as pages too: see error-pages.ts.

import type { FastifyInstance } from 'fastify'
import type { PageRoute } from '../../kit/http/route.ts'
import type { Random } from '../../kit/random.ts'
import { frameworkPath } from '../json-routes.ts'
import type { RequestTracker } from '../request-context.ts'
import { readPageRequest } from './page-input.ts'
import { createNonce, type PageNeeds, sendPage } from './page-response.ts'

interface Needs extends PageNeeds {
  requestTracker: RequestTracker
  random: Random
}

const FORM_LIMIT = 16_384

export function registerPageRoutes(app: FastifyInstance, needs: Needs, routes: readonly PageRoute[]): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: FORM_LIMIT },
      (_request, body, done) => done(null, body),
    )
    for (const route of routes.filter(({ ignoresInput }) => !ignoresInput)) register(scope, needs, route)
  })
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    // Node.js discards a body that was not read when the response has been sent.
    scope.addContentTypeParser('*', (_request, _body, done) => done(null))
    for (const route of routes.filter(({ ignoresInput }) => ignoresInput)) register(scope, needs, route)
  })
}

function register(scope: FastifyInstance, needs: Needs, route: PageRoute): void {
  scope.route({
    method: route.method,
    url: frameworkPath(route.path),
    bodyLimit: FORM_LIMIT,
    handler: (request, reply) =>
      needs.requestTracker.run(request, reply, async () => {
        const styleNonce = createNonce(needs.random)
        const input = readPageRequest(request, route.ignoresInput)
        const response = await route.handle({ ...input, styleNonce })
        return sendPage(needs, reply, response, styleNonce)
      }),
  })
}
