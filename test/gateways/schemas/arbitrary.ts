// Generates responses from the schemas of a provider's description: with required fields only, with all, with nulls,
// unknown values, empty lists, huge numbers and fields that the description does not have.

import fc, { type Arbitrary } from 'fast-check'
import type { Schema } from './extract.ts'

/** Values of our payment by the name of the field, so that generated responses come near to a success. */
export type Hints = Readonly<Record<string, readonly unknown[]>>

const UNKNOWN_VALUE = 'made_up_by_a_test'

/** The fields that are present: the required ones, all, or any of the others. */
type Presence = 'required' | 'all' | 'any'

// Whole responses are the likely ones.
const WEIGHTS: Readonly<Record<Presence, number>> = { all: 3, any: 2, required: 1 }

export function arbitraryOf(schema: Schema, hints: Hints): Arbitrary<unknown> {
  const presences: Presence[] = ['all', 'any', 'required']
  return fc.oneof(
    ...presences.map((presence) => ({
      arbitrary: generate(schema, '', { hints, presence }),
      weight: WEIGHTS[presence],
    })),
  )
}

interface Context {
  hints: Hints
  presence: Presence
}

function generate(schema: Schema, name: string, context: Context): Arbitrary<unknown> {
  if (schema['x-left-out']) return LEFT_OUT
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((one) => generate(one, name, context)))
  const types = schema.type === undefined ? ['any'] : [schema.type].flat()
  const arbitraries = types.map((type) => generateOfType(schema, type, name, context))
  const isPossible = (value: unknown) => schema.enum?.includes(value) ?? types.includes(typeOf(value))
  const hinted = (context.hints[name] ?? []).filter(isPossible)
  if (hinted.length === 0) return fc.oneof(...arbitraries)
  return fc.oneof(...arbitraries, { arbitrary: fc.constantFrom(...hinted), weight: HINT_WEIGHT })
}

// A success needs several fields that fit at once.
const HINT_WEIGHT = 12

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Number.isInteger(value) ? 'integer' : typeof value
}

function generateOfType(schema: Schema, type: string, name: string, context: Context): Arbitrary<unknown> {
  const { enum: values, items } = schema
  if (values && type !== 'null') {
    const known = values.filter((value) => value !== null)
    return fc.oneof({ arbitrary: fc.constantFrom(...known), weight: 4 }, fc.constant(UNKNOWN_VALUE))
  }
  switch (type) {
    case 'string':
      return TEXT
    case 'integer':
    case 'number':
      return NUMBER
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array':
      return fc.array(items ? generate(items, name, context) : fc.jsonValue({ maxDepth: 1 }), {
        maxLength: 3,
      })
    case 'object':
      return objectOf(schema, context)
    default:
      return fc.jsonValue({ maxDepth: 1 })
  }
}

const TEXT = fc.oneof(
  fc.string(),
  fc.constantFrom(
    '',
    '0',
    ' ',
    'x'.repeat(6_000),
    '\u0000\ud83d\ude00',
    '2026-11-16T12:00:00.000Z',
    '99999999999999999999',
  ),
)

const NUMBER = fc.oneof(
  fc.nat(),
  fc.constantFrom(0, -1, 0.5, 2 ** 31, Number.MAX_SAFE_INTEGER, 2 ** 53, 1e21, -1e18, 1e308),
)

/** An object that the connector does not read: whatever it is, it must not matter. */
const LEFT_OUT = fc.constantFrom(null, {}, [], UNKNOWN_VALUE, 7, { id: UNKNOWN_VALUE, deep: [{}] })

function objectOf(schema: Schema, context: Context): Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties } = schema
  const { presence } = context
  const isWanted = (name: string) => presence !== 'required' || required.includes(name)
  const wanted = Object.entries(properties).filter(([name]) => isWanted(name))
  const fields = wanted.map(([name, property]) => [name, generate(property, name, context)] as const)
  const requiredKeys = wanted
    .map(([name]) => name)
    .filter((name) => presence === 'all' || required.includes(name))
  const named = fc.record(Object.fromEntries(fields), { requiredKeys })
  const isMap = typeof additionalProperties === 'object' || Object.keys(properties).length === 0
  const others = isMap ? fc.dictionary(fc.string(), fc.string(), { maxKeys: 3 }) : fc.constantFrom({}, EXTRA)
  return fc.tuple(others, named).map(([more, known]) => ({ ...more, ...known }))
}

const EXTRA = { made_up_by_a_test: { status: 'succeeded', list: [1] } }
