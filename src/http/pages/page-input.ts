// The input of a page as strings: path, query, form, headers and cookies.

import type { FastifyRequest } from 'fastify'
import { errorFromIssues, type Issue } from '../../core/errors.ts'
import { findCharacterIssue } from '../input/characters.ts'
import { parsePairs, queryTextOf } from '../input/query.ts'
import { addressOwner } from '../security/rate-limit.ts'
import { readCookies } from './cookies.ts'
import { readUpload } from './upload.ts'

/** With `ignoresInput` the query and the form are empty. */
export async function readPageRequest(request: FastifyRequest, ignoresInput = false) {
  const { pairs, files } = Buffer.isBuffer(request.body)
    ? await readUpload(request.body, request.headers['content-type'] ?? '')
    : { pairs: typeof request.body === 'string' ? parsePairs(request.body) : [], files: {} }
  const queryText = ignoresInput ? '' : queryTextOf(request.raw.url)
  const issues: Issue[] = []
  const headers = headerTexts(request)
  const input = {
    // A boundary: the router's parameters are strings by name.
    params: checkedTexts(Object.entries(request.params as Record<string, string>), issues),
    query: checkedTexts(parsePairs(queryText), issues),
    form: checkedTexts(pairs, issues),
    files,
    headers,
    cookies: readCookies(headers.cookie),
    requestId: request.id,
    path: (request.raw.url ?? '').split('?', 1)[0] ?? '',
    address: request.ip,
    visitor: addressOwner(request.ip),
  }
  if (issues.length > 0) throw errorFromIssues(issues)
  return input
}

/** The object has no prototype, so that a field named __proto__ is data. A text area may contain newlines. */
function checkedTexts(pairs: [string, string][], issues: Issue[]): Record<string, string> {
  const texts: Record<string, string> = Object.create(null)
  for (const [name, value] of pairs) {
    const text = value.replaceAll('\r\n', '\n')
    const issue = findCharacterIssue(name, [name], false) ?? findCharacterIssue(text, [name], true)
    if (issue) issues.push(issue)
    texts[name] = text
  }
  return texts
}

/** Parses the valid parts of a query and skips the others, for error pages, which must always render. */
export function parseQueryLeniently(queryText: string): Record<string, string> {
  const texts: Record<string, string> = Object.create(null)
  for (const piece of queryText.split('&')) {
    const issues: Issue[] = []
    const read = checkedTexts(parsePairsLeniently(piece), issues)
    if (issues.length === 0) Object.assign(texts, read)
  }
  return texts
}

function parsePairsLeniently(piece: string): [string, string][] {
  try {
    return parsePairs(piece)
  } catch {
    return []
  }
}

export function headerTexts(request: FastifyRequest): Record<string, string> {
  const entries = Object.entries(request.headers).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries.map(([name, value]) => [name, [value].flat().join(', ')]))
}
