// Mutations of a request before its body: the method, the path, the query, the headers, and their bytes.

import fc from 'fast-check'
import { bodySchemaOf, parametersOf } from '../support/fields.ts'
import { itemTemplateOf } from '../support/one-of-everything.ts'
import type { Document, DocumentedOperation } from '../support/openapi.ts'
import { invalidated, type Mutation, mutated, type Plan } from './plan.ts'
import { anyText, fromPool, HOSTILE_TEXTS } from './values.ts'

const odd = fc.oneof(fc.constantFrom(...HOSTILE_TEXTS), anyText)

const KEYS: Readonly<Record<string, string | undefined>> = {
  'no key': undefined,
  'a key that is none': 'nonsense',
  'a live key': `cowry_live_${'a'.repeat(12)}_${'b'.repeat(49)}`,
  'a mistyped key': `cowry_test_${'a'.repeat(12)}_${'b'.repeat(49)}`,
  'a very long key': 'x'.repeat(8_000),
  'a key in other letters': 'ÿþ'.repeat(20),
}

const WRONG_TYPES = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'application/json; charset=utf-16',
  'x',
  '/',
]

const HARMLESS_HEADERS: Readonly<Record<string, readonly string[]>> = {
  accept: ['application/problem+json', '*/*;q=0', 'text/html', 'ÿ', 'application/problem+json;q=0'],
  'x-request-id': ['', 'short', 'x'.repeat(129), 'with space', "'; --", 'ÿÿÿÿÿÿÿÿ'],
  'idempotency-key': ['', 'x'.repeat(256), 'ü', ' '],
  'accept-encoding': ['gzip, br', 'nonsense', '*;q=0'],
  cookie: ['a=b; c=%00', '='.repeat(3_000)],
  'x-forwarded-for': ['::1, 1.2.3.4', 'not an address'],
  'x-http-method-override': ['DELETE'],
  traceparent: ['00-ff-ff-01', 'x'.repeat(500)],
  origin: ['null', 'https://evil.example'],
  'if-none-match': ['*'],
  range: ['bytes=0-1'],
  authorization: ['Bearer x', 'Basic Og=='],
}

const withHeader =
  (name: string, value: unknown) =>
  ({ headers }: Plan): Partial<Plan> => ({ headers: { ...headers, [name]: value } })

export function headerMutations(operation: DocumentedOperation): fc.Arbitrary<Mutation> {
  const keys = Object.entries(KEYS).map(([label, key]) => invalidated(label, withHeader('x-api-key', key)))
  const harmless = Object.entries(HARMLESS_HEADERS).flatMap(([name, values]) =>
    values.map((value) => mutated(`${name} ${value.slice(0, 30)}`, withHeader(name, value))),
  )
  const ofBodies = [
    ...WRONG_TYPES.map((type) => invalidated(`content-type ${type}`, withHeader('content-type', type))),
    invalidated('content-encoding gzip', withHeader('content-encoding', 'gzip')),
    mutated('content-type in capitals', withHeader('content-type', 'APPLICATION/JSON; charset="UTF-8"')),
  ]
  const hasBody = bodySchemaOf(operation) !== undefined
  return fc.oneof(
    fc.constantFrom(...keys),
    fc.constantFrom(...harmless),
    hasBody ? fc.constantFrom(...ofBodies) : fc.constantFrom(...harmless),
  )
}

export function queryMutations(operation: DocumentedOperation): fc.Arbitrary<Mutation> {
  const queries = parametersOf(operation, 'query')
  const one = fc.constantFrom<Document[]>(...queries)
  const replaced = fc.tuple(one, odd).map(([{ name }, text]) =>
    mutated(`${name} is hostile`, ({ query }) => {
      const others = query.filter(([other]) => other !== name)
      return { next: undefined, query: [...others, [name, text]] }
    }),
  )
  const twice = one.map(({ name }) =>
    invalidated(`${name} comes twice`, ({ query }) => ({
      next: undefined,
      query: [...query.filter(([other]) => other !== name), [name, '1'], [name, '2']],
    })),
  )
  const isPaged = queries.some(({ name }) => name === 'cursor')
  return isPaged ? fc.oneof(replaced, twice, tamperedCursors(operation)) : fc.oneof(replaced, twice)
}

function tamperedCursors({ path }: DocumentedOperation): fc.Arbitrary<Mutation> {
  const places = fc.record({ at: fc.nat({ max: 200 }), sign: fc.constantFrom('A', '_', '0', '%00', '.') })
  return fc
    .tuple(fromPool(`next ${path}`), places)
    .map(([next, tamper]) => invalidated('a tampered cursor', () => ({ next, tamper })))
}

