// The real payments code on a real database, with a gateway that returns scripted outcomes and a clock that the test
// advances. No background job runs: the test calls the resolver.

import assert from 'node:assert/strict'
import { chargeSavedMethod } from '../../src/charges/charge.ts'
import { initiatePayment } from '../../src/checkout/initiate.ts'
import { promptEndsAt } from '../../src/checkout/phone-prompts.ts'
import type { Merchant } from '../../src/core/merchant.ts'
import { money } from '../../src/core/money.ts'
import type { MethodRow } from '../../src/customers/method.ts'
import { saveMethod, serializeMethod } from '../../src/customers/methods.ts'
import { saveGatewayWebhook } from '../../src/gateway-webhooks/queries.ts'
import type { Attempt, Gateway, Outcome, StartedCheckout } from '../../src/gateways/gateway.ts'
import { fixedGateways } from '../../src/gateways/registry.ts'
import type { SavedMethod } from '../../src/gateways/saved-method.ts'
import { createSigner, createVault } from '../../src/kit/crypto.ts'
import { type ConnectedDb, type Db, sql } from '../../src/kit/db/db.ts'
import { createCounters } from '../../src/kit/observability/counters.ts'
import { createLog } from '../../src/kit/observability/log.ts'
import { systemRandom } from '../../src/kit/random.ts'
import { reserveSlot } from '../../src/links/slots.ts'
import { createMerchantProfiles } from '../../src/merchants/profiles.ts'
import { isSuspended } from '../../src/merchants/service.ts'
import { createPaymentWriters, type PaymentsApp } from '../../src/payments/app.ts'
import type { AttemptRow } from '../../src/payments/attempt.ts'
import { findPayment, listAttempts } from '../../src/payments/find.ts'
import type { PaymentRow } from '../../src/payments/payment.ts'
import { wakeRefunds, wakeRefundWithReport } from '../../src/refunds/advance.ts'
import { claimExpiries } from '../../src/resolver/expire.ts'
import { claimResolutions } from '../../src/resolver/resolve.ts'
import { CUSTOMER, newReference } from './builders.ts'
import { type Cleanup, testDatabaseUrl } from './database.ts'
import { type FakeClock, frozenClock } from './fake-clock.ts'
import { assertInvariants } from './invariants.ts'
import { connectTestDb } from './test-db.ts'

export type GatewayRequest = Pick<Attempt, 'key' | 'amount'>
type Verb = 'chargeSaved' | 'startCheckout' | 'complete' | 'verify' | 'cancel'
type Answer = Outcome | StartedCheckout
/** The gateway's outcome, or a function that returns it. */
export type Scripted = Answer | ((asked: GatewayRequest) => Answer | Promise<Answer>)

const unknown = (reason: Extract<Outcome, { kind: 'unknown' }>['reason']): Outcome => ({
  kind: 'unknown',
  reason,
  message: reason,
})

export const NOT_SENT = unknown('not_sent')
export const NOT_FOUND = unknown('not_found')
export const NO_ANSWER = unknown('no_answer')
export const PENDING: Outcome = { kind: 'pending', gatewayReference: null }
export const CANCELLED: Outcome = {
  kind: 'declined',
  code: 'customer_cancelled',
  message: 'Cancelled.',
  gatewayReference: null,
}
export const STARTED: StartedCheckout = {
  kind: 'started',
  gatewayReference: 'gw-1',
  next: { kind: 'redirect', url: 'https://gateway.example/pay/1' },
}

/** The gateway collected the requested amount, unless changed. */
export const paid =
  (changes: Partial<Extract<Outcome, { kind: 'succeeded' }>> = {}) =>
  ({ key, amount }: GatewayRequest): Outcome => ({
    kind: 'succeeded',
    gatewayReference: `gw-${key}`,
    paid: amount,
    key,
    savedMethod: null,
    paidAt: new Date(),
    ...changes,
  })

/** Saves a method that no payment brings. */
export async function saveAnyMethod(
  app: SaveArguments[0],
  owner: SaveArguments[1],
  method: SavedMethod,
): Promise<MethodRow> {
  const saved = await saveMethod(app, owner, method, { before: async () => true })
  assert.ok(saved)
  return saved
}

type SaveArguments = Parameters<typeof saveMethod>

