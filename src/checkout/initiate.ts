// Initiates a payment: chooses the gateway by currency and country, records the payment, and returns the address of our
// checkout page. No gateway is called before the payer has chosen how to pay.

import { defaultCountry } from '../core/currency.ts'
import { ApiError } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { fingerprintOf, type InitiateInput } from '../payments/input.ts'
import { type Claim, openCheckout, type Recorded, replayOrRethrow } from '../payments/record.ts'
import { requireAllowedReturn } from './return-url.ts'

export const INITIATE = 'POST /api/v1/checkout/initiate-payment'

/** Another operation that opens a checkout, with its own choice of the gateway. */
interface Initiation {
  operation: string
  chooseGateway(input: InitiateInput): Promise<string>
}

export async function initiatePayment(
  app: PaymentsApp,
  merchant: Merchant,
  input: InitiateInput,
  idempotencyKey: string | null,
  initiation?: Initiation,
): Promise<Recorded> {
  const operation = initiation?.operation ?? INITIATE
  const claim: Claim = {
    operation,
    reference: input.reference,
    fingerprint: fingerprintOf(operation, input),
    idempotencyKey,
  }
  let gateway: string
  let placed: InitiateInput
  try {
    await requireAllowedReturn(app, merchant, input.redirectUrl)
    // Another operation chooses by the country of its input.
    placed = initiation ? input : await withCountry(app, merchant.id, input)
    gateway = (await initiation?.chooseGateway(placed)) ?? (await chooseGateway(app, merchant.id, placed))
  } catch (error) {
    // Idempotency: the configuration may have changed since this request was accepted, and its retry must still succeed.
    return { payment: await replayOrRethrow(app, merchant.id, claim, error), replayed: true }
  }
  return openCheckout(app, merchant.id, claim, placed, gateway)
}

async function withCountry(
  app: PaymentsApp,
  merchantId: string,
  { isDefaultCountry, ...input }: InitiateInput,
): Promise<InitiateInput> {
  if (!isDefaultCountry) return input
  const home = await app.gateways.homeCountry(merchantId, input.amount.currency)
  return { ...input, country: home ?? input.country }
}

async function chooseGateway(app: PaymentsApp, merchantId: string, input: InitiateInput): Promise<string> {
  const { currency, minor: amountMinor } = input.amount
  const country = input.country ?? defaultCountry(currency)
  const criteria = { currency, country, amountMinor, key: input.reference }
  const first = await app.gateways.firstCandidate(merchantId, criteria)
  if (first === undefined) throw new ApiError('no_route_available')
  return first
}
