// Invalid values for every body and every field of every operation, generated from the OpenAPI document. A response
// reports all validation issues at once, so one request shows whether each field is checked.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { ApiResponse, RequestOptions } from '../support/api.ts'
import { UNKNOWN_UUID } from '../support/assertions.ts'
import { newReference } from '../support/builders.ts'
import { bodySchemaOf, exampleOf, type Field, fieldsOf, isOfType, setAt } from '../support/fields.ts'
import { fillPath, findItemPaths, itemTemplateOf, makeOneOfEverything } from '../support/one-of-everything.ts'
import {
  createResponseValidator,
  type Document,
  type DocumentedOperation,
  operationsOf,
} from '../support/openapi.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after }, { role: 'api', env: { COWRY_RATE_LIMIT: '0' } })
const { api } = await service.newMerchant()
const document = service.openApi()
const operations = operationsOf(document)
const { assertDocumented } = createResponseValidator(document)
const own = await makeOneOfEverything(api, 'Own')
const itemPaths = await findItemPaths(api, operations, own)

const withBody = operations.filter((operation) => bodySchemaOf(operation))

const pathOf = (operation: DocumentedOperation) =>
  fillPath(operation, itemPaths.get(itemTemplateOf(operation) ?? ''))

/** Sends the request, and checks the response against the document. */
async function sendRequest(
  operation: DocumentedOperation,
  path: string,
  init: RequestOptions = {},
): Promise<ApiResponse> {
  const answer = await api.send(operation.method, path, init)
  assertDocumented(operation, answer)
  return answer
}

const sendText = (
  operation: DocumentedOperation,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
) =>
  sendRequest(operation, pathOf(operation), {
    body,
    headers: { 'content-type': 'application/json', ...headers },
  })

/** The fields of the validation issues in a response. */
function issueFields(answer: ApiResponse): string[] {
  return answer.body?.error?.details.map(({ field }: { field: string }) => field) ?? []
}

/** Puts a value into each field, and asserts an issue for each. */
async function assertAllRejected(
  operation: DocumentedOperation,
  fields: Field[],
  written: (field: Field) => string,
) {
  if (fields.length === 0) return
  const marked = fields.reduce<unknown>(
    (body, { path }, index) => setAt(body, path, `:${index}:`),
    rightBody(operation),
  )
  const text = JSON.stringify(marked).replaceAll(/":(\d+):"/g, (whole, index: string) => {
    const field = fields[Number(index)]
    return field ? written(field) : whole
  })
  const answer = await sendText(operation, text)
  assert.equal(answer.http, 400, `${operation.name}: ${answer.text}`)
  const named = issueFields(answer)
  const missed = fields.map(({ path }) => path.join('.')).filter((name) => !named.includes(name))
  assert.deepEqual(
    missed,
    [],
    `${operation.name} with ${written(fields[0] as Field).slice(0, 50)}: ${answer.text}`,
  )
}

const textFields = (operation: DocumentedOperation) =>
  fieldsOf(bodySchemaOf(operation)).filter(({ schema }) => isOfType(schema, 'string'))

const amountFields = (operation: DocumentedOperation) =>
  fieldsOf(bodySchemaOf(operation)).filter(({ path }) => /amount$/i.test(path.at(-1) ?? ''))

