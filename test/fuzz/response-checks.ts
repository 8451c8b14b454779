// Checks a response against the document, the request, and rules for all responses.

import { API_ERRORS } from '../../src/core/errors.ts'
import { type Document, problemErrors, type ResponseValidator } from '../support/openapi.ts'
import type { SentRequest, TimedResponse } from './client.ts'
import type { Plan } from './plan.ts'

/** Besides our error codes there are a few of HTTP itself. */
const HTTP_ERRORS = [400, 408, 431, 505]

/** F-81: on every response of the API. */
const HEADERS: Readonly<Record<string, RegExp>> = {
  'x-content-type-options': /^nosniff$/,
  'cache-control': /no-store/,
  'content-security-policy': /default-src 'none'.*frame-ancestors 'none'/,
  'cross-origin-resource-policy': /^same-origin$/,
  'x-request-id': /^[A-Za-z0-9._-]{8,128}$/,
}
const FORBIDDEN_HEADERS = ['server', 'x-powered-by', 'access-control-allow-origin']

export interface ResponseChecks {
  /** A short description of the defect, or undefined. */
  findProblem(plan: Plan, sent: SentRequest, answer: TimedResponse): string | undefined
}

/** `foreign` has values that only another merchant's records contain. */
export function createResponseChecks(
  { assertDocumented, schemaErrors }: ResponseValidator,
  foreign: string,
): ResponseChecks {
  const byDocument = ({ operation }: Plan, answer: TimedResponse): string | undefined => {
    try {
      assertDocumented(operation, answer)
      return undefined
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }

  const asApiError = ({ http, body, text, headers }: TimedResponse): string | undefined => {
    if (http < 400) return `answered ${http}, but must refuse`
    const isProblem = headers.get('content-type')?.startsWith('application/problem+json')
    const wrong = isProblem
      ? problemErrors({ http, body })
      : schemaErrors(['components', 'schemas', 'Error'], body)
    if (wrong.length > 0) return `no error envelope: ${wrong.join('; ')} in ${text}`
    const facts = API_ERRORS[(body.error?.code ?? body.code) as keyof typeof API_ERRORS]
    return facts.http === http || HTTP_ERRORS.includes(http)
      ? undefined
      : `${http} with the code of ${facts.http}`
  }

  const byExpectation = (plan: Plan, answer: TimedResponse): string | undefined => {
    // A response to HEAD has no body to check.
    if (plan.method === 'HEAD' && plan.bytes === undefined) return undefined
    if (plan.expects === 'a documented answer') return byDocument(plan, answer)
    if (plan.expects === 'any answer') return answer.http < 400 ? undefined : asApiError(answer)
    return asApiError(answer)
  }

  return {
    findProblem(plan, sent, answer) {
      if (answer.http >= 500 && answer.http !== 505) return `answered ${answer.http}: ${answer.text}`
      if (answer.text.includes(foreign)) return `shows another merchant's record: ${answer.text}`
      return wrongHeader(sent, answer) ?? byExpectation(plan, answer)
    },
  }
}

function wrongHeader(sent: SentRequest, { headers, body }: TimedResponse): string | undefined {
  for (const [name, form] of Object.entries(HEADERS))
    if (!form.test(headers.get(name) ?? '')) return `the header ${name} is ${headers.get(name)}`
  for (const name of FORBIDDEN_HEADERS) if (headers.has(name)) return `has the header ${name}`
  const id = headers.get('x-request-id')
  const bodyRequestId: Document = body?.error?.requestId ?? body?.requestId
  if (bodyRequestId !== undefined && bodyRequestId !== id)
    return `the body says ${bodyRequestId}, the header ${id}`
  const sentRequestId = sent.bytes === undefined ? sent.headers['x-request-id'] : undefined
  const isTaken = sentRequestId !== undefined && /^[A-Za-z0-9._-]{8,128}$/.test(sentRequestId)
  return isTaken && sentRequestId !== id ? `asked as ${sentRequestId}, answered as ${id}` : undefined
}
