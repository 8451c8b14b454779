// Every statement that the service can send is prepared against the migrated schema, so that a column that is renamed
// or a type that does not fit is found here and not by a merchant.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import '../src/app.ts'
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

  it('is among those that the service loads', () => {
    const sources = globSync('src/**/*.ts', { cwd: ROOT }).filter((file) => !/\.test\.ts$/.test(file))
    const texts = sources.map((file) => readFileSync(join(ROOT, file), 'utf8'))
    const written = texts.flatMap((text) => text.match(/= sql(<.+>)?`/g) ?? [])
    // Each list has three: newest first, oldest first, and the count. Some lists count in another way.
    const lists = texts.flatMap((text) => text.match(/= listStatements(<.+>)?\(/g) ?? [])
    const pages = texts.flatMap((text) => text.match(/= pageStatements(<.+>)?\(/g) ?? [])
    assert.ok(written.length > 30, 'the statements are found by how they are written')
    assert.equal(statements.length, written.length + 3 * lists.length + 2 * pages.length)
  })

  it('takes no more rows than it says: a locking select with a limit stands in a CTE', () => {
    const loose = statements.filter(({ text }) => lockingSelects(text).some((one) => !one.isInCte))
    assert.deepEqual(
      loose.map(({ text }) => text),
      [],
    )
    const all = statements.flatMap(({ text }) => lockingSelects(text))
    assert.ok(all.length > 8, 'the selects are found by how they are written')
  })

  it('has a name of its own that fits an identifier of the server', () => {
    assert.equal(new Set(statements.map(({ name }) => name)).size, statements.length)
    for (const { name } of statements) assert.match(name, /^s_[0-9a-f]{20}$/)
  })
})

/**
 * The locking selects of a statement that stand in parentheses and have a limit. Joined as they are, the planner may run
 * them once per row, each time with another limit; a CTE that locks is run once.
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
