// A small database in memory that behaves like PostgreSQL for the money path: rows, unique keys and checks,
// transactions that others see after commit, and row locks.
//
// A statement runs at one moment. If it meets a lock it keeps its own locks but writes nothing; it runs again from its
// beginning when the lock is free.

import pg from 'pg'

export type Row = Record<string, unknown>

export interface TableRules {
  /** Every column with its default. */
  columns: Row
  primaryKey: (row: Row) => string
  /** Each returns a unique text, or null where the row is not in the index. */
  uniques: Record<string, (row: Row) => string | null>
  checks: Record<string, (row: Row) => boolean>
}

export type Rules = Record<string, TableRules>

/** A transaction. */
export interface Session {
  readonly id: number
  /** Changes by table over the committed rows; null is a deleted row. */
  readonly written: Map<string, Map<string, Row | null>>
  readonly locks: Set<string>
  waitsFor: Session | null
  isEnded: boolean
}

/** Another session holds a lock that the statement needs. */
export class Blocked extends Error {
  readonly holder: Session

  constructor(holder: Session) {
    super('another session holds a lock')
    this.holder = holder
  }
}

/** An error with the SQLSTATE of PostgreSQL. */
export function sqlError(code: string, message: string): Error {
  const error = new pg.DatabaseError(message, message.length, 'error')
  error.code = code
  return error
}

export interface Change {
  table: string
  before: Row | undefined
  after: Row | undefined
}

export interface Store {
  begin(): Session
  /** Runs a statement atomically. */
  run<Result>(session: Session, work: (access: TableAccess) => Result): Result
  commit(session: Session): void
  abort(session: Session): void
  /** Whether waiting for this session would be a deadlock. */
  isDeadlock(session: Session, holder: Session): boolean
  /** The committed rows. */
  rows(table: string): Row[]
  find(table: string, key: string): Row | undefined
  onCommit(listen: (changes: readonly Change[]) => void): void
  onEnd(listen: (session: Session) => void): void
}

/** The operations of a statement. */
export interface TableAccess {
  get(table: string, key: string): Row | undefined
  all(table: string): Row[]
  /** Locks the row, or throws Blocked. */
  lock(table: string, row: Row): void
  /** Waits until the row is unlocked, without locking it. */
  lockShared(table: string, row: Row): void
  isUnlocked(table: string, row: Row): boolean
  /** A lock of a row that the model does not have. */
  lockName(name: string): void
  insert(table: string, values: Row): Row
  /** Undefined where a row with the same key exists. */
  insertIfAbsent(table: string, values: Row): Row | undefined
  update(table: string, row: Row, values: Row): Row
  remove(table: string, row: Row): void
  /** The next number of an identity column. */
  nextSerial(): bigint
}

