// Serialises payments and charges for the API. It opens the sealed access code for the merchant who owns the payment.

import type { MethodRow } from '../customers/method.ts'
import { serializeMethod } from '../customers/methods.ts'
import { labelOf, statusOf, toSavedMethod } from '../customers/schema.ts'
import { findSavedMethod, findSavedMethods } from '../customers/service.ts'
import type { Tx } from '../kit/db/db.ts'
import { mapInTurns } from '../kit/event-loop.ts'
import type { PaymentsApp } from './app.ts'
import type { AttemptRow, PaymentWithAttempt } from './attempt.ts'
import { findPayment, findPayments, listAttempts, listAttemptsOfPayments, type WholePayment } from './find.ts'
import type { PaymentRow } from './payment.ts'
import { type PaymentSecrets, toChargeRecord, toInitiatedPayment, toPaymentRecord } from './schema.ts'

export function checkoutUrl(app: PaymentsApp, accessCode: string): string {
  return `${app.settings.publicUrl()}/pay/${accessCode}`
}

export function accessContext(payment: { merchantId: string; id: string }) {
  return { table: 'payments', column: 'access_sealed', rowId: payment.id, merchantId: payment.merchantId }
}

export function openAccessCode(app: PaymentsApp, payment: PaymentRow): string | null {
  return payment.accessSealed === null ? null : app.vault.open(payment.accessSealed, accessContext(payment))
}

function secretsOf(
  app: PaymentsApp,
  payment: PaymentRow,
  accessCode = openAccessCode(app, payment),
): PaymentSecrets | null {
  return accessCode === null ? null : { accessCode, checkoutUrl: checkoutUrl(app, accessCode) }
}

/** With the access code of a payment that was just recorded, the sealed one is not opened again. */
export function serializeInitiated(app: PaymentsApp, payment: PaymentRow, accessCode?: string | null) {
  return toInitiatedPayment(payment, secretsOf(app, payment, accessCode))
}

export async function serializePayment(app: PaymentsApp, payment: PaymentRow) {
  const [attempts, method] = await Promise.all([
    listAttempts(app.db, payment.merchantId, payment.id),
    methodOf(app, payment),
  ])
  return serializeWhole(app, { payment, attempts, method })
}

export function serializeWhole(app: PaymentsApp, { payment, attempts, method }: WholePayment) {
  const view = method ? serializeMethod(app, method) : null
  return toPaymentRecord(payment, attempts, view, secretsOf(app, payment))
}

interface KeptRecord {
  publicUrl: string
  record: ReturnType<typeof serializeWhole>
}

const keptRecords = new WeakMap<WholePayment, KeptRecord>()

/** Like `serializeWhole`. The record of a payment that has not changed since the last read is not serialized again. */
export function serializeRead(app: PaymentsApp, whole: WholePayment) {
  const publicUrl = app.settings.publicUrl()
  const status = whole.method ? statusOf(whole.method, app.clock.now()) : undefined
  const kept = keptRecords.get(whole)
  if (kept?.publicUrl === publicUrl && kept.record.paymentMethod?.status === status) return kept.record
  // Frozen: its text is kept too (src/http/response-schema.ts), so nothing inside it may be changed either.
  const record = Object.freeze(serializeWhole(app, whole))
  keptRecords.set(whole, { publicUrl, record })
  return record
}

export async function serializeCharge(
  app: PaymentsApp,
  charge: PaymentRow,
  known: { method?: MethodRow; attempt?: AttemptRow | null } = {},
) {
  const [attempts, method] = await Promise.all([
    known.attempt ? [known.attempt] : listAttempts(app.db, charge.merchantId, charge.id),
    known.method ?? methodOf(app, charge),
  ])
  return toChargeRecord(charge, attempts, method ? summarise(method) : null, await recoveryOf(app, charge))
}

/** The record for an event, read in the transaction that writes the event. */
export async function loadRedactedPayment(
  app: Pick<PaymentsApp, 'clock'>,
  tx: Tx,
  { merchantId, id }: { merchantId: string; id: string },
  method: MethodRow | null,
) {
  const payment = await findPayment(tx, merchantId, id)
  if (!payment) throw new Error(`payment ${id} does not exist`)
  return serializeRedacted(app, payment, await listAttempts(tx, merchantId, id), method)
}

