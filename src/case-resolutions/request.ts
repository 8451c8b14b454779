// A request to resolve a case, and the checks that need no lock.

import type { CaseDetails } from '../cases/case.ts'
import { kindFacts, type Resolution } from '../cases/case-kinds.ts'
import { possibleResolutions } from '../cases/schema.ts'
import { containsCardNumber } from '../core/card-number.ts'
import { ApiError, errorFromIssues } from '../core/errors.ts'
import type { Merchant, Principal } from '../core/merchant.ts'
import { withoutOperatorNames } from '../core/text/operator-names.ts'
import type { Expected } from '../kit/http/route.ts'

export interface ResolutionRequest {
  resolution: Resolution
  note: string
  /** The provider's reference that the resolution relies on. */
  proof: string | null
  /** The proposal that this approves, by its time. Undefined: a decision of one's own, or the same as the proposed one. */
  proposedAt?: string | undefined
  /** The proposal that stood when the person decided, by its time; null: none. Undefined: not known. */
  expectedProposal?: string | null | undefined
}

export function expectedProposalOf(expected: Expected = {}): string | null | undefined {
  const { proposedAt } = expected
  return proposedAt === null || typeof proposedAt === 'string' ? proposedAt : undefined
}

/** Who resolves: a merchant by one of its API keys or a person, or the operator. */
export interface Actor {
  /** Null for the operator. */
  merchant: Merchant | null
  by: string
  /** The account of an operator who is signed in: names are not unique. */
  operatorId?: string
}

export const OPERATOR: Actor = { merchant: null, by: 'operator' }

/** The operator token, which decides alone. */
export const isToken = ({ merchant, operatorId }: Actor): boolean =>
  merchant === null && operatorId === undefined

/** With the name of the person; null for the operator token. */
export const operatorActor = (person: { userId: string; name: string } | null): Actor =>
  person === null ? OPERATOR : { ...OPERATOR, by: `${OPERATOR.by}:${person.name}`, operatorId: person.userId }

const KEY_PREFIX = 'key:'
const USER_PREFIX = 'user:'

export const merchantActor = (merchant: Merchant, { type, id }: Principal): Actor => ({
  merchant,
  by: `${type === 'api_key' ? KEY_PREFIX : USER_PREFIX}${id}`,
})

/** The key or person by which an actor is named. */
export const principalOf = (by: string): Pick<Principal, 'type' | 'id'> =>
  by.startsWith(USER_PREFIX)
    ? { type: 'user', id: by.slice(USER_PREFIX.length) }
    : { type: 'api_key', id: by.slice(KEY_PREFIX.length) }

const isOfOperator = ({ merchant }: Actor, { row }: CaseDetails) =>
  merchant !== null && row.owner === 'operator'

/** The resolutions that this actor may choose now. */
export function resolutionsFor(actor: Actor, details: CaseDetails): Resolution[] {
  if (isOfOperator(actor, details)) return []
  const { merchant } = actor
  return possibleResolutions(details, merchant === null ? 'operator' : 'merchant')
}

export function requireDecider(
  actor: Actor,
  details: CaseDetails,
  code: 'resolution_not_possible' | 'invalid_state' = 'resolution_not_possible',
): void {
  if (!isOfOperator(actor, details)) return
  const message = `The operator of this service decides ${details.row.kind} cases; you get the event case.resolved when it is done.`
  throw new ApiError(code, { message })
}

/** Rejects a resolution that an open case does not have, and one without the proof that it needs. */
export function requirePossible(actor: Actor, details: CaseDetails, request: ResolutionRequest): void {
  const { resolution, note, proof } = request
  requireDecider(actor, details)
  const possible = resolutionsFor(actor, details)
  if (!possible.includes(resolution)) {
    const choice =
      possible.length === 0 ? 'cannot be resolved by you' : `can be resolved with ${possible.join(', ')}`
    throw new ApiError('resolution_not_possible', { message: `This ${details.row.kind} case ${choice}.` })
  }
  if (proof === null && kindFacts(details.row.kind).proof.includes(resolution)) {
    const message = `proof is required for ${resolution}: the provider’s own reference of the payment or refund.`
    throw errorFromIssues([{ field: 'proof', code: 'required', message }])
  }
  if (containsCardNumber(note) || (proof !== null && containsCardNumber(proof)))
    throw new ApiError('card_data_not_allowed')
}

/** Whether the case ended as requested before: then the request is a replay. */
export function isSameEnding({ row }: CaseDetails, { resolution, proof }: ResolutionRequest): boolean {
  if (resolution === 'ask_again')
    return row.resolution === resolution || row.resolution === 'gateway_answered'
  // A return through the gateway is another one than a return at the provider.
  return row.resolution === resolution && row.proof === proof
}

export function alreadyResolved({ row }: CaseDetails): ApiError {
  const how = row.resolution === 'gateway_answered' ? 'by the gateway’s answer' : `with ${row.resolution}`
  const by = withoutOperatorNames(row.resolvedBy ?? '')
  const proof = row.proof === null ? 'without a proof' : `with the proof ${row.proof}`
  return new ApiError('case_resolved', {
    message: `This case was resolved ${how} by ${by} at ${row.closedAt?.toISOString()}, ${proof}; nothing was changed.`,
  })
}
