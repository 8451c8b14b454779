// The steps of a case: what people did about it before it ended.

import type { Resolution } from '../cases/case-kinds.ts'
import { column, columnTable, type RowOf } from '../kit/db/columns.ts'
import { sql, type Tx } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'

/** What the gateway answered to a status check. `unclear`: a refund whose outcome it still does not say. */
export type GatewayAnswer =
  | 'succeeded'
  | 'declined'
  | 'pending'
  | 'not_found'
  | 'no_answer'
  | 'unrecognized'
  | 'unclear'

const STEP = columnTable({
  merchantId: column<string>('uuid'),
  id: column<string>('uuid'),
  caseId: column<string>('uuid'),
  kind: column<'asked' | 'proposed' | 'rejected' | 'withdrawn'>('text'),
  actor: column<string>('text'),
  resolution: column<Resolution | null>('text'),
  note: column<string | null>('text'),
  answer: column<GatewayAnswer | null>('text'),
  providerMessage: column<string | null>('text'),
  createdAt: column<Date>('timestamptz'),
})

export type CaseStepRow = RowOf<typeof STEP>

const insertStepStatement = sql<unknown>`
insert into case_steps (${STEP.list()})
values (${STEP.placeholders()})`

export async function insertCaseStep(tx: Tx, row: CaseStepRow): Promise<void> {
  await tx.query(insertStepStatement, STEP.values(row))
}

const selectLastStepStatement = sql<Pick<CaseStepRow, 'kind' | 'actor'>>`
select kind, actor
from case_steps
where merchant_id = $1 and case_id = $2
order by created_at desc, id desc
limit 1`

export function findLastStep(
  tx: Tx,
  { merchantId, id }: { merchantId: string; id: string },
): Promise<Pick<CaseStepRow, 'kind' | 'actor'> | undefined> {
  return firstRow(tx, selectLastStepStatement, [merchantId, id])
}
