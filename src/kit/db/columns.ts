// One table of columns per entity. The row type, the select list, the list for jsonb_to_recordset and the insert list all
// follow from it, so that a new column is written once.

type SqlType =
  | 'text'
  | 'uuid'
  | 'integer'
  | 'bigint'
  | 'boolean'
  | 'timestamptz'
  | 'jsonb'
  | 'bytea'
  | 'text[]'

export interface Column<Value> {
  readonly type: SqlType
  /** The name in SQL, where it is not the snake case of the name in TypeScript. */
  readonly sqlName?: string
  /** Only a type: the value that the driver returns. */
  readonly value?: Value
}

type Columns = Readonly<Record<string, Column<unknown>>>

/** A column by its SQL type, with the type of its values: `column<PaymentStatus>('text')`. */
export function column<Value>(type: SqlType, sqlName?: string): Column<Value> {
  return { type, ...(sqlName !== undefined && { sqlName }) }
}

/** The row that the select list returns. */
export type RowOf<Table extends { columns: Columns }> = {
  -readonly [Name in keyof Table['columns']]: Table['columns'][Name] extends Column<infer Value>
    ? Value
    : never
}

export interface ColumnTable<Table extends Columns> {
  readonly columns: Table
  /** The names of all columns but these. */
  except(...names: (keyof Table & string)[]): (keyof Table & string)[]
  /** `p.merchant_id as "merchantId", …`, of all columns or of those that are named. */
  select(alias?: string, names?: readonly (keyof Table & string)[]): string
  /** These columns in a statement that joins rows of several tables, and how a row is taken out of a joined one. */
  joined<Name extends keyof Table & string>(
    alias: string,
    names: readonly Name[],
  ): JoinedColumns<Pick<RowOf<{ columns: Table }>, Name>>
  /** `merchant_id, id, …`, for an insert and for the select that feeds it. */
  list(names?: readonly (keyof Table & string)[], alias?: string): string
  /** `merchant_id uuid, id uuid, …`, for jsonb_to_recordset. */
  recordset(names?: readonly (keyof Table & string)[]): string
  /** `$1, $2, …`, one for each column, for the values of an insert or update. */
  placeholders(names?: readonly (keyof Table & string)[], first?: number): string
  /** The values of a row in the order of the placeholders. */
  values<Name extends keyof Table & string>(
    row: Pick<RowOf<{ columns: Table }>, Name>,
    names?: readonly Name[],
  ): unknown[]
  /**
   * The values of a row under their SQL names, ready for jsonb_to_recordset: JSON numbers would round a bigint. Of all
   * columns that the row has, or of those that are named.
   */
  toRecord(
    row: Partial<RowOf<{ columns: Table }>>,
    names?: readonly (keyof Table & string)[],
  ): Record<string, unknown>
  /**
   * Rows as the JSON for jsonb_to_recordset, each with its place as `n`, counted from 0. Without nulls, which are the same
   * there as absent: a payment has many.
   */
  toJson(
    rows: readonly Partial<RowOf<{ columns: Table }>>[],
    names?: readonly (keyof Table & string)[],
  ): string
}

export interface JoinedColumns<Row> {
  /** `a.id as "a.id", …` */
  select: string
  /** Undefined where an outer join found no row: its first column is never null. */
  read(row: object): Row | undefined
}

export function columnTable<const Table extends Columns>(columns: Table): ColumnTable<Table> {
  type Name = keyof Table & string
  const all = Object.keys(columns) as Name[]
  // Computed once, because every write of a payment needs them all.
  const sqlNames = new Map(all.map((name) => [name, columns[name]?.sqlName ?? snakeCase(name)]))
  const sqlName = (name: Name) => sqlNames.get(name) ?? snakeCase(name)
  // Of the few lists that statements have, because a batch of one row would take a third of its time for them.
  const jsonKeys = new WeakMap<readonly Name[], readonly (readonly [Name, string])[]>()
  const jsonKeysOf = (names: readonly Name[]) => {
    const keys = jsonKeys.get(names) ?? names.map((name) => [name, `,"${sqlName(name)}":`] as const)
    jsonKeys.set(names, keys)
    return keys
  }
  const qualified = (name: Name, alias: string) => (alias ? `${alias}.${sqlName(name)}` : sqlName(name))
  return {
    columns,
    except: (...names) => all.filter((name) => !names.includes(name)),
    select: (alias = '', names = all) =>
      names
        .map((name) => {
          const column = qualified(name, alias)
          return sqlName(name) === name ? column : `${column} as "${name}"`
        })
        .join(', '),
    joined(alias, names) {
      const pairs = names.map((name) => [name, `${alias}.${name}`] as const)
      const key = pairs[0]?.[1] ?? ''
      return {
        select: pairs.map(([name, joined]) => `${qualified(name, alias)} as "${joined}"`).join(', '),
        read(row) {
          const values = row as Record<string, unknown>
          if (values[key] === null) return undefined
          const own: Record<string, unknown> = {}
          for (const [name, joined] of pairs) own[name] = values[joined]
          // A boundary: the statement has every column of `select`.
          return own as Pick<RowOf<{ columns: Table }>, (typeof names)[number]>
        },
      }
    },
    list: (names = all, alias = '') => names.map((name) => qualified(name, alias)).join(', '),
    recordset: (names = all) => names.map((name) => `${sqlName(name)} ${columns[name]?.type}`).join(', '),
    placeholders: (names = all, first = 1) => names.map((_, index) => `$${first + index}`).join(', '),
    values: (row, names) =>
      (names ?? (all as never[])).map((name) =>
        columns[name]?.type === 'jsonb' && row[name] !== null ? JSON.stringify(row[name]) : row[name],
      ),
    toRecord(row, names = Object.keys(row) as Name[]) {
      const record: Record<string, unknown> = {}
      for (const name of names) record[sqlName(name)] = toJsonValue(row[name])
      return record
    },
    toJson(rows, names = all) {
      const keys = jsonKeysOf(names)
      const textOf = (row: (typeof rows)[number], n: number) => {
        let text = `{"n":${n}`
        for (const [name, key] of keys) {
          const value: unknown = row[name]
          if (value !== null && value !== undefined) text += key + jsonTextOf(value)
        }
        return `${text}}`
      }
      return `[${rows.map(textOf).join(',')}]`
    },
  }
}

/** JSON.stringify alone takes half as long again for a row: it calls back for each date, and needs a text for bytes. */
function jsonTextOf(value: unknown): string {
  switch (typeof value) {
    case 'bigint':
      return `"${value}"`
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      if (value instanceof Date) return `"${value.toISOString()}"`
      if (Buffer.isBuffer(value)) return `"\\\\x${value.toString('hex')}"`
      return JSON.stringify(value)
    default:
      return JSON.stringify(value)
  }
}

function toJsonValue(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  // PostgreSQL's text form of bytea.
  return Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : value
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
