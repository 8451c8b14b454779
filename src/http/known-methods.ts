// The methods of each address. A known address with another method is 405, and Allow lists its methods.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ApiError } from '../core/errors.ts'
import { methodNotAllowed } from './known-paths.ts'

interface Address {
  url: string
  methods: Set<string>
}

export type Addresses = Map<string, Address>

/** The known address of a request that no route matched. */
export type FindAddress = (url: string | undefined) => Address | undefined

/** The addresses of the routes that are registered after this call. */
export function collectAddresses(app: FastifyInstance): Addresses {
  const addresses: Addresses = new Map()
  app.addHook('onRoute', ({ url, method }) => {
    const known = addresses.get(url) ?? { url, methods: new Set() }
    for (const name of [method].flat()) known.methods.add(name)
    addresses.set(url, known)
  })
  return addresses
}

/**
 * Looks an address up when no route matched. A route for each other method of each address would take a fifth of the time
 * of a start.
 */
export function createAddressFinder(addresses: Addresses): FindAddress {
  let patterns: [RegExp, Address][] | undefined
  return (url) => {
    patterns ??= [...addresses.values()].toSorted(bySpecificity).map((one) => [toPattern(one.url), one])
    const [path = ''] = (url ?? '').split('?', 1)
    return patterns.find(([pattern]) => pattern.test(path))?.[1]
  }
}

/** The router prefers literals to parameters, and parameters to the rest of a path. */
function bySpecificity(one: Address, other: Address): number {
  return weightOf(one.url) - weightOf(other.url)
}

function weightOf(url: string): number {
  return (url.endsWith('*') ? 100 : 0) + url.split('/:').length
}

function toPattern(url: string): RegExp {
  const source = url
    .replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replaceAll(/:\w+/g, '[^/]+')
    .replace(/\*$/, '.*')
  return new RegExp(`^${source}$`)
}

/** The error of a request to a known address with another method; sets Allow. */
export function refuseMethod(
  request: FastifyRequest,
  reply: FastifyReply,
  { url, methods }: Address,
): ApiError {
  const allowed = [...methods]
  reply.header('allow', allowed.join(', '))
  request.requestContext.refusedAddress = url
  return methodNotAllowed(request.method, url, allowed)
}

/**
 * Refuses the methods that /charges/recurring does not take and /charges/:uuid does: the router would read the literal as
 * the parameter.
 */
export function refuseBesideParameters(app: FastifyInstance, addresses: Addresses): void {
  const known = [...addresses.values()].map(({ url, methods }) => ({ url, methods: new Set(methods) }))
  const byForm = new Map(known.map((one) => [formOf(one.url.split('/')), one]))
  for (const address of known) {
    const segments = address.url.split('/')
    const beside = segments.flatMap((segment, at) =>
      isLiteral(segment) ? [...(byForm.get(formOf(segments.with(at, ':')))?.methods ?? [])] : [],
    )
    const method = [...new Set(beside)].filter((name) => !address.methods.has(name))
    if (method.length === 0) continue
    app.route({
      method,
      url: address.url,
      exposeHeadRoute: false,
      onRequest: (request, reply, done) => done(refuseMethod(request, reply, address)),
      handler: () => {
        throw new Error('the onRequest hook refuses this method before the handler')
      },
    })
  }
}

const isLiteral = (segment: string) => segment !== '' && !segment.startsWith(':')

function formOf(segments: readonly string[]): string {
  return segments.map((segment) => (segment.startsWith(':') ? ':' : segment)).join('/')
}
