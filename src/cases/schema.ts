// The JSON shape of a case, in responses and events.

import { type Static, Type } from 'typebox'
import { isCurrency } from '../core/currency.ts'
import { formatAmount, money } from '../core/money.ts'
import { AmountText, CurrencyCode, Enum, Nullable, Timestamp, Uuid } from '../kit/http/schema.ts'
import { isUnpaid, PAYMENT_STATUSES } from '../payments/states.ts'
import type { CaseDetails } from './case.ts'
import {
  CASE_KIND_NAMES,
  CASE_KINDS,
  type CaseOwner,
  kindFacts,
  OPERATOR_RESOLUTIONS,
  RESOLUTION_NAMES,
  RESOLUTIONS,
  type Resolution,
} from './case-kinds.ts'

const describe = (texts: Readonly<Record<string, string>>) =>
  Object.entries(texts)
    .map(([name, meaning]) => `${name}: ${meaning}`)
    .join(' ')

const KIND_MEANINGS = Object.fromEntries(CASE_KIND_NAMES.map((name) => [name, CASE_KINDS[name].meaning]))

export const CASE_STATES = ['open', 'awaiting_approval', 'resolved'] as const

export const ResolutionName = Enum(RESOLUTION_NAMES, { description: describe(RESOLUTIONS) })

export const CaseRecord = Type.Object({
  uuid: Uuid,
  kind: Enum(CASE_KIND_NAMES, { description: describe(KIND_MEANINGS) }),
  meaning: Type.String(),
  owner: Enum(['merchant', 'operator'], { description: 'Who decides.' }),
  state: Enum(CASE_STATES),
  paymentUuid: Uuid,
  paymentReference: Type.String(),
  paymentStatus: Enum(PAYMENT_STATUSES),
  attemptUuid: Uuid,
  refundUuid: Nullable(Uuid),
  amount: Type.Unsafe<string>({ ...AmountText, description: 'The amount that was asked for.' }),
  currency: CurrencyCode,
  amountReceived: Nullable(AmountText),
  receivedCurrency: Nullable(Type.String()),
  refundAmount: Nullable(AmountText),
  paymentGateway: Type.String(),
  gatewayReference: Nullable(Type.String({ description: 'The provider’s own reference.' })),
  gatewayKey: Type.String({ description: 'Our key at the provider.' }),
  providerMessage: Nullable(Type.String({ description: 'The provider’s own words.' })),
  askedAt: Type.Unsafe<string>({ ...Timestamp, description: 'When the provider was asked for the money.' }),
  checks: Type.Integer({ description: 'How often the provider was asked for the outcome since.' }),
  resolutions: Type.Array(Enum(RESOLUTION_NAMES), { description: 'The possible resolutions now.' }),
  resolution: Nullable(
    Enum([...RESOLUTION_NAMES, 'gateway_answered'], {
      description: 'How it was resolved. gateway_answered: the gateway reported the outcome meanwhile.',
    }),
  ),
  note: Nullable(Type.String()),
  proof: Nullable(Type.String()),
  resolvedBy: Nullable(Type.String({ description: 'An API key, operator, or service.' })),
  proposal: Nullable(
    Type.Object(
      {
        resolution: Enum(RESOLUTION_NAMES),
        note: Type.String(),
        proof: Nullable(Type.String()),
        by: Type.String(),
        at: Timestamp,
      },
      { description: 'A resolution that waits for the approval of another person.' },
    ),
  ),
  openedAt: Timestamp,
  resolvedAt: Nullable(Timestamp),
})
export type CaseRecord = Static<typeof CaseRecord>

export function toCaseRecord({ row, facts }: CaseDetails): CaseRecord {
  return {
    uuid: row.id,
    kind: row.kind,
    meaning: CASE_KINDS[row.kind].meaning,
    owner: row.owner,
    state: stateOf(row),
    paymentUuid: row.paymentId,
    paymentReference: facts.paymentReference,
    paymentStatus: facts.paymentStatus,
    attemptUuid: row.attemptId,
    refundUuid: row.refundId,
    ...toAmounts(facts, row.unbookedMinor),
    paymentGateway: facts.gateway,
    gatewayReference: facts.gatewayReference,
    gatewayKey: facts.gatewayKey,
    providerMessage: row.providerMessage,
    askedAt: facts.askedAt.toISOString(),
    checks: facts.checks,
    resolutions: possibleResolutions({ row, facts }, row.owner),
    resolution: row.resolution,
    note: row.note,
    proof: row.proof,
    resolvedBy: row.resolvedBy,
    proposal: row.proposal,
    openedAt: row.createdAt.toISOString(),
    resolvedAt: row.closedAt?.toISOString() ?? null,
  }
}

function stateOf({ closedAt, proposal }: CaseDetails['row']): CaseRecord['state'] {
  if (closedAt !== null) return 'resolved'
  return proposal === null ? 'open' : 'awaiting_approval'
}

function toAmounts(facts: CaseDetails['facts'], unbookedMinor: bigint | null) {
  const { amountMinor, currency, receivedMinor, receivedCurrency } = facts
  const refundMinor = facts.refundMinor ?? unbookedMinor
  const received =
    receivedMinor !== null && isCurrency(receivedCurrency) ? money(receivedMinor, receivedCurrency) : null
  return {
    amount: formatAmount(money(amountMinor, currency)),
    currency,
    amountReceived: received && formatAmount(received),
    receivedCurrency,
    refundAmount: refundMinor === null ? null : formatAmount(money(refundMinor, currency)),
  }
}

// These end the payment, so they are possible only while no other attempt has paid it.
const NEEDS_UNPAID: readonly Resolution[] = ['accept', 'mark_paid', 'mark_failed']

/** What the merchant or the operator may decide now. A resolved case has none. */
export function possibleResolutions(details: CaseDetails, by: CaseOwner): Resolution[] {
  const { row } = details
  if (row.closedAt !== null) return []
  return kindFacts(row.kind)
    .resolutions.filter((one) => isPossible(details, one))
    .filter((one) => by === 'operator' || !OPERATOR_RESOLUTIONS.includes(one))
}

function isPossible({ row, facts }: CaseDetails, resolution: Resolution): boolean {
  const isUnpaidNow = isUnpaid(facts.paymentStatus)
  // Of an unpaid payment nothing was received; a paid one stays as it is.
  if (row.kind === 'unknown_answer' && resolution === 'accept') return !isUnpaidNow
  const isAboutRefund = row.refundId !== null || row.kind === 'refund_not_booked'
  if (!isAboutRefund) return isUnpaidNow || !NEEDS_UNPAID.includes(resolution)
  // Money that was never the merchant's cannot go to the wallet or be taken from it.
  return resolution !== 'accept' || !facts.isPayersMoney
}
