// What a migration must not contain, so that it can be applied to a cell that Citus has distributed. Each rule stands for a
// refusal of version 13.2. Earlier migrations were applied before any cell was distributed.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { commandsOf } from '../src/kit/db/distributed/migrations.ts'
import { MIGRATIONS_DIR } from '../src/kit/db/migrate.ts'

const FIRST = '0064'

interface MigrationRule {
  name: string
  broken: RegExp
  /** A command that breaks it. */
  example: string
}

const RULES: readonly MigrationRule[] = [
  {
    name: 'adds a column without its check, which is a command of its own with a name',
    broken: /^alter table\b.*\badd column\b.*\bcheck\b/,
    example: `alter table refunds add column kind text check (kind <> '')`,
  },
  {
    name: 'adds no identity to a table that exists',
    broken: /^alter table\b.*\badd column\b.*\bas identity\b/,
    example: 'alter table refunds add column number bigint generated always as identity',
  },
  {
    name: 'adds a constraint by a command of its own',
    broken:
      /^alter table\b.*(?:,\s*add (?:constraint|check|unique|primary|foreign)\b|\badd (?:constraint|check|unique|primary|foreign)\b.*,\s*(?:add|drop|alter|validate)\b)/,
    example:
      'alter table refunds drop constraint old_check, add constraint new_check check (amount_minor > 0)',
  },
  {
    name: 'renames no constraint',
    broken: /^alter table\b.*\brename constraint\b/,
    example: 'alter table refunds rename constraint old_check to new_check',
  },
]

const brokenRules = (command: string) =>
  RULES.filter(({ broken }) => broken.test(command.replaceAll(/\s+/g, ' ').toLowerCase())).map(
    ({ name }) => name,
  )

describe('a migration', () => {
  it('keeps the rules of distributed schemas', () => {
    const names = readdirSync(MIGRATIONS_DIR).filter((name) => name.endsWith('.sql') && name >= FIRST)
    const commands = names.flatMap((name) => commandsOf(readFileSync(new URL(name, MIGRATIONS_DIR), 'utf8')))
    assert.ok(commands.length > 50)
    assert.deepEqual(
      commands.filter((command) => brokenRules(command).length > 0),
      [],
    )
  })

  for (const { name, example } of RULES)
    it(`is found if it breaks a rule: ${name}`, () => {
      assert.deepEqual(brokenRules(example), [name])
    })

  it('is divided at the semicolons that are not in texts, names, bodies and comments', () => {
    const script = `-- First; second.
select ';' as ";"; /* a; b */
create function one() returns text language sql as $body$ select ';'; $body$;
select 'it''s; -- text' -- and; this
;
select 3
`
    assert.deepEqual(commandsOf(script), [
      `select ';' as ";"`,
      `create function one() returns text language sql as $body$ select ';'; $body$`,
      `select 'it''s; -- text' -- and; this`,
      'select 3',
    ])
  })
})
