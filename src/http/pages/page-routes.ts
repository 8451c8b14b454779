// Page routes: forms in, HTML or a redirect out. Errors are shown as pages too: see error-pages.ts.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { PageRoute } from '../../kit/http/route.ts'
import type { Random } from '../../kit/random.ts'
import { frameworkPath } from '../json-routes.ts'
import type { RequestTracker } from '../request-context.ts'
import { readCookies } from './cookies.ts'
import { headerTexts, readPageRequest } from './page-input.ts'
import { createNonce, type PageNeeds, sendPage } from './page-response.ts'

interface Needs extends PageNeeds {
  requestTracker: RequestTracker
  random: Random
}

const FORM_LIMIT = 16_384

export function registerPageRoutes(app: FastifyInstance, needs: Needs, routes: readonly PageRoute[]): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    acceptForms(scope)
    for (const route of routes.filter(({ ignoresInput, upload }) => !ignoresInput && !upload))
      register(scope, needs, route)
  })
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    acceptForms(scope)
    scope.addContentTypeParser('multipart/form-data', { parseAs: 'buffer' }, (_request, body, done) =>
      done(null, body),
    )
    for (const route of routes.filter(({ upload }) => upload)) register(scope, needs, route)
  })
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    // Node.js discards a body that was not read when the response has been sent.
    scope.addContentTypeParser('*', (_request, _body, done) => done(null))
    for (const route of routes.filter(({ ignoresInput }) => ignoresInput)) register(scope, needs, route)
  })
}

function acceptForms(scope: FastifyInstance): void {
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: FORM_LIMIT },
    (_request, body, done) => done(null, body),
  )
}

function register(scope: FastifyInstance, needs: Needs, route: PageRoute): void {
  scope.route({
    method: route.method,
    url: frameworkPath(route.path),
    bodyLimit: route.upload?.limitBytes ?? FORM_LIMIT,
    ...(route.upload && { onRequest: rejectUpload(needs, route.upload) }),
    handler: (request, reply) =>
      needs.requestTracker.run(request, reply, async () => {
        const styleNonce = createNonce(needs.random)
        const input = await readPageRequest(request, route.ignoresInput)
        const response = await route.handle({ ...input, styleNonce })
        return sendPage(needs, reply, response, styleNonce)
      }),
  })
}

/** Before the body is read: a large one is read only for a person who may send it. */
function rejectUpload(needs: Needs, { reject }: NonNullable<PageRoute['upload']>) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const response = await reject(readCookies(headerTexts(request).cookie))
    if (response) return sendPage(needs, reply, response, createNonce(needs.random))
    return undefined
  }
}
