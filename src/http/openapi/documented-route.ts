import type { ApiErrorCode } from '../../core/errors.ts'
import type { Route } from '../../kit/http/route.ts'

type DocumentedParts =
  | 'method'
  | 'path'
  | 'operationId'
  | 'summary'
  | 'description'
  | 'params'
  | 'query'
  | 'body'
  | 'response'
  | 'examples'

/** A route of merchants or operators, as the document describes it. */
export interface DocumentedRoute extends Omit<Pick<Route, DocumentedParts>, 'method'> {
  method: Route['method'] | 'PUT'
  tag: string
  /** Every error code that the operation can return. */
  codes: readonly ApiErrorCode[]
  /** Takes an Idempotency-Key. */
  isIdempotent: boolean
}
