// Pages for people: forms in, HTML or a redirect out, and a small page instead of an envelope when something is refused.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Complaint, REFUSALS, type Refusal, refusalOf } from '../core/errors.ts'
import type { Random } from '../kit/random.ts'
import type { PageAnswer, PageRoute } from '../kit/route.ts'
import { complainOfCharacters } from './characters.ts'
import type { Exchanges } from './exchange.ts'
import type { SecurityHeaders } from './headers.ts'
import { escapeHtml, htmlPage } from './html.ts'
import { frameworkPath } from './json-routes.ts'
import { parsePairs, queryTextOf } from './query.ts'

interface Needs {
  exchanges: Exchanges
  headers: SecurityHeaders
  random: Random
  /** Notes the refusal in the exchange and logs what is our own mistake. */
  refuse(error: unknown, request: FastifyRequest): Refusal
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
    scope.setErrorHandler((error, request, reply) => sendErrorPage(needs, error, request, reply))
    for (const route of routes) {
      scope.route({
        method: route.method,
        url: frameworkPath(route.path),
        bodyLimit: FORM_LIMIT,
        handler: (request, reply) =>
          needs.exchanges.work(request, reply, async () => {
            const styleNonce = newNonce(needs.random)
            const answer = await route.handle({ ...readPageRequest(request), styleNonce })
            return sendPage(needs, reply, answer, styleNonce)
          }),
      })
    }
  })
}

export function newNonce(random: Random): string {
  return Buffer.from(random.bytes(16)).toString('base64')
}

function readPageRequest(request: FastifyRequest) {
  const complaints: Complaint[] = []
  const input = {
    // A boundary: the router's parameters are texts by name.
    params: checkedTexts(Object.entries(request.params as Record<string, string>), complaints),
    query: checkedTexts(parsePairs(queryTextOf(request.raw.url)), complaints),
    form: checkedTexts(typeof request.body === 'string' ? parsePairs(request.body) : [], complaints),
    headers: headerTexts(request),
    requestId: request.id,
  }
  if (complaints.length > 0) throw refusalOf(complaints)
  return input
}

/** Without a prototype, so that a field called __proto__ is a field. A text area may hold lines. */
function checkedTexts(pairs: [string, string][], complaints: Complaint[]): Record<string, string> {
  const texts: Record<string, string> = Object.create(null)
  for (const [name, value] of pairs) {
    const text = value.replaceAll('\r\n', '\n')
    const complaint = complainOfCharacters(name, [name], false) ?? complainOfCharacters(text, [name], true)
    if (complaint) complaints.push(complaint)
    texts[name] = text
  }
  return texts
}

export function headerTexts(request: FastifyRequest): Record<string, string> {
  const entries = Object.entries(request.headers).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries.map(([name, value]) => [name, [value].flat().join(', ')]))
}

function sendPage(needs: Needs, reply: FastifyReply, answer: PageAnswer, styleNonce: string): FastifyReply {
  reply.headers(needs.headers.page(styleNonce, answer.formActions))
  if (answer.headers) reply.headers(answer.headers)
  if (answer.redirectTo !== undefined) return reply.code(303).header('location', answer.redirectTo).send()
  const { type, body } = answer.content ?? { type: 'text/html; charset=utf-8', body: answer.html ?? '' }
  return reply.code(answer.http).type(type).send(body)
}

function sendErrorPage(
  needs: Needs,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const refusal = needs.refuse(error, request)
  const { http } = REFUSALS[refusal.code]
  const styleNonce = newNonce(needs.random)
  reply.headers(needs.headers.page(styleNonce))
  if (refusal.retryAfterSeconds !== undefined) reply.header('retry-after', refusal.retryAfterSeconds)
  const title =
    http >= 500 ? 'This did not work' : http === 404 ? 'There is nothing here' : 'This is not possible'
  const html = htmlPage(
    title,
    `<h1>${title}</h1>
<p>${escapeHtml(refusal.message)}</p>
${refusal.details.map((detail) => `<p>${escapeHtml(detail.message)}</p>`).join('\n')}
<p><small>Request <code>${escapeHtml(request.id)}</code></small></p>`,
    styleNonce,
  )
  return reply.code(http).type('text/html; charset=utf-8').send(html)
}
