// Prepares every statement of the service against the migrated schema, which finds renamed columns and wrong types before a
// request does. The rules of their SQL are in test/sql-rules.test.ts.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import '../src/app.ts'
import '../src/compose/archive.ts'
import '../src/compose/demo.ts'
import { allStatements } from '../src/kit/db/db.ts'
import { testDatabase } from './support/database.ts'

const ROOT = join(import.meta.dirname, '..')
const statements = allStatements()
const db = await testDatabase({ after })

describe('every statement of the service', () => {
  it('is prepared by the server against the migrated schema', async () => {
    for (const { name, text } of statements) {
      await db
        .transaction((tx) => tx.script(`prepare ${name} as ${text}; deallocate ${name}`))
        .catch((error: Error) => assert.fail(`${error.message} in\n${text}`))
    }
  })

  it('is registered when the service is loaded', async () => {
    const sources = globSync('src/**/*.ts', { cwd: ROOT }).filter((file) => !/\.test\.ts$/.test(file))
    const written = sources.filter((file) => /\bsql(<.+>)?`/.test(readFileSync(join(ROOT, file), 'utf8')))
    assert.ok(written.length > 30, 'the statements are found by how they are written')
    const before = new Set(allStatements())
    for (const file of written) await import(join(ROOT, file))
    assert.deepEqual(
      allStatements().filter((statement) => !before.has(statement)),
      [],
    )
  })

  it('locks no more rows than its limit: every locking select with a limit is in a CTE', () => {
    const loose = statements.filter(({ text }) => lockingSelects(text).some((one) => !one.isInCte))
    assert.deepEqual(
      loose.map(({ text }) => text),
      [],
    )
    const all = statements.flatMap(({ text }) => lockingSelects(text))
    assert.ok(all.length > 8, 'the selects are found by how they are written')
  })

  it('has a unique name that is a valid identifier', () => {
    assert.equal(new Set(statements.map(({ name }) => name)).size, statements.length)
    for (const { name } of statements) assert.match(name, /^s_[0-9a-f]{20}$/)
  })
})

/**
 * The locking selects with a limit that are in parentheses. PostgreSQL may run a joined subquery once per row, and each run
 * locks up to the limit; it runs a CTE that locks only once.
 */
function lockingSelects(text: string): { isInCte: boolean }[] {
  return [...text.matchAll(/\blimit \S+\s+for (?:no key )?update\b/g)].flatMap(({ index }) => {
    const opened: number[] = []
    for (let at = 0; at < index; at += 1) {
      if (text[at] === '(') opened.push(at)
      if (text[at] === ')') opened.pop()
    }
    return opened.length === 0 ? [] : [{ isInCte: opened.some((at) => /\bas $/.test(text.slice(0, at))) }]
  })
}
