// TypeScript types from schemas.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { namesUsedBy, renderDeclaration, renderType, type Schema } from '../generate/schema-types.ts'

const reference = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })

describe('the types of the SDK', () => {
  it('writes each kind of schema as a type', () => {
    const cases: [Schema, string][] = [
      [reference('Payment'), 'Payment'],
      [{ const: 'success' }, '"success"'],
      [{ type: ['string', 'null'], enum: ['a', null] }, '"a" | null'],
      [{ type: ['integer', 'null'] }, 'number | null'],
      [{ anyOf: [reference('Failure'), { type: 'null' }] }, 'Failure | null'],
      [{ anyOf: [reference('Code'), { type: 'string' }, { type: 'null' }] }, 'Code | (string & {}) | null'],
      [{ type: 'array', items: { anyOf: [reference('A'), reference('B')] } }, '(A | B)[]'],
      [{ type: 'array', items: { type: 'string' } }, 'string[]'],
      [{ allOf: [reference('A'), { anyOf: [reference('B'), reference('C')] }] }, 'A & (B | C)'],
      [{ type: 'object' }, 'Record<string, unknown>'],
      [{ type: 'object', additionalProperties: { type: 'boolean' } }, 'Record<string, boolean>'],
      [{}, 'unknown'],
    ]
    for (const [schema, type] of cases) assert.equal(renderType(schema), type)
  })

  it('writes an object as an interface, with comments and optional properties', () => {
    const schema: Schema = {
      type: 'object',
      description: 'A record.\nOf two lines.',
      required: ['uuid'],
      properties: {
        uuid: { type: 'string', description: 'Its name; ends no comment: */' },
        'odd-name': { type: 'object', required: ['a'], properties: { a: { type: 'null' } } },
      },
      anyOf: [{ required: ['odd-name'] }],
    }
    const expected = `/**
 * A record.
 * Of two lines.
 */
export interface Thing {
  /** Its name; ends no comment: *\\/ */
  uuid: string
  "odd-name"?: {
    a: null
  } | undefined
}
`
    assert.equal(renderDeclaration('Thing', schema), expected)
  })

  it('finds the schemas that are used, through others and in circles', () => {
    const schemas = {
      A: { type: 'object', properties: { b: reference('B') } },
      B: { type: 'array', items: reference('A') },
      C: reference('A'),
    }
    assert.deepEqual(namesUsedBy([reference('A')], schemas), ['A', 'B'])
  })
})
