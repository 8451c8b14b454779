// The guide about data residency says what each table contains.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ROOT } from '../support/process.ts'

const MIGRATIONS = globSync(join(ROOT, 'migrations/*.sql'))
  .toSorted()
  .map((path) => readFileSync(path, 'utf8'))
const GUIDE = readFileSync(join(ROOT, 'docs/guides/data-residency.md'), 'utf8')

describe('the guide about data residency', () => {
  it('names every table of the database, and no other', () => {
    const created = new Set<string>()
    for (const text of MIGRATIONS)
      for (const [, word, name = ''] of text.matchAll(
        /^(create(?: unlogged)?|drop) table ([\w.]+)(?= \(|;)/gm,
      ))
        if (word === 'drop') created.delete(name)
        else created.add(name)
    const rows = GUIDE.split('\n').filter((line) => /^\|.*\|.*\|.*\|.*\|$/.test(line))
    const stored = rows.slice(
      0,
      rows.findIndex((row) => row.startsWith('| Card numbers')),
    )
    const named = stored.flatMap((row) => [...(row.split('|')[2] ?? '').matchAll(/`([\w.]+)`/g)])
    assert.deepEqual([...new Set(named.map(([, name]) => name))].toSorted(), [...created].toSorted())
  })
})
