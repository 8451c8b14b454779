// The generic plan of a statement: the plan that a prepared statement ends up with.

import type pg from 'pg'

export interface Scan {
  table: string
  /** Null: a sequential scan of the table. */
  index: string | null
  /** Null: the scan reads the index from one end. */
  condition: string | null
  /** Whether the scan reads the whole table or index, without a limit that stops it early. */
  isWhole: boolean
}

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  Filter?: string
  Plans?: PlanNode[]
}

/** Every scan of a table in the plan of the statement. */
export async function scansOf(
  client: pg.Client,
  { name, text }: { name: string; text: string },
): Promise<Scan[]> {
  await client.query(`prepare ${name} as ${text}`)
  try {
    const { rows } = await client.query<{ count: number }>(
      'select cardinality(parameter_types) as count from pg_prepared_statements where name = $1',
      [name],
    )
    const values = Array.from({ length: rows[0]?.count ?? 0 }, () => 'null').join(', ')
    return collectScans(await planOf(client, values === '' ? name : `${name} (${values})`))
  } finally {
    await client.query(`deallocate ${name}`)
  }
}

async function planOf(client: pg.Client, call: string): Promise<PlanNode> {
  await client.query('set plan_cache_mode = force_generic_plan')
  const explained = await client.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
    `explain (format json) execute ${call}`,
  )
  const plan = explained.rows[0]?.['QUERY PLAN'][0]?.Plan
  if (!plan) throw new Error(`PostgreSQL returned no plan for ${call}`)
  return plan
}

// Nodes that stream rows, so that a limit above them also limits the scan below.
const STREAMING_NODES = new Set(['Limit', 'LockRows', 'Result', 'Subquery Scan'])

/** A bitmap scan names its index below the node that names the table. */
function collectScans(node: PlanNode, above = '', isLimited = false): Scan[] {
  const table = node['Relation Name'] ?? above
  const type = node['Node Type']
  const isStopped = type === 'Limit' || (isLimited && STREAMING_NODES.has(type) && node.Filter === undefined)
  const below = (node.Plans ?? []).flatMap((one) => collectScans(one, table, isStopped))
  const condition = node['Index Cond'] ?? null
  const isWhole = condition === null && !(isLimited && node.Filter === undefined)
  switch (type) {
    case 'Seq Scan':
      return [{ table, index: null, condition, isWhole }, ...below]
    case 'Index Scan':
    case 'Index Only Scan':
    case 'Bitmap Index Scan':
      return [{ table, index: node['Index Name'] ?? '', condition, isWhole }, ...below]
    default:
      return below
  }
}
