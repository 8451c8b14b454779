// The operations of the merchants' API for a person who is signed in to the dashboard, inside this process: the same scopes,
// schemas, tenant isolation and audit log as for a request with a key.

import { ApiError } from '../core/errors.ts'
import { grantsScope } from '../core/merchant.ts'
import type { Clock } from '../kit/clock.ts'
import type { OperationCall, Operations, Route, SignedIn } from '../kit/http/route.ts'
import { isBodyRequired, readJsonBody } from './input/body.ts'
import { type CheckInput, createInputCompiler } from './input/validation.ts'
import { auditOperation, runMerchantRoute, scopesOf } from './json-routes.ts'

interface Operation {
  route: Route
  check: CheckInput
}

export function createOperations(routes: readonly Route[], clock: Clock): Operations {
  const compileInput = createInputCompiler()
  const operations = new Map<string, Operation>(
    routes.map((route) => [route.operationId, { route, check: compileInput(route) }]),
  )
  const missingScope = ({ scopes }: Pick<SignedIn, 'scopes'>, route: Route) =>
    scopesOf(route).find((scope) => !grantsScope(scopes, scope))
  return {
    allows(person, operationId) {
      const route = operations.get(operationId)?.route
      return route !== undefined && missingScope(person, route) === undefined
    },
    async call(person, operationId, input = {}) {
      const operation = operations.get(operationId)
      if (!operation) throw new Error(`there is no operation ${operationId}`)
      const { route } = operation
      const missing = missingScope(person, route)
      if (missing !== undefined)
        throw new ApiError('insufficient_scope', { message: `Your role does not include ${missing}.` })
      const checked = operation.check(input.params ?? {}, queryTextOf(input), bodyOf(route, input))
      const { merchant, userId: id, scopes, requestId, address, role, sessionId } = person
      const actor = { actorType: 'user', actorId: id, address, requestId, role, sessionId } as const
      const { idempotencyKey } = input
      const principal = { type: 'user', id, scopes } as const
      return auditOperation(clock, route, actor, checked.params, () =>
        runMerchantRoute(route, { merchant, principal, ...checked, idempotencyKey, requestId }),
      )
    },
  }
}

function queryTextOf({ query = {} }: OperationCall): string {
  const text = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value) text.set(name, value)
  return text.toString()
}

/** Written and read again, so that amounts are read as from a request. */
function bodyOf(route: Route, { body }: OperationCall) {
  if (route.method === 'GET') return undefined
  return readJsonBody(body && Buffer.from(JSON.stringify(body)), !isBodyRequired(route))
}
