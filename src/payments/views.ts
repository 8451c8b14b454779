// Payments and charges as the API shows them, with what is sealed at rest opened for the merchant who owns it.

import { findSavedMethod, labelOf, type MethodRow, toSavedMethod, viewMethod } from '../customers/service.ts'
import type { PaymentsApp } from './app.ts'
import { type AttemptRow, listAttempts } from './attempt-queries.ts'
import { findPayment, type PaymentRow } from './queries.ts'
import { accessContext } from './record.ts'
import { type PaymentSecrets, toChargeRecord, toInitiatedPayment, toPaymentRecord } from './schema.ts'

export function checkoutUrl(app: PaymentsApp, accessCode: string): string {
  return `${app.settings.publicUrl()}/pay/${accessCode}`
}

export function openAccessCode(app: PaymentsApp, payment: PaymentRow): string | null {
  return payment.accessSealed === null ? null : app.vault.open(payment.accessSealed, accessContext(payment))
}

function secretsOf(app: PaymentsApp, payment: PaymentRow): PaymentSecrets | null {
  const accessCode = openAccessCode(app, payment)
  return accessCode === null ? null : { accessCode, checkoutUrl: checkoutUrl(app, accessCode) }
}

export function showInitiated(app: PaymentsApp, payment: PaymentRow) {
  return toInitiatedPayment(payment, secretsOf(app, payment))
}

export async function showPayment(app: PaymentsApp, payment: PaymentRow) {
  const [attempts, method] = await Promise.all([
    listAttempts(app.db, payment.merchantId, payment.id),
    methodOf(app, payment),
  ])
  return toPaymentRecord(payment, attempts, method ? viewMethod(app, method) : null, secretsOf(app, payment))
}

export async function showCharge(app: PaymentsApp, charge: PaymentRow, method?: MethodRow) {
  const used = method ?? (await methodOf(app, charge))
  return toChargeRecord(charge, used ? summarise(used) : null, await recoveryOf(app, charge))
}

/** The record as a stored event tells it: nothing in it opens anything. */
export function showAtRest(
  app: PaymentsApp,
  payment: PaymentRow,
  attempts: AttemptRow[],
  method: MethodRow | null,
) {
  if (payment.kind === 'charge') return toChargeRecord(payment, method ? summarise(method) : null, null)
  const view = method ? toSavedMethod(method, null, app.clock.now()) : null
  return toPaymentRecord(payment, attempts, view, null)
}

export async function methodOf(app: PaymentsApp, payment: PaymentRow): Promise<MethodRow | null> {
  if (payment.paymentMethodId === null) return null
  return (await findSavedMethod(app, payment.merchantId, payment.paymentMethodId)) ?? null
}

function summarise(method: MethodRow) {
  return { uuid: method.id, type: method.type, label: labelOf(method) }
}

async function recoveryOf(app: PaymentsApp, charge: PaymentRow) {
  if (charge.recoveryPaymentId === null) return null
  const recovery = await findPayment(app.db, charge.merchantId, charge.recoveryPaymentId)
  const secrets = recovery ? secretsOf(app, recovery) : null
  if (!recovery || !secrets) return null
  return { uuid: recovery.id, reference: recovery.reference, checkoutUrl: secrets.checkoutUrl }
}