describe('fields of request bodies', () => {
  it('rejects every field with forbidden characters (F-64, F-68)', async () => {
    const bad = [
      '\\u0000',
      'a\\u0000b',
      '\\ud83d',
      '\\udc00x',
      '\\u001b[31m',
      '\\u0085',
      '\\u007f',
      'a\\r\\nSet-Cookie: x=1',
    ]
    for (const operation of withBody) {
      for (const characters of bad)
        await assertAllRejected(operation, textFields(operation), () => `"${characters}"`)
    }
  })

  it('rejects forbidden characters in free-form data, also in keys (F-64)', async () => {
    const free = withBody.filter((operation) => bodySchemaOf(operation)?.properties.metadata)
    assert.ok(free.length > 5)
    for (const operation of free) {
      for (const metadata of [
        '{"a":"\\u0000"}',
        '{"\\u0000":1}',
        '{"a":[{"b":"\\ud800"}]}',
        '{"a":"\\u001b"}',
      ]) {
        const text = JSON.stringify({ ...exampleOf(operation), metadata: 'here' }).replace('"here"', metadata)
        const answer = await sendText(operation, text)
        assert.equal(answer.http, 400, `${operation.name}: ${answer.text}`)
        assert.ok(
          issueFields(answer).every((field) => field.startsWith('metadata')),
          answer.text,
        )
      }
    }
  })

  it('rejects every field of another type', async () => {
    const types: Record<string, string> = {
      string: '"text"',
      number: '12.5',
      boolean: 'true',
      array: '[{}]',
      object: '{"a":1}',
    }
    for (const operation of withBody) {
      const fields = fieldsOf(bodySchemaOf(operation))
      for (const [type, written] of Object.entries(types)) {
        const wrong = fields.filter(
          ({ schema }) => !isOfType(schema, type) && !(type === 'number' && isOfType(schema, 'integer')),
        )
        // The fields of an object can be invalid only while the object itself is valid.
        const inside = wrong.filter(({ path }) => path.length > 1)
        const outside = wrong.filter(({ path }) => path.length === 1)
        await assertAllRejected(operation, outside, () => written)
        await assertAllRejected(operation, inside, () => written)
      }
    }
  })

  it('rejects every field that is too long', async () => {
    for (const operation of withBody) {
      const bounded = textFields(operation).filter(({ schema }) => schema.maxLength)
      await assertAllRejected(operation, bounded, ({ schema }) => `"${'x'.repeat(schema.maxLength + 1)}"`)
      const free = textFields(operation).filter(({ schema }) => !schema.maxLength)
      await assertAllRejected(operation, free, () => `"${'x'.repeat(3_000)}"`)
    }
  })

  // The interface requires it, and an older client may leave it out, which means USD.
  const DEFAULTS: Readonly<Record<string, readonly string[]>> = {
    'POST /api/v1/charges/recurring': ['currency'],
  }

  it('reports every required field that is absent or null', async () => {
    for (const operation of withBody) {
      const required: string[] = bodySchemaOf(operation)?.required ?? []
      if (required.length === 0) continue
      for (const body of [{}, Object.fromEntries(required.map((name) => [name, null]))]) {
        const answer = await sendText(operation, JSON.stringify(body))
        const reported = [...issueFields(answer), ...(DEFAULTS[operation.name] ?? [])]
        const missed = required.filter((name) => !reported.includes(name))
        assert.deepEqual(missed, [], `${operation.name}: ${answer.text}`)
      }
    }
  })

  it('rejects every invalid amount (F-65)', async () => {
    const wrong = [
      '0',
      '-0',
      '-1',
      '0.001',
      '1.005',
      '1e-7',
      '1e308',
      '1e400',
      '-1e400',
      '1000000000000',
      '5e-324',
    ]
    const lossy = ['90071992547409931.23', '10.0000000000000001', '999999999999.994']
    const others = ['"10"', '"NaN"', 'true', '[1]', '{"minor":1}']
    const named = withBody.filter((operation) => amountFields(operation).length > 0)
    assert.ok(named.length >= 6, named.map(({ name }) => name).join(', '))
    for (const operation of named) {
      for (const written of [...wrong, ...lossy, ...others])
        await assertAllRejected(operation, amountFields(operation), () => written)
    }
  })

  it('rejects every other number out of its bounds', async () => {
    for (const operation of withBody) {
      const bounded = fieldsOf(bodySchemaOf(operation)).filter(({ schema }) => schema.maximum !== undefined)
      for (const written of ['-1', '1e9', '1e400', '0.5e400', '"1"'])
        await assertAllRejected(operation, bounded, () => written)
      const whole = bounded.filter(({ schema }) => isOfType(schema, 'integer'))
      await assertAllRejected(operation, whole, () => '1.5')
    }
  })
})