export const CARD: SavedMethod = {
  type: 'card',
  credential: 'a-token-of-the-gateway',
  fingerprint: 'the-same-card',
  card: { brand: 'Visa', last4: '4242', expiryMonth: 12, expiryYear: 2099, country: 'KE' },
  mobileMoney: null,
  currencies: ['KES'],
}

export interface ScriptedGateway extends Gateway {
  /** Scripts the next outcomes; each is returned once, in this order. */
  answers(verb: Verb, ...scripted: Scripted[]): void
  clearAnswers(): void
  /** Every call so far, each as "verify <key>". */
  readonly calls: string[]
  behavior: Gateway['behavior']
}

export const NAME = 'scripted'

export function scriptedGateway(name = NAME): ScriptedGateway {
  const scripts = new Map<Verb, Scripted[]>()
  const calls: string[] = []
  const answer = async (verb: Verb, asked: GatewayRequest): Promise<Answer> => {
    calls.push(`${verb} ${asked.key}`)
    const scripted = scripts.get(verb)?.shift()
    if (!scripted) throw new Error(`the test scripted no answer of ${verb}`)
    return typeof scripted === 'function' ? scripted(asked) : scripted
  }
  // A boundary: tests script `started` only for the start of a checkout.
  const outcome = async (verb: Verb, asked: GatewayRequest) => (await answer(verb, asked)) as Outcome
  return {
    name,
    rails: [{ currency: 'KES', channels: ['card', 'mobile_money'], prompts: true }],
    behavior: { keyRetentionHours: 24, cachesErrors: false, lookupByReference: true },
    calls,
    answers: (verb, ...scripted) => void scripts.set(verb, [...(scripts.get(verb) ?? []), ...scripted]),
    clearAnswers: () => scripts.clear(),
    startCheckout: (attempt) => answer('startCheckout', attempt),
    verify: (asked) => outcome('verify', asked),
    cancel: (asked) => outcome('cancel', asked),
    chargeSaved: (attempt) => outcome('chargeSaved', attempt),
    complete: (asked) => outcome('complete', asked),
    parseWebhook: ({ rawBody }) => ({ kind: 'payment', ...JSON.parse(rawBody.toString()) }),
  }
}

export interface PaymentsRig {
  app: PaymentsApp
  db: ConnectedDb
  clock: FakeClock
  merchant: Merchant
  gateway: ScriptedGateway
  /** The same service in another process: another pool and another cache over the same database. */
  anotherApp(): PaymentsApp
  /** Charges the saved card of a new customer. */
  charge(): Promise<PaymentRow>
  /** Opens a checkout, for a new customer or for this one. */
  checkout(email?: string): Promise<PaymentRow>
  payment(id: string): Promise<PaymentRow>
  /** The attempt with this number. */
  attempt(paymentId: string, number?: number): Promise<AttemptRow>
  /** Polls every due attempt once. */
  resolve(): Promise<number>
  expire(): Promise<number>
  /** Delivers a webhook about the attempt, each time with a new id. */
  deliverWebhook(attempt: AttemptRow, about?: { checksPaid: true }): Promise<void>
  /** How often the payment was credited. */
  credits(paymentId: string): Promise<number>
  /** Resets the script and open payments, so that they do not affect the next test. */
  endTest(): Promise<void>
}

// The lease of a first call is this plus two seconds.
const GATEWAY_TIMEOUT_MS = 10_000
const HOUR_MS = 3_600_000
const LIMIT = 100

const insertMerchant = sql<unknown>`
insert into merchants (id, name, mode, base_currency, created_at, updated_at)
values ($1, 'Shop', 'test', 'KES', $2, $2)`

const countCredits = sql<{ credits: number }>`
select count(*)::integer as credits
from ledger_entries
where payment_id = $1 and kind = 'capture'`

const postponeAll = sql<unknown>`
with attempt as (
  update attempts
  set due_at = timestamptz '2999-01-01T00:00:00Z'
  where due_at is not null
)
update payments
set due_at = timestamptz '2999-01-01T00:00:00Z'
where due_at is not null`

