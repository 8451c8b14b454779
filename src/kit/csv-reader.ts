// A strict reader of comma-separated values (RFC 4180): a file about money that is malformed is reported with the line,
// and never guessed at. Lines may end in LF or CRLF, a byte order mark is skipped, and a quoted cell may hold commas,
// quotes and line breaks.

export interface CsvRow {
  /** The line in the file on which the record begins, counted from 1. */
  line: number
  cells: string[]
}

export interface CsvIssue {
  line: number
  message: string
}

export type CsvFile = { header: string[]; rows: CsvRow[] } | { issues: CsvIssue[] }

// Far more than providers write. Merchants upload files, and the process serves no request while it reads one.
const MAX_COLUMNS = 200
const MAX_CELL = 10_000

// Enough to see what is wrong with a file; a list of all would repeat the file.
const MAX_ISSUES = 20
const BYTE_ORDER_MARK = '\uFEFF'

export function readCsv(content: string, maxRows: number): CsvFile {
  const text = content.startsWith(BYTE_ORDER_MARK) ? content.slice(1) : content
  const records = readRecords(text, maxRows)
  if ('message' in records) return { issues: [records] }
  const [header, ...rows] = records
  if (!header) return { issues: [{ line: 1, message: 'The file is empty.' }] }
  const issues = [...headerIssues(header.cells), ...cellCountIssues(header.cells, rows)]
  return issues.length > 0 ? { issues: issues.slice(0, MAX_ISSUES) } : { header: header.cells, rows }
}

function headerIssues(header: string[]): CsvIssue[] {
  const [only = ''] = header
  if (header.length === 1 && /[;\t]/.test(only)) {
    return [{ line: 1, message: 'The columns must be separated by commas; export the file so.' }]
  }
  const names = header.map((name) => name.trim().toLowerCase())
  const duplicates = names.filter((name, index) => name !== '' && names.indexOf(name) !== index)
  return duplicates.map((name) => ({
    line: 1,
    message: `The column ${JSON.stringify(name)} is there twice.`,
  }))
}

function cellCountIssues(header: string[], rows: CsvRow[]): CsvIssue[] {
  return rows
    .filter(({ cells }) => cells.length !== header.length)
    .map(({ line, cells }) => ({
      line,
      message: `The line has ${cells.length} cells, the header ${header.length}.`,
    }))
}

/** Empty lines are skipped: many programs end a file with one. More of them than rows are no file of a program. */
function readRecords(text: string, maxRows: number): CsvRow[] | CsvIssue {
  const rows: CsvRow[] = []
  let position = 0
  let line = 1
  for (let blank = 0; position < text.length; ) {
    const record = readRecord(text, position, line)
    if ('message' in record) return record
    const isBlank = record.cells.length === 1 && record.cells[0] === '' && text[position] !== '"'
    if (isBlank) blank += 1
    else rows.push({ line, cells: record.cells })
    // The first row is the header.
    if (rows.length > maxRows + 1 || blank > maxRows)
      return { line, message: `The file has more than ${maxRows} lines; split it by time.` }
    position = record.end
    line = record.nextLine
  }
  return rows
}

interface Cursor {
  /** The offset after the record and its line end. */
  end: number
  nextLine: number
}

function readRecord(text: string, start: number, line: number): (Cursor & { cells: string[] }) | CsvIssue {
  const cells: string[] = []
  let position = start
  let nextLine = line
  for (;;) {
    const cell =
      text[position] === '"' ? readQuoted(text, position, nextLine) : readPlain(text, position, nextLine)
    if ('message' in cell) return cell
    cells.push(cell.value)
    if (cells.length > MAX_COLUMNS) return { line, message: `The line has more than ${MAX_COLUMNS} cells.` }
    position = cell.end
    nextLine = cell.nextLine
    if (text[position] === ',') {
      position += 1
      continue
    }
    // Only the end of the line or of the file ends a cell here.
    return { cells, end: position + endOfLine(text, position), nextLine: nextLine + 1 }
  }
}

type Cell = (Cursor & { value: string }) | CsvIssue

const PLAIN_END = /[",\r\n]/g

function readPlain(text: string, start: number, line: number): Cell {
  PLAIN_END.lastIndex = start
  const end = PLAIN_END.exec(text)?.index ?? text.length
  if (text[end] === '"') return { line, message: 'A quote stands inside a cell that is not quoted.' }
  if (text[end] === '\r' && text[end + 1] !== '\n') {
    return { line, message: 'A lone carriage return stands in the line.' }
  }
  if (end - start > MAX_CELL) return tooLong(line)
  return { value: text.slice(start, end), end, nextLine: line }
}

const tooLong = (line: number): CsvIssue => ({
  line,
  message: `A cell has more than ${MAX_CELL} characters.`,
})

function readQuoted(text: string, start: number, line: number): Cell {
  let value = ''
  let from = start + 1
  for (;;) {
    const quote = text.indexOf('"', from)
    if (quote < 0) return { line, message: 'A quoted cell has no end.' }
    if (quote - start > MAX_CELL) return tooLong(line)
    value += text.slice(from, quote)
    if (text[quote + 1] !== '"') {
      const end = quote + 1
      if (!isCellEnd(text, end)) return { line, message: 'Something stands behind the end of a quoted cell.' }
      return { value, end, nextLine: line + value.split('\n').length - 1 }
    }
    value += '"'
    from = quote + 2
  }
}

const isCellEnd = (text: string, at: number) =>
  at === text.length || text[at] === ',' || endOfLine(text, at) > 0

function endOfLine(text: string, at: number): number {
  if (text[at] === '\n') return 1
  return text[at] === '\r' && text[at + 1] === '\n' ? 2 : 0
}
