// The structure of a statement, as far as the rules of test/sql-rules.test.ts need it: its parentheses, its CTEs and the
// clauses between them. Texts in quotes are emptied and comments removed before.

/** The text in one pair of parentheses, or of the whole statement. */
export interface Block {
  /** What stands in it; parentheses inside are (#n), where n is the number of their block. */
  flat: string
  /** With the parentheses inside. */
  full: string
  isInner: boolean
}

export function blocksOf(text: string): Block[] {
  const plain = text
    .replaceAll(/--.*$/gm, '')
    .replaceAll(/'(?:[^']|'')*'/g, "''")
    .replaceAll(/\s+/g, ' ')
  const blocks: Block[] = []
  const read = (from: number): { number: number; end: number } => {
    const number = blocks.push({ flat: '', full: '', isInner: from > 0 }) - 1
    let flat = ''
    let at = from
    while (at < plain.length && plain[at] !== ')') {
      if (plain[at] !== '(') {
        flat += plain[at]
        at += 1
        continue
      }
      const inner = read(at + 1)
      flat += `(#${inner.number})`
      at = inner.end + 1
    }
    blocks[number] = { flat: flat.trim(), full: plain.slice(from, at).trim(), isInner: from > 0 }
    return { number, end: at }
  }
  read(0)
  return blocks
}

/** The same text with its parentheses, except subqueries. */
export function expand(flat: string, blocks: readonly Block[]): string {
  return flat.replaceAll(/\(#(\d+)\)/g, (_, number: string) => {
    const inner = blocks[Number(number)]?.flat ?? ''
    return inner.startsWith('select ') ? '()' : `(${expand(inner, blocks)})`
  })
}

/** The blocks inside this part of a block, at any depth. */
export function innerBlocks(flat: string, blocks: readonly Block[]): Block[] {
  return [...flat.matchAll(/\(#(\d+)\)/g)].flatMap(([, number]) => {
    const block = blocks[Number(number)]
    return block ? [block, ...innerBlocks(block.flat, blocks)] : []
  })
}

export function cteNames(blocks: readonly Block[]): Set<string> {
  const found = blocks.flatMap(({ flat }) => [
    ...flat.matchAll(/(?:\bwith(?: recursive)?|,) (\w+) as (?:not )?(?:materialized )?\(#/g),
  ])
  return new Set(found.map(([, name = '']) => name))
}

/** What a select reads: tables, CTEs, functions and subqueries. */
export interface Source {
  name: string
  kind: 'table' | 'cte' | 'function' | 'subquery'
}

const FROM =
  /\bfrom (.*?)(?= where | group by | order by | having | limit | offset | for (?:no key )?(?:update|share|key share)\b| on conflict | returning | union |$)/g

export function sourcesOf(flat: string, ctes: ReadonlySet<string>): Source[] {
  const clauses = [...flat.matchAll(FROM)].map(([, clause = '']) => clause)
  return clauses.flatMap((clause) => clause.split(/,|\bjoin\b/)).map((part) => toSource(part.trim(), ctes))
}

// Their rows are in their definition.
const CONSTANT_VIEWS = new Set(['collection_grains'])

function toSource(part: string, ctes: ReadonlySet<string>): Source {
  const text = part.replace(/^lateral /, '')
  if (text.startsWith('(')) return { name: 'a subquery', kind: 'subquery' }
  const name = /^[\w.]+/.exec(text)?.[0] ?? ''
  if (/^[\w.]+ ?\(#/.test(text) || CONSTANT_VIEWS.has(name)) return { name, kind: 'function' }
  return { name, kind: ctes.has(name) ? 'cte' : 'table' }
}

/** The assignments of an update, or of the update of an upsert. */
export interface Assignment {
  text: string
  isOfUpsert: boolean
}

const SET = /\bset (.*?)(?= from | where | returning |$)/g

export function assignmentsOf(blocks: readonly Block[]): Assignment[] {
  return blocks
    .filter(({ flat }) => /\bupdate\b/.test(flat))
    .flatMap(({ flat }) =>
      [...flat.matchAll(SET)].flatMap(({ 1: clause = '', index }) => {
        const isOfUpsert = /\bdo update $/.test(flat.slice(0, index))
        return clause.split(',').map((item) => ({ text: expand(item.trim(), blocks), isOfUpsert }))
      }),
    )
}