/** Any text as one segment of a path; an unpaired surrogate becomes the replacement character. */
export function segmentOf(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

export function itemMutations(operation: DocumentedOperation): fc.Arbitrary<Mutation> {
  const template = itemTemplateOf(operation) ?? ''
  const above = operation.path.slice(0, operation.path.indexOf('{'))
  const below = operation.path.slice(template.length)
  const isReference = template.endsWith('{reference}')
  // Another request may have created a payment with this reference.
  const mutate = isReference ? mutated : invalidated
  const oddPath = odd.map((text) =>
    mutate('a hostile path', () => ({ item: undefined, tail: `${above}${segmentOf(text)}${below}` })),
  )
  const foreign = fromPool(isReference ? 'foreign reference' : `foreign ${template}`).map((item) =>
    invalidated('a record of another merchant', () => ({ item })),
  )
  return fc.oneof(oddPath, foreign)
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND']
const RAW_QUERIES = [
  '%',
  'a=%ff',
  '%zz=1',
  '&&=&=',
  '__proto__=1&constructor=2',
  `x=${'y'.repeat(3_000)}`,
  '?',
  '#x',
]
const RAW_TAILS = ['%', '%zz', '%c0%80', '/', '//', '/..', '/%2e%2e%2f', ';a=b', `/${'x'.repeat(3_000)}`]

export const addressMutations: fc.Arbitrary<Mutation> = fc.oneof(
  fc.constantFrom(...METHODS).map((method) => (plan: Plan): Plan => {
    const isOther = method !== plan.operation.method
    return {
      ...mutated(`${method} instead`, () => ({ method }))(plan),
      ...(isOther && { expects: 'any answer' }),
    }
  }),
  fc
    .constantFrom(...RAW_QUERIES)
    .map((rawQuery) => mutated(`?${rawQuery.slice(0, 20)}`, () => ({ rawQuery }))),
  fc.constantFrom(...RAW_TAILS).map((more) =>
    invalidated(`the path ends in ${more.slice(0, 20)}`, ({ tail }) => ({
      next: undefined,
      tail: `${tail}${more}`,
    })),
  ),
)

const head = (line: string, key: string, ...lines: string[]) =>
  [`${line}`, 'Host: cowry.example', `x-api-key: ${key}`, ...lines, '', ''].join('\r\n')

const BYTES: Readonly<Record<string, (path: string, key: string) => string>> = {
  'a control character in a header': (path, key) => head(`GET ${path} HTTP/1.1`, key, 'x-odd: a\u0001b'),
  'no Host': (path, key) => `GET ${path} HTTP/1.1\r\nx-api-key: ${key}\r\n\r\n`,
  'no version': (path) => `GET ${path}\r\n\r\n`,
  'a version that is none': (path, key) => head(`GET ${path} HTTP/9.9`, key),
  'HTTP/1.0': (path, key) => head(`GET ${path} HTTP/1.0`, key),
  'a method that is none': (path, key) => head(`ge!t ${path} HTTP/1.1`, key),
  'a space in the path': (path, key) => head(`GET ${path} x HTTP/1.1`, key),
  'a whole address': (path, key) => head(`GET http://evil.example${path} HTTP/1.1`, key),
  'bytes in the path that are no UTF-8': (path, key) => head(`GET ${path}/\u00ff HTTP/1.1`, key),
  'two lengths': (path, key) =>
    `${head(`POST ${path} HTTP/1.1`, key, 'content-length: 2', 'content-length: 3')}{}`,
  'a length that is none': (path, key) => head(`POST ${path} HTTP/1.1`, key, 'content-length: -1'),
  'a length and chunks': (path, key) =>
    head(`POST ${path} HTTP/1.1`, key, 'content-length: 2', 'transfer-encoding: chunked') +
    '2\r\n{}\r\n0\r\n\r\n',
  'chunks that are none': (path, key) =>
    `${head(`POST ${path} HTTP/1.1`, key, 'transfer-encoding: chunked')}zz\r\n{}`,
  'an unknown coding': (path, key) => `${head(`POST ${path} HTTP/1.1`, key, 'transfer-encoding: odd')}{}`,
  'a header of 17 KB': (path, key) => head(`GET ${path} HTTP/1.1`, key, `x-odd: ${'x'.repeat(17_000)}`),
  'bare newlines': (path, key) => head(`GET ${path} HTTP/1.1`, key).replaceAll('\r', ''),
  'a folded header': (path, key) => head(`GET ${path} HTTP/1.1`, key, 'x-odd: a', ' b'),
  'an upgrade': (path, key) => head(`GET ${path} HTTP/1.1`, key, 'connection: upgrade', 'upgrade: websocket'),
  'two keys': (path, key) => head(`GET ${path} HTTP/1.1`, key, `x-api-key: ${key}`),
  nothing: () => '\u0000'.repeat(100),
}

export const byteMutations: fc.Arbitrary<Mutation> = fc.constantFrom(...Object.entries(BYTES)).map(
  ([label, bytes]) =>
    (plan: Plan): Plan => ({
      ...mutated(label, () => ({ bytes }))(plan),
      expects: 'any answer',
    }),
)
