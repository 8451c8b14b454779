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
}

interface RecordRow {
  type: string
  count: number
  bytes: number
  fullPageBytes: number
}

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
  const end = async () => {
    const { rows } = await client.query<{ lsn: string }>('select pg_current_wal_flush_lsn() as lsn')
    return rows[0]?.lsn
  }
  try {
    await client.query('create extension if not exists pg_walinspect')
    const from = await end()
    const charges = await work()
    const { rows } = await client.query<RecordRow>(SELECT_RECORDS, [from, await end()])
    return figureOf(rows, charges)
  } finally {
    await client.end()
  }
}

/** An entry of a B-tree may also split a page, and then has another record. */
const INDEX_ENTRY = /^(Btree\/(INSERT_(LEAF|POST)|SPLIT_[LR])|Gin\/(INSERT|UPDATE_META_PAGE)|Hash\/INSERT)$/
const UPDATE = /^Heap\/(HOT_)?UPDATE(\+INIT)?$/
const HOT_UPDATE = /^Heap\/HOT_UPDATE/
const CHECKPOINT = /^XLOG\/CHECKPOINT_ONLINE$/

export function figureOf(records: readonly RecordRow[], charges: number): WalFigure {
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
  const { bytes, fullPageBytes, indexEntries, hotShare, checkpoints } = wal
  return (
    `${name}: ${bytes} bytes of WAL, of which ${fullPageBytes} of full pages, and ${indexEntries} index entries per ` +
    `charge; ${Math.round(hotShare * 100)} % of updates are HOT; ${checkpoints} checkpoints\n`
  )
}
