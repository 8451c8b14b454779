import type { Principal } from '../core/merchant.ts'
import type { DeliveriesApp } from '../deliveries/app.ts'
import type { Tx } from '../kit/db/db.ts'
import type { TransactionDb } from '../kit/db/within-transaction.ts'
import type { Job } from '../kit/jobs.ts'
import type { LinksApp } from '../links/app.ts'
import type { LinkRow } from '../links/link.ts'
import type { ManagedMerchant } from '../merchants/service.ts'
import type { verifyAttempt } from '../outcomes/status-check.ts'
import type { P2pApp } from '../p2p/app.ts'
import type { ReconciliationApp } from '../reconciliation/reconcile.ts'
import type { SandboxApiApp } from '../sandbox-api/service.ts'
import type { Decline } from './declines.ts'
import type { Person } from './orders.ts'
import type { Schedule } from './schedule.ts'

/** What the provider answers about a payment, beside what the sandbox says. */
export interface ProviderAnswer {
  /** The next attempt is declined. */
  decline?: Decline
  /** The gateway does not answer. */
  isDown?: boolean
  card?: { brand: string; last4: string }
}

export interface DemoProvider {
  gateway: SandboxApiApp['sandbox']
  /** Sets what is answered about the payment with this reference of the merchant. */
  answer(reference: string, answer: ProviderAnswer): void
  /** The payer of the attempt, or their bank, refuses. */
  declineAttempt(key: string, decline: Decline): Promise<void>
  /** Stores what the provider knows, so that the service can continue with it. */
  storeRecords(tx: Tx): Promise<void>
}

/** The services, with a simulated clock and everything inside this process. */
export interface DemoApp extends LinksApp, P2pApp, DeliveriesApp, SandboxApiApp, ReconciliationApp {
  db: TransactionDb
  instanceDb: TransactionDb
  keyPepper: Uint8Array
  provider: DemoProvider
  addPerson(merchantId: string, person: DemoPerson): Promise<Principal>
  /** The background jobs of a day: settlements, refunds that failed later, transfers that were not sent. */
  dailyJobs: readonly Job[]
  /** The background jobs of everything that is due at a time, without deliveries. */
  dueJobs: readonly Job[]
  deliveryJobs: readonly Job[]
}

/** A person of the demo merchant, or an operator of the instance. */
export interface DemoPerson {
  /** The e-mail address without its domain. */
  account: string
  name: string
  role: 'owner' | 'admin' | 'finance' | 'support' | 'developer' | 'viewer' | 'operator'
}

/** By role; of two operators the last one. */
export type Team = Readonly<Record<DemoPerson['role'], Principal>>

/** A payment with the attempt that has paid it, or may. */
export type PaidAttempt = Parameters<typeof verifyAttempt>[1]

/** A saved card that the merchant may charge. */
export interface SavedCard {
  person: Person
  recurringToken: string
}

/** The history so far. */
export interface History {
  app: DemoApp
  merchant: ManagedMerchant
  /** The API key of the shop. */
  keyId: string
  team: Team
  /** Payments of the last days that nothing else happens to. */
  paid: PaidAttempt[]
  nowMs: number
  schedule: Schedule
  /** By currency. */
  links: ReadonlyMap<string, LinkRow>
  /** When a payment link was paid that has not counted the payment yet. */
  uncountedAtMs: number | null
  /** By currency; the one that was charged longest ago is first. */
  cards: Map<string, SavedCard[]>
}
