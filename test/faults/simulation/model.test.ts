// Differential test of the database model against PostgreSQL. Schedules run on the model and record every statement.
// The same statements, mixed with changed repetitions, run again on a fresh model and on a real server. Both must
// return the same rows or error, and end with the same rows in every table.

import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import type { Statement } from '../../../src/kit/db/db.ts'
import { testDatabase } from '../../support/database.ts'
import { createDifferentialDb, type DifferentialTransaction } from './differential-db.ts'
import { STATEMENTS } from './model/statements.ts'
import type { Row, Session } from './model/store.ts'
import { moneyTables } from './model/tables.ts'
import { createPrng, type Prng } from './prng.ts'
import { runSchedule } from './schedule.ts'
import type { Executed } from './server.ts'

const TABLES = Object.keys(moneyTables())

// Most statements run hundreds of times in these; further schedules run only for rare statements.
const FIRST_SEEDS = 10
const LAST_SEED = 3_000

const db = await testDatabase({ after })
const differentialDb = createDifferentialDb(db)

type Step = Executed | { session: Session; ends: 'commit' | 'abort' }

const seen = new Set<string>()

const unseen = () => STATEMENTS.map(({ name }) => name).filter((name) => !seen.has(name))

const nameOf = ({ name }: Statement<unknown>) =>
  STATEMENTS.find((one) => one.statement.name === name)?.name ?? name

async function record(seed: number): Promise<{ start: Map<string, Row[]>; steps: Step[] }> {
  const start = new Map<string, Row[]>()
  const steps: Step[] = []
  await runSchedule(seed, {
    completes: seed % 2 === 0,
    onStatement: (step) => void steps.push(step),
    onStart: (store) => {
      for (const table of TABLES) start.set(table, store.rows(table))
    },
  })
  return { start, steps }
}

// PostgreSQL may choose the order of rows that are due at the same moment, and which settlement gets which id.
const LIMITS: Record<string, [index: number, limit: number]> = {
  ...{ claimDueAttempts: [2, 10_000], claimDueCheckouts: [2, 10_000], claimDueRefunds: [2, 10_000] },
  ...{ claimDueDuplicates: [2, 10_000], retryUnmatchedWebhooks: [2, 10_000], claimDueSettlements: [1, 1] },
}

function withFixedLimit(statement: Statement<unknown>, values: readonly unknown[]): readonly unknown[] {
  const [index, limit] = LIMITS[nameOf(statement)] ?? []
  return index === undefined ? values : values.with(index, limit)
}

async function replay(steps: readonly Step[], prng: Prng): Promise<void> {
  const open = new Map<Session, DifferentialTransaction>()
  const broken = new Set<Session>()
  const earlier: Executed[] = []
  for (const step of steps) {
    if ('ends' in step) {
      await open.get(step.session)?.end(broken.has(step.session) ? 'abort' : step.ends)
      open.delete(step.session)
      continue
    }
    // The statement timed out on a lock before it reached the rows.
    if ('error' in step.outcome || broken.has(step.session)) continue
    await runStep(step, open, broken)
    earlier.push(step)
    if (open.size === 0 && prng.nextBool(0.5)) await repeat(prng.pick(earlier), prng)
  }
}

async function runStep(
  { session, isAutocommit, statement, values }: Executed,
  open: Map<Session, DifferentialTransaction>,
  broken: Set<Session>,
): Promise<void> {
  seen.add(nameOf(statement))
  if (isAutocommit) return differentialDb.query(statement, withFixedLimit(statement, values))
  const transaction = open.get(session) ?? (await differentialDb.begin())
  open.set(session, transaction)
  try {
    await transaction.query(statement, withFixedLimit(statement, values))
  } catch (error) {
    // Both sides reported the error; a repeated row existed already.
    if (error instanceof assert.AssertionError) throw error
    broken.add(session)
  }
}

async function repeat({ statement, values }: Executed, prng: Prng): Promise<void> {
  await differentialDb.query(statement, withFixedLimit(statement, changed(values, prng)))
}

/** The same values, or some of them as another writer would send them at another time. */
function changed(values: readonly unknown[], prng: Prng): readonly unknown[] {
  if (prng.nextBool(0.3)) return values
  const [json] = values
  if (typeof json === 'string' && /"(?:expected_version|email_key)":/.test(json))
    return [changedRows(json, prng)]
  return values.map((value) => {
    if (value instanceof Date) return new Date(value.getTime() + prng.pick([0, 0, -3_000, 1_000, 60_000]))
    return typeof value === 'number' && value < 20 ? value + prng.nextInt(2) : value
  })
}

const FRESH = ['customer_id', 'customer_event_id', 'event_id', 'entry_id']

function changedRows(json: string, prng: Prng): string {
  const rows: Row[] = JSON.parse(json)
  const isMove = rows.some((row) => 'expected_version' in row)
  const again = rows.map((row) => (isMove ? changedMove(row, prng) : changedRecord(row, prng)))
  const all = isMove ? again : [...rows, ...again, ...again.map((row) => changedRecord(row, prng))]
  return JSON.stringify(all.map((row, n) => ({ ...row, n })))
}

