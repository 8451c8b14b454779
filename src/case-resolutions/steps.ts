// Records what people did about a case before it ended. The timeline of the payment shows it.

import type { CaseDetails } from '../cases/case.ts'
import { sanitizeText } from '../core/sanitize-text.ts'
import type { Outcome } from '../gateways/gateway.ts'
import type { Tx } from '../kit/db/db.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { RefundRow } from '../refunds/refund.ts'
import { type CaseStepRow, type GatewayAnswer, insertCaseStep } from './step-queries.ts'

type StepFacts = Pick<CaseStepRow, 'kind' | 'actor' | 'createdAt'> &
  Partial<Pick<CaseStepRow, 'resolution' | 'note' | 'answer' | 'providerMessage'>>

const NO_FACTS = { resolution: null, note: null, answer: null, providerMessage: null }

export async function recordStep(
  { random }: Pick<PaymentsApp, 'random'>,
  tx: Tx,
  { merchantId, id: caseId }: Pick<CaseDetails['row'], 'merchantId' | 'id'>,
  facts: StepFacts,
): Promise<void> {
  await insertCaseStep(tx, { ...NO_FACTS, ...facts, merchantId, caseId, id: random.uuid() })
}

interface Answer {
  answer: GatewayAnswer
  providerMessage: string | null
}

/** Null: the connector failed, so there is no answer either. */
export function answerOf(outcome: Outcome | null): Answer {
  if (outcome === null) return { answer: 'no_answer', providerMessage: null }
  const providerMessage = 'message' in outcome ? sanitizeText(outcome.message) : null
  if (outcome.kind !== 'unknown') return { answer: outcome.kind, providerMessage }
  const { reason } = outcome
  const isAnswer = reason === 'not_found' || reason === 'unrecognized'
  return { answer: isAnswer ? reason : 'no_answer', providerMessage }
}

/** As far as the refund tells what the gateway answered. */
export function answerAbout({ status, statusReason, failureMessage }: RefundRow): Answer {
  if (status === 'successful') return { answer: 'succeeded', providerMessage: null }
  if (status === 'failed') return { answer: 'declined', providerMessage: failureMessage }
  return { answer: statusReason === null ? 'pending' : 'unclear', providerMessage: null }
}
