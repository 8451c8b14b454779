// The operations of the API for a person who is signed in to the dashboard, inside this process: the same scopes, schemas,
// tenant isolation and audit log as for a request with a key or with the operator token. And operations of people alone.

import { ApiError } from '../core/errors.ts'
import { grantsScope } from '../core/merchant.ts'
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
import { auditOperation, runMerchantRoute, runOperatorRoute, scopesOf } from './json-routes.ts'

export function createOperations(routes: readonly (Route | PersonRoute)[], clock: Clock): Operations {
  const operations = compileOperations(routes)
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
      const checked = checkCall(route, check, input)
      const { merchant, userId: id, scopes, requestId } = person
      const { idempotencyKey } = input
      const principal = { type: 'user', id, scopes } as const
      return auditOperation(clock, route, actorOf(person), checked.params, () =>
        runMerchantRoute(route, { merchant, principal, ...checked, idempotencyKey, requestId }),
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
        runOperatorRoute(route, checked, operator.requestId),
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