function changedMove(row: Row, prng: Prng): Row {
  const version = Number(row.expected_version) + prng.nextInt(2)
  const isOn = version !== row.expected_version
  const begun = row.new_attempt as Row | null
  return {
    ...row,
    ...fresh(row, prng, ['event_id', 'entry_id']),
    expected_version: version,
    from_status: isOn ? row.to_status : row.from_status,
    expected_fence: prng.pick([row.expected_fence ?? null, 1, 2]),
    new_attempt: freshAttempt(begun, prng),
  }
}

const freshAttempt = (attempt: Row | null, prng: Prng) =>
  attempt && { ...attempt, id: uuid(prng), gateway_key: uuid(prng) }

function changedRecord(row: Row, prng: Prng): Row {
  const id = uuid(prng)
  // A boundary: the service makes the row of the attempt.
  const attempt = freshAttempt(row.attempt as Row | null, prng)
  const access_hash = row.access_hash && Buffer.from(prng.bytes(32)).toString('hex')
  const reference = prng.pick([row.reference, `${row.reference}-${prng.nextInt(9)}`])
  const idempotency_key = prng.pick([row.idempotency_key ?? null, null, `again-${prng.nextInt(9)}`])
  const email_key = prng.pick([row.email_key, `other-${prng.nextInt(4)}@example.com`])
  const names = {
    customer_lastname: prng.pick([row.customer_lastname, 'Otieno']),
    customer_country: prng.pick([null, 'KE']),
    customer_phone: prng.pick([null, '+254712345678', '+254733345678']),
  }
  return {
    ...row,
    ...fresh(row, prng, FRESH),
    id,
    attempt: attempt && { ...attempt, payment_id: id },
    access_hash,
    reference,
    idempotency_key,
    email_key,
    ...names,
  }
}

const uuid = (prng: Prng) => {
  const hex = Buffer.from(prng.bytes(16)).toString('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

const fresh = (row: Row, prng: Prng, names: readonly string[]): Row =>
  Object.fromEntries(names.filter((name) => row[name] != null).map((name) => [name, uuid(prng)]))

it('the database model has the columns of the migrations', async () => {
  const text = `select table_name, column_name from information_schema.columns where table_schema = current_schema()`
  const columns = await db.query<{ table_name: string; column_name: string }>({ name: 'columns', text })
  for (const [table, { columns: modelled }] of Object.entries(moneyTables())) {
    const real = columns.filter((one) => one.table_name === table).map((one) => one.column_name)
    assert.deepEqual(Object.keys(modelled).sort(), real.sort(), table)
  }
})

/** Opens, reads, closes and reopens a case of an attempt that both sides have: schedules seldom close one. */
async function runCaseStatements(): Promise<void> {
  const [attempt] = differentialDb.store.rows('attempts')
  assert.ok(attempt)
  const { merchant_id: merchantId, id: attemptId, payment_id: paymentId } = attempt
  const at = new Date('2026-03-01T00:00:00.000Z')
  const [id, kind] = ['0197a3c4-0000-7000-8000-000000000001', 'underpaid']
  const opening = [merchantId, id, kind, 'merchant', paymentId, attemptId, null, 'words', 500n, ['re'], at]
  const run = async (name: string, values: readonly unknown[]) => {
    const { statement } = STATEMENTS.find((one) => one.name === name) ?? assert.fail(name)
    await differentialDb.query(statement, values)
    seen.add(name)
  }
  const closing = [merchantId, id, at, 'A note', 'accept', 'proof', 'key:1']
  const opened = [
    ['insertCase', [...opening, true]],
    ['selectCasesOfAttempt', [merchantId, attemptId]],
    ['lockOpenCases', [merchantId, paymentId]],
    ['closeCaseRow', closing],
  ] as const
  for (const [name, values] of [
    ...opened,
    ['insertCase', [...opening, false]] as const,
    ...opened,
    ...opened,
  ])
    await run(name, values)
  await differentialDb.compareTables()
}

it('the database model returns and writes the same rows as PostgreSQL', async () => {
  for (let seed = 1; seed <= LAST_SEED && (seed <= FIRST_SEEDS || unseen().length > 0); seed += 1) {
    const { start, steps } = await record(seed)
    const isWanted = steps.some((step) => 'statement' in step && unseen().includes(nameOf(step.statement)))
    if (seed > FIRST_SEEDS && !isWanted) continue
    for (const [table, rows] of start) await differentialDb.insertRows(table, rows)
    await replay(steps, createPrng(seed))
    await differentialDb.compareTables()
    if (seed === FIRST_SEEDS) await runCaseStatements()
  }
  assert.deepEqual(unseen(), [], 'every statement was compared with the server')
})
