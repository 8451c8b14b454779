// Migrations of a schema that Citus has distributed. It takes one command at a time, and not each form of one.

import { type Statement, sql, sqlStateOf, type Tx } from '../db.ts'

const selectHasCitus = sql<{
  hasCitus: boolean
}>`select to_regclass('citus_schemas') is not null as "hasCitus"`

// Of Citus, so not one of those that are prepared on every server.
const selectIsDistributed: Statement<{ isDistributed: boolean }> = {
  name: '',
  text: `select exists (
  select from citus_schemas where schema_name = current_schema()::regnamespace
) as "isDistributed"`,
}

/** Whether the tables of the search path are on other nodes. */
export async function isDistributedSchema(tx: Tx): Promise<boolean> {
  if (!(await tx.query(selectHasCitus))[0]?.hasCitus) return false
  return (await tx.query(selectIsDistributed))[0]?.isDistributed ?? false
}

// Comments, and texts that may contain a semicolon.
const OPAQUE = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"[^"]*"|(\$\w*\$)[\s\S]*?\1|;/g
const LEADING_COMMENTS = /^(?:\s+|--[^\n]*|\/\*[\s\S]*?\*\/)+/

/** The commands of a script, without the comments before them. No function body may be `begin atomic`. */
export function commandsOf(script: string): string[] {
  const ends = [...script.matchAll(OPAQUE)].filter(([part]) => part === ';').map(({ index }) => index)
  const starts = [0, ...ends.map((end) => end + 1)]
  return starts
    .map((start, index) => script.slice(start, ends[index]).replace(LEADING_COMMENTS, '').trimEnd())
    .filter((command) => command !== '')
}

// How a column is stored, and what the planner assumes: rows and results are the same without.
const IS_HINT =
  /^alter table \S+\s+alter column \S+ set (?:\([^()]*\)|statistics -?\d+|storage \w+|compression \w+)$/i

const NOT_SUPPORTED = '0A000'

/** Runs a migration in a distributed schema. Hints are left out, and every table is logged, so that Citus can move it. */
export async function runDistributed(tx: Tx, script: string): Promise<void> {
  for (const command of commandsOf(script)) {
    if (IS_HINT.test(command)) continue
    await tx.script(command.replace(/^create unlogged table/i, 'create table')).catch((error: unknown) => {
      throw sqlStateOf(error) === NOT_SUPPORTED ? new CommandRefused(command, error) : error
    })
  }
}

class CommandRefused extends Error {
  constructor(command: string, cause: unknown) {
    const [start] = command.split('\n')
    super(
      `Citus does not take "${start}" in a distributed schema: ${cause instanceof Error ? cause.message : cause}. Nothing was changed. ` +
        'Write it as commands with one change each: first the column, then its constraint with a name; an identity in a new table.',
      { cause },
    )
  }
}
