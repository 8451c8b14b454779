// Approval by a second person. From the amount that the merchant's settings name, the first person or API key only
// proposes a resolution; another person, or their key, approves it by sending the same resolution. This holds for people of
// the merchant and for operators who are signed in; the operator token decides alone.

import type { CaseDetails } from '../cases/case.ts'
import { type CaseDecision, lockOpenCase, proposeResolution } from '../cases/open.ts'
import { isCurrency } from '../core/currency.ts'
import { ApiError } from '../core/errors.ts'
import { type Money, money } from '../core/money.ts'
import { withoutOperatorNames } from '../core/text/operator-names.ts'
import { addMs } from '../kit/clock.ts'
import type { Tx } from '../kit/db/db.ts'
import { isReplay, type KeyClaim } from '../kit/db/idempotency.ts'
import type { LimitSetting } from '../merchants/schema.ts'
import { findLimit } from '../merchants/service.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { findDependence, isOwn, ownProposal, type Proposal } from './independence.ts'
import { type Actor, isToken, principalOf, type ResolutionRequest } from './request.ts'
import { recordStep } from './steps.ts'

export type Approval =
  /** The resolution may be carried out, in the name of these people and with their notes, while the proposal stands. */
  | { kind: 'approved'; by: string; note: string; proposedAt?: string | undefined }
  | { kind: 'proposed'; replayed: boolean }

export async function requestApproval(
  app: PaymentsApp,
  actor: Actor,
  details: CaseDetails,
  request: ResolutionRequest,
  claim: KeyClaim | undefined,
): Promise<Approval> {
  const approved = { kind: 'approved', by: actor.by, note: request.note } as const
  const isApproval = request.proposedAt !== undefined
  if (!isApproval && (isToken(actor) || request.resolution === 'ask_again')) return approved
  if (!isApproval && !(await needsApproval(app, details, limitsOf(actor, request)))) return approved
  // Before the transaction: the API keys and the people may be in another database.
  const dependence = await findDependence(app, details.row, actor)
  return app.db.transaction((tx) => propose(app, tx, actor, { ...details.row, dependence }, request, claim))
}

/** A person who gives money back refunds it, so the limit on refunds by people counts too. */
function limitsOf({ by, operatorId }: Actor, { resolution }: ResolutionRequest): LimitSetting[] {
  const isPerson = operatorId !== undefined || principalOf(by).type === 'user'
  const isRefund = resolution === 'return' && isPerson
  return isRefund ? ['caseApprovals', 'refundApprovals'] : ['caseApprovals']
}

/** Whether the largest amount in question reaches a threshold of its currency. */
async function needsApproval(
  app: PaymentsApp,
  { row, facts }: CaseDetails,
  limits: readonly LimitSetting[],
): Promise<boolean> {
  for (const { minor, currency } of amountsOf(row, facts))
    for (const limit of limits) {
      const threshold = await findLimit(app.db, row.merchantId, limit, currency)
      if (threshold !== null && minor >= threshold.minor) return true
    }
  return false
}

/** What is refunded; otherwise what was asked for and what was received, which may be in another currency. */
function amountsOf({ unbookedMinor }: CaseDetails['row'], facts: CaseDetails['facts']): Money[] {
  const { amountMinor, currency, receivedMinor, receivedCurrency, refundMinor } = facts
  const aboutRefund = refundMinor ?? unbookedMinor
  if (aboutRefund !== null) return [money(aboutRefund, currency)]
  const asked = money(amountMinor, currency)
  const isReceived = receivedMinor !== null && isCurrency(receivedCurrency)
  return isReceived ? [asked, money(receivedMinor, receivedCurrency)] : [asked]
}

