// What a statement must not contain, so that a schema-based distribution of the database (Citus) accepts it. Each rule stands
// for a refusal, or a crash of the server, that was met there with version 13.2.

import {
  type Assignment,
  assignmentsOf,
  type Block,
  blocksOf,
  cteNames,
  expand,
  innerBlocks,
  type Source,
  sourcesOf,
} from './sql-text.ts'

/** The names of functions of which some form is not immutable. */
export type MutableFunctions = ReadonlySet<string>

interface SqlRule {
  /** What it requires. */
  name: string
  isBroken(blocks: readonly Block[], mutable: MutableFunctions): boolean
  /** A statement that breaks it. */
  example: string
}

const LOCK = /\bfor (?:no key )?(?:update|share)\b/
const KEYWORDS = /\b(?:interval|and|or|not|is|null|true|false|in|any|array)\b/g

/** Sums of a time and an interval depend on the time zone of the session. */
const ADDS_INTERVAL = /[+-] ?(?:\S+ \* )?interval\b|\* interval\b|\bcurrent_timestamp\b/

function isMutable(text: string, mutable: MutableFunctions): boolean {
  const called = [...text.matchAll(/\b([a-z_]\w*) ?\(/g)].map(([, name = '']) => name)
  return ADDS_INTERVAL.test(text) || called.some((name) => mutable.has(name))
}

function namesColumn(text: string): boolean {
  const value = text.slice(text.indexOf('=') + 1)
  const names = value
    .replaceAll(/::[\w[\]]+/g, '')
    .replaceAll(/\$\d+|''|\b[a-z_]\w* ?\(/g, '')
    .replaceAll(KEYWORDS, '')
  return /[a-z_]/.test(names)
}

function isRefusedAssignment({ text, isOfUpsert }: Assignment, mutable: MutableFunctions): boolean {
  return isMutable(text, mutable) && (isOfUpsert || namesColumn(text))
}

const CONDITION_OF_CHANGE =
  /\b(?:update \w+(?: as)?(?: \w+)? set|delete from) .*? where (.*?)(?: returning .*)?$/

/** Whether a condition calls a function with a column that is not immutable. */
function isRefusedCondition(flat: string, blocks: readonly Block[], mutable: MutableFunctions): boolean {
  const condition = expand(CONDITION_OF_CHANGE.exec(flat)?.[1] ?? '', blocks)
  const calls = [...condition.matchAll(/\b([a-z_]\w*)(\([^()]*\))/g)]
  return calls.some(([, name = '', values = '']) => mutable.has(name) && namesColumn(values))
}

const isDerived = ({ kind }: Source) => kind !== 'table'

/** A join with a CTE, a function or a subquery, also one that is written as in or exists. */
function locksJoin(block: Block, blocks: readonly Block[]): boolean {
  const ctes = cteNames(blocks)
  const sources = sourcesOf(block.flat, ctes)
  const tested = [...block.flat.matchAll(/\b(?:in|exists) \(#(\d+)\)/g)].map(([, n]) => blocks[Number(n)])
  const isTestDerived = tested.some((one) => one && sourcesOf(one.flat, ctes).some(isDerived))
  return (sources.length > 1 && sources.some(isDerived)) || isTestDerived
}

const INSERT_SELECT = /\binsert into \w+(?: as \w+)? ?\(#\d+\) (select .*)$/

/** The select of each insert, up to the end of its block. */
function insertSelectsOf(blocks: readonly Block[]): string[] {
  return blocks.flatMap(({ flat }) => INSERT_SELECT.exec(flat)?.[1] ?? [])
}

function readsTable(flat: string, blocks: readonly Block[]): boolean {
  const ctes = cteNames(blocks)
  const selects = [flat, ...innerBlocks(flat, blocks).map((inner) => inner.flat)]
  return selects.some(
    (one) => one.startsWith('select') && sourcesOf(one, ctes).some(({ kind }) => kind === 'table'),
  )
}

const MONEY = /\b(?:refunds|postings|ledger_entries|balances|balance_deltas|pending_settlements)\b|money:/

export const SQL_RULES: readonly SqlRule[] = [
  {
    name: 'computes times and JSON before it assigns them',
    isBroken: (blocks, mutable) => assignmentsOf(blocks).some((one) => isRefusedAssignment(one, mutable)),
    example: `update refunds r set due_at = r.due_at + interval '1 minute' where id = $1`,
  },
  {
    name: 'builds no text or JSON from the columns of the rows that it updates or deletes',
    isBroken: (blocks, mutable) => blocks.some(({ flat }) => isRefusedCondition(flat, blocks, mutable)),
    example: `delete from refunds t using found f where t.id = f.id and to_char(t.created_at, '') = f.day`,
  },
  {
    name: 'assigns with case when, not with case of a value',
    isBroken: (blocks) => assignmentsOf(blocks).some(({ text }) => /\bcase (?!when\b)/.test(text)),
    example: `update refunds set status = case status when 'a' then 'b' else status end`,
  },
  {
    name: 'assigns no element of an array',
    isBroken: (blocks) => assignmentsOf(blocks).some(({ text }) => /(?<!\barray)(?<=\w)\[\w/.test(text)),
    example: `update refunds t set reason = r.texts[1] from jsonb_to_recordset($1) as r (id uuid, texts text[]) where t.id = r.id`,
  },
  {
    name: 'joins no CTE, function or subquery where it locks rows for a CTE',
    isBroken: (blocks) =>
      blocks.some((block) => block.isInner && LOCK.test(block.flat) && locksJoin(block, blocks)),
    example: `
with wanted as (select * from jsonb_to_recordset($1) as w (id uuid)),
locked as (select r.id from wanted w join refunds r on r.id = w.id order by r.id for update of r)
select * from locked`,
  },
  {
    name: 'has no subquery in values or in the update of an upsert',
    isBroken: (blocks) => {
      const values = blocks.flatMap(({ flat }) => [
        ...flat.matchAll(/\binsert into .*? values ((?:\(#\d+\)(?:, )?)+)/g),
        ...flat.matchAll(/\bdo update set (.*)$/g),
      ])
      return values.some(([, flat = '']) =>
        innerBlocks(flat, blocks).some((inner) => inner.flat.startsWith('select ')),
      )
    },
    example: `insert into moves (id, version) values ($1, (select max(version) from moves))`,
  },
  {
    name: 'inserts what it reads from tables by a CTE',
    isBroken: (blocks) => insertSelectsOf(blocks).some((select) => readsTable(select, blocks)),
    example: `insert into moves (id, version) select id, version from payments where id = $1 returning id`,
  },
  {
    name: 'returns rows, or resolves conflicts, where it inserts the rows of a select',
    isBroken: (blocks) =>
      insertSelectsOf(blocks).some((select) => !/\breturning\b|\bon conflict\b/.test(select)),
    example: `insert into moves (id) select id from jsonb_to_recordset($1) as m (id uuid)`,
  },
  {
    name: 'has no parameter in the update of an upsert that inserts the rows of a select',
    isBroken: (blocks) =>
      insertSelectsOf(blocks).some((select) =>
        /\$\d/.test(expand(/\bdo update (.*)/.exec(select)?.[1] ?? '', blocks)),
      ),
    example: `
insert into moves (id) select id from jsonb_to_recordset($1) as m (id uuid)
on conflict (id) do update set at = $2`,
  },
  {
    name: 'names the columns of a CTE in its select',
    isBroken: (blocks) =>
      blocks.some(({ flat }) => /(?:\bwith|,) \w+ \(#\d+\) as (?:materialized )?\(#/.test(flat)),
    example: `with due (at) as (select due_at from refunds) select at from due`,
  },
  {
    name: 'reads a record from an array with one element',
    isBroken: (blocks) => blocks.some(({ full }) => /\bjsonb_to_record\(\$/.test(full)),
    example: `select f.name from jsonb_to_record($1::jsonb) as f (name text)`,
  },
  {
    name: 'locks money by rows, not by names',
    isBroken: ([whole]) => /advisory/.test(whole?.full ?? '') && MONEY.test(whole?.full ?? ''),
    example: `select pg_advisory_xact_lock(1) from balances where merchant_id = $1`,
  },
]

/** The names of the rules that the statement breaks. */
export function brokenRules(text: string, mutable: MutableFunctions): string[] {
  const blocks = blocksOf(text)
  return SQL_RULES.filter((rule) => rule.isBroken(blocks, mutable)).map(({ name }) => name)
}
