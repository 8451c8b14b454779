// The files of an archive: comma-separated values with a header, compressed with gzip. A null is an empty cell, and an empty
// text a quoted one. Rows are written and read one after the other, so a file of any size needs little memory.

import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { csvLine, trustedCell } from '../kit/http/csv.ts'

export type Cells = readonly (string | null)[]

const lineOf = (cells: Cells) => csvLine(cells.map((cell) => (cell === null ? '' : trustedCell(cell))))

export async function writeFile(
  path: string,
  columns: readonly string[],
  pages: AsyncIterable<readonly Cells[]>,
): Promise<void> {
  async function* lines() {
    yield lineOf(columns)
    for await (const rows of pages) if (rows.length > 0) yield rows.map(lineOf).join('')
  }
  await pipeline(Readable.from(lines()), createGzip(), createWriteStream(path, { mode: 0o600, flush: true }))
}

export interface FileFacts {
  sha256: string
  bytes: bigint
}

export async function factsOf(path: string): Promise<FileFacts> {
  const hash = createHash('sha256')
  let bytes = 0n
  for await (const chunk of createReadStream(path)) {
    hash.update(chunk)
    bytes += BigInt(chunk.length)
  }
  return { sha256: hash.digest('hex'), bytes }
}

const CELL = /(?:^|,)(?:"((?:[^"]|"")*)"|)/g

/** The reverse of what writeFile writes. */
export function cellsOfLine(line: string): (string | null)[] {
  return [...line.matchAll(CELL)].map(([, text]) => text?.replaceAll('""', '"') ?? null)
}

const LINE_END = '\r\n'
const quotesOf = (text: string) => text.split('"').length - 1

/** Yields the rows without the header, and throws if the header is another. */
export async function* readFile(path: string, columns: readonly string[]): AsyncGenerator<(string | null)[]> {
  let header: string | undefined
  for await (const line of readLines(path)) {
    if (header !== undefined) yield cellsOfLine(line)
    else if (line + LINE_END === lineOf(columns)) header = line
    else throw new Error(`${path} does not have the columns of this version`)
  }
}

/** A line may have line ends inside of quotes. */
async function* readLines(path: string): AsyncGenerator<string> {
  const text = createReadStream(path).pipe(createGunzip()).setEncoding('utf8')
  let rest = ''
  for await (const chunk of text) {
    const pieces: string[] = (rest + chunk).split(LINE_END)
    rest = pieces.pop() ?? ''
    let open: string | undefined
    for (const piece of pieces) {
      const line = open === undefined ? piece : open + LINE_END + piece
      const isWhole = quotesOf(line) % 2 === 0
      if (isWhole) yield line
      open = isWhole ? undefined : line
    }
    if (open !== undefined) rest = open + LINE_END + rest
  }
  if (rest !== '') throw new Error(`${path} ends within a line`)
}
