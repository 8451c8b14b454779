// What a screen gets and returns. The guard (guard.ts) has authenticated the person and checked the right before.

import type { PersonScope } from '../../core/merchant.ts'
import type { Html } from '../../kit/http/html.ts'
import type {
  OperationCall,
  OperationId,
  PageCookie,
  PageFile,
  RouteResponse,
  SignedIn,
} from '../../kit/http/route.ts'
import type { Origin } from '../../people/app.ts'
import type { Principal } from '../../people/sessions.ts'
import type { AreaApp } from '../app.ts'
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
  /** For the functions of src/people, which check the rights of the principal themselves. */
  app: AreaApp
  principal: Principal
  origin: Origin
  texts: Texts
  params: Readonly<Record<string, string>>
  query: Readonly<Record<string, string>>
  form: Readonly<Record<string, string>>
  cookies: Readonly<Record<string, string>>
  /** The files of the form, by the names of their fields. */
  files: Readonly<Record<string, PageFile>>
  /** The nonce of a style element. */
  styleNonce: string
  now: Date
  isTest: boolean
  /** Calls an operation of the API with the rights of the person. */
  call(operationId: OperationId, input?: OperationCall): Promise<RouteResponse>
  /** Whether the person may use the operation. */
  allows(operationId: OperationId): boolean
  /** Runs work of src/people: with the merchant as the tenant, and with its changes in the audit log. */
  change<Result>(work: () => Promise<Result>): Promise<Result>
  /**
   * A form that posts to the path, with the token against forgery and one that makes a repeated submission harmless. A form
   * that continues another one keeps its submission.
   */
  postForm(action: string, fields: Html, submission?: string): Html
  /** The same for a form with files. */
  uploadForm(action: string, fields: Html): Html
  /** The idempotency key of the submitted form: the same for each submission of it. */
  submission: string
}

/** What a screen of a merchant's people gets. */
export interface ScreenRequest extends AreaRequest {
  person: Person
}

export type ScreenResponse = { cookies?: readonly PageCookie[] } & (
  | { title: string; body: Html; http?: number }
  | { redirectTo: string }
  | { file: NonNullable<RouteResponse['file']> }
)

export interface Screen<Request extends AreaRequest = ScreenRequest> {
  method: 'GET' | 'POST'
  /** Below the path of the area. */
  path: string
  /** The operations without which the screen is not shown; none: every person may see it. */
  needs: readonly OperationId[]
  /** A scope of people without which the screen is not shown either. */
  scope?: PersonScope
  /**
   * The person confirms who they are before the screen, unless they did within five minutes. A form that was submitted is
   * continued afterwards with its fields. A function decides by the request, such as by an amount.
   */
  stepUp?: true | ((request: Request) => Promise<boolean>)
  /**
   * The form has secrets, and a confirmation must not write them into its page: it leads to this address, where the person
   * enters them again.
   */
  secretsAt?: (request: Request) => string
  /** Of the person and not of the merchant: it is shown while the merchant is suspended. */
  isOwn?: true
  /** The form has files; its body has at most this many bytes. */
  uploadLimitBytes?: number
  /**
   * The form makes something that must not be made twice, and the API has no idempotency key for it. A second submission of
   * the same form makes nothing, and leads to this path.
   */
  once?(request: Request): string
  handle(request: Request): Promise<ScreenResponse>
}
