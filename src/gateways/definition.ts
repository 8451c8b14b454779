// A gateway without credentials: its name, the credentials it needs, and how to open it. The list in
// src/compose/gateways.ts has one line per definition; everything else follows from this data.

import type { Mode } from '../core/merchant.ts'
import type { Clock } from '../kit/clock.ts'
import type { HttpClient } from '../kit/http/http-client.ts'
import type { CallbackSubject } from '../secrets/callback-paths.ts'
import type { Gateway, GatewayBehavior, Rail } from './gateway.ts'
import type { TokenCalls } from './token-calls.ts'

export interface GatewayDefinition {
  /** Lower case, as used in URLs, settings and records. */
  readonly name: string
  /** The provider's name as people write it. */
  readonly title: string
  readonly rails: readonly Rail[]
  readonly behavior: GatewayBehavior
  /** What an operator provides: in environment variables for all merchants, or through the API for one merchant. */
  readonly credentials: readonly CredentialField[]
  /** The names of optional credentials of which at least one must be set. */
  readonly requiresOneOf?: readonly string[]
  /** The provider's API; GATEWAY_<NAME>_BASE_URL overrides it. */
  readonly baseUrl: Readonly<Record<Mode, string>>
  /** What only a person can look up at the provider; shown by cowry doctor. */
  readonly manualChecks?: readonly ManualCheck[]
  /**
   * The provider signs no callbacks, and their address is entered in its dashboard: operators are shown the secret one
   * of the account.
   */
  readonly unsignedCallbacks?: true
  open(connection: Connection): Gateway
}

export interface ManualCheck {
  about: string
  /** Why it matters and what to do. */
  detail: string
}

export interface CredentialField {
  /** The name in the API: secretKey. The variable is GATEWAY_<NAME>_<FIELD> in capitals: GATEWAY_STRIPE_SECRET_KEY. */
  readonly name: string
  readonly isRequired: boolean
  readonly meaning: string
  /** Why the value is invalid, as the rest of a sentence that begins with its name; undefined if it is valid. */
  validate(text: string, mode: Mode): string | undefined
}

/** What a connector is opened with. A connector holds no state of its own. */
export interface Connection {
  readonly credentials: Readonly<Record<string, string>>
  /** Without a trailing slash. */
  readonly baseUrl: string
  readonly mode: Mode
  readonly http: HttpClient
  /** Access tokens, for a provider that wants one with each call. */
  readonly tokens: TokenCalls
  readonly clock: Clock
  /** The URL at which providers reach this service: signatures over the host need it. */
  publicUrl(): string
  /** The webhook path if it is not /hooks/<name>: signatures over the path need it. */
  readonly webhookPath?: string
  /**
   * The secret address for callbacks about this subject, for a provider that does not sign them. It has no query and
   * only lower-case letters, digits, hyphens and the gateway's name.
   */
  callbackUrl(subject: CallbackSubject): string
}
