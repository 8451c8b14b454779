// Error pages for people: the error page of the service, or a small fallback page.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { API_ERRORS, ApiError } from '../../core/errors.ts'
import { escapeHtml } from '../../kit/http/html.ts'
import type { ErrorPage, PageResponse, PageRoute } from '../../kit/http/route.ts'
import { errorFields, type Log } from '../../kit/observability/log.ts'
import type { Random } from '../../kit/random.ts'
import type { ErrorResponse } from '../errors.ts'
import { queryTextOf } from '../input/query.ts'
import { readCookies } from './cookies.ts'
import { htmlPage } from './html.ts'
import { headerTexts, parseQueryLeniently } from './page-input.ts'
import { createNonce, HTML, type PageNeeds, sendPage } from './page-response.ts'

export interface ErrorPageNeeds extends PageNeeds {
  random: Random
  log: Log
  errorPage: ErrorPage | undefined
}

/** Payment links are printed and shared, so people open them even if no route serves them. */
const ALWAYS_PAGE_SECTIONS = ['l']

/** Matches by the first path segment: browsers show everything under a page address. */
export function pageAddressMatcher(routes: readonly PageRoute[]): (address: string | undefined) => boolean {
  const sections = new Set([...routes.map(({ path }) => sectionOf(path)), ...ALWAYS_PAGE_SECTIONS])
  return (address) => address !== undefined && sections.has(sectionOf(address))
}

function sectionOf(address: string): string | undefined {
  return /^\/+([^/?]*)/.exec(address)?.[1]
}

export async function sendErrorPage(
  needs: ErrorPageNeeds,
  apiError: ApiError,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { url = '/' } = request.raw
  const headers = headerTexts(request)
  if (apiError.retryAfterSeconds !== undefined) reply.header('retry-after', apiError.retryAfterSeconds)
  const { http } = API_ERRORS[apiError.code]
  const input = errorInput(needs, { apiError, http, url, headers, requestId: request.id })
  return renderWithFallback(needs, input, (response) => sendPage(needs, reply, response, input.styleNonce))
}

/** Renders the page for a request that could not be parsed beyond its first line and has no reply object. */
export function renderErrorPage(
  needs: ErrorPageNeeds,
  context: Omit<ErrorPageContext, 'headers'>,
): Promise<ErrorResponse> {
  const input = errorInput(needs, { ...context, headers: {} })
  return renderWithFallback(needs, input, async ({ http, html = '', formActions }) => ({
    http,
    contentType: HTML,
    headers: needs.headers.page(input.styleNonce, formActions),
    body: html,
  }))
}

interface ErrorPageContext {
  apiError: ApiError
  http: number
  /** Path and query, unchanged. */
  url: string
  headers: Record<string, string>
  requestId: string
}

function errorInput(needs: ErrorPageNeeds, { apiError, http, url, headers, requestId }: ErrorPageContext) {
  return {
    apiError: withFormMessage(apiError),
    http,
    path: url.split('?', 1)[0] ?? url,
    query: parseQueryLeniently(queryTextOf(url)),
    headers,
    cookies: readCookies(headers.cookie),
    requestId,
    styleNonce: createNonce(needs.random),
  }
}

/** The default message asks for JSON, but pages take forms. */
function withFormMessage(apiError: ApiError): ApiError {
  if (apiError.code !== 'unsupported_media_type') return apiError
  const message = 'Send the form as application/x-www-form-urlencoded.'
  return new ApiError(apiError.code, { message, cause: apiError.cause })
}

/** If rendering the error page throws, the fallback page is used. The HTTP status stays the same. */
async function renderWithFallback<Result>(
  needs: ErrorPageNeeds,
  input: Parameters<ErrorPage>[0],
  use: (response: PageResponse) => Promise<Result>,
): Promise<Result> {
  const { http, requestId } = input
  try {
    if (needs.errorPage) return await use({ ...(await needs.errorPage(input)), http })
  } catch (error) {
    needs.log.write('http.error_page_failed', { requestId, ...errorFields(error) })
  }
  return use(fallbackErrorPage(input))
}

function fallbackErrorPage({
  apiError,
  http,
  requestId,
  styleNonce,
}: Parameters<ErrorPage>[0]): PageResponse {
  const title =
    http >= 500 ? 'This did not work' : http === 404 ? 'There is nothing here' : 'This is not possible'
  const html = htmlPage(
    title,
    `<h1>${title}</h1>
<p>${escapeHtml(apiError.message)}</p>
${apiError.details.map((detail) => `<p>${escapeHtml(detail.message)}</p>`).join('\n')}
<p><small>Request <code>${escapeHtml(requestId)}</code></small></p>`,
    styleNonce,
  )
  return { http, html }
}
