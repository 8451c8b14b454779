// Answers to a path or a method that no operation has: the path that was probably meant, the methods that the path
// takes, and for browsers that API keys belong on a server.

import { API_ERRORS, ApiError } from '../core/errors.ts'
import { nearestName, squashName } from '../core/text/spelling.ts'

/** Finds the path of an operation that differs in prefix, letter case, trailing slashes or a typing error only. */
export type FindPath = (path: string) => string | undefined

interface Template {
  segments: readonly string[]
  /** The prefix of the API that it belongs to, such as /api/v1. */
  base: string
}

const INITIATE = '/checkout/initiate-payment'
const VERIFY = '/checkout/verify-payment'

/** What other payment APIs call an operation of ours, which has one of these paths. */
const PATH_ALIASES: readonly [said: RegExp, meant: readonly string[], query?: string][] = [
  [/^(?:transactions?|payments?|checkout)(?:\/(?:initiali[sz]e|initiate|create|sessions?))?$/, [INITIATE]],
  [/^(?:payment[-_]intents|payment[-_]pages?|invoices|charges)$/, [INITIATE]],
  [
    /^(?:transactions?|payments?|checkout)\/verify(?:[-_]?payment)?(?:\/[^/]+)?$/,
    [VERIFY],
    '?reference={reference}',
  ],
  [/^(?:transactions?|payments?)\/[^/]+\/verify$/, [VERIFY], '?reference={reference}'],
  [/^(?:transactions?|payments?)\/[^/]+$/, ['/checkout/payments/{uuid}', '/charges/{uuid}']],
]

/** Operations that other payment APIs have at a path that takes another method here. */
const METHOD_ALIASES: readonly [method: string, path: string, meant: string][] = [
  ['POST', '/payments', `To start a payment, send POST /api/v1${INITIATE}.`],
  ['POST', '/checkout/payments', `To start a payment, send POST /api/v1${INITIATE}.`],
  ['POST', '/charges', 'To charge a saved method, send POST /api/v1/charges/recurring.'],
]

export function createPathFinder(paths: readonly string[]): FindPath {
  const templates = [...new Set(paths)].map(toTemplate).filter((template) => template !== undefined)
  const aliases = PATH_ALIASES.flatMap(([said, meant, query = '']) => {
    const known = meant.map((tail) => `/api/v1${tail}`).filter((path) => paths.includes(path))
    return known.length === 0 ? [] : [{ said, path: `${known.join(' or ')}${query}` }]
  })
  return (path) => {
    const { base, segments } = readPath(path)
    const alike = templates.filter((one) => one.base === base && one.segments.length === segments.length)
    const matches = [isSame, isNear].map((compare) =>
      alike.filter((one) =>
        one.segments.every((wanted, at) => matchesSegment(compare, wanted, segments[at] ?? '')),
      ),
    )
    const found = matches.flat().toSorted((one, other) => parametersIn(one) - parametersIn(other))[0]
    // With the names of its parameters: errors do not repeat values of a request.
    if (found) return [found.base, ...found.segments].join('/')
    const tail = segments.join('/').toLowerCase()
    return base === '/api/v1' ? aliases.find(({ said }) => said.test(tail))?.path : undefined
  }
}

function toTemplate(path: string): Template | undefined {
  const [, base, rest] = /^(\/(?:api|admin)\/v1)\/(.+)$/.exec(path) ?? []
  return base === undefined || rest === undefined ? undefined : { base, segments: rest.split('/') }
}

/** The base that the path belongs to, whatever of it is missing or wrong, and the segments after it. */
function readPath(path: string): { base: string; segments: string[] } {
  const segments = path.split('/').filter((segment) => segment !== '')
  const isAdmin = segments[0]?.toLowerCase() === 'admin'
  const start = segments.findIndex((segment) => !/^(?:api|admin|v\d+)$/i.test(segment))
  return { base: isAdmin ? '/admin/v1' : '/api/v1', segments: start < 0 ? [] : segments.slice(start) }
}

type CompareSegments = (wanted: string, given: string) => boolean

const isParameter = (segment: string) => segment.startsWith('{')
const isSame: CompareSegments = (wanted, given) => squashName(wanted) === squashName(given)
const isNear: CompareSegments = (wanted, given) => nearestName(given, [wanted]) !== undefined

function matchesSegment(compare: CompareSegments, wanted: string, given: string): boolean {
  return isParameter(wanted) || compare(wanted, given)
}

/** A path that names more of its segments is the better match. */
function parametersIn({ segments }: Template): number {
  return segments.filter(isParameter).length
}

/** The path of a request target, without its query; a base address that ends with a slash begins it with two. */
export function pathOf(url = '/'): string {
  const end = url.indexOf('?')
  const path = end < 0 ? url : url.slice(0, end)
  return path.startsWith('//') ? path.replace(/^\/+/, '/') : path
}

export function routeNotFound(findPath: FindPath, url: string | undefined, publicUrl: string): ApiError {
  const path = pathOf(url)
  const meant = findPath(path)
  if (meant !== undefined)
    return new ApiError('route_not_found', { message: `There is no such path; did you mean ${meant}?` })
  if (!isApiPath(path)) return new ApiError('route_not_found')
  const message = `${API_ERRORS.route_not_found.message} The reference of all operations is at ${publicUrl}/docs/api.`
  return new ApiError('route_not_found', { message })
}

/** No path of the API ends with a slash. */
export function hasTrailingSlash(url: string | undefined): boolean {
  const path = pathOf(url)
  return path.endsWith('/') && isApiPath(path)
}

export function isApiPath(path: string): boolean {
  return /^\/(?:api|admin)(?:\/|$)/i.test(path)
}

export function methodNotAllowed(method: string, path: string, allowed: readonly string[]): ApiError {
  const names = allowed.filter((name) => name !== 'HEAD')
  const alias = METHOD_ALIASES.find(([name, tail]) => name === method && path === `/api/v1${tail}`)
  const message = `This path takes ${names.join(' and ')}, not ${method}.${alias ? ` ${alias[2]}` : ''}`
  return new ApiError('method_not_allowed', { message })
}

/** A browser asks before it sends a key of another origin. It gets no permission, and the developer an explanation. */
export function isPreflight(method: string, url: string | undefined, origin: string | undefined): boolean {
  return method === 'OPTIONS' && origin !== undefined && isApiPath(pathOf(url))
}
