// Payments that prompt phones in the payments rig, shared by the tests of prompts.

import assert from 'node:assert/strict'
import { stopAttempt } from '../../src/checkout/payer-actions.ts'
import { startAttempt } from '../../src/checkout/start-attempt.ts'
import { type CheckoutView, requireCheckoutPayment } from '../../src/checkout/view.ts'
import { ApiError } from '../../src/core/errors.ts'
import type { CheckoutChoice, StartedCheckout } from '../../src/gateways/gateway.ts'
import { addMs } from '../../src/kit/clock.ts'
import type { PaymentsApp } from '../../src/payments/app.ts'
import type { PaymentRow } from '../../src/payments/payment.ts'
import { CANCELLED, type PaymentsRig } from './payments-rig.ts'

const LIFETIME_MS = 5 * 60_000

export const prompt = (phone: string): CheckoutChoice => ({
  channel: 'mobile_money',
  phone,
  network: 'mpesa_ke',
})

export function promptRig(rig: PaymentsRig) {
  const { app, clock, gateway } = rig
  let numbers = 0
  const readCheckout = (payment: PaymentRow) => requireCheckoutPayment(app, rig.merchant, payment.reference)

  const prompted = (phone: string, forMs = LIFETIME_MS): StartedCheckout => ({
    kind: 'started',
    gatewayReference: 'gw-1',
    next: {
      kind: 'prompt',
      phone,
      network: 'M-Pesa',
      expiresAt: addMs(clock.now(), forMs).toISOString(),
      promptName: 'Shop',
    },
  })

  /** A new payment sends a prompt to the phone. */
  const promptPhone = async (phone: string, by: PaymentsApp = app): Promise<CheckoutView> => {
    const payment = await rig.checkout()
    gateway.answers('startCheckout', prompted(phone))
    return startAttempt(by, await readCheckout(payment), prompt(phone))
  }

  /** The gateway closes the attempt. */
  const end = async ({ payment }: CheckoutView): Promise<void> => {
    gateway.answers('cancel', CANCELLED)
    await stopAttempt(app, await readCheckout(payment))
  }

  return {
    readCheckout,
    prompted,
    promptPhone,
    end,
    /** A number that no other test uses. */
    newPhone(): string {
      numbers += 1
      return `+2547120${String(numbers).padStart(5, '0')}`
    },
    async promptAgain({ payment }: CheckoutView, phone: string): Promise<CheckoutView> {
      gateway.answers('startCheckout', prompted(phone))
      return startAttempt(app, await readCheckout(payment), prompt(phone))
    },
    /** Sends as many prompts as the limit allows; each has ended before the next. */
    async promptToLimit(phone: string, already = 0): Promise<void> {
      for (let n = already; n < app.settings.promptsPerNumber; n += 1) await end(await promptPhone(phone))
    },
    /** Starts an attempt in a process that dies at this point. */
    async dieAt(point: string, payment: PaymentRow, phone: string): Promise<void> {
      const hit = async (reached: string) => {
        if (reached === point) throw new Error('died')
      }
      const dying = { ...app, failpoints: { hit } }
      await assert.rejects(startAttempt(dying, await readCheckout(payment), prompt(phone)), /died/)
    },
  }
}

export async function apiErrorOf(starting: Promise<unknown>): Promise<ApiError> {
  const error = await starting.then(
    () => assert.fail('nothing was rejected'),
    (reason: unknown) => reason,
  )
  assert(error instanceof ApiError)
  return error
}
