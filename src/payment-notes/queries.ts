// Every statement over the notes on payments.

import { column, columnTable, type RowOf } from '../kit/db/columns.ts'
import { sql, type Tx } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'

const NOTE = columnTable({
  merchantId: column<string>('uuid'),
  id: column<string>('uuid'),
  paymentId: column<string>('uuid'),
  userId: column<string>('uuid'),
  text: column<string>('text'),
  createdAt: column<Date>('timestamptz'),
})

export type NoteRow = RowOf<typeof NOTE>

const insertStatement = sql<unknown>`
insert into payment_notes (${NOTE.list()})
values (${NOTE.placeholders()})`

export async function insertNote(tx: Tx, note: NoteRow): Promise<void> {
  await tx.query(insertStatement, NOTE.values(note))
}

const findStatement = sql<NoteRow>`
select ${NOTE.select()}
from payment_notes
where merchant_id = $1 and id = $2`

export function findNote(db: Tx, merchantId: string, id: string): Promise<NoteRow | undefined> {
  return firstRow(db, findStatement, [merchantId, id])
}

const listStatement = sql<NoteRow>`
select ${NOTE.select()}
from payment_notes
where merchant_id = $1 and payment_id = $2
order by created_at desc, id desc
limit 100`

/** The newest notes of a payment. */
export function listNotes(db: Tx, merchantId: string, paymentId: string): Promise<NoteRow[]> {
  return db.query(listStatement, [merchantId, paymentId])
}
