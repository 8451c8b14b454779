import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { canonicalJson } from './canonical.ts'

/** The same content with the keys of every object in another order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => [key, reversed(inner)])
  return Object.fromEntries(entries.reverse())
}

describe('canonical JSON', () => {
  it('gives the same text for any order of the keys', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => canonicalJson(reversed(value)) === canonicalJson(value)))
    assert.equal(canonicalJson({ b: [{ d: 1, c: null }], a: 'x' }), '{"a":"x","b":[{"c":null,"d":1}]}')
  })

  it('parses back to the same content, so two contents never share a text', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        assert.deepEqual(JSON.parse(canonicalJson(value)), JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  it('keeps the order of an array', () => {
    assert.notEqual(canonicalJson([1, 2]), canonicalJson([2, 1]))
  })

  it('writes large integers exactly and omits undefined fields', () => {
    assert.equal(canonicalJson({ minor: 90071992547409931n, gone: undefined }), '{"minor":90071992547409931}')
  })
})
