// The statements about the running processes. All times are those of the database of the instance.

import { sql, type Tx } from '../db/db.ts'

export interface ProcessRow {
  id: string
  /** The machine and the number of the process. */
  name: string
  /** The cells that it knows, beside cell 0. */
  cells: number[]
  epoch: bigint
}

export interface SeenProcess extends ProcessRow {
  seenAt: Date
}

const saveStatement = sql<unknown>`
insert into processes as p (id, name, cells, epoch, seen_at)
values ($1, $2, $3, $4, statement_timestamp())
on conflict (id) do update
set epoch = excluded.epoch, seen_at = excluded.seen_at`

export async function saveProcess(db: Tx, { id, name, cells, epoch }: ProcessRow): Promise<void> {
  await db.query(saveStatement, [id, name, cells, epoch])
}

const deleteStatement = sql<unknown>`
delete from processes
where id = $1`

export async function deleteProcess(db: Tx, id: string): Promise<void> {
  await db.query(deleteStatement, [id])
}

const deleteLostStatement = sql<unknown>`
delete from processes
where seen_at < statement_timestamp() - $1::integer * interval '1 second'`

/** Of processes that have ended without deleting their row. */
export async function deleteLostProcesses(db: Tx, seconds: number): Promise<void> {
  await db.query(deleteLostStatement, [seconds])
}

const selectLive = sql<SeenProcess>`
select id, name, cells, epoch, seen_at as "seenAt"
from processes
where seen_at > statement_timestamp() - $1::integer * interval '1 second'
order by name, id`

/** Those that were seen in the last seconds. */
export function listLiveProcesses(db: Tx, seconds: number): Promise<SeenProcess[]> {
  return db.query(selectLive, [seconds])
}
