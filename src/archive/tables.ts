// The tables of which rows are archived: their columns in the file, and the key by which a row is deleted. All values are
// written as text that PostgreSQL reads back unchanged.

export type ArchivedTable = 'events' | 'wallet_lines' | 'moves' | 'postings'

/** Statement lines go before the postings that they are compared with. */
export const ARCHIVED_TABLES: readonly ArchivedTable[] = ['events', 'wallet_lines', 'moves', 'postings']

export interface TableColumns {
  /** The names in the file, each with its expression. */
  readonly columns: Readonly<Record<string, string>>
  /** The key of a row, with types. */
  readonly key: Readonly<Record<string, string>>
  /** Rows with the same value are deleted together. */
  readonly together?: string
  /** Where amounts are added by account and currency. */
  readonly hasAmounts?: boolean
}

const utc = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

const textOf = (alias: string, ...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, `${alias}.${name}::text`]))

export const TABLES: Readonly<Record<ArchivedTable, TableColumns>> = {
  events: {
    columns: {
      ...textOf('t', 'merchant_id', 'id', 'type', 'resource_type', 'resource_id', 'version'),
      created_at: utc('t.created_at'),
      // In the file, of a packed event too: it can be read without this program.
      ...textOf('t', 'body'),
      packed_md5: 'md5(t.packed)',
    },
    key: { merchant_id: 'uuid', id: 'uuid' },
  },
  wallet_lines: {
    columns: {
      ...textOf('t', 'merchant_id', 'currency', 'number', 'kind', 'account', 'amount_minor'),
      ...textOf('t', 'available_minor', 'pending_minor', 'payment_id', 'entry_id', 'position'),
      created_at: utc('t.created_at'),
    },
    key: { merchant_id: 'uuid', currency: 'text', number: 'bigint' },
    hasAmounts: true,
  },
  moves: {
    columns: {
      ...textOf('t', 'merchant_id', 'payment_id', 'version', 'from_status', 'to_status', 'reason', 'proof'),
      ...textOf('t', 'source', 'attempt_id'),
      at: utc('t.at'),
    },
    key: { merchant_id: 'uuid', payment_id: 'uuid', version: 'integer' },
  },
  postings: {
    columns: {
      ...textOf('t', 'merchant_id', 'entry_id', 'position', 'account', 'currency', 'amount_minor'),
      ...textOf('e', 'kind', 'payment_id', 'attempt_id', 'refund_id'),
      at: utc('e.at'),
    },
    key: { merchant_id: 'uuid', entry_id: 'uuid', position: 'integer' },
    together: 'entry_id',
    hasAmounts: true,
  },
}

export const columnNames = (table: ArchivedTable) => Object.keys(TABLES[table].columns)
export const keyNames = (table: ArchivedTable) => Object.keys(TABLES[table].key)

/** The cells of a row. */
export const cellsOf = (table: ArchivedTable) =>
  `array[${Object.values(TABLES[table].columns).join(', ')}]::text[]`

const SEPARATOR = 31

/** In SQL, of a row, and in a program, of the cells that were read from the file. A row is deleted only if both are equal. */
export const digestOf = (table: ArchivedTable) =>
  `md5(array_to_string(${cellsOf(table)}, chr(${SEPARATOR}), ''))`
export const digestedText = (table: ArchivedTable, cells: readonly (string | null)[]) =>
  storedCells(table, cells)
    .map((cell) => cell ?? '')
    .join(String.fromCharCode(SEPARATOR))

const BODY = columnNames('events').indexOf('body')

/** A packed event has no body in the database. */
function storedCells(table: ArchivedTable, cells: readonly (string | null)[]): readonly (string | null)[] {
  return table === 'events' && cells[BODY + 1] !== null ? cells.with(BODY, null) : cells
}

export const withBody = (cells: (string | null)[], body: string) => cells.with(BODY, body)
