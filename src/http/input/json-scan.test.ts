import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../../core/errors.ts'
import { losesDigits, scanJson } from './json-scan.ts'

const errorOf = (text: string): ApiError => {
  try {
    scanJson(text)
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  throw new Error(`not refused: ${text}`)
}

describe('the scan of a JSON text', () => {
  it('accepts exactly the texts that JSON.parse accepts', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), (text) => {
        scanJson(text)
      }),
    )
    const alphabet = fc.constantFrom(
      ...'{}[]",:.-+0123eE \\nultrfas\n\t'.split(''),
      'true',
      'null',
      '"a"',
      '\\u00',
    )
    fc.assert(
      fc.property(fc.array(alphabet, { maxLength: 12 }), (parts) => {
        const text = parts.join('')
        let parses = true
        try {
          JSON.parse(text)
        } catch {
          parses = false
        }
        let scans = true
        try {
          scanJson(text)
        } catch {
          scans = false
        }
        assert.equal(scans, parses, text)
      }),
      { numRuns: 5_000 },
    )
  })

  it('reports line and column of the first character that is not JSON', () => {
    assert.equal(
      errorOf('{"a": 1,\n "b" 2}').details[0]?.message,
      'Unexpected character at line 2, column 6.',
    )
    assert.equal(errorOf('{"a": 1').details[0]?.message, 'The text ends too early at line 1, column 8.')
    assert.equal(errorOf('').code, 'malformed_json')
    assert.equal(errorOf("{'a': 1}").code, 'malformed_json')
    assert.equal(errorOf('{"a": NaN}').code, 'malformed_json')
    assert.equal(errorOf('{"a": "line\nbreak"}').code, 'malformed_json')
  })

  it('F-61: refuses a text deeper than 16 levels without recursing into it', () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
    scanJson(nested(16))
    assert.equal(errorOf(nested(17)).details[0]?.code, 'too_deep')
    assert.equal(errorOf('{"a":'.repeat(17)).details[0]?.code, 'too_deep')
    assert.equal(errorOf('['.repeat(60_000)).details[0]?.code, 'too_deep')
  })

  it('F-62: finds a key that occurs twice, even if one is escaped', () => {
    const found = (text: string) => [...scanJson(text).duplicateKeys]
    assert.deepEqual(found('{"amount": 1, "amount": 1000}'), ['amount'])
    assert.deepEqual(found('{"amount": 1, "\\u0061mount": 1000}'), ['amount'])
    assert.deepEqual(found('{"a": {"b": 1, "b": 2}, "c": [{"d": 1, "d": 2}]}'), ['a.b', 'c.0.d'])
    assert.deepEqual(found('{"__proto__": 1, "__proto__": 2}'), ['__proto__'])
    assert.deepEqual(found('{"a": {"b": 1}, "b": {"b": 1}}'), [])
  })

  it('F-65: reports the numbers that lose digits, and no others', () => {
    const facts = scanJson(
      '{"amount": 10.0000000000000001, "metadata": {"ids": [1, 90071992547409931.23]}, "fine": 10.10}',
    )
    assert.deepEqual([...facts.lossyNumbers], ['amount', 'metadata.ids.1'])
    for (const literal of [
      '10.0',
      '1e3',
      '100.50',
      '-0',
      '0e999',
      '1E+2',
      '0.1',
      '999999999999.99',
      '1e21',
      '5e-324',
    ])
      assert.equal(losesDigits(literal), false, literal)
    for (const literal of [
      '1e400',
      '-1e400',
      '1e-400',
      '10.0000000000000001',
      '90071992547409931.23',
      '9007199254740993',
    ])
      assert.equal(losesDigits(literal), true, literal)
  })

  it('never reports the shortest text of a double or an amount of the interface as lossy', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        assert.equal(losesDigits(JSON.stringify(value)), false)
      }),
    )
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 99_999_999_999_999 }), (hundredths) => {
        const text = String(hundredths).padStart(3, '0')
        assert.equal(losesDigits(`${text.slice(0, -2)}.${text.slice(-2)}`), false)
      }),
    )
  })

  it('runs in linear time on a text full of zeros', () => {
    const literal = `1.${'0'.repeat(60_000)}1`
    assert.equal(losesDigits(literal), true)
    scanJson(`[${'{"a":0},'.repeat(7_000)}0]`)
  })
})