/** The records of one merchant's page, with one statement for all attempts and one for all methods. */
export async function serializePayments(app: PaymentsApp, payments: readonly PaymentRow[]) {
  const [first] = payments
  if (!first) return []
  const ids = payments.map(({ id }) => id)
  const [attempts, methods] = await Promise.all([
    listAttemptsOfPayments(app.db, first.merchantId, ids),
    methodsOf(app, payments),
  ])
  const attemptsOf = Map.groupBy(attempts, ({ paymentId }) => paymentId)
  return mapInTurns(payments, (payment) => {
    const method = methods.get(payment.paymentMethodId ?? '') ?? null
    return serializeWhole(app, { payment, attempts: attemptsOf.get(payment.id) ?? [], method })
  })
}

export async function serializeCharges(app: PaymentsApp, charges: readonly PaymentRow[]) {
  const [first] = charges
  if (!first) return []
  const recoveryIds = charges.flatMap(({ recoveryPaymentId }) => recoveryPaymentId ?? [])
  const ids = charges.map(({ id }) => id)
  const [attempts, methods, recoveries] = await Promise.all([
    listAttemptsOfPayments(app.db, first.merchantId, ids),
    methodsOf(app, charges),
    recoveryIds.length === 0 ? [] : findPayments(app.db, first.merchantId, recoveryIds),
  ])
  const attemptsOf = Map.groupBy(attempts, ({ paymentId }) => paymentId)
  return mapInTurns(charges, (charge) => {
    const method = methods.get(charge.paymentMethodId ?? '')
    const recovery = recoveries.find(({ id }) => id === charge.recoveryPaymentId)
    const summary = method ? summarise(method) : null
    return toChargeRecord(charge, attemptsOf.get(charge.id) ?? [], summary, toRecovery(app, recovery))
  })
}

function methodsOf(app: PaymentsApp, payments: readonly PaymentRow[]): Promise<Map<string, MethodRow>> {
  const ids = payments.flatMap(({ paymentMethodId }) => paymentMethodId ?? [])
  return findSavedMethods(app, payments[0]?.merchantId ?? '', [...new Set(ids)])
}

/** The record for an event: without the access code and the recurring token, which are secrets. */
export function serializeRedacted(
  app: Pick<PaymentsApp, 'clock'>,
  payment: PaymentRow,
  attempts: AttemptRow[],
  method: MethodRow | null,
) {
  if (payment.kind === 'charge')
    return toChargeRecord(payment, attempts, method ? summarise(method) : null, null)
  const view = method ? toSavedMethod(method, null, app.clock.now()) : null
  return toPaymentRecord(payment, attempts, view, null)
}

export async function methodOf(app: PaymentsApp, payment: PaymentRow): Promise<MethodRow | null> {
  if (payment.paymentMethodId === null) return null
  return (await findSavedMethod(app, payment.merchantId, payment.paymentMethodId)) ?? null
}

/** The saved method that an attempt charges; null if it charges none. */
export async function chargedMethodOf(
  app: PaymentsApp,
  { payment, attempt, method }: PaymentWithAttempt,
): Promise<MethodRow | null> {
  if (method) return method
  return methodOf(app, { ...payment, paymentMethodId: attempt.paymentMethodId ?? payment.paymentMethodId })
}

function summarise(method: MethodRow) {
  return { uuid: method.id, type: method.type, label: labelOf(method) }
}

async function recoveryOf(app: PaymentsApp, charge: PaymentRow) {
  if (charge.recoveryPaymentId === null) return null
  return toRecovery(app, await findPayment(app.db, charge.merchantId, charge.recoveryPaymentId))
}

function toRecovery(app: PaymentsApp, recovery: PaymentRow | undefined) {
  const secrets = recovery ? secretsOf(app, recovery) : null
  if (!recovery || !secrets) return null
  return { uuid: recovery.id, reference: recovery.reference, checkoutUrl: secrets.checkoutUrl }
}
