// A gateway before anybody has given it credentials: what it is called, what it needs, and how to open it. One line per
// definition in app.ts; everything else follows from the data in it.

import type { Mode } from '../core/merchant.ts'
import type { Clock } from '../kit/clock.ts'
import type { HttpClient } from '../kit/http-client.ts'
import type { Gateway, Rail, RecoveryProperties } from './gateway.ts'

export interface GatewayDefinition {
  /** As it stands in addresses, settings and records: small letters. */
  readonly name: string
  /** As people know it. */
  readonly title: string
  readonly rails: readonly Rail[]
  readonly recovery: RecoveryProperties
  /** What an operator gives: by environment variable for all merchants, or for one merchant through the API. */
  readonly credentials: readonly CredentialField[]
  /** Where the provider is; GATEWAY_<NAME>_BASE_URL changes it. */
  readonly baseUrl: Readonly<Record<Mode, string>>
  open(connection: Connection): Gateway
}

export interface CredentialField {
  /** As the API calls it: secretKey. The variable is GATEWAY_<NAME>_<FIELD> in capitals: GATEWAY_STRIPE_SECRET_KEY. */
  readonly name: string
  readonly isRequired: boolean
  readonly meaning: string
  /** What is wrong with a value, as the rest of a sentence that begins with its name; undefined when it is right. */
  validate(text: string, mode: Mode): string | undefined
}

/** What a connector works with. It holds no state of its own. */
export interface Connection {
  readonly credentials: Readonly<Record<string, string>>
  /** Without a slash at the end. */
  readonly baseUrl: string
  readonly mode: Mode
  readonly http: HttpClient
  readonly clock: Clock
  /** Where providers reach this service: signatures over the host need it. */
  publicUrl(): string
  /** The path at which its webhooks come in, where that is not /hooks/<name>: signatures over the path need it. */
  readonly webhookPath?: string
}
