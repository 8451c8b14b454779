// Every statement over the outbox, except the events that the record and the settle of a payment write themselves.

import { sql, type Tx } from '../kit/db.ts'
import type { NewEventRow } from './event.ts'

const insertEventsStatement = sql<unknown>`
insert into events (merchant_id, id, type, resource_type, resource_id, version, body, created_at)
select merchant_id, id, type, resource_type, resource_id, version, body, created_at
from jsonb_to_recordset($1::jsonb) as e (
  merchant_id uuid, id uuid, type text, resource_type text, resource_id uuid, version integer, body jsonb,
  created_at timestamptz
)`

export async function insertEvents(tx: Tx, events: readonly NewEventRow[]): Promise<void> {
  await tx.query(insertEventsStatement, [JSON.stringify(events)])
}
