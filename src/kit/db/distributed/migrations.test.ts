import assert from 'node:assert/strict'
import { it } from 'node:test'
import { runDistributed } from './migrations.ts'

it('leaves out a command of a migration only if all of it is a hint to the planner', async () => {
  const sent: string[] = []
  const tx = { query: async () => [], script: async (text: string) => void sent.push(text) }
  const kept = [
    'alter table a alter column b set statistics 5, alter column b set not null',
    'alter table a alter column b set (n_distinct = 3), add column d text',
    'alter table a alter column b set not null',
  ]
  const hints = [
    'alter table a alter column b set statistics -1',
    'alter table a alter column b set (n_distinct = 3)',
    'alter table a\n  alter column b set storage external',
    'alter table a alter column b set compression pglz',
  ]
  await runDistributed(tx, `-- Both;\n${[...kept, ...hints].join(';\n')};`)
  assert.deepEqual(sent, kept)
})
