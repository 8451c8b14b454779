// Differential test of the model and a real server: each statement runs on both, and every difference is an error.

import assert from 'node:assert/strict'
import { type Db, type Statement, sqlStateOf, type Tx } from '../../../src/kit/db/db.ts'
import { knownStatements } from './model/statements.ts'
import { Blocked, createStore, type Row, type Session, type Store, sqlError } from './model/store.ts'
import { moneyTables } from './model/tables.ts'

export interface DifferentialDb {
  readonly store: Store
  /** Inserts rows into both that no statement of the service writes. */
  insertRows(table: string, rows: readonly Row[]): Promise<void>
  /** Runs a statement outside a transaction on both. */
  query(statement: Statement<unknown>, values: readonly unknown[]): Promise<void>
  begin(): Promise<DifferentialTransaction>
  /** Asserts that every table has the same rows on both sides. */
  compareTables(): Promise<void>
}

export interface DifferentialTransaction {
  /** Throws the error that both sides report. */
  query(statement: Statement<unknown>, values: readonly unknown[]): Promise<void>
  end(how: 'commit' | 'abort'): Promise<void>
}

const TABLES = Object.keys(moneyTables())
const KNOWN = knownStatements()

export function createDifferentialDb(db: Db): DifferentialDb {
  const store = createStore(moneyTables())

  const runModel = (session: Session, statement: Statement<unknown>, values: readonly unknown[]) => {
    const known = KNOWN.get(statement.name)
    if (!known) throw new Error(`the model does not know ${statement.text}`)
    return store.run(session, (access) => known.run(access, values))
  }
  const compare = async (
    session: Session,
    tx: Tx,
    statement: Statement<unknown>,
    values: readonly unknown[],
  ): Promise<void> => {
    const name = KNOWN.get(statement.name)?.name
    const real = await tx.query(statement, values).then(ofRows, ofError)
    const model = answerOf(() => runModel(session, statement, values))
    assert.deepEqual(model, real, `${name} with ${JSON.stringify(plain(values)).slice(0, 2_000)}`)
    if ('error' in model) throw sqlError('23000', `${name}: ${model.error}`)
  }

  return {
    store,
    async insertRows(table, rows) {
      const session = store.begin()
      store.run(session, (access) => {
        for (const row of rows) access.insert(table, row)
      })
      store.commit(session)
      for (const row of rows) await insertRow(db, table, row)
    },
    async query(statement, values) {
      const session = store.begin()
      try {
        await compare(session, db, statement, values)
        store.commit(session)
      } catch (error) {
        store.abort(session)
        if (sqlStateOf(error) === undefined) throw error
      }
    },
    async begin() {
      const session = store.begin()
      const { tx, end } = await openTransaction(db)
      return {
        query: (statement, values) => compare(session, tx, statement, values),
        async end(how) {
          await end(how)
          if (how === 'commit') store.commit(session)
          else store.abort(session)
        },
      }
    },
    async compareTables() {
      for (const table of TABLES) {
        const real = await db.query<Row>({ name: `all_of_${table}`, text: `select * from ${table}` })
        assert.deepEqual(
          sorted(store.rows(table).map(comparable(table))),
          sorted(real.map(comparable(table))),
          table,
        )
      }
    },
  }
}

/** Identity columns skip numbers on the server also after a rollback. */
const comparable = (table: string) => (row: Row) => {
  if (table !== 'balance_deltas' && table !== 'gateway_webhooks') return row
  const { id: _, ...rest } = row
  return rest
}

interface OpenTransaction {
  tx: Tx
  end(how: 'commit' | 'abort'): Promise<void>
}

/** A transaction whose end the caller controls. */
function openTransaction(db: Db): Promise<OpenTransaction> {
  return new Promise((opened, failed) => {
    const done = db.transaction(
      (tx) =>
        new Promise<void>((commit, abort) => {
          const undone = new Error('undone')
          const end = async (how: 'commit' | 'abort') => {
            if (how === 'commit') commit()
            else abort(undone)
            await done.catch((error: unknown) => {
              if (error !== undone) throw error
            })
          }
          opened({ tx, end })
        }),
    )
    done.catch(failed)
  })
}

async function insertRow(db: Db, table: string, row: Row): Promise<void> {
  const columns = Object.keys(row)
  const parameters = columns.map((_, index) => `$${index + 1}`)
  const text = `insert into ${table} (${columns.join(', ')}) values (${parameters.join(', ')})`
  await db.query({ name: `plant_${table}`, text }, Object.values(row))
}

type Answer = { rows: unknown[] } | { error: string }

function answerOf(run: () => Row[]): Answer {
  try {
    return ofRows(run())
  } catch (error) {
    return ofError(error)
  }
}

const ofRows = (rows: readonly unknown[]): Answer => ({ rows: sorted(rows) })

function ofError(error: unknown): Answer {
  if (error instanceof Blocked) return { error: 'waits for a lock' }
  const state = sqlStateOf(error)
  if (state === undefined) throw error
  // If a statement violates two constraints, PostgreSQL does not specify which one it reports.
  return { error: state.startsWith('23') ? 'a rule is broken' : state }
}

/** Sorts the rows, because statements without ORDER BY return them in any order. */
function sorted(rows: readonly unknown[]): unknown[] {
  const texts = rows.map((row) => plain(row)).map((row) => [JSON.stringify(row), row] as const)
  return texts.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}

/** Values as text by type, with sorted property names. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`
  if (value instanceof Date) return value.toISOString()
  if (Buffer.isBuffer(value)) return value.toString('hex')
  if (Array.isArray(value)) return value.map(plain)
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).filter(([, one]) => one !== undefined)
  return Object.fromEntries(
    entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, one]) => [name, plain(one)]),
  )
}
