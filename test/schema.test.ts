// Every statement that the service can send is prepared against the migrated schema, so that a column that is renamed
// or a type that does not fit is found here and not by a merchant.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import '../src/app.ts'
import { allStatements } from '../src/kit/db.ts'
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
    assert.ok(written.length > 30, 'the statements are found by how they are written')
    assert.equal(statements.length, written.length)
  })

  it('has a name of its own that fits an identifier of the server', () => {
    assert.equal(new Set(statements.map(({ name }) => name)).size, statements.length)
    for (const { name } of statements) assert.match(name, /^s_[0-9a-f]{20}$/)
  })
})
