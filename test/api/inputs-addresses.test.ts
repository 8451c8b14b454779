// Invalid values for every path parameter and every query parameter, generated from the OpenAPI document.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { ApiResponse } from '../support/api.ts'
import { UNKNOWN_UUID } from '../support/assertions.ts'
import { bodySchemaOf, exampleOf, isOfType, parametersOf } from '../support/fields.ts'
import { fillPath, findItemPaths, itemTemplateOf, makeOneOfEverything } from '../support/one-of-everything.ts'
import { createResponseValidator, type DocumentedOperation, operationsOf } from '../support/openapi.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after }, { role: 'api', env: { COWRY_RATE_LIMIT: '0' } })
const { api } = await service.newMerchant()
const document = service.openApi()
const operations = operationsOf(document)
const { assertDocumented } = createResponseValidator(document)
const own = await makeOneOfEverything(api, 'Own')
// Two records, so that lists have a second page.
await makeOneOfEverything(api, 'Other')
const itemPaths = await findItemPaths(api, operations, own)

const lists = operations.filter((one) => parametersOf(one, 'query').some(({ name }) => name === 'cursor'))

const pathOf = (operation: DocumentedOperation) =>
  fillPath(operation, itemPaths.get(itemTemplateOf(operation) ?? ''))

/** Sends the request, and checks the response against the document. */
async function sendRequest(operation: DocumentedOperation, path: string): Promise<ApiResponse> {
  const answer = await api.send(operation.method, path)
  assertDocumented(operation, answer)
  return answer
}

describe('path parameters (F-69)', () => {
  const odd = [
    `{${UNKNOWN_UUID}}`,
    UNKNOWN_UUID.toUpperCase(),
    UNKNOWN_UUID.replaceAll('-', ''),
    `${UNKNOWN_UUID} `,
    '../..',
    ' ',
    '\u0000',
    `${UNKNOWN_UUID}\u0000`,
    "' or 1=1 --",
    '%',
    'x'.repeat(1_500),
    '１',
    '-1',
    '__proto__',
  ].map(encodeURIComponent)
  const broken = ['%', '%zz', '%ff', '%c0%80', '%ed%a0%80', 'x'.repeat(5_000)]

  it('answers an invalid path parameter only with a validation error or not found', async () => {
    const named = operations.filter((operation) => itemTemplateOf(operation))
    for (const operation of named) {
      for (const name of [...odd, ...broken]) {
        const path = operation.path.replaceAll(/\{\w+\}/g, name)
        const body = bodySchemaOf(operation) && JSON.stringify(exampleOf(operation))
        const answer = await api.send(operation.method, path, {
          body,
          headers: { 'content-type': 'application/json' },
        })
        assert.ok([400, 404].includes(answer.http), `${operation.method} ${path}: ${answer.text}`)
        assert.equal(answer.body.error.requestId, answer.headers.get('x-request-id'))
      }
    }
  })
})

