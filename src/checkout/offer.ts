// Which gateways can take an attempt of a checkout, in the order in which they are tried.

import { ApiError } from '../core/errors.ts'
import { type CheckoutChoice, isDirect } from '../gateways/gateway.ts'
import type { Candidate } from '../gateways/registry.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { isPromptable, requirePromptable } from './phone-prompts.ts'

/** The candidates for the next attempt: a gateway that collects for us, and a P2P transfer to the merchant. */
interface CheckoutOffer {
  collected: Candidate | undefined
  p2p: Candidate | undefined
}

export async function findOffer(app: PaymentsApp, payment: PaymentRow): Promise<CheckoutOffer> {
  const candidates = await listCandidates(app, payment)
  return {
    collected: candidates.find((one) => !isP2p(one)),
    p2p: candidates.find(isP2p),
  }
}

/** The payer's money goes to the merchant's own account, not through us. */
const isP2p = ({ gateway }: Candidate) => gateway.settlesDirectly === true

/** The gateway of the checkout or of its last attempt first, if it still serves the merchant; then the others. */
async function listCandidates(app: PaymentsApp, payment: PaymentRow): Promise<Candidate[]> {
  const { merchantId, currency, country, amountMinor, reference: key } = payment
  const candidates = await app.gateways.candidates(merchantId, { currency, country, amountMinor, key })
  const isChosen = ({ gateway }: Candidate) => gateway.name === payment.gateway
  return [...candidates.filter(isChosen), ...candidates.filter((one) => !isChosen(one))]
}

/** The candidates that offer the chosen channel, in order. The payer's input must satisfy the first of them. */
export async function requireOffered(
  app: PaymentsApp,
  payment: PaymentRow,
  choice: CheckoutChoice,
): Promise<Candidate[]> {
  // No failover between a gateway and the merchant's own account.
  const listed = await listCandidates(app, payment)
  const candidates = listed.filter((one) => isP2p(one) === isDirect(choice.channel))
  // A test instrument belongs to the sandbox, so no other gateway is tried with it.
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
