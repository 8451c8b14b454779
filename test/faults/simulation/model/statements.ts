// All statements of the model.

import { CASE_STATEMENTS } from './cases.ts'
import { CUSTOMER_STATEMENTS } from './customers.ts'
import { LEDGER_STATEMENTS } from './ledger.ts'
import { MOVE_STATEMENTS } from './moves.ts'
import { PAYMENT_STATEMENTS } from './payments.ts'
import { RECORD_STATEMENTS } from './record.ts'
import { REFUND_STATEMENTS } from './refunds.ts'
import type { ModelledStatement, Run } from './statement.ts'

export const STATEMENTS: readonly ModelledStatement[] = [
  ...RECORD_STATEMENTS,
  ...MOVE_STATEMENTS,
  ...PAYMENT_STATEMENTS,
  ...REFUND_STATEMENTS,
  ...CASE_STATEMENTS,
  ...LEDGER_STATEMENTS,
  ...CUSTOMER_STATEMENTS,
]

/** Another way to run a statement, by the name of the function that runs it. */
export type Changes = Readonly<Record<string, (run: Run) => Run>>

/** By the name of the prepared statement. */
export function knownStatements(changes: Changes = {}): ReadonlyMap<string, ModelledStatement> {
  return Object.keys(changes).length === 0 ? UNCHANGED : changedStatements(changes)
}

const UNCHANGED: ReadonlyMap<string, ModelledStatement> = new Map(
  STATEMENTS.map((one) => [one.statement.name, one]),
)

function changedStatements(changes: Changes): Map<string, ModelledStatement> {
  const unknown = Object.keys(changes).filter((name) => !STATEMENTS.some((one) => one.name === name))
  if (unknown.length > 0) throw new Error(`the model has no statement ${unknown.join(', ')}`)
  return new Map(
    STATEMENTS.map((one) => [one.statement.name, { ...one, run: changes[one.name]?.(one.run) ?? one.run }]),
  )
}