describe('query parameters', () => {
  const withQuery = operations.filter((operation) => parametersOf(operation, 'query').length > 0)

  /** The operation with this parameter and the other required ones. */
  const addressOf = (operation: DocumentedOperation, name: string, encoded: string) =>
    `${pathOf(operation)}?${name}=${encoded}`

  const assertRejected = async (operation: DocumentedOperation, name: string, encoded: string) => {
    const answer = await sendRequest(operation, addressOf(operation, name, encoded))
    assert.equal(answer.http, 400, `${operation.name} ${name}=${encoded.slice(0, 40)}: ${answer.text}`)
  }

  it('rejects a query parameter with forbidden characters, bad encoding or a repetition (F-64)', async () => {
    for (const operation of withQuery) {
      for (const { name } of parametersOf(operation, 'query')) {
        for (const odd of ['a%00b', '%zz', '%ed%a0%80', `1&${name}=2`])
          await assertRejected(operation, name, odd)
      }
    }
  })

  it('rejects a query parameter that is not a number within its bounds (F-70)', async () => {
    for (const operation of withQuery) {
      for (const { name, schema } of parametersOf(operation, 'query')) {
        if (!isOfType(schema, 'integer')) continue
        const bad = [
          '0',
          '-1',
          '1.5',
          '1e9',
          '',
          '%201',
          '0x10',
          '%EF%BC%91',
          'NaN',
          '9'.repeat(30),
          'true',
          '[1]',
        ]
        for (const odd of bad) await assertRejected(operation, name, odd)
      }
    }
  })

  it('rejects a query parameter that is not a time, a uuid or a listed value (F-70)', async () => {
    const times = [
      'now',
      '2026-02-30T00:00:00Z',
      '2026-01-01',
      '1',
      '2026-01-01T00:00:00',
      '%2B275760-09-13T00:00:00.001Z',
    ]
    for (const operation of withQuery) {
      for (const { name, schema } of parametersOf(operation, 'query')) {
        const isUuid = /\[0-9a-f\]\{8\}-/.test(schema.pattern ?? '')
        const bad = [
          ...(schema.format === 'date-time' ? times : []),
          ...(schema.enum ? ['', 'nonsense', '*', `${schema.enum[0]}x`] : []),
          ...(isUuid ? ['', 'x', `%7B${UNKNOWN_UUID}%7D`, UNKNOWN_UUID.toUpperCase()] : []),
          ...(schema.maxLength ? ['x'.repeat(schema.maxLength + 1)] : []),
          ...(schema.minLength ? [''] : []),
        ]
        for (const odd of bad) await assertRejected(operation, name, odd)
      }
    }
  })

  it('treats injection attempts in a search as plain text (F-66)', async () => {
    const odd = [
      "' or 1=1 --",
      "'; drop table payments; --",
      '%',
      '_',
      '\\',
      '%_\\%',
      '(a+)+$',
      '.*',
      'x'.repeat(100),
      '\u202e',
      '$$',
    ]
    for (const operation of withQuery) {
      for (const { name, schema } of parametersOf(operation, 'query')) {
        if (
          schema.pattern ||
          schema.enum ||
          schema.format ||
          !isOfType(schema, 'string') ||
          name === 'cursor'
        )
          continue
        const texts = odd.filter((text) => text.length <= (schema.maxLength ?? Number.POSITIVE_INFINITY))
        for (const text of texts) {
          const answer = await sendRequest(operation, addressOf(operation, name, encodeURIComponent(text)))
          assert.ok([200, 404].includes(answer.http), `${operation.name} ${name}=${text}: ${answer.text}`)
          // A file has one line of column names.
          const found = answer.body?.data ?? answer.text.trim().split('\n').slice(1)
          if (answer.http === 200) assert.deepEqual(found, [], `${operation.name} ${name}=${text}`)
        }
      }
    }
  })

  it('accepts a cursor only unchanged and for its own list (F-70)', async () => {
    const cursors = new Map<string, string>()
    for (const operation of lists) {
      const { body } = await sendRequest(operation, `${pathOf(operation)}?limit=1`)
      if (body.meta.nextCursor !== null) cursors.set(operation.name, body.meta.nextCursor)
    }
    assert.ok(cursors.size > 8, `${cursors.size} lists have a second page`)
    for (const operation of lists) {
      const cursor = cursors.get(operation.name)
      const others = [...cursors].filter(([name]) => name !== operation.name).map(([, other]) => other)
      const tampered = cursor ? tamperings(cursor) : []
      if (cursor)
        assert.equal(
          (await sendRequest(operation, `${pathOf(operation)}?limit=1&cursor=${cursor}`)).http,
          200,
        )
      for (const odd of [...tampered, ...others, 'x', 'e30', '%7B%7D', 'null'])
        await assertRejected(operation, 'cursor', odd)
    }
  })
})

/** Shorter, longer, doubled, and with one character changed at the start, in the middle and at the end. */
function tamperings(cursor: string): string[] {
  const changed = [0, Math.floor(cursor.length / 2), cursor.length - 2].map((at) => {
    const other = cursor[at] === 'A' ? 'B' : 'A'
    return cursor.slice(0, at) + other + cursor.slice(at + 1)
  })
  return [cursor.slice(1), cursor.slice(0, -1), `${cursor}A`, cursor.toLowerCase(), ...changed]
}