async function propose(
  app: PaymentsApp,
  tx: Tx,
  actor: Actor,
  row: CaseDetails['row'] & { dependence: ApiError | null },
  request: ResolutionRequest,
  claim: KeyClaim | undefined,
): Promise<Approval> {
  const { by, operatorId } = actor
  const locked = await lockOpenCase(tx, row)
  // Another person was faster: the caller finds out how the case ended. It may open again meanwhile, so nothing is carried out.
  if (!locked) return { kind: 'proposed', replayed: true }
  const { proposal } = locked
  if (request.proposedAt !== undefined) return approve(actor, proposal, request, row)
  const isSame = proposal?.resolution === request.resolution && proposal.proof === request.proof
  const isRepeat = isSame && isOwn(proposal, actor)
  if (!isRepeat && !isExpected(proposal, request)) throw proposalChanged()
  if (proposal && !isOwn(proposal, actor)) {
    if (isSame && isUnchanged(proposal, row.proposal))
      return approve(actor, proposal, { ...request, proposedAt: proposal.at }, row)
    if (isSame || !isReplaceable(proposal, app.clock.now())) throw awaitingApproval(proposal)
  }
  if (isSame || (claim && (await isReplay(app, tx, claim)))) return { kind: 'proposed', replayed: true }
  const person = operatorId !== undefined && { operatorId }
  const now = app.clock.now()
  const { resolution, note, proof } = request
  await proposeResolution(tx, locked, { resolution, note, proof, by, ...person, at: now.toISOString() })
  await recordStep(app, tx, locked, { kind: 'proposed', actor: by, resolution, note, createdAt: now })
  return { kind: 'proposed', replayed: false }
}

const isExpected = (proposal: Proposal | null, { expectedProposal }: ResolutionRequest) =>
  expectedProposal === undefined || expectedProposal === (proposal?.at ?? null)

/** The proposal that a person has seen does not stand any more. */
export function proposalChanged(): ApiError {
  return new ApiError('invalid_state', {
    message: 'The proposal was made, changed, rejected or withdrawn meanwhile; nothing was decided.',
  })
}

/** The end of the case. Since the approval another person may have ended the proposal: then nothing is carried out. */
export function decisionOf({ by }: Actor, request: ResolutionRequest): CaseDecision {
  const { resolution, note, proof, proposedAt } = request
  const assertStands = ({ proposal }: CaseDetails['row']) => {
    if (proposal?.at !== proposedAt) throw proposalChanged()
  }
  return { resolution, note, proof, by, assertStands: proposedAt === undefined ? undefined : assertStands }
}

/** Approves the proposal that the person has seen. Another one may stand by now, or none. */
function approve(
  actor: Actor,
  proposal: Proposal | null,
  request: ResolutionRequest,
  { proposal: read, dependence }: Pick<CaseDetails['row'], 'proposal'> & { dependence: ApiError | null },
): Approval {
  const { resolution, proof, proposedAt } = request
  const isSame = proposal?.resolution === resolution && proposal.proof === proof
  if (!proposal || !isSame || proposal.at !== proposedAt || !isUnchanged(proposal, read))
    throw proposalChanged()
  if (isOwn(proposal, actor)) throw ownProposal()
  if (dependence) throw dependence
  const { by } = actor
  return { kind: 'approved', by: `${proposal.by}, ${by}`, note: bothNotes(proposal, by, request), proposedAt }
}

/** Whether the proposal is the one that was read: `dependence` is about that one. */
const isUnchanged = (proposal: Proposal, read: Proposal | null) =>
  proposal.at === read?.at && proposal.by === read.by && proposal.operatorId === read.operatorId

// The person may have left, or the key may be revoked: without an end their proposal would hold the case for ever.
const PROPOSAL_MS = 24 * 3_600_000

/** From then on another person may propose anew. */
export const replaceableAt = ({ at }: Pick<Proposal, 'at'>) => addMs(new Date(at), PROPOSAL_MS)
const isReplaceable = (proposal: Proposal, now: Date) => now >= replaceableAt(proposal)

function bothNotes(proposal: { note: string }, by: string, { note }: ResolutionRequest): string {
  return note === proposal.note ? note : `${proposal.note}\nApproved by ${by}: ${note}`
}

function awaitingApproval(proposal: Proposal): ApiError {
  const { resolution } = proposal
  const by = withoutOperatorNames(proposal.by)
  return new ApiError('case_awaiting_approval', {
    message: `${by} has proposed ${resolution}. Approve it by sending the same resolution and proof, or let ${by} propose another one. From ${replaceableAt(proposal).toISOString()} on, anyone who may decide can.`,
  })
}
