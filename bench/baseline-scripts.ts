// The statements that the service sends, made into scripts that pgbench can repeat: each time with new identities, and
// for a customer drawn by lot. The work is the service's own; only its values are made by the server instead of by us.

import type { Captured } from './capture.ts'
import { CUSTOMERS, idPrefix, MERCHANTS } from './population.ts'

/** One statement, which is one transaction. Variables are written :name, as pgbench has them. */
export interface Step {
  sql: string
  /** The columns of its one row become variables of the steps after it. */
  keepsRow: boolean
}

export interface BaselineScript {
  steps: Step[]
  /** Whether each round draws a customer: :n is the customer, :m its merchant. */
  draws: boolean
}

export const DRAW = { customers: CUSTOMERS, merchants: MERCHANTS }

/** The record and the settle of a charge. */
export function chargeScript(record: Captured, settle: Captured): BaselineScript {
  return { draws: true, steps: [recordStep(record, true), settleStep(settle)] }
}

export function initiateScript(record: Captured): BaselineScript {
  return { draws: true, steps: [recordStep(record, false)] }
}

export function readScript(statements: readonly Captured[]): BaselineScript {
  return { draws: false, steps: statements.map((one) => ({ sql: withLiterals(one), keepsRow: false })) }
}

const idFrom = (kind: 'merchant' | 'method', variable: string) =>
  `'${idPrefix(kind)}' || lpad(to_hex(:${variable}::bigint), 12, '0')`

/** Identities follow time, as the service's do; those of one payment differ in one digit, so that a later step knows them. */
const sibling = (id: string, digit: number) => `overlay(${id} placing '${digit}' from 15 for 1)`

function recordStep({ text, values }: Captured, keepsRow: boolean): Step {
  const row = onlyRow(values)
  const json = template(row, {
    payment_id: 'g.id',
    attempt_id: sibling('g.id', 6),
    event_id: sibling('g.id', 5),
    customer_event_id: sibling('g.id', 4),
    customer_id: sibling('g.id', 3),
    reference: "'order-' || gen_random_uuid()",
    attempt_key: 'gen_random_uuid()',
    access_hash: "encode(sha256(uuid_send(gen_random_uuid())), 'hex')",
    merchant_id: idFrom('merchant', 'm'),
    payment_method_id: idFrom('method', 'n'),
    email: "'customer-' || :n::bigint || '@example.com'",
  })
  const source = `(select ${json} from (select uuidv7()::text as id offset 0) g)`
  return { sql: withInput(text, source), keepsRow }
}

function settleStep({ text, values }: Captured): Step {
  const row = onlyRow(values)
  const payment = ':paymentId::text'
  const customer = customerIn(row)
  const json = template(
    { ...row, customer },
    {
      payment_id: payment,
      attempt_id: sibling(payment, 6),
      entry_id: sibling(payment, 2),
      event_id: sibling(payment, 1),
      customer: ':customerId::text',
      merchant_id: idFrom('merchant', 'm'),
      payment_method_id: idFrom('method', 'n'),
      gateway_reference: 'gen_random_uuid()',
    },
  )
  return { sql: withInput(text, json), keepsRow: false }
}

type Row = Record<string, unknown>

function onlyRow(values: readonly unknown[]): Row {
  // A boundary: the two writers of payments send their rows as one JSON array.
  const rows = JSON.parse(String(values[0])) as Row[]
  const [row] = rows
  if (!row || rows.length !== 1 || values.length !== 1)
    throw new Error(
      'the record or the settle of one payment is not one row any more: see bench/baseline-scripts.ts',
    )
  return row
}

function customerIn(row: Row): unknown {
  // A boundary: the event of a payment tells of its customer.
  const body = row.event_body as { data?: { customer?: { uuid?: unknown } } }
  return body.data?.customer?.uuid
}

/** SQL that makes the JSON of this row, with these values made anew wherever they stand in it. */
function template(row: Row, fresh: Record<string, string>): string {
  const { customer: _, ...sent } = row
  // A space behind each colon: pgbench takes a colon and a letter for a variable, also inside a text.
  let text = JSON.stringify([sent])
    .replaceAll('%', '%%')
    .replaceAll(/":(?=\w)/g, '": ')
  const used: string[] = []
  for (const [field, expression] of Object.entries(fresh)) {
    const value = row[field]
    if (typeof value !== 'string') continue
    used.push(expression)
    text = text.replaceAll(value, `%${used.length}$s`)
  }
  return `format(${quoted(text)}, ${used.join(', ')})::jsonb`
}

const COUNT = '(select jsonb_array_length('

function withInput(text: string, source: string): string {
  const [before, between, after, ...others] = text.split('$1::jsonb')
  if (before === undefined || !between?.endsWith(COUNT) || !after?.startsWith('))') || others.length > 0)
    throw new Error('the statement takes its rows in another way now: see bench/baseline-scripts.ts')
  // Their number stays a value that the planner does not know.
  return `${before}${source}${between.slice(0, -COUNT.length)}:one::bigint${after.slice(2)}`
}

function withLiterals({ text, values }: Captured): string {
  return text.replaceAll(/\$(\d+)/g, (_, number) => literal(values[Number(number) - 1]))
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  if (value instanceof Date) return quoted(value.toISOString())
  if (Buffer.isBuffer(value)) return quoted(`\\x${value.toString('hex')}`)
  if (Array.isArray(value)) return quoted(`{${value.map((one) => JSON.stringify(String(one))).join(',')}}`)
  return quoted(String(value))
}

/** In pieces: pgbench takes a colon and a letter for a variable, also inside a text. */
function quoted(text: string): string {
  const pieces = text.split(/(?<=:)(?=[A-Za-z_])/).map((piece) => `'${piece.replaceAll("'", "''")}'`)
  return pieces.length === 1 ? pieces.join('') : `(${pieces.join(' || ')})`
}
