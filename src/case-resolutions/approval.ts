// Approval by a second person. From the amount that the merchant's settings name, the first API key only proposes a
// resolution; another key approves it by sending the same resolution.

import type { CaseDetails } from '../cases/case.ts'
import { lockOpenCase, proposeResolution } from '../cases/open.ts'
import { isCurrency } from '../core/currency.ts'
import { ApiError } from '../core/errors.ts'
import type { Tx } from '../kit/db/db.ts'
import { isReplay, type KeyClaim } from '../kit/db/idempotency.ts'
import { approvalThreshold } from '../merchants/service.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { Actor, ResolutionRequest } from './request.ts'

export type Approval =
  /** The resolution may be carried out, in the name of these people. */
  { kind: 'approved'; by: string } | { kind: 'proposed'; replayed: boolean }

/** Only a merchant's keys need approval: the operator decides alone. */
export async function requestApproval(
  app: PaymentsApp,
  actor: Actor,
  { row, facts }: CaseDetails,
  request: ResolutionRequest,
  claim: KeyClaim | undefined,
): Promise<Approval> {
  const approved = { kind: 'approved', by: actor.by } as const
  if (actor.merchant === null || request.resolution === 'ask_again') return approved
  const { amountMinor, receivedMinor, receivedCurrency, refundMinor } = facts
  const currency = isCurrency(receivedCurrency) ? receivedCurrency : facts.currency
  const threshold = await approvalThreshold(app, row.merchantId, currency)
  const decidedMinor = refundMinor ?? receivedMinor ?? amountMinor
  if (threshold === null || decidedMinor < threshold.minor) return approved
  return app.db.transaction((tx) => propose(app, tx, actor, row, request, claim))
}

async function propose(
  app: PaymentsApp,
  tx: Tx,
  { by }: Actor,
  row: CaseDetails['row'],
  request: ResolutionRequest,
  claim: KeyClaim | undefined,
): Promise<Approval> {
  const locked = await lockOpenCase(tx, row)
  // Another person was faster: the caller finds out how the case ended.
  if (!locked) return { kind: 'approved', by }
  const { proposal } = locked
  const isSame = proposal?.resolution === request.resolution && proposal.proof === request.proof
  if (proposal && proposal.by !== by) {
    if (!isSame) throw awaitingApproval(proposal)
    return { kind: 'approved', by: `${proposal.by}, ${by}` }
  }
  if (isSame || (claim && (await isReplay(app, tx, claim)))) return { kind: 'proposed', replayed: true }
  await proposeResolution(tx, locked, { ...request, by, at: app.clock.now().toISOString() })
  return { kind: 'proposed', replayed: false }
}

function awaitingApproval({ resolution, by }: { resolution: string; by: string }): ApiError {
  return new ApiError('case_awaiting_approval', {
    message: `${by} has proposed ${resolution}. Approve it by sending the same resolution and proof, or let ${by} propose another one.`,
  })
}
