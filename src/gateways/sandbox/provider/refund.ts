// Refunds at the provider. The payment's record lists its refunds by key, and one compare-and-set adds to the list, so
// together they never exceed the payment. If the process dies between the two records, the same key completes the
// refund later.

import { addMs } from '../../../kit/clock.ts'
import { factsOf, type RefundBehavior } from '../instruments.ts'
import type { RefundBody } from '../wire-refund.ts'
import { type CreateResult, type ProviderNeeds, readByKey, storeOnce } from './provider.ts'
import type { SandboxRecord } from './record.ts'

// Long enough to be seen as pending, short enough to wait for.
const PENDING_MS = 2_000

/** The record under the key; a text if nothing can be refunded. */
export async function createRefund(
  app: ProviderNeeds,
  key: string,
  body: RefundBody,
): Promise<CreateResult | { kind: 'refused'; message: string }> {
  const payment = await readByKey(app, body.payment)
  if (!payment || payment.kind === 'refund' || payment.status !== 'succeeded')
    return { kind: 'refused', message: 'There is no such payment that was paid.' }
  if (payment.currency !== body.currency)
    return { kind: 'refused', message: 'The payment has another currency.' }
  const behavior = refundBehaviorOf(payment)
  if (behavior !== 'declines' && !(await reserveRefund(app, payment.key, key, body.amount)))
    return { kind: 'refused', message: 'Refunds cannot exceed what was paid.' }
  return storeOnce(app, draftRefund(app, key, payment, body, behavior))
}

export function refundBehaviorOf({ instrument }: SandboxRecord): RefundBehavior {
  return instrument === null ? 'succeeds' : factsOf(instrument).refund
}

/** False if it would exceed the payment. The same key again is the same refund. */
async function reserveRefund(
  app: ProviderNeeds,
  paymentKey: string,
  refundKey: string,
  amount: string,
): Promise<boolean> {
  for (;;) {
    const payment = await app.store.findByKey(paymentKey)
    if (!payment) return false
    const refunds = payment.refunds ?? {}
    if (refunds[refundKey] !== undefined) return true
    if ((await givenMinor(app, refunds)) + BigInt(amount) > BigInt(payment.paid ?? 0)) return false
    const next = { ...payment, version: payment.version + 1, refunds: { ...refunds, [refundKey]: amount } }
    if (await app.store.replace(next)) return true
  }
}

/** What the refunds have given back or may give back. One that failed after its success does not count. */
async function givenMinor(app: ProviderNeeds, refunds: Readonly<Record<string, string>>): Promise<bigint> {
  let total = 0n
  for (const [key, amount] of Object.entries(refunds)) {
    const refund = await readByKey(app, key)
    if (refund?.status !== 'declined') total += BigInt(amount)
  }
  return total
}

function draftRefund(
  { clock, random }: ProviderNeeds,
  key: string,
  payment: SandboxRecord,
  body: RefundBody,
  behavior: RefundBehavior,
): SandboxRecord {
  const now = clock.now()
  const draft: SandboxRecord = {
    ...payment,
    uuid: random.uuid(),
    key,
    kind: 'refund',
    version: 1,
    amount: body.amount,
    token: null,
    checkout: null,
    plan: null,
    refunds: undefined,
    dispute: undefined,
    pastDisputes: undefined,
    plannedDisputes: undefined,
    refundOf: payment.key,
    status: 'pending',
    paid: null,
    declineCode: null,
    createdAt: now.toISOString(),
    endedAt: null,
  }
  switch (behavior) {
    case 'succeeds':
    case 'succeeds_response_lost':
      return { ...draft, status: 'succeeded', endedAt: draft.createdAt }
    case 'succeeds_later':
      return { ...draft, plan: { at: addMs(now, PENDING_MS).toISOString(), ending: { pays: 'all' } } }
    case 'fails_after_success': {
      const plan = { at: addMs(now, PENDING_MS).toISOString(), ending: { declines: 'do_not_honor' } } as const
      return { ...draft, status: 'succeeded', endedAt: draft.createdAt, plan }
    }
    case 'declines':
      return { ...draft, status: 'declined', declineCode: 'do_not_honor', endedAt: draft.createdAt }
  }
}
