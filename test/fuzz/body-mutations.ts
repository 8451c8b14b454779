// Mutations of the body: a field of another type, or bytes that are not JSON.

import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { type Field, isOfType, setAt } from '../support/fields.ts'
import { invalidated, type Mutation, mutated, type Plan } from './plan.ts'
import { hostile, RawJson, wrongTypeValues } from './values.ts'

export function fieldMutations(fields: readonly Field[]): fc.Arbitrary<Mutation> {
  return fc.constantFrom(...fields).chain((field) => {
    const odd = hostile.map((value) => mutated(`${field.path.join('.')} is hostile`, putting(field, value)))
    return fc.oneof(fc.constantFrom(...invalidMutations(field)), odd)
  })
}

/** Mutations that the document forbids. */
function invalidMutations(field: Field): Mutation[] {
  const { path, schema, isRequired } = field
  const invalidate = (label: string, value: unknown) =>
    invalidated(`${path.join('.')} ${label}`, putting(field, value))
  const isText = isOfType(schema, 'string')
  return [
    ...wrongTypeValues(schema).map((value) => invalidate(`is ${JSON.stringify(value)}`, value)),
    ...(isRequired ? [invalidate('is missing', undefined), invalidate('is null', null)] : []),
    ...(schema.maxLength ? [invalidate('is too long', 'x'.repeat(schema.maxLength + 1))] : []),
    ...(isText
      ? [invalidate('has a NUL', 'a\u0000b'), invalidate('has half a character', new RawJson('"\\ud83d"'))]
      : []),
  ]
}

/** Removes the linked fields, which would overwrite the mutated field. */
function putting({ path }: Field, value: unknown) {
  return ({ body }: Plan): Partial<Plan> => ({ merged: undefined, body: setAt(body, path, value) })
}

type Rewrite = (text: string) => string | Buffer

const INVALID_REWRITES: Readonly<Record<string, Rewrite>> = {
  'breaks off': (text) => text.slice(0, -1),
  'goes on after its end': (text) => `${text},`,
  'is a form': () => 'amount=1&reference=x',
  'is an array': (text) => `[${text}]`,
  'is null': () => 'null',
  'is a number': () => '1e5',
  'has a key twice': (text) => text.replace('{', '{"x":1,"x":2,'),
  'has a key twice in other letters': (text) => text.replace('{', '{"amount":1,"\\u0061mount":2,'),
  'is 17 levels deep': (text) => text.replace('{', `{"x":${'['.repeat(17)}${']'.repeat(17)},`),
  'is 60,000 levels deep': () => '['.repeat(60_000),
  'is UTF-16': (text) => Buffer.from(`\ufeff${text}`, 'utf16le'),
  'is no UTF-8': (text) => Buffer.concat([Buffer.from(text), Buffer.from([0xff, 0xc0, 0x80])]),
  'is compressed': (text) => gzipSync(text),
  'is too large': (text) => text.padEnd(65_537, ' '),
  'has a comment': (text) => `// x\n${text}`,
}

const HARMLESS_REWRITES: Readonly<Record<string, Rewrite>> = {
  'is empty': () => '',
  'begins with a byte order mark': (text) => `\ufeff${text}`,
  'has white space around': (text) => ` \n\t${text}\r\n `,
  'names prototypes': (text) =>
    text.replace('{', '{"__proto__":{"amount":1},"constructor":{"prototype":{"x":1}},'),
  'has fields that are not for it': (text) =>
    text.replace('{', '{"merchantId":"x","id":1,"status":"successful",'),
}

const named = (label: string) => `the body ${label}`

export const textMutations: fc.Arbitrary<Mutation> = fc.constantFrom(
  ...Object.entries(INVALID_REWRITES).map(([label, rewrite]) =>
    invalidated(named(label), () => ({ rewrite })),
  ),
  ...Object.entries(HARMLESS_REWRITES).map(([label, rewrite]) => mutated(named(label), () => ({ rewrite }))),
)
