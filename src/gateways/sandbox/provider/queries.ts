// Every statement over the provider's schema. The record is one JSON value; the other columns exist only for uniqueness
// and lookup.

import { sql } from '../../../kit/db/db.ts'
import type { SandboxRecord } from './record.ts'

interface RecordRow {
  record: SandboxRecord
}

/** Sorted by key, so that two batches with the same keys wait for each other and cannot deadlock. */
export const INSERT_RECORDS = sql<RecordRow>`
  insert into sandbox.records (key, order_id, page_token, version, due_at, record)
  select key, order_id, page_token, version, due_at, record
  from jsonb_to_recordset($1::jsonb)
    as draft (key text, order_id text, page_token text, version integer, due_at timestamptz, record jsonb)
  order by key
  on conflict (key) do nothing
  returning record
`

export const SELECT_BY_KEY = sql<RecordRow>`
  select record
  from sandbox.records
  where key = $1
`

export const SELECT_BY_PAGE = sql<RecordRow>`
  select record
  from sandbox.records
  where page_token = $1
`

export const SELECT_BY_ORDER = sql<RecordRow>`
  select record
  from sandbox.records
  where order_id = $1
  order by record ->> 'uuid'
`

/** The due records, or else the one that is due next. */
export const SELECT_DUE = sql<RecordRow>`
  select record
  from sandbox.records
  where due_at <= greatest($1, (select due_at from sandbox.records where due_at is not null order by due_at limit 1))
  order by due_at
  limit $2
`

export const SELECT_PLANNED = sql<RecordRow>`
  select record
  from sandbox.records
  where due_at is not null and record ->> 'account' = $1
`

export const REPLACE_RECORD = sql<{ version: number }>`
  update sandbox.records
  set version = $2, due_at = $3, record = $4
  where key = $1 and version = $2 - 1
  returning version
`
