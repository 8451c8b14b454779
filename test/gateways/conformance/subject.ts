// What the suite needs to know about a gateway, and the interface of its fake provider.

import type { TestContext } from 'node:test'
import type { FailureCode } from '../../../src/core/failures.ts'
import type { Mode } from '../../../src/core/merchant.ts'
import type { Money } from '../../../src/core/money.ts'
import type { Connection } from '../../../src/gateways/definition.ts'
import type { CheckoutChoice, DisputeReport, Gateway } from '../../../src/gateways/gateway.ts'
import { HAS_LARGER_FORM, LARGER_FORM_ONLY } from '../../support/scale.ts'
import type { FakeServer } from '../fake-server.ts'

/** Our public URL in these tests: signatures over the host use it. */
export const PUBLIC_URL = 'https://pay.example.com'

/** How a checkout ends at the provider. Given values replace the requested ones in the provider's record. */
export type CheckoutEnding =
  | { kind: 'pays'; minor?: bigint; currency?: string; key?: string }
  | { kind: 'declines'; how: string }
  | { kind: 'waits' }

/** What a saved method does when it is charged again. */
export type ChargeBehavior = 'approves' | 'waits' | 'wants_customer' | { declines: string }

export type RefundBehavior = 'succeeds' | 'waits' | 'fails'

/** A fake provider: its API on a socket, with its payers and records under the control of the test. */
export interface FakeProvider {
  readonly server: FakeServer
  /**
   * Simulates the payer of an open checkout: on the hosted page, on the phone, or wherever this provider has payers.
   */
  finish(key: string, ending: CheckoutEnding): void | Promise<void>
  /**
   * The payer confirms an open checkout, which then waits for our completing call. Required if the connector has complete; to
   * `finish` with a payment includes that call.
   */
  confirm?(key: string): void | Promise<void>
  /** How often the provider took money under this key, by checkout or by charge. */
  executions(key: string): number | Promise<number>
  /** The signed webhook about any key, known to the provider or not; a success unless `event` says otherwise. */
  webhook(key: string, event?: string): Webhook | Promise<Webhook>
  /**
   * A credential as the connector would have saved it, or null if this provider has no charge with that behavior.
   * Required if the connector has chargeSaved.
   */
  savedCredential?(behavior: ChargeBehavior): string | null | Promise<string | null>
  /**
   * Simulates the payer's bank: opens a dispute about the whole payment, or decides it. Returns the webhook about it.
   * Required if the subject has disputes.
   */
  dispute?(key: string, status: DisputeReport['status']): Webhook | Promise<Webhook>
  /**
   * Staff refund a part of the payment in the provider's dashboard, in minor units. Returns the webhook about it, or null if
   * the provider sends none. Required if the connector has listRefunds.
   */
  refundInDashboard?(attemptKey: string, minor: bigint): Webhook | null | Promise<Webhook | null>
  /** How refunds end from now on. Required if the connector has refund. */
  setRefundBehavior?(behavior: RefundBehavior): void
  /**
   * The callback about a refund that has ended, or null. If the fake has it, refunds end by callback only: the status check of a
   * refund gets the callback's report.
   */
  refundWebhook?(refundKey: string): Webhook | null | Promise<Webhook | null>
  /** The executed refunds of the attempt with this key, in minor units. Required if the connector has refund. */
  refunds?(attemptKey: string): readonly bigint[] | Promise<readonly bigint[]>
  /**
   * The callback that has the saved method of a paid checkout, for a provider that reports it nowhere else. Required if the
   * subject has savesByCallback.
   */
  savedMethodWebhook?(key: string): Webhook | Promise<Webhook>
  /** The provider rejects every access token that it has granted so far. Required if the subject has a prelude. */
  rejectTokens?(): void
}

export interface Webhook {
  /** POST when absent. */
  method?: 'POST' | 'PUT'
  /** Apart from content-type only headers that the signature check reads: each of them is forged in turn. */
  headers: Record<string, string>
  /** Only parameters that the signature check reads. */
  query?: Record<string, string>
  body: Buffer
  /** The address that the connector gave to the provider for it; the webhook address of the account when absent. */
  url?: string
}

export type TokenOperation = 'start' | 'verify' | 'charge' | 'refund' | 'verifyRefund'

export type EmptyReply = 'checkout' | 'charge' | 'complete' | 'refund' | 'cancel'

