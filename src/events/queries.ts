// Writes the outbox. The statements that record a payment and apply its outcome write their events themselves.

import { sql, type Tx } from '../kit/db/db.ts'
import { NEW_EVENT, type NewEvent } from './event.ts'

const insertEventsStatement = sql<unknown>`
insert into events (${NEW_EVENT.list()})
select ${NEW_EVENT.list()}
from jsonb_to_recordset($1::jsonb) as e (${NEW_EVENT.recordset()})
returning id`

export async function insertEvents(tx: Tx, events: readonly NewEvent[]): Promise<void> {
  await tx.query(insertEventsStatement, [NEW_EVENT.toJson(events)])
}
