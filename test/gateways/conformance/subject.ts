// What the suite needs to know about a gateway, and the face of the fake provider behind it.

import type { TestContext } from 'node:test'
import type { FailureCode } from '../../../src/core/failures.ts'
import type { Mode } from '../../../src/core/merchant.ts'
import type { Money } from '../../../src/core/money.ts'
import type { Connection } from '../../../src/gateways/definition.ts'
import type { CheckoutChoice, DisputeReport, Gateway } from '../../../src/gateways/gateway.ts'
import type { FakeServer } from '../fake-server.ts'

/** Where the provider's webhooks reach us in these tests: signatures over the host are made for it. */
export const PUBLIC_URL = 'https://pay.example.com'

/** How a checkout ends at the provider. What is given differs from what was asked for, in the provider's own record. */
export type CheckoutEnding =
  | { kind: 'pays'; minor?: bigint; currency?: string; key?: string }
  | { kind: 'declines'; how: string }
  | { kind: 'waits' }

/** What a saved method does when it is charged again. */
export type ChargeBehavior = 'approves' | 'waits' | 'wants_customer' | { declines: string }

export type RefundBehavior = 'succeeds' | 'waits' | 'fails'

/** A provider that a test can play with: its API on a socket, its payers and its books in our hands. */
export interface FakeProvider {
  readonly server: FakeServer
  /** Plays the payer of an open checkout: on the hosted page, on the phone, wherever this provider has payers. */
  finish(key: string, ending: CheckoutEnding): void | Promise<void>
  /** How often the provider really took money under this key, by checkout or by charge. */
  executions(key: string): number | Promise<number>
  /** The signed request as it would arrive, about any key, known to the provider or not; a success unless told. */
  webhook(key: string, event?: string): Webhook | Promise<Webhook>
  /**
   * A credential as the connector itself would have saved it, or null where no charge of this provider goes that way.
   * Needed where the connector has chargeSaved.
   */
  savedCredential?(behavior: ChargeBehavior): string | null | Promise<string | null>
  /**
   * Plays the bank of the payer of what was paid under this key: opens a dispute about all of it, and decides it. Answers
   * the webhook that tells of it. Needed where the subject says that it has disputes.
   */
  dispute?(key: string, status: DisputeReport['status']): Webhook | Promise<Webhook>
  /** How the refunds that come from now on end. Needed where the connector has refund. */
  setRefundBehavior?(behavior: RefundBehavior): void
  /** What the provider really gave back for the attempt with this key, in minor units. Needed where it has refund. */
  refunds?(attemptKey: string): readonly bigint[] | Promise<readonly bigint[]>
}

export interface Webhook {
  /** Beside content-type only what the signature check reads: each of them is forged in turn. */
  headers: Record<string, string>
  body: Buffer
}

/** A gateway and its fake provider, as the suite needs to see them. */
export interface Subject {
  readonly name: string
  /** As an operator would give them: well-formed and made up. The suite looks for their values where they must not be. */
  readonly credentials: Readonly<Record<string, string>>
  /** Another account's, just as well-formed: with them the provider refuses and its webhooks are forged. */
  readonly otherCredentials: Readonly<Record<string, string>>
  /** What is collected; its rail must take a tenth of it too. */
  readonly amount: Money
  /** Card when absent. */
  readonly choice?: CheckoutChoice
  /** The attempt's country; null when absent. */
  readonly country?: string
  /** Test mode when absent. */
  readonly mode?: Mode
  /** Every reason to decline that the provider knows, by the provider's own name for it, and what we call it. */
  readonly declines: readonly { how: string; code: FailureCode; on: 'checkout' | 'charge' }[]
  /** The gateway tells of disputes. */
  readonly disputes?: true
  /** Why a changed body passes, for a provider whose webhooks prove who sends and not what. */
  readonly unsignedBody?: string
  start(t: TestContext): Promise<FakeProvider>
  open(connection: Connection): Gateway
}
