// The database server of the simulated world and the network to it: statements take time, wait for locks, and are lost
// before or after execution. To the service it is an ordinary Db.

import { type Db, DbUnavailable, retryDeadlocks, type Statement, type Tx } from '../../../src/kit/db/db.ts'
import type { ModelledStatement } from './model/statement.ts'
import { Blocked, type Row, type Session, type Store, sqlError } from './model/store.ts'
import type { Host, Sim } from './sim.ts'

export interface Server {
  connect(host: Host): Db
  /** Closes the connections of a process that died: uncommitted work is rolled back. */
  dropConnections(host: Host): void
  /** Another session locks the row for a while. */
  lockRow(table: string, row: Row, forMs: number): void
}

export interface Executed {
  session: Session
  isAutocommit: boolean
  statement: Statement<unknown>
  values: readonly unknown[]
  outcome: { rows: Row[] } | { error: unknown }
}

export interface ServerOptions {
  statements: ReadonlyMap<string, ModelledStatement>
  /** Called for every executed step, in order, to repeat them elsewhere. */
  onStep?: (step: Executed | { session: Session; ends: 'commit' | 'abort' }) => void
}

const LOCK_TIMEOUT_MS = 2_000
const IDLE_IN_TRANSACTION_MS = 15_000

const connectionError = () => new Error('Connection terminated unexpectedly')

type Done = (outcome: { rows: Row[] } | { error: unknown }) => void

