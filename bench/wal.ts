// What a charge makes PostgreSQL write, from the records of the write-ahead log themselves: statistics arrive later.

import pg from 'pg'
import { rounded } from './statistics.ts'

/** Each per charge, except the share and the checkpoints. Background work of the same time is included. */
export interface WalFigure {
  bytes: number
  /** Of them, whole pages that were changed for the first time after a checkpoint. */
  fullPageBytes: number
  indexEntries: number
  /** The share of updates that changed no index. */
  hotShare: number
  checkpoints: number
  /** By which the database grew. */
  storedBytes: number
}

interface RecordRow {
  type: string
  count: number
  bytes: number
  fullPageBytes: number
}

const SELECT_POSITION = 'select pg_current_wal_flush_lsn() as lsn, pg_database_size($1)::float8 as size'

const SELECT_RECORDS = `
select
  "resource_manager/record_type" as type,
  count::float8 as count,
  combined_size::float8 as bytes,
  fpi_size::float8 as "fullPageBytes"
from pg_get_wal_stats($1, $2, true)`

/** Runs the work, which returns its number of charges, on the server of a superuser. */
export async function measureWal(url: string, work: () => Promise<number>): Promise<WalFigure> {
  // Not in the measured database: it stays as its service made it.
  const asAdmin = new URL(url)
  asAdmin.pathname = '/postgres'
  const client = new pg.Client({ connectionString: asAdmin.href })
  await client.connect()
  const database = new URL(url).pathname.slice(1)
  const take = async () => {
    const { rows } = await client.query<{ lsn: string; size: number }>(SELECT_POSITION, [database])
    return { lsn: rows[0]?.lsn, size: rows[0]?.size ?? Number.NaN }
  }
  try {
    await client.query('create extension if not exists pg_walinspect')
    const before = await take()
    const charges = await work()
    const after = await take()
    const { rows } = await client.query<RecordRow>(SELECT_RECORDS, [before.lsn, after.lsn])
    return { ...figureOf(rows, charges), storedBytes: Math.round((after.size - before.size) / charges) }
  } finally {
    await client.end()
  }
}

/** An entry of a B-tree may also split a page, and then has another record. */
const INDEX_ENTRY = /^(Btree\/(INSERT_(LEAF|POST)|SPLIT_[LR])|Gin\/(INSERT|UPDATE_META_PAGE)|Hash\/INSERT)$/
const UPDATE = /^Heap\/(HOT_)?UPDATE(\+INIT)?$/
const HOT_UPDATE = /^Heap\/HOT_UPDATE/
const CHECKPOINT = /^XLOG\/CHECKPOINT_ONLINE$/

export function figureOf(records: readonly RecordRow[], charges: number): Omit<WalFigure, 'storedBytes'> {
  const total = (field: 'count' | 'bytes' | 'fullPageBytes', type: RegExp) =>
    records.filter((one) => type.test(one.type)).reduce((sum, one) => sum + one[field], 0)
  return {
    bytes: Math.round(total('bytes', /./) / charges),
    fullPageBytes: Math.round(total('fullPageBytes', /./) / charges),
    indexEntries: rounded(total('count', INDEX_ENTRY) / charges),
    hotShare: rounded(total('count', HOT_UPDATE) / total('count', UPDATE), 2),
    checkpoints: total('count', CHECKPOINT),
  }
}

export function renderWal(name: string, wal: WalFigure): string {
  const { bytes, fullPageBytes, indexEntries, hotShare, checkpoints, storedBytes } = wal
  return (
    `${name}: ${bytes} bytes of WAL, of which ${fullPageBytes} of full pages, ${storedBytes} stored bytes and ` +
    `${indexEntries} index entries per charge; ${Math.round(hotShare * 100)} % of updates are HOT; ${checkpoints} checkpoints\n`
  )
}
