// The claim of a provider's reference as the proof of a payment. It reads the attempts of another slice in the same statement,
// because the gateway may have proven a payment with this reference by itself.

import { sql, type Tx } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'
import type { AttemptRow } from '../payments/attempt.ts'

// The unique constraint makes a concurrent claim of the same reference wait for this transaction.
const claimProofStatement = sql<{ attemptId: string }>`
with used as materialized (
  select
  from attempts a
  where a.gateway = $1
    and a.account_id is not distinct from $2
    and a.gateway_reference = $3
    and a.id <> $5
    and a.paid_minor is not null
)
insert into payment_proofs (gateway, account_id, reference, merchant_id, attempt_id, created_at)
select $1, $2, $3, $4, $5, $6
where not exists (select from used)
on conflict (gateway, account_id, reference) do nothing
returning attempt_id as "attemptId"`

/** False if another payment, or this one, was proven with this reference before. */
export async function claimProof(tx: Tx, attempt: AttemptRow, reference: string, at: Date): Promise<boolean> {
  const { gateway, accountId, merchantId, id } = attempt
  const values = [gateway, accountId, reference, merchantId, id, at]
  return (await firstRow(tx, claimProofStatement, values)) !== undefined
}

const keepReferenceStatement = sql<unknown>`
update attempts
set earlier_reference = gateway_reference
where merchant_id = $1 and id = $2 and gateway_reference <> $3`

/** Keeps the reference that the gateway gave, before that of the proof takes its place. */
export async function keepEarlierReference(tx: Tx, attempt: AttemptRow, proof: string): Promise<void> {
  await tx.query(keepReferenceStatement, [attempt.merchantId, attempt.id, proof])
}

export interface ProvenPayment {
  id: string
  reference: string
}

const selectProvenStatement = sql<ProvenPayment>`
select p.id, p.reference
from attempts a
join payments p on p.merchant_id = a.merchant_id and p.id = a.payment_id
where a.gateway = $1
  and a.account_id is not distinct from $2
  and a.gateway_reference = $3
  and a.id <> $4
  and a.paid_minor is not null
order by a.started_at
limit 1`

/** The payment that this reference proves. Row-level security hides another merchant's. */
export async function findProven(
  tx: Tx,
  { gateway, accountId, id }: AttemptRow,
  reference: string,
): Promise<ProvenPayment | undefined> {
  return firstRow(tx, selectProvenStatement, [gateway, accountId, reference, id])
}
