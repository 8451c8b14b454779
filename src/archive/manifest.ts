// The manifest of an archive says what its files contain, so that they can be checked without the database.

import { readFile as readText, rename, writeFile as writeText } from 'node:fs/promises'
import { join } from 'node:path'
import { type Cells, factsOf, readFile } from './file.ts'
import { type ArchivedTable, columnNames, TABLES } from './tables.ts'

export interface Sum {
  account: string
  currency: string
  rows: number
  amountMinor: string
}

/** The statement of a merchant in one currency, before the first line of the file and after the last one. */
export interface Carried {
  merchant: string
  currency: string
  opening: { number: string; availableMinor: string; pendingMinor: string }
  closing: { number: string; availableMinor: string; pendingMinor: string }
}

export interface FileEntry {
  table: ArchivedTable
  file: string
  rows: number
  bytes: number
  sha256: string
  columns: string[]
  /** The keys of the first and of the last row. */
  first: string | null
  last: string | null
  sums: Sum[]
  balances: Carried[]
}

export interface Manifest {
  format: 1
  cell: string
  /** Everything in the files happened before this time. */
  before: string
  files: FileEntry[]
}

export const MANIFEST = 'manifest.json'

export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  const [path, part] = [join(folder, MANIFEST), join(folder, `${MANIFEST}.part`)]
  await writeText(part, `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600, flush: true })
  await rename(part, path)
}

export async function readManifest(folder: string): Promise<Manifest> {
  // A boundary: the checks of the files show whether it is one of ours.
  const manifest = JSON.parse(await readText(join(folder, MANIFEST), 'utf8')) as Manifest
  if (manifest.format !== 1) throw new Error(`${folder} has a manifest of another version`)
  return manifest
}

/** Reads the file, and describes what it contains. */
export async function describeFile(
  folder: string,
  table: ArchivedTable,
  file: string,
  onRow: (cells: Cells) => void = () => undefined,
): Promise<FileEntry> {
  const path = join(folder, file)
  const { sha256, bytes } = await factsOf(path)
  const columns = columnNames(table)
  const at = (name: string) => columns.indexOf(name)
  const key = Object.keys(TABLES[table].key).map(at)
  const keyOf = (cells: Cells) => key.map((index) => cells[index]).join('/')
  const totals = createTotals(at)
  const entry = { table, file, rows: 0, bytes: Number(bytes), sha256, columns }
  let [first, last]: (string | null)[] = [null, null]
  for await (const cells of readFile(path, columns)) {
    entry.rows += 1
    first ??= keyOf(cells)
    last = keyOf(cells)
    if (TABLES[table].hasAmounts) totals.add(cells)
    if (table === 'wallet_lines') totals.addLine(cells)
    onRow(cells)
  }
  return { ...entry, first: first ?? null, last: last ?? null, ...totals.result() }
}

function createTotals(at: (name: string) => number) {
  const sums = new Map<string, { account: string; currency: string; rows: number; minor: bigint }>()
  const balances = new Map<string, Carried>()
  return {
    add(cells: Cells) {
      const [account, currency] = [cells[at('account')] ?? '', cells[at('currency')] ?? '']
      const name = `${account} ${currency}`
      const sum = sums.get(name) ?? { account, currency, rows: 0, minor: 0n }
      const minor = sum.minor + BigInt(cells[at('amount_minor')] ?? 0)
      sums.set(name, { ...sum, rows: sum.rows + 1, minor })
    },
    addLine(cells: Cells) {
      const [merchant, currency] = [cells[at('merchant_id')] ?? '', cells[at('currency')] ?? '']
      const name = `${merchant} ${currency}`
      const closing = standingOf(cells, at)
      const opening = balances.get(name)?.opening ?? beforeLine(cells, at)
      balances.set(name, { merchant, currency, opening, closing })
    },
    result: () => ({
      sums: [...sums.values()].map(({ minor, ...sum }) => ({ ...sum, amountMinor: String(minor) })),
      balances: [...balances.values()],
    }),
  }
}

function standingOf(cells: Cells, at: (name: string) => number): Carried['closing'] {
  return {
    number: cells[at('number')] ?? '0',
    availableMinor: cells[at('available_minor')] ?? '0',
    pendingMinor: cells[at('pending_minor')] ?? '0',
  }
}

function beforeLine(cells: Cells, at: (name: string) => number): Carried['opening'] {
  const { number, availableMinor, pendingMinor } = standingOf(cells, at)
  const amount = BigInt(cells[at('amount_minor')] ?? 0)
  const isAvailable = cells[at('account')] === 'available'
  return {
    number: String(BigInt(number) - 1n),
    availableMinor: String(BigInt(availableMinor) - (isAvailable ? amount : 0n)),
    pendingMinor: String(BigInt(pendingMinor) - (isAvailable ? 0n : amount)),
  }
}
