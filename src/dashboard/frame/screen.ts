// What a screen gets and returns. The guard (guard.ts) has authenticated the person and checked the right before.

import type { Html } from '../../kit/http/html.ts'
import type { OperationCall, OperationId, RouteResponse, SignedIn } from '../../kit/http/route.ts'
import type { Texts } from './texts.ts'

export interface Person extends SignedIn {
  name: string
  email: string
  authenticatedAt: Date
}

/** What a screen of either area gets. */
export interface AreaRequest {
  /** The path of the area: /app or /ops. */
  base: string
  texts: Texts
  params: Readonly<Record<string, string>>
  query: Readonly<Record<string, string>>
  form: Readonly<Record<string, string>>
  now: Date
  isTest: boolean
  /** Calls an operation of the API with the rights of the person. */
  call(operationId: OperationId, input?: OperationCall): Promise<RouteResponse>
  /** Whether the person may use the operation. */
  allows(operationId: OperationId): boolean
  /** A form that posts to the path, with the token against forgery and one that makes a repeated submission harmless. */
  postForm(action: string, fields: Html): Html
  /** The idempotency key of the submitted form: the same for each submission of it. */
  submission: string
}

/** What a screen of a merchant's people gets. */
export interface ScreenRequest extends AreaRequest {
  person: Person
}

export type ScreenResponse =
  | { title: string; body: Html; http?: number }
  | { redirectTo: string }
  | { file: NonNullable<RouteResponse['file']> }

export interface Screen<Request extends AreaRequest = ScreenRequest> {
  method: 'GET' | 'POST'
  /** Below the path of the area. */
  path: string
  /** The operations without which the screen is not shown; none: every person may see it. */
  needs: readonly OperationId[]
  handle(request: Request): Promise<ScreenResponse>
}
