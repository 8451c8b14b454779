// Which gateways can take an attempt of a checkout, in the order in which they are tried.

import { ApiError } from '../core/errors.ts'
import { type CheckoutChoice, isDirect } from '../gateways/gateway.ts'
import type { Candidate } from '../gateways/registry.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { isPromptable, requirePromptable } from './phone-prompts.ts'

/** Who takes the next attempt, and how: a gateway, and beside it the merchant itself. */
interface CheckoutOffer {
  collected: Candidate | undefined
  direct: Candidate | undefined
}

export async function findOffer(app: PaymentsApp, payment: PaymentRow): Promise<CheckoutOffer> {
  const candidates = await listCandidates(app, payment)
  return {
    collected: candidates.find((one) => !isDirectGateway(one)),
    direct: candidates.find(isDirectGateway),
  }
}

/** What is collected this way is the merchant's own already. */
const isDirectGateway = ({ gateway }: Candidate) => gateway.settlesDirectly === true

/**
 * The gateway that was chosen when the checkout was opened or that had the last attempt, then the others; they alone when
 * that one serves the merchant no more.
 */
async function listCandidates(app: PaymentsApp, payment: PaymentRow): Promise<Candidate[]> {
  const { merchantId, currency, country, amountMinor, reference: key } = payment
  const candidates = await app.gateways.candidates(merchantId, { currency, country, amountMinor, key })
  const isChosen = ({ gateway }: Candidate) => gateway.name === payment.gateway
  return [...candidates.filter(isChosen), ...candidates.filter((one) => !isChosen(one))]
}

/** Those who offer the chosen way to pay, in order; what the payer gave is what the first of them asks for. */
export async function requireOffered(
  app: PaymentsApp,
  payment: PaymentRow,
  choice: CheckoutChoice,
): Promise<Candidate[]> {
  // Who wants a gateway is not sent to the merchant's own account, nor the other way round.
  const listed = await listCandidates(app, payment)
  const candidates = listed.filter((one) => isDirectGateway(one) === isDirect(choice.channel))
  // A test instrument is the sandbox's own: who plays with one means no other gateway.
  const sandboxed = candidates.filter(({ gateway }) => choice.instrument !== undefined && gateway.instruments)
  const [first, ...others] = sandboxed.length > 0 ? sandboxed : candidates
  const offers = ({ channels }: Candidate) => channels.includes(choice.channel)
  if (!first || !offers(first)) {
    throw new ApiError('validation_failed', {
      details: [{ field: 'channel', code: 'not_allowed', message: 'This way to pay is not offered here.' }],
    })
  }
  requirePromptable(first.gateway, payment, choice)
  return [first, ...others.filter(offers).filter(({ gateway }) => isPromptable(gateway, payment, choice))]
}
