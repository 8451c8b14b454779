// Who may approve a proposal: a person, or the key of a person, who is independent of the one who made it.

import { areRelated, peopleBehind } from '../api-keys/service.ts'
import type { CaseDetails } from '../cases/case.ts'
import { ApiError } from '../core/errors.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { hadJoined } from '../people/team.ts'
import { type Actor, isToken, principalOf } from './request.ts'

type CaseRow = CaseDetails['row']
export type Proposal = NonNullable<CaseRow['proposal']>

/** An operator is known by the account alone: its person may change the name. */
export function isOwn(proposal: Proposal, { by, operatorId }: Actor): boolean {
  if (proposal.operatorId !== operatorId) return false
  return operatorId !== undefined || proposal.by === by
}

/** Why the actor is not independent of who made the proposal; null if they are, and if there is no proposal of another one. */
export async function findDependence(
  { instanceDb }: Pick<PaymentsApp, 'instanceDb'>,
  row: CaseRow,
  actor: Actor,
): Promise<ApiError | null> {
  const { proposal } = row
  if (!proposal || isOwn(proposal, actor)) return null
  if (await isRelated(instanceDb, row.merchantId, proposal, actor)) return relatedKey(proposal, actor)
  return (await isNewer(instanceDb, row.merchantId, proposal, actor)) ? joinedLater() : null
}

type Db = PaymentsApp['instanceDb']

/** A person who may create keys could otherwise approve with a second key. Operators have no keys of the merchant. */
async function isRelated(db: Db, merchantId: string, proposal: Proposal, actor: Actor): Promise<boolean> {
  if (proposal.operatorId !== undefined || actor.operatorId !== undefined) return false
  return areRelated(db, merchantId, principalOf(proposal.by), principalOf(actor.by))
}

/** A person who may invite people could otherwise approve with a second account, or with a key of it. */
async function isNewer(db: Db, merchantId: string, { at }: Proposal, actor: Actor): Promise<boolean> {
  const proposedAt = new Date(at)
  if (isToken(actor)) return false
  if (actor.operatorId !== undefined) return !(await hadJoined(db, null, [actor.operatorId], proposedAt))
  const people = await peopleBehind(db, merchantId, principalOf(actor.by), proposedAt)
  return !(await hadJoined(db, merchantId, people, proposedAt))
}

export const ownProposal = (): ApiError =>
  new ApiError('approver_not_independent', {
    message: 'You have proposed this. Another person must approve it; you can withdraw it.',
  })

const relatedKey = ({ by: proposer }: Proposal, { by: approver }: Actor): ApiError =>
  new ApiError('approver_not_independent', {
    message: `${proposer} has proposed this, and ${approver} was created or rotated with it or with the same key. Approve it as another person, or with a key of theirs which the operator has created.`,
  })

const joinedLater = (): ApiError =>
  new ApiError('approver_not_independent', {
    message: 'You have joined after this was proposed. A person who had joined before must approve it.',
  })
