// The ways to break the body of a request: one field of another type, or bytes that are no JSON.

import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { type Field, isOfType, setAt } from '../support/fields.ts'
import { type Break, changed, type Plan, spoiled } from './plan.ts'
import { hostile, ofAnotherType, Raw } from './values.ts'

export function fieldBreaks(fields: readonly Field[]): fc.Arbitrary<Break> {
  return fc.constantFrom(...fields).chain((field) => {
    const odd = hostile.map((value) => changed(`${field.path.join('.')} is hostile`, putting(field, value)))
    return fc.oneof(fc.constantFrom(...sureBreaks(field)), odd)
  })
}

/** Those that the document itself forbids. */
function sureBreaks(field: Field): Break[] {
  const { path, schema, isRequired } = field
  const spoil = (words: string, value: unknown) =>
    spoiled(`${path.join('.')} ${words}`, putting(field, value))
  const isText = isOfType(schema, 'string')
  return [
    ...ofAnotherType(schema).map((value) => spoil(`is ${JSON.stringify(value)}`, value)),
    ...(isRequired ? [spoil('is missing', undefined), spoil('is null', null)] : []),
    ...(schema.maxLength ? [spoil('is too long', 'x'.repeat(schema.maxLength + 1))] : []),
    ...(isText ? [spoil('has a NUL', 'a\u0000b'), spoil('has half a character', new Raw('"\\ud83d"'))] : []),
  ]
}

/** What was to stand together goes: it would stand over the broken field. */
function putting({ path }: Field, value: unknown) {
  return ({ body }: Plan): Partial<Plan> => ({ merged: undefined, body: setAt(body, path, value) })
}

type Rewrite = (text: string) => string | Buffer

const SPOILING: Readonly<Record<string, Rewrite>> = {
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

const HARMLESS: Readonly<Record<string, Rewrite>> = {
  'is empty': () => '',
  'begins with a byte order mark': (text) => `\ufeff${text}`,
  'has white space around': (text) => ` \n\t${text}\r\n `,
  'names prototypes': (text) =>
    text.replace('{', '{"__proto__":{"amount":1},"constructor":{"prototype":{"x":1}},'),
  'has fields that are not for it': (text) =>
    text.replace('{', '{"merchantId":"x","id":1,"status":"successful",'),
}

const named = (words: string) => `the body ${words}`

export const textBreaks: fc.Arbitrary<Break> = fc.constantFrom(
  ...Object.entries(SPOILING).map(([words, rewrite]) => spoiled(named(words), () => ({ rewrite }))),
  ...Object.entries(HARMLESS).map(([words, rewrite]) => changed(named(words), () => ({ rewrite }))),
)
