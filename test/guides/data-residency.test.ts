// The guide about data residency says what each table contains.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ROOT } from '../support/process.ts'

const MIGRATIONS = globSync(join(ROOT, 'migrations/*.sql')).map((path) => readFileSync(path, 'utf8'))
const GUIDE = readFileSync(join(ROOT, 'docs/guides/data-residency.md'), 'utf8')

describe('the guide about data residency', () => {
  it('names every table of the database, and no other', () => {
    const created = MIGRATIONS.flatMap((text) => [
      ...text.matchAll(/^create (?:unlogged )?table ([\w.]+) \(/gm),
    ]).map(([, name = '']) => name)
    const rows = GUIDE.split('\n').filter((line) => /^\|.*\|.*\|.*\|.*\|$/.test(line))
    const stored = rows.slice(
      0,
      rows.findIndex((row) => row.startsWith('| Card numbers')),
    )
    const named = stored.flatMap((row) => [...(row.split('|')[2] ?? '').matchAll(/`([\w.]+)`/g)])
    assert.deepEqual([...new Set(named.map(([, name]) => name))].toSorted(), [...new Set(created)].toSorted())
  })
})