describe('request bodies of every operation', () => {
  const refused: Record<
    string,
    (text: string) => [string | Uint8Array<ArrayBuffer>, Record<string, string>?]
  > = {
    'broken off (F-59)': (text) => [text.slice(0, -1)],
    'followed by something (F-59)': (text) => [`${text}{}`],
    'in UTF-16 (F-59)': (text) => [new Uint8Array(Buffer.from(`\ufeff${text}`, 'utf16le'))],
    'in Latin-1 (F-59)': (text) => [new Uint8Array(Buffer.from(text.replace('{', '{"é":1,'), 'latin1'))],
    'compressed (F-59)': (text) => [new Uint8Array(gzipSync(text)), { 'content-encoding': 'gzip' }],
    'compressed in secret (F-59)': (text) => [new Uint8Array(gzipSync(text))],
    'of another type (F-59)': (text) => [text, { 'content-type': 'application/x-www-form-urlencoded' }],
    'of another charset (F-59)': (text) => [text, { 'content-type': 'application/json; charset=utf-16' }],
    'of 64 KB and a byte (F-60)': (text) => [text.padEnd(65_537, ' ')],
    'of 17 levels (F-61)': (text) => [text.replace('{', `{"x":${'['.repeat(16)}${']'.repeat(16)},`)],
    'of 30,000 levels (F-61)': () => ['['.repeat(60_000)],
    'with a key twice (F-62)': (text) => [text.replace('{', '{"x":1,"\\u0078":2,')],
    'with a key twice inside (F-62)': (text) => [text.replace('{', '{"x":[{"y":1,"y":1}],')],
  }

  for (const [label, write] of Object.entries(refused)) {
    it(`rejects every body ${label}`, async () => {
      for (const operation of withBody) {
        const [body, headers] = write(JSON.stringify(exampleOf(operation)))
        const { http, text } = await sendText(operation, body, headers)
        assert.ok([400, 413, 415].includes(http), `${operation.name}: ${http} ${text}`)
      }
    })
  }

  it('protects prototypes and rejects fields that only the service sets, in every body (F-63, F-76)', async () => {
    const forged = {
      ...{ id: UNKNOWN_UUID, merchantId: UNKNOWN_UUID, keyId: 'forged', secret: 'forged' },
      ...{ status: 'forged', statusReason: 'forged', transferStatus: 'forged', mode: 'live', version: 1 },
      ...{ amountPaid: '9191.91', fee: '9191.91', paymentsCount: 919191, slug: 'forged' },
      ...{ createdAt: '1999-01-01T00:00:00.000Z', paidAt: '1999-01-01T00:00:00.000Z', createdBy: 'forged' },
    }
    for (const operation of withBody) {
      const known = Object.keys(bodySchemaOf(operation)?.properties ?? {})
      const names = Object.keys(forged).filter((name) => !known.includes(name))
      const body = { ...forged, ...rightBody(operation) }
      const prototypes = '{"__proto__":{"forged":1},"constructor":{"prototype":{"forged":1}},'
      const answer = await sendText(operation, JSON.stringify(body).replace('{', prototypes))
      assert.equal(answer.body.error?.code, 'unknown_field', `${operation.name}: ${answer.text}`)
      const missed = ['__proto__', 'constructor', ...names].filter(
        (name) => !issueFields(answer).includes(name),
      )
      assert.deepEqual(missed, [], operation.name)
    }
    assert.ok(!('forged' in {}), 'no prototype of the serving process is polluted')
  })
})

/** A valid body of the operation, as far as its example goes. */
function rightBody(operation: DocumentedOperation): Document {
  const example = exampleOf(operation)
  return {
    ...example,
    ...('reference' in example && { reference: newReference() }),
    ...('paymentReference' in example && {
      paymentReference: own.reference,
      refundReference: newReference(),
    }),
    ...('recurringToken' in example && { recurringToken: own.recurringToken, customer: own.customer }),
    ...('email' in example && { email: `${newReference()}@example.com` }),
    ...('expiresAt' in example && { expiresAt: '2099-01-01T00:00:00.000Z' }),
    ...('endpoint' in example && {
      endpoint: itemPaths.get('/api/v1/webhooks/endpoints/{uuid}')?.split('/').at(-1),
    }),
    ...('url' in example && { url: 'http://127.0.0.1:9/hook' }),
  }
}
