// What a page is asked with, as texts: path, query, form, headers and cookies.

import type { FastifyRequest } from 'fastify'
import { errorFromIssues, type Issue } from '../core/errors.ts'
import { complainOfCharacters } from './characters.ts'
import { readCookies } from './cookies.ts'
import { parsePairs, queryTextOf } from './query.ts'

export function readPageRequest(request: FastifyRequest) {
  const complaints: Issue[] = []
  const headers = headerTexts(request)
  const input = {
    // A boundary: the router's parameters are texts by name.
    params: checkedTexts(Object.entries(request.params as Record<string, string>), complaints),
    query: checkedTexts(parsePairs(queryTextOf(request.raw.url)), complaints),
    form: checkedTexts(typeof request.body === 'string' ? parsePairs(request.body) : [], complaints),
    headers,
    cookies: readCookies(headers.cookie),
    requestId: request.id,
  }
  if (complaints.length > 0) throw errorFromIssues(complaints)
  return input
}

/** Without a prototype, so that a field called __proto__ is a field. A text area may hold lines. */
function checkedTexts(pairs: [string, string][], complaints: Issue[]): Record<string, string> {
  const texts: Record<string, string> = Object.create(null)
  for (const [name, value] of pairs) {
    const text = value.replaceAll('\r\n', '\n')
    const complaint = complainOfCharacters(name, [name], false) ?? complainOfCharacters(text, [name], true)
    if (complaint) complaints.push(complaint)
    texts[name] = text
  }
  return texts
}

/** What of a query can be read, when nothing may be refused any more. */
export function parseQueryLeniently(queryText: string): Record<string, string> {
  const texts: Record<string, string> = Object.create(null)
  for (const piece of queryText.split('&')) {
    const complaints: Issue[] = []
    const read = checkedTexts(parsePairsLeniently(piece), complaints)
    if (complaints.length === 0) Object.assign(texts, read)
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
