// The operations of the API for a person who is signed in to the dashboard, inside this process: the same scopes, schemas,
// tenant isolation and audit log as for a request with a key or with the operator token. And operations of people alone.

import { ApiError } from '../core/errors.ts'
import { grantsScope } from '../core/merchant.ts'
import type { RateLimit } from '../core/rate-limit.ts'
import type { Clock } from '../kit/clock.ts'
import type {
  OperationCall,
  Operations,
  OperatorOperations,
  OperatorRoute,
  PersonRoute,
  Route,
  SignedIn,
} from '../kit/http/route.ts'
import { isBodyRequired, readJsonBody } from './input/body.ts'
import { type CheckInput, createInputCompiler } from './input/validation.ts'
import { auditOperation, costOf, runMerchantRoute, runOperatorRoute, scopesOf } from './json-routes.ts'
import { createRateLimiter } from './security/rate-limit.ts'

/** The calls of a person have a rate limit like the requests of a key; each process counts alone. */
export function createOperations(
  routes: readonly (Route | PersonRoute)[],
  { clock, rateLimit }: { clock: Clock; rateLimit: RateLimit | null },
): Operations {
  const operations = compileOperations(routes)
  const limiter = createRateLimiter(clock)
  const missingScope = ({ scopes }: Pick<SignedIn, 'scopes'>, route: Route | PersonRoute) =>
    'personScope' in route && route.personScope !== undefined && scopes.includes(route.personScope)
      ? undefined
      : scopesOf(route).find((scope) => !grantsScope(scopes, scope))
  return {
    allows(person, operationId) {
      const route = operations.get(operationId)?.route
      return route !== undefined && missingScope(person, route) === undefined
    },
    async call(person, operationId, input = {}) {
      const { route, check } = requireOperation(operations, operationId)
      const missing = missingScope(person, route)
      if (missing !== undefined)
        throw new ApiError('insufficient_scope', { message: `Your role does not include ${missing}.` })
      const { merchant, userId: id, scopes, requestId } = person
      if (rateLimit) {
        const { allowed, retryAfterSeconds } = limiter.take(id, rateLimit, costOf(route, queryTextOf(input)))
        if (!allowed) throw new ApiError('rate_limited', { retryAfterSeconds })
      }
      const checked = checkCall(route, check, input)
      const { idempotencyKey, expected } = input
      const principal = { type: 'user', id, scopes } as const
      return auditOperation(clock, route, actorOf(person), checked.params, () =>
        runMerchantRoute(route, { merchant, principal, ...checked, idempotencyKey, requestId, expected }),
      )
    },
  }
}

/** Operators may use every operation of their API. */
export function createOperatorOperations(routes: readonly OperatorRoute[], clock: Clock): OperatorOperations {
  const operations = compileOperations(routes)
  return {
    has: (operationId) => operations.has(operationId),
    async call(operator, operationId, input = {}) {
      const { route, check } = requireOperation(operations, operationId)
      const checked = checkCall(route, check, input)
      return auditOperation(clock, route, actorOf(operator), checked.params, () =>
        runOperatorRoute(route, { ...checked, expected: input.expected }, operator.requestId, operator),
      )
    },
  }
}

type Compiled<One> = ReadonlyMap<string, { route: One; check: CheckInput }>

function compileOperations<One extends Route | OperatorRoute | PersonRoute>(
  routes: readonly One[],
): Compiled<One> {
  const compileInput = createInputCompiler()
  return new Map(routes.map((route) => [route.operationId, { route, check: compileInput(route) }]))
}

function requireOperation<One>(operations: Compiled<One>, operationId: string) {
  const operation = operations.get(operationId)
  if (!operation) throw new Error(`there is no operation ${operationId}`)
  return operation
}

function actorOf({ userId, address, requestId, role, sessionId }: Omit<SignedIn, 'merchant' | 'scopes'>) {
  return { actorType: 'user', actorId: userId, address, requestId, role, sessionId } as const
}

function checkCall(route: Route | OperatorRoute | PersonRoute, check: CheckInput, input: OperationCall) {
  return check(input.params ?? {}, queryTextOf(input), bodyOf(route, input))
}

function queryTextOf({ query = {} }: OperationCall): string {
  const text = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value) text.set(name, value)
  return text.toString()
}

/** Written and read again, so that amounts are read as from a request. */
function bodyOf(route: Route | OperatorRoute | PersonRoute, { body }: OperationCall) {
  if (route.method === 'GET') return undefined
  return readJsonBody(body && Buffer.from(JSON.stringify(body)), !isBodyRequired(route))
}
