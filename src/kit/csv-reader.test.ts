import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { readCsv } from './csv-reader.ts'

const MAX_ROWS = 100_000

const issuesOf = (text: string) => {
  const file = readCsv(text, MAX_ROWS)
  assert.ok('issues' in file, `it is taken: ${JSON.stringify(file)}`)
  return file.issues.map(({ line, message }) => `${line}: ${message}`)
}

const cellsOf = (text: string) => {
  const file = readCsv(text, MAX_ROWS)
  assert.ok('rows' in file, JSON.stringify(file))
  return file.rows.map(({ cells }) => cells)
}

describe('a file of comma-separated values', () => {
  it('is read with any line ends, with or without the last one, a byte order mark or blank lines', () => {
    for (const text of ['a,b\n1,2\n', 'a,b\r\n1,2\r\n', 'a,b\n1,2', '\uFEFFa,b\n\n1,2\n\n'])
      assert.deepEqual(cellsOf(text), [['1', '2']], JSON.stringify(text))
  })

  it('may have commas, quotes and line breaks in quoted cells, and the lines are still counted', () => {
    const file = readCsv('a,b\r\n"x, ""y""\r\nz",2\r\n3,"4"\r\n', MAX_ROWS)
    assert.ok('rows' in file)
    assert.deepEqual(file.rows, [
      { line: 2, cells: ['x, "y"\r\nz', '2'] },
      { line: 4, cells: ['3', '4'] },
    ])
  })

  it('is read back as it was written, whatever its cells hold', () => {
    const cell = fc.oneof(fc.string(), fc.constantFrom('"', '""', ',', '\n', '\r\n', '\r', '', ' '))
    const table = fc
      .integer({ min: 2, max: 4 })
      .chain((width) => fc.array(fc.array(cell, { minLength: width, maxLength: width }), { maxLength: 8 }))
    const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
    fc.assert(
      fc.property(table, fc.constantFrom('\n', '\r\n'), (rows, end) => {
        const width = rows[0]?.length ?? 2
        const header = Array.from({ length: width }, (_, n) => `c${n}`)
        const text = [header, ...rows].map((row) => row.map(quoted).join(',')).join(end)
        assert.deepEqual(cellsOf(text), rows)
      }),
    )
  })

  it('is refused at once if it has too many lines, cells or characters in a cell', () => {
    const startedAt = performance.now()
    const rows = (count: number) => `a\n${'1\n'.repeat(count)}`
    assert.equal(cellsOf(rows(MAX_ROWS)).length, MAX_ROWS)
    const many = 'The file has more than 100000 lines; split it by time.'
    assert.deepEqual(issuesOf(rows(3_000_000)), [`100002: ${many}`])
    assert.deepEqual(issuesOf('\n'.repeat(6_000_000)), [`100001: ${many}`])
    const names = Array.from({ length: 600_000 }, (_, index) => `name${index}`).join(',')
    assert.deepEqual(issuesOf(names), ['1: The line has more than 200 cells.'])
    const long = ['1: A cell has more than 10000 characters.']
    assert.deepEqual(issuesOf('a'.repeat(6_000_000)), long)
    assert.deepEqual(issuesOf('"'.repeat(6_000_000)), long)
    assert.deepEqual(issuesOf(`"${'a'.repeat(6_000_000)}"`), long)
    assert.ok(performance.now() - startedAt < 20_000)
  })

  it('is refused with line numbers if it is malformed', () => {
    assert.deepEqual(issuesOf(''), ['1: The file is empty.'])
    assert.deepEqual(issuesOf('a,b\n1,2\n1\n1,2,3\n'), [
      '3: The line has 1 cells, the header 2.',
      '4: The line has 3 cells, the header 2.',
    ])
    assert.deepEqual(issuesOf('a,b\n1,"2\n3,4\n'), ['2: A quoted cell has no end.'])
    assert.deepEqual(issuesOf('a,b\n1,"2"3\n'), ['2: Something stands behind the end of a quoted cell.'])
    assert.deepEqual(issuesOf('a,b\n1,2"3\n'), ['2: A quote stands inside a cell that is not quoted.'])
    assert.deepEqual(issuesOf('a,b\n1,2\r3,4\n'), ['2: A lone carriage return stands in the line.'])
    assert.deepEqual(issuesOf('a;b\n1;2\n'), [
      '1: The columns must be separated by commas; export the file so.',
    ])
    assert.deepEqual(issuesOf('Key,amount, KEY\n'), ['1: The column "key" is there twice.'])
  })

  it('yields at most twenty issues, in bounded time', () => {
    assert.equal(issuesOf(`a,b\n${'x\n'.repeat(50_000)}`).length, 20)
    assert.equal(issuesOf(`a,b\n"${'""'.repeat(500_000)}`).length, 1)
  })
})
