// Ends a proposal without a decision: another person rejects it, or the person who proposed withdraws it. The case is open
// again, and its history keeps the proposal.

import type { CaseDetails } from '../cases/case.ts'
import { requireCase } from '../cases/find.ts'
import { lockOpenCase, proposeResolution } from '../cases/open.ts'
import { containsCardNumber } from '../core/card-number.ts'
import { ApiError } from '../core/errors.ts'
import type { Tx } from '../kit/db/db.ts'
import { isReplay, type KeyClaim } from '../kit/db/idempotency.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { proposalChanged } from './approval.ts'
import { isOwn } from './independence.ts'
import { type Actor, alreadyResolved, requireDecider } from './request.ts'
import type { Resolved } from './resolve.ts'
import { findLastStep } from './step-queries.ts'
import { recordStep } from './steps.ts'

export interface Rejection {
  note: string | null
  /** The proposal that the person has seen; undefined: any. */
  proposedAt: string | undefined
}

export async function rejectProposal(
  app: PaymentsApp,
  actor: Actor,
  id: string,
  rejection: Rejection,
  claim?: KeyClaim,
): Promise<Resolved> {
  const details = await requireCase(app, actor.merchant, id)
  requireDecider(actor, details, 'invalid_state')
  if (containsCardNumber(rejection.note ?? '')) throw new ApiError('card_data_not_allowed')
  const replayed = await app.db.transaction(async (tx) => {
    if (claim && (await isReplay(app, tx, claim))) return true
    if (details.row.closedAt !== null)
      throw new ApiError('invalid_state', { message: alreadyResolved(details).message })
    const row = await lockOpenCase(tx, details.row)
    if (!row) throw proposalChanged()
    return endProposal(app, tx, actor, row, rejection)
  })
  return { details: await requireCase(app, actor.merchant, id), replayed }
}

/** True when the same person has ended it before. */
async function endProposal(
  app: PaymentsApp,
  tx: Tx,
  actor: Actor,
  row: CaseDetails['row'],
  { note, proposedAt }: Rejection,
): Promise<boolean> {
  const { proposal } = row
  if (proposal === null) {
    const last = await findLastStep(tx, row)
    if (last && last.actor === actor.by && last.kind !== 'proposed' && last.kind !== 'asked') return true
    throw proposalChanged()
  }
  if (proposedAt !== undefined && proposal.at !== proposedAt) throw proposalChanged()
  await proposeResolution(tx, row, null)
  const { resolution } = proposal
  const kind = isOwn(proposal, actor) ? 'withdrawn' : 'rejected'
  await recordStep(app, tx, row, { kind, actor: actor.by, resolution, note, createdAt: app.clock.now() })
  return false
}
