// What people see when something goes wrong: the page that the service gives us for it, or a small one of our own.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { REFUSALS, type Refusal } from '../core/errors.ts'
import { errorFields, type Log } from '../kit/log.ts'
import type { Random } from '../kit/random.ts'
import type { ErrorPage, PageAnswer } from '../kit/route.ts'
import { readCookies } from './cookies.ts'
import { escapeHtml, htmlPage } from './html.ts'
import { newNonce, type PageNeeds, sendPage } from './page-answers.ts'
import { headerTexts, readableTexts } from './page-input.ts'
import { queryTextOf } from './query.ts'

export interface ErrorPageNeeds extends PageNeeds {
  random: Random
  log: Log
  errorPage: ErrorPage | undefined
  /** Notes the refusal in the exchange and logs what is our own mistake. */
  refuse(error: unknown, request: FastifyRequest): Refusal
}

export function sendErrorPage(
  needs: ErrorPageNeeds,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const refusal = needs.refuse(error, request)
  const { http } = REFUSALS[refusal.code]
  const styleNonce = newNonce(needs.random)
  if (refusal.retryAfterSeconds !== undefined) reply.header('retry-after', refusal.retryAfterSeconds)
  const { url = '/' } = request.raw
  const headers = headerTexts(request)
  const answer = renderErrorPage(needs, {
    refusal,
    http,
    path: url.split('?', 1)[0] ?? url,
    query: readableTexts(queryTextOf(url)),
    headers,
    cookies: readCookies(headers.cookie),
    requestId: request.id,
    styleNonce,
  })
  // The status says what happened, whatever the page looks like.
  return sendPage(needs, reply, { ...answer, http }, styleNonce)
}

/** A page about a mistake must not fail over one of its own. */
function renderErrorPage(needs: ErrorPageNeeds, input: Parameters<ErrorPage>[0]): PageAnswer {
  try {
    if (needs.errorPage) return needs.errorPage(input)
  } catch (error) {
    needs.log.error('the error page failed', { requestId: input.requestId, ...errorFields(error) })
  }
  return smallErrorPage(input)
}

const smallErrorPage: ErrorPage = ({ refusal, http, requestId, styleNonce }) => {
  const title =
    http >= 500 ? 'This did not work' : http === 404 ? 'There is nothing here' : 'This is not possible'
  const html = htmlPage(
    title,
    `<h1>${title}</h1>
<p>${escapeHtml(refusal.message)}</p>
${refusal.details.map((detail) => `<p>${escapeHtml(detail.message)}</p>`).join('\n')}
<p><small>Request <code>${escapeHtml(requestId)}</code></small></p>`,
    styleNonce,
  )
  return { http, html }
}
