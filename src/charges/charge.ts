// Charges a saved method without the customer: record the attempt, call the gateway, apply the outcome.

import { defaultCountry, usesCurrency } from '../core/currency.ts'
import { ApiError } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import type { MethodRow } from '../customers/method.ts'
import { openCredential, requireMethodByToken } from '../customers/methods.ts'
import { statusOf } from '../customers/schema.ts'
import type { Gateway, Outcome } from '../gateways/gateway.ts'
import { applyOutcome } from '../outcomes/apply.ts'
import { completeIfReady } from '../outcomes/complete.ts'
import { firstLeaseEnd, schedulePoll } from '../outcomes/schedule.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow, PaymentWithAttempt } from '../payments/attempt.ts'
import { newGatewayKey, toGatewayAttempt } from '../payments/gateway-request.ts'
import { fingerprintOf } from '../payments/input.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { type Claim, emailKey, type Recorded, recordPayment, replayOrRethrow } from '../payments/record.ts'
import type { MoveSource } from '../payments/states.ts'
import { serializeRedacted } from '../payments/views.ts'
import type { ChargeInput } from './input.ts'

export const CHARGE = 'POST /api/v1/charges/recurring'

export async function chargeSavedMethod(
  app: PaymentsApp,
  merchant: Merchant,
  input: ChargeInput,
  idempotencyKey: string | null,
): Promise<Recorded & { method?: MethodRow }> {
  const claim: Claim = {
    operation: CHARGE,
    reference: input.reference,
    fingerprint: fingerprintOf(CHARGE, input),
    idempotencyKey,
  }
  let method: MethodRow
  let gateway: Gateway
  try {
    method = await requireChargeable(app, merchant, input)
    gateway = await requireGatewayOf(app, method)
  } catch (error) {
    return { payment: await replayOrRethrow(app, merchant.id, claim, error), replayed: true }
  }
  return chargeOnce(app, merchant, claim, input, method, gateway)
}

async function chargeOnce(
  app: PaymentsApp,
  merchant: Merchant,
  claim: Claim,
  input: ChargeInput,
  method: MethodRow,
  gateway: Gateway,
): Promise<Recorded & { method: MethodRow }> {
  // The attempt is recorded before the call: if the process dies, the resolver checks the status at the gateway.
  await app.failpoints.hit('charge.before_record')
  const recorded = await recordPayment(
    app,
    merchant.id,
    claim,
    {
      ...input,
      kind: 'charge',
      gateway: method.gateway,
      country: railsCountry(input),
      isRecurring: true,
      paymentMethodId: method.id,
      openForMs: null,
      attempt: {
        id: app.random.uuid(),
        number: 1,
        operation: 'charge',
        gateway: method.gateway,
        accountId: method.accountId,
        gatewayKey: newGatewayKey(app.random),
        channel: 'saved',
        choice: null,
        dueAt: firstLeaseEnd(app, app.clock.now()),
      },
    },
    (payment, attempt) => serializeRedacted(app, payment, attempt ? [attempt] : [], method),
  )
  const { payment, attempt } = recorded
  if (!attempt) return { payment, replayed: true, method }
  const executed = await executeCharge(app, gateway, { payment, attempt, method }, 'api')
  return { payment: executed.payment, attempt: executed.attempt, replayed: false, method }
}

/** The first call of a recorded attempt that charges a saved method, and its outcome. */
export async function executeCharge(
  app: PaymentsApp,
  gateway: Gateway,
  recorded: PaymentWithAttempt & { method: MethodRow },
  source: MoveSource,
): Promise<PaymentWithAttempt> {
  const { payment, attempt, method } = recorded
  await app.failpoints.hit('charge.after_record')
  const submitted = await submitCharge(app, gateway, payment, attempt, method)
  await app.failpoints.hit('charge.after_call')
  const { current, outcome } = await completeIfReady(app, gateway, recorded, submitted)
  const applied = await applyOutcome(app, gateway, current, outcome, {
    source,
    firstCall: outcome === submitted,
  })
  await schedulePoll(app, applied, outcome, gateway.behavior)
  return applied
}

/** Every submission goes through here: the first one, and the resolver's retry under the same idempotency key. */
export async function submitCharge(
  app: PaymentsApp,
  gateway: Gateway,
  payment: PaymentRow,
  attempt: AttemptRow,
  method: MethodRow,
): Promise<Outcome> {
  if (!gateway.chargeSaved) throw new Error(`${gateway.name} saved a method that it cannot charge`)
  const { name } = await app.merchantProfile(payment.merchantId)
  return gateway.chargeSaved(toGatewayAttempt(payment, attempt, name), openCredential(app, method))
}

async function requireChargeable(
  app: PaymentsApp,
  merchant: Merchant,
  input: ChargeInput,
): Promise<MethodRow> {
  const method = await requireMethodByToken(app.writers, merchant, input.recurringToken)
  const status = statusOf(method, app.clock.now())
  if (status !== 'active') {
    throw new ApiError('recurring_token_inactive', { message: `The recurring token is ${status}.` })
  }
  if (emailKey(input.customer.email) !== method.emailKey) throw new ApiError('customer_mismatch')
  if (!method.currencies.includes(input.amount.currency)) {
    throw new ApiError('currency_not_supported_for_token', {
      message: `The saved method can be charged in ${method.currencies.join(', ')}.`,
    })
  }
  return method
}

/** The token determines gateway and account, even if they are closed to new payments. */
async function requireGatewayOf(app: PaymentsApp, method: MethodRow): Promise<Gateway> {
  const gateway = await app.gateways.find(method.merchantId, method.gateway, method.accountId)
  if (gateway) return gateway
  throw new ApiError('recurring_token_inactive', {
    message: `The saved method belongs to ${method.gateway}, which is not configured here.`,
  })
}

/** The token determines the gateway; the country matters only for a recovery checkout. */
function railsCountry(input: ChargeInput): string | null {
  const { country } = input.customer
  const { currency } = input.amount
  return country !== null && usesCurrency(country, currency) ? country : defaultCountry(currency)
}