export function createServer(sim: Sim, store: Store, { statements, onStep }: ServerOptions): Server {
  const { prng, scheduler } = sim
  const waiting = new Map<Session, (() => void)[]>()
  const open = new Map<Host, Set<Session>>()
  store.onEnd((session) => {
    const waiters = waiting.get(session) ?? []
    waiting.delete(session)
    for (const retry of waiters) scheduler.after(prng.between(0, 0.2), 'lock is free', retry)
  })

  const delay = () => (sim.injects('databaseSlow') ? prng.between(1, 400) : prng.between(0.05, 0.6))

  const finish = (session: Session, ends: 'commit' | 'abort') => {
    if (session.isEnded) return
    onStep?.({ session, ends })
    if (ends === 'commit') store.commit(session)
    else store.abort(session)
  }

  const execute = (
    session: Session,
    isAutocommit: boolean,
    statement: Statement<unknown>,
    values: readonly unknown[],
    done: Done,
  ) => {
    const lockTimeoutAtMs = scheduler.now() + LOCK_TIMEOUT_MS
    let isDone = false
    const finishStatement = (outcome: { rows: Row[] } | { error: unknown }) => {
      isDone = true
      session.waitsFor = null
      onStep?.({ session, isAutocommit, statement, values, outcome })
      done(outcome)
    }
    const attempt = () => {
      if (isDone) return
      if (session.isEnded) return finishStatement({ error: connectionError() })
      session.waitsFor = null
      try {
        finishStatement({ rows: runStatement(store, session, statements, statement, values) })
      } catch (error) {
        if (!(error instanceof Blocked)) return finishStatement({ error })
        if (store.isDeadlock(session, error.holder)) return finishStatement({ error: deadlock() })
        session.waitsFor = error.holder
        const others = waiting.get(error.holder) ?? []
        waiting.set(error.holder, [...others, attempt])
        scheduler.at(lockTimeoutAtMs, 'lock timeout', () => {
          if (!isDone && session.waitsFor) finishStatement({ error: lockTimeout(values) })
        })
      }
    }
    attempt()
  }

  /** A round trip: `work` runs at the server, and the process gets its result. */
  const roundTrip = <Result>(
    host: Host,
    label: string,
    work: (done: (outcome: { rows: Result } | { error: unknown }) => void) => void,
    onLost: () => void = () => undefined,
  ): Promise<Result> => {
    const { epoch } = host
    return new Promise((resolve, reject) => {
      const answer = (error: unknown) =>
        sim.runOnHost(host, epoch, delay(), `${label} broke`, () => reject(error))
      if (sim.injects('statementLost')) {
        onLost()
        return answer(connectionError())
      }
      scheduler.after(delay(), `${label} arrives`, () => {
        // The last statement of a dying process may not have left its machine.
        if (host.epoch !== epoch && prng.nextBool(0.5)) return onLost()
        work((outcome) => {
          if (sim.injects('resultLost')) {
            onLost()
            return answer(connectionError())
          }
          sim.runOnHost(host, epoch, delay(), `${label} answers`, () =>
            'rows' in outcome ? resolve(outcome.rows) : reject(outcome.error),
          )
        })
      })
    })
  }

  const nameOf = (statement: Statement<unknown>) => statements.get(statement.name)?.name ?? statement.name

  const queryAutocommit = (host: Host, statement: Statement<unknown>, values: readonly unknown[]) =>
    roundTrip<Row[]>(host, nameOf(statement), (done) => {
      if (sim.isDeadlockVictim()) return done({ error: deadlock() })
      const session = store.begin()
      execute(session, true, statement, values, (outcome) => {
        finish(session, 'rows' in outcome ? 'commit' : 'abort')
        done(outcome)
      })
    }).catch((error) => Promise.reject(toDbError(error)))

  const sessionsOf = (host: Host) => {
    const sessions = open.get(host) ?? new Set<Session>()
    open.set(host, sessions)
    return sessions
  }

  const transactionOn = (host: Host, session: Session): Tx => {
    let statementCount = 0
    const endIfIdle = (seen: number) =>
      scheduler.after(IDLE_IN_TRANSACTION_MS, 'idle transaction', () => {
        if (statementCount === seen) finish(session, 'abort')
      })
    const abort = () => finish(session, 'abort')
    return {
      query: async <Answer>(statement: Statement<Answer>, values: readonly unknown[] = []) => {
        statementCount += 1
        const rows = await roundTrip<Row[]>(
          host,
          nameOf(statement),
          (done) => {
            if (sim.isDeadlockVictim()) {
              abort()
              return done({ error: deadlock() })
            }
            execute(session, false, statement, values, (outcome) => {
              if ('error' in outcome) abort()
              endIfIdle(statementCount)
              done(outcome)
            })
          },
          abort,
        )
        // A boundary: the model returns rows of the statement's type; a differential test compares both.
        return rows as Answer[]
      },
      script: () => Promise.reject(new Error('the model runs no scripts')),
    }
  }

  const transact = async <Result>(host: Host, work: (tx: Tx) => Promise<Result>): Promise<Result> => {
    const session = await roundTrip<Session>(host, 'begin', (done) => {
      const begun = store.begin()
      sessionsOf(host).add(begun)
      done({ rows: begun })
    })
    try {
      const result = await work(transactionOn(host, session))
      await roundTrip(host, 'commit', (done) => {
        if (session.isEnded) return done({ error: connectionError() })
        finish(session, 'commit')
        done({ rows: [] })
      })
      return result
    } catch (error) {
      // Committed work stays; other work is rolled back, whether or not the process gets the response.
      finish(session, 'abort')
      throw error
    } finally {
      sessionsOf(host).delete(session)
    }
  }

  return {
    connect: (host) => ({
      query: <Answer>(statement: Statement<Answer>, values: readonly unknown[] = []) =>
        // A boundary, as above.
        retryDeadlocks(() => queryAutocommit(host, statement, values)) as Promise<Answer[]>,
      script: () => Promise.reject(new Error('the model runs no scripts')),
      transaction: (work) =>
        retryDeadlocks(() => transact(host, work).catch((error) => Promise.reject(toDbError(error)))),
      close: () => Promise.resolve(),
    }),
    dropConnections(host) {
      for (const session of sessionsOf(host)) {
        scheduler.after(prng.between(0, 50), 'hung up', () => finish(session, 'abort'))
      }
      open.delete(host)
    },
    lockRow(table, row, forMs) {
      const session = store.begin()
      try {
        store.run(session, (access) => access.lock(table, row))
      } catch {
        // Another session has locked the row already.
      }
      scheduler.after(forMs, 'outsider leaves', () => store.abort(session))
    },
  }
}

const deadlock = () => sqlError('40P01', 'deadlock')

/** Reports also how many rows the batch had. */
function lockTimeout([json]: readonly unknown[]): Error {
  const isBatch = typeof json === 'string' && json.startsWith('[{"n":')
  return Object.assign(sqlError('55P03', 'lock timeout'), { rows: isBatch ? JSON.parse(json).length : 1 })
}

function runStatement(
  store: Store,
  session: Session,
  statements: ReadonlyMap<string, ModelledStatement>,
  statement: Statement<unknown>,
  values: readonly unknown[],
): Row[] {
  const known = statements.get(statement.name)
  if (!known) throw new Error(`the model does not know the statement ${statement.text.slice(0, 80)}`)
  return store.run(session, (access) => known.run(access, values))
}

/** As in kit/db/db.ts: the lock timed out, or the outcome is unknown. */
function toDbError(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === '55P03') return new DbUnavailable(error, true)
  const isBroken = error instanceof Error && error.message.startsWith('Connection terminated')
  return isBroken ? new DbUnavailable(error) : error
}