export function createStore(rules: Rules): Store {
  const tables = new Map(Object.keys(rules).map((name) => [name, new Map<string, Row>()]))
  // By table and unique key: the row with each text.
  const indexes = new Map<string, Map<string, string>>()
  const holders = new Map<string, Session>()
  const commitListeners: ((changes: readonly Change[]) => void)[] = []
  const endListeners: ((session: Session) => void)[] = []
  let sessions = 0
  let serials = 0n

  const tableOf = (name: string) => {
    const table = tables.get(name)
    if (!table) throw new Error(`the model has no table ${name}`)
    return table
  }
  const rulesOf = (name: string) => rules[name] as TableRules

  const acquireLock = (session: Session, name: string) => {
    const holder = holders.get(name)
    if (holder && holder !== session) throw new Blocked(holder)
    holders.set(name, session)
    session.locks.add(name)
  }
  const get = (session: Session, name: string, key: string): Row | undefined => {
    const own = session.written.get(name)?.get(key)
    return own === undefined ? tableOf(name).get(key) : (own ?? undefined)
  }
  const all = (session: Session, name: string): Row[] => {
    const own = session.written.get(name)
    const committed = tableOf(name)
    if (!own) return [...committed.values()]
    const kept = [...committed].filter(([key]) => !own.has(key)).map(([, row]) => row)
    return [...kept, ...[...own.values()].filter((row) => row !== null)]
  }
  const write = (session: Session, name: string, key: string, row: Row | null) => {
    const own = session.written.get(name) ?? new Map<string, Row | null>()
    session.written.set(name, own)
    own.set(key, row)
  }
  /** The row with this text in this unique key, if any. */
  const ownerOf = (session: Session, name: string, unique: string, text: string): string | undefined => {
    const key = unique === PRIMARY ? text : indexes.get(`${name}/${unique}`)?.get(text)
    const textOf = unique === PRIMARY ? rulesOf(name).primaryKey : rulesOf(name).uniques[unique]
    const existing = key === undefined ? undefined : get(session, name, key)
    if (key !== undefined && existing && textOf?.(existing) === text) return key
    for (const [other, row] of session.written.get(name) ?? []) {
      if (row && textOf?.(row) === text) return other
    }
    return undefined
  }
  const uniqueKeysOf = (name: string, row: Row, before: Row | undefined): [string, string][] => {
    const { primaryKey, uniques } = rulesOf(name)
    const texts: [string, string][] = before ? [] : [[PRIMARY, primaryKey(row)]]
    for (const [unique, textOf] of Object.entries(uniques)) {
      const text = textOf(row)
      if (text !== null && (!before || textOf(before) !== text)) texts.push([unique, text])
    }
    return texts
  }
  const assertChecks = (name: string, row: Row) => {
    for (const [check, holds] of Object.entries(rulesOf(name).checks)) {
      if (!holds(row)) throw sqlError('23514', `${name}: ${check}`)
    }
  }
  /** Whether another row has a unique key that this row gets by the change. */
  const violatesUnique = (session: Session, name: string, row: Row, before: Row | undefined): boolean => {
    const own = before && rulesOf(name).primaryKey(before)
    for (const [unique, text] of uniqueKeysOf(name, row, before)) {
      const owner = ownerOf(session, name, unique, text)
      if (owner !== undefined && owner !== own) return true
      acquireLock(session, `${name}/${unique}=${text}`)
    }
    return false
  }

  const accessFor = (session: Session): TableAccess => {
    const keyOf = (name: string, row: Row) => rulesOf(name).primaryKey(row)
    const insertIfAbsent: TableAccess['insertIfAbsent'] = (name, values) => {
      const row = { ...rulesOf(name).columns, ...values }
      // PostgreSQL checks constraints of a row before its unique keys.
      assertChecks(name, row)
      if (violatesUnique(session, name, row, undefined)) return undefined
      write(session, name, keyOf(name, row), row)
      return row
    }
    return {
      get: (name, key) => get(session, name, key),
      all: (name) => all(session, name),
      lock: (name, row) => acquireLock(session, `${name}#${keyOf(name, row)}`),
      lockShared: (name, row) => {
        const holder = holders.get(`${name}#${keyOf(name, row)}`)
        if (holder && holder !== session) throw new Blocked(holder)
      },
      isUnlocked: (name, row) => {
        const holder = holders.get(`${name}#${keyOf(name, row)}`)
        return holder === undefined || holder === session
      },
      lockName: (name) => acquireLock(session, `advisory:${name}`),
      insertIfAbsent,
      insert(name, values) {
        const row = insertIfAbsent(name, values)
        if (!row) throw sqlError('23505', `a unique key of ${name} is taken`)
        return row
      },
      update(name, row, values) {
        const key = keyOf(name, row)
        acquireLock(session, `${name}#${key}`)
        const next = { ...row, ...values }
        assertChecks(name, next)
        if (violatesUnique(session, name, next, row))
          throw sqlError('23505', `a unique key of ${name} is taken`)
        write(session, name, key, next)
        return next
      },
      remove(name, row) {
        const key = keyOf(name, row)
        acquireLock(session, `${name}#${key}`)
        write(session, name, key, null)
      },
      nextSerial: () => {
        serials += 1n
        return serials
      },
    }
  }

  const end = (session: Session) => {
    session.isEnded = true
    for (const lock of session.locks) holders.delete(lock)
    session.locks.clear()
    for (const listen of endListeners) listen(session)
  }
  const apply = (name: string, key: string, after: Row | undefined): Change => {
    const table = tableOf(name)
    const before = table.get(key)
    if (after) table.set(key, after)
    else table.delete(key)
    for (const [unique, textOf] of Object.entries(rulesOf(name).uniques)) {
      const index = indexes.get(`${name}/${unique}`) ?? new Map<string, string>()
      indexes.set(`${name}/${unique}`, index)
      const [was, is] = [before && textOf(before), after && textOf(after)]
      if (was != null && was !== is && index.get(was) === key) index.delete(was)
      if (is != null) index.set(is, key)
    }
    return { table: name, before, after }
  }

  return {
    begin() {
      sessions += 1
      return { id: sessions, written: new Map(), locks: new Set(), waitsFor: null, isEnded: false }
    },
    run(session, work) {
      // Most sessions are a single statement: its changes are discarded with the session.
      const kept = session.written.size === 0 ? [] : [...session.written].map(copied)
      try {
        return work(accessFor(session))
      } catch (error) {
        session.written.clear()
        for (const [name, rows] of kept) session.written.set(name, rows)
        throw error
      }
    },
    commit(session) {
      const changes: Change[] = []
      for (const [name, rows] of session.written) {
        for (const [key, row] of rows) changes.push(apply(name, key, row ?? undefined))
      }
      end(session)
      if (changes.length > 0) for (const listen of commitListeners) listen(changes)
    },
    abort: end,
    isDeadlock(session, holder) {
      for (let next: Session | null = holder; next; next = next.waitsFor) if (next === session) return true
      return false
    },
    rows: (table) => [...tableOf(table).values()],
    find: (table, key) => tableOf(table).get(key),
    onCommit: (listen) => void commitListeners.push(listen),
    onEnd: (listen) => void endListeners.push(listen),
  }
}

const copied = ([name, rows]: [string, Map<string, Row | null>]) => [name, new Map(rows)] as const

const PRIMARY = 'primary'
