// The statements that run in a cell.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { homeOf } from '../../src/kit/db/homes.ts'

// Of a process of its own: here, other tests have registered theirs.
const LIST = `
import { globSync } from 'node:fs'
for (const file of globSync('src/**/{queries,*-queries}.ts')) await import('./' + file)
await import('./src/app.ts')
await import('./src/compose/demo.ts')
const { allStatements } = await import('./src/kit/db/db.ts')
console.log(JSON.stringify(allStatements().map(({ text }) => text)))`

export function statementsOfCells(): string[] {
  const cwd = join(import.meta.dirname, '../..')
  const listed = execFileSync(process.execPath, ['--input-type=module', '--eval', LIST], { cwd })
  const texts: string[] = JSON.parse(listed.toString())
  return texts.filter((text) => homeOf(text) !== 'instance')
}
