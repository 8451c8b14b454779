// The JSON shape of a case, in responses and events.

import { type Static, Type } from 'typebox'
import { isCurrency } from '../core/currency.ts'
import { formatAmount, money } from '../core/money.ts'
import { namesOperator, withoutOperatorNames } from '../core/text/operator-names.ts'
import {
  AmountText,
  amountText,
  CurrencyCode,
  count,
  described,
  Enum,
  NamedEnum,
  Nullable,
  namedObject,
  Timestamp,
  text,
  timestamp,
  Uuid,
} from '../kit/http/schema.ts'
import { isUnpaid, PAYMENT_STATUSES } from '../payments/states.ts'
import type { CaseDetails, Proposal } from './case.ts'
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

const meaningsOf = (texts: Readonly<Record<string, string>>) =>
  Object.entries(texts)
    .map(([name, meaning]) => `${name}: ${meaning}`)
    .join(' ')

const KIND_MEANINGS = Object.fromEntries(CASE_KIND_NAMES.map((name) => [name, CASE_KINDS[name].meaning]))

export const CASE_STATES = ['open', 'awaiting_approval', 'resolved'] as const

export const ResolutionName = NamedEnum('CaseResolution', RESOLUTION_NAMES, {
  description: meaningsOf(RESOLUTIONS),
})

export const CaseRecord = namedObject(
  'Case',
  {
    uuid: Uuid,
    kind: NamedEnum('CaseKind', CASE_KIND_NAMES, { description: meaningsOf(KIND_MEANINGS) }),
    meaning: text('The kind in a sentence, for people.', 'The payer paid less than was asked for.'),
    owner: NamedEnum('CaseOwner', ['merchant', 'operator'], {
      description: 'Who decides: you, or the operator of this service.',
    }),
    state: Enum(CASE_STATES, {
      description:
        'open: it needs a decision. awaiting_approval: a second person has to approve the proposal. resolved: it is decided.',
    }),
    paymentUuid: described(Uuid, 'The uuid of the payment or charge.'),
    paymentReference: text('Your reference of the payment or charge.', 'order-1042'),
    paymentStatus: NamedEnum('PaymentStatus', PAYMENT_STATUSES, {
      description: 'The status of the payment now.',
    }),
    attemptUuid: described(Uuid, 'The uuid of the attempt.'),
    refundUuid: Nullable(Uuid, 'The uuid of the refund. Null if it is not about one.'),
    amount: amountText('The amount that was asked for.'),
    currency: CurrencyCode,
    amountReceived: Nullable(
      AmountText,
      'The amount that the provider reports as paid, in receivedCurrency. Null if it is not known.',
    ),
    receivedCurrency: Nullable(
      Type.String({ examples: ['KES'] }),
      'The currency in which it was paid, as the provider writes it. Null if it is not known.',
    ),
    refundAmount: Nullable(AmountText, 'The amount of the refund. Null if the case is not about one.'),
    paymentGateway: text('The gateway of the attempt.', 'paystack'),
    gatewayReference: Nullable(
      Type.String(),
      'The provider’s id of the payment or refund. Null if it is not known.',
    ),
    gatewayKey: text('Our reference and idempotency key at the provider.'),
    providerMessage: Nullable(Type.String(), 'The provider’s own message. Null if there was none.'),
    askedAt: timestamp('When the provider was asked for the money or for the refund, in UTC.'),
    checks: count('How often the provider was asked for the outcome since.'),
    resolutions: Type.Array(NamedEnum('CaseResolution', RESOLUTION_NAMES), {
      description: 'The resolutions that you may choose now. Empty for a resolved case.',
    }),
    resolution: Nullable(
      Enum([...RESOLUTION_NAMES, 'gateway_answered']),
      'How it was resolved. gateway_answered: the gateway reported the outcome meanwhile. Null while it is open.',
    ),
    note: Nullable(
      Type.String(),
      'Why it was resolved so. Null if there is no note, or an operator wrote it.',
    ),
    proof: Nullable(
      Type.String(),
      'The provider’s reference that proves the resolution. Null if none was given.',
    ),
    resolvedBy: Nullable(
      Type.String({ examples: ['key:h3Kd82mQpX0a'] }),
      'Who resolved it: `key:` and a keyId, `user:` and the id of a person, `operator` or `service`. Null while it is open.',
    ),
    proposal: Nullable(
      namedObject('CaseProposal', {
        resolution: NamedEnum('CaseResolution', RESOLUTION_NAMES, {
          description: 'The proposed resolution.',
        }),
        note: text('Why it is proposed.'),
        proof: Nullable(Type.String(), 'The provider’s reference that proves it. Null if none was given.'),
        by: text('Who proposed it, as in resolvedBy.', 'key:h3Kd82mQpX0a'),
        at: timestamp('When it was proposed, in UTC.'),
      }),
      'A resolution that waits for the approval of another person. Null if there is none.',
    ),
    openedAt: timestamp('When the case was opened, in UTC.'),
    resolvedAt: Nullable(Timestamp, 'When it was resolved, in UTC. Null while it is open.'),
  },
  { description: 'A payment or refund that cannot end by itself: a person must decide.' },
)
export type CaseRecord = Static<typeof CaseRecord>

/** Merchants, and so events, see no names and notes of operators. */
export function toCaseRecord({ row, facts }: CaseDetails, reader: CaseOwner = 'merchant'): CaseRecord {
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
    proof: row.proof,
    ...(reader === 'operator' ? toPeople(row) : withoutOperators(toPeople(row))),
    openedAt: row.createdAt.toISOString(),
    resolvedAt: row.closedAt?.toISOString() ?? null,
  }
}

type People = Pick<CaseRecord, 'note' | 'resolvedBy' | 'proposal'>

const toProposal = ({ operatorId: _account, ...proposal }: Proposal) => proposal

const toPeople = ({ note, resolvedBy, proposal }: CaseDetails['row']): People => ({
  ...{ note, resolvedBy, proposal: proposal && toProposal(proposal) },
})

function withoutOperators({ note, resolvedBy, proposal }: People): People {
  const isOfOperator = proposal !== null && namesOperator(proposal.by)
  return {
    note: namesOperator(resolvedBy) ? null : note,
    resolvedBy: resolvedBy && withoutOperatorNames(resolvedBy),
    proposal: isOfOperator ? { ...proposal, by: withoutOperatorNames(proposal.by), note: '' } : proposal,
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
  if (kindFacts(row.kind).keepsPaid && resolution === 'accept') return !isUnpaidNow
  const isAboutRefund = row.refundId !== null || row.kind === 'refund_not_booked'
  if (!isAboutRefund) return isUnpaidNow || !NEEDS_UNPAID.includes(resolution)
  // Money that was never the merchant's cannot go to the wallet or be taken from it.
  return resolution !== 'accept' || !facts.isPayersMoney
}