export async function paymentsRig(t: Cleanup): Promise<PaymentsRig> {
  const pools: Db[] = []
  t.after(async () => {
    const [first] = pools
    try {
      if (first) await assertInvariants({ db: first })
    } finally {
      for (const pool of pools) await pool.close()
    }
  })
  const url = await testDatabaseUrl(t)
  const clock = frozenClock()
  const random = systemRandom(clock)
  const gateway = scriptedGateway()
  const vault = createVault([{ id: 'k1', key: random.bytes(32) }], random)
  const cursors = createSigner(random.bytes(32))
  const promptKey = random.bytes(32)

  const anotherApp = (): PaymentsApp & { db: ConnectedDb } => {
    const db = connectTestDb({ url, poolSize: 8 })
    pools.push(db)
    return {
      db,
      instanceDb: db,
      clock,
      random,
      log: createLog('silent'),
      vault,
      cursors,
      mode: 'test',
      gateways: fixedGateways([gateway]),
      writers: createPaymentWriters(db),
      failpoints: { hit: () => Promise.resolve() },
      counters: createCounters(),
      promptKey,
      promptEndsAt: (key) => promptEndsAt(db, key),
      isSuspended: (id) => isSuspended({ instanceDb: db }, id),
      merchantProfile: createMerchantProfiles({ instanceDb: db, clock }),
      wakeRefunds: (wake) => wakeRefunds({ db, clock }, wake),
      wakeRefundByKey: (refund, report) => wakeRefundWithReport({ db, clock }, refund, report),
      checkCapacity: (payment) => reserveSlot({ db, clock }, payment),
      settings: {
        mode: 'test',
        publicUrl: () => 'http://cowry.example',
        checkoutMs: HOUR_MS,
        promptsPerNumber: 5,
        promptsPerVisitor: 30,
        settlementMs: 24 * HOUR_MS,
        gatewayTimeoutMs: GATEWAY_TIMEOUT_MS,
        fees: new Map(),
      },
    }
  }
  const app = anotherApp()
  const { db } = app
  const merchant: Merchant = { id: random.uuid(), name: 'Shop', mode: 'test', baseCurrency: 'KES' }
  await db.query(insertMerchant, [merchant.id, clock.now()])

  const runAll = async (pieces: (() => Promise<void>)[]) => {
    await Promise.all(pieces.map((piece) => piece()))
    return pieces.length
  }
  const inputFor = (email: string) => ({
    reference: newReference(),
    amount: money(10_000n, 'KES'),
    description: null,
    metadata: {},
    customer: { ...CUSTOMER, email, country: null },
  })
  const checkout = async (email = `${random.uuid()}@example.com`) => {
    const input = { ...inputFor(email), country: 'KE', redirectUrl: null, isRecurring: false }
    return (await initiatePayment(app, merchant, input, null)).payment
  }
  const rig: PaymentsRig = {
    app,
    db,
    clock,
    merchant,
    gateway,
    anotherApp,
    checkout,
    async charge() {
      const { customerId, customerEmail } = await checkout()
      const owner = {
        merchantId: merchant.id,
        customerId,
        gateway: NAME,
        accountId: null,
        isRecurring: true,
      }
      const method = await saveAnyMethod(app, owner, CARD)
      const { recurringToken } = serializeMethod(app, method)
      assert.ok(recurringToken)
      const input = { ...inputFor(customerEmail), recurringToken }
      return (await chargeSavedMethod(app, merchant, input, null)).payment
    },
    async payment(id) {
      const payment = await findPayment(db, merchant.id, id)
      assert.ok(payment)
      return payment
    },
    async attempt(paymentId, number = 1) {
      const attempt = (await listAttempts(db, merchant.id, paymentId)).find((one) => one.number === number)
      assert.ok(attempt)
      return attempt
    },
    resolve: async () => runAll(await claimResolutions(app, LIMIT)),
    expire: async () => runAll(await claimExpiries(app, LIMIT)),
    async deliverWebhook({ gatewayKey: key, accountId }, about) {
      const subject = { key, gatewayReference: null, ...about }
      const webhook = { gateway: NAME, accountId, eventId: random.uuid(), ...subject }
      await saveGatewayWebhook(db, webhook, clock.now(), clock.now())
    },
    credits: async (paymentId) => (await db.query(countCredits, [paymentId]))[0]?.credits ?? 0,
    async endTest() {
      gateway.clearAnswers()
      await db.query(postponeAll)
    },
  }
  return rig
}
