// Saves the method that an outcome brings. A webhook and a status check may bring the same one at the same time, and the
// merchant may revoke it as soon as it is saved, so it is saved only while the payment lacks it: otherwise the one that comes
// last would save it again. What is left: a process that dies after the save and before the move saves it again later.

import type { MethodRow } from '../customers/method.ts'
import { saveMethod } from '../customers/methods.ts'
import type { Outcome } from '../gateways/gateway.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { PaymentWithAttempt } from '../payments/attempt.ts'
import { lockAtVersion, lockWithoutMethod } from '../payments/find.ts'
import { chargedMethodOf, methodOf } from '../payments/views.ts'
import { linkMethod } from './queries.ts'

/**
 * For a move: saves the method of the outcome, or returns the one that the payment already has. Undefined: the payment has
 * moved since it was read.
 */
export async function saveOutcomeMethod(
  app: PaymentsApp,
  current: PaymentWithAttempt,
  outcome: Outcome,
): Promise<MethodRow | null | undefined> {
  const { payment, attempt } = current
  // A payer whose saved method was declined at a checkout may pay with another one, so the payment does not get it.
  const isLeft = attempt.paymentMethodId !== null && outcome.kind !== 'succeeded'
  if (isLeft) return methodOf(app, payment)
  const toSave = methodToSave(current, outcome)
  if (!toSave) return chargedMethodOf(app, current)
  return saveMethod(app, toSave.owner, toSave.method, { before: (tx) => lockAtVersion(tx, payment) })
}

/** After the move: the provider reports the method later than the payment. */
export async function saveLateMethod(
  app: PaymentsApp,
  current: PaymentWithAttempt,
  outcome: Outcome,
): Promise<void> {
  const toSave = methodToSave(current, outcome)
  if (!toSave || current.payment.paymentMethodId !== null) return
  await saveMethod(app, toSave.owner, toSave.method, {
    before: (tx) => lockWithoutMethod(tx, current.payment),
    after: (tx, methodId) => linkMethod(tx, current.payment, methodId),
  })
}

/** With its owner; undefined if there is none to save. */
function methodToSave({ payment, attempt }: PaymentWithAttempt, outcome: Outcome) {
  const method = outcome.kind === 'succeeded' ? outcome.savedMethod : null
  const consent = attempt.choice?.consent
  // Null: the payer has not agreed that the method is saved.
  if (!method || consent === null) return undefined
  const { merchantId, customerId, isRecurring } = payment
  const { gateway, accountId } = attempt
  return { owner: { merchantId, customerId, gateway, accountId, isRecurring, consent }, method }
}
