// A process that repeats a script over the bare driver, for machines without pgbench.

import pg from 'pg'
import type { BaselineOrder, BaselineReport } from './baseline.ts'
import { type BaselineScript, DRAW } from './baseline-scripts.ts'
import { median } from './statistics.ts'

process.on('message', (order: BaselineOrder) => {
  void run(order).then((report) => process.send?.(report))
})

interface Prepared {
  name: string
  text: string
  variables: string[]
  keepsRow: boolean
}

async function run(order: BaselineOrder): Promise<BaselineReport & { p50Ms: number }> {
  const { url, script, clients, seconds } = order
  const steps = prepare(script)
  const opened = await Promise.all(Array.from({ length: clients }, () => open(url)))
  const startedAt = performance.now()
  const until = startedAt + seconds * 1_000
  const rounds = await Promise.all(opened.map((client) => repeat(client, steps, until)))
  const tookSeconds = (performance.now() - startedAt) / 1_000
  await Promise.all(opened.map((client) => client.end()))
  const times = rounds.flat()
  return { done: times.length, perSecond: times.length / tookSeconds, p50Ms: median(times) }
}

async function open(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, options: '-c plan_cache_mode=force_generic_plan' })
  await client.connect()
  return client
}

/** A colon and a name is a variable; two colons are a cast. */
const VARIABLE = /(?<!:):([A-Za-z]\w*)/g

function prepare({ steps }: BaselineScript): Prepared[] {
  return steps.map(({ sql, keepsRow }, index) => {
    const variables = [...new Set(Array.from(sql.matchAll(VARIABLE), ([, name = '']) => name))]
    const text = sql.replaceAll(VARIABLE, (_, name) => `$${variables.indexOf(name) + 1}`)
    return { name: `step_${index}`, text, variables, keepsRow }
  })
}

/** The time of each round, in milliseconds. */
async function repeat(client: pg.Client, steps: readonly Prepared[], until: number): Promise<number[]> {
  const times: number[] = []
  for (let startedAt = performance.now(); startedAt < until; ) {
    const n = 1 + Math.floor(Math.random() * DRAW.customers)
    let known: Record<string, unknown> = { n, m: 1 + ((n - 1) % DRAW.merchants), one: 1 }
    for (const { name, text, variables, keepsRow } of steps) {
      const { rows } = await client.query({ name, text, values: variables.map((one) => known[one]) })
      if (keepsRow) known = { ...known, ...rows[0] }
    }
    const endedAt = performance.now()
    times.push(endedAt - startedAt)
    startedAt = endedAt
  }
  return times
}