/** A gateway and its fake provider. */
export interface Subject {
  readonly name: string
  /** What is different from the first subject of this gateway. A variant runs in npm run test:rest. */
  readonly variant?: string
  /** Well-formed fake credentials. The suite searches for their values where they must not appear. */
  readonly credentials: Readonly<Record<string, string>>
  /**
   * Well-formed credentials of another account: with them the provider refuses requests, and its webhooks are forged.
   */
  readonly otherCredentials: Readonly<Record<string, string>>
  /** The amount to collect; its rail must also accept a tenth of it. */
  readonly amount: Money
  /** Card when absent. */
  readonly choice?: CheckoutChoice
  /** The attempt's country; null when absent. */
  readonly country?: string
  /** Test mode when absent. */
  readonly mode?: Mode
  /** Every decline reason of the provider, by the provider's name, and our code for it. */
  readonly declines: readonly { how: string; code: FailureCode; on: 'checkout' | 'charge' }[]
  /** The gateway saves methods, but not that of this choice. */
  readonly savesNothing?: true
  /** The gateway reports disputes. */
  readonly disputes?: true
  /** Why a changed body is accepted, for a provider whose webhooks prove the sender but not the content. */
  readonly unsignedBody?: string
  /** Callbacks are not signed. Their secret path proves the sender, so the fake's webhooks have a `url`. */
  readonly unsignedCallbacks?: true
  /** The operations that it accepts with a 2xx response and no body, so there is nothing to truncate or to alter; true: all. */
  readonly emptyReplies?: true | readonly EmptyReply[]
  /** Its response to a refund is final: no refund waits, and none has a status query. */
  readonly immediateRefunds?: true
  /** Only the response to a refund has its id: after a lost one a person must look. */
  readonly unfindableRefunds?: true
  /** A refund is requested by GET, in one request. Elsewhere a GET only asks, and the faults of a submission leave it alone. */
  readonly refundsByGet?: true
  /** It takes no key with a refund, so the same one is executed again: the service submits a refund once. */
  readonly keylessRefunds?: true
  /** It sends no webhooks: whatever arrives is forged. */
  readonly withoutWebhooks?: true
  /** Its records do not say when a payment was made. */
  readonly withoutTimes?: true
  /** Its records name only its own id of the payment, and no currency. */
  readonly keylessRecords?: true
  /** The calls get an access token first: the paths at which the provider grants it, and which operations, if not all. */
  readonly prelude?: { readonly path: RegExp; readonly operations?: readonly TokenOperation[] }
  /** Why credentials are in the query of requests, for a provider that takes them nowhere else. */
  readonly credentialsInQuery?: string
  /** How the provider's records name an attempt, if they cannot have our key as it is, such as `uuidToBase36`. */
  nameOf?(key: string): string
  /** Credentials that are not secret, such as a key that is part of the page's URL. */
  readonly publicCredentials?: readonly string[]
  /** Only charges of saved methods have a completing call: checkouts end on the provider's page. */
  readonly completesCharges?: true
  /** A saved method is reported by a callback only. */
  readonly savesByCallback?: true
  /** The names of the fields that show the status, if it is true or false. */
  readonly booleanStatuses?: readonly string[]
  start(t: TestContext): Promise<FakeProvider>
  open(connection: Connection): Gateway
}

/** The values that may appear in no answer and no URL. */
export function secretsOf(subject: Subject, credentials: Subject['credentials']): string[] {
  return secretFieldsOf(subject, credentials).map(([, value]) => value)
}

/** The same with the names of their fields. */
export function secretFieldsOf(
  { publicCredentials = [], credentials: own }: Subject,
  credentials: Subject['credentials'] = own,
): [name: string, value: string][] {
  return Object.entries(credentials).filter(([name]) => !publicCredentials.includes(name))
}

/** How the provider's records name an attempt. */
export const nameIn = (subject: Subject, key: string): string => subject.nameOf?.(key) ?? key

/** Whether its suite runs in npm test. */
export const formOf = ({ variant }: Subject) => (variant === undefined ? {} : LARGER_FORM_ONLY)

/** Of a test with a size. Those of a variant have no mark of their own: the larger forms run a variant whole. */
export const sizedFormOf = ({ variant }: Subject) => (variant === undefined ? HAS_LARGER_FORM : {})
