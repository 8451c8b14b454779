// Sends card numbers and secrets in every field and header of every operation, then searches for them in the responses,
// the log, and every column of the database (F-79).

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createLog } from '../../src/kit/observability/log.ts'
import type { ApiResponse } from '../support/api.ts'
import { newReference } from '../support/builders.ts'
import { columnsContaining, dumpDatabase } from '../support/dump.ts'
import {
  bodySchemaOf,
  exampleOf,
  fieldsOf,
  isObject,
  isOfType,
  parametersOf,
  setAt,
} from '../support/fields.ts'
import { fillPath, findItemPaths, itemTemplateOf, makeOneOfEverything } from '../support/one-of-everything.ts'
import { type Document, type DocumentedOperation, operationsOf } from '../support/openapi.ts'
import { ADMIN_TOKEN, testService } from '../support/service.ts'

const lines: string[] = []
const log = createLog('debug', { write: (line: string) => void lines.push(line) })
const service = await testService({ after }, { log, env: { COWRY_RATE_LIMIT: '0' } })
const { uuid: merchant, key, api } = await service.newMerchant()
const operations = operationsOf(service.openApi())
const own = await makeOneOfEverything(api, 'Own')
const itemPaths = await findItemPaths(api, operations, own)

/** Each card number by the place where it was sent, so that a match shows its origin. */
const sentIn = new Map<string, string>()
/** Every response, with the card numbers of its request. */
const answers: { place: string; answer: ApiResponse; numbers: string[] }[] = []
let fresh: string[] = []

/** A unique card number: Visa, 16 digits, with a valid check digit. */
function cardNumberFor(place: string): string {
  const digits = `4${String(7_310_000_000 + sentIn.size * 13).padStart(14, '9')}`
  const sum = [...digits].reduce((total, digit, index) => {
    const doubled = index % 2 === 0 ? Number(digit) * 2 : Number(digit)
    return total + (doubled > 9 ? doubled - 9 : doubled)
  }, 0)
  const number = `${digits}${(10 - (sum % 10)) % 10}`
  sentIn.set(number, place)
  fresh.push(number)
  return number
}

const pathOf = (operation: DocumentedOperation) =>
  fillPath(operation, itemPaths.get(itemTemplateOf(operation) ?? ''))

async function send(
  place: string,
  operation: DocumentedOperation,
  path: string,
  body?: unknown,
  headers = {},
) {
  const text = body === undefined ? undefined : JSON.stringify(body)
  const init = { body: text, headers: { ...(text && { 'content-type': 'application/json' }), ...headers } }
  const numbers = fresh
  fresh = []
  answers.push({ place, numbers, answer: await api.send(operation.method, path, init) })
}

/** A valid body of the operation, as far as its example goes. */
function rightBody(operation: DocumentedOperation): Document {
  const example = exampleOf(operation)
  if (!isObject(example)) return undefined
  return {
    ...example,
    ...('reference' in example && { reference: newReference() }),
    ...('paymentReference' in example && {
      paymentReference: own.reference,
      refundReference: newReference(),
    }),
    ...('amount' in example && operation.path.endsWith('refunds') && { amount: 1 }),
    ...('recurringToken' in example && { recurringToken: own.recurringToken, customer: own.customer }),
    ...('email' in example && { email: `${newReference()}@example.com` }),
    ...('expiresAt' in example && { expiresAt: '2099-01-01T00:00:00.000Z' }),
    ...('url' in example && { url: 'http://127.0.0.1:9/hook' }),
  }
}

const HEADERS = [
  'x-request-id',
  'idempotency-key',
  'user-agent',
  'cookie',
  'referer',
  'authorization',
  'x-forwarded-for',
  'traceparent',
  'accept',
  'x-custom',
]

/** Each field gets both forms of a number. */
const FORMS = [
  (number: string) => number,
  (number: string) => `Paid with ${number.replaceAll(/(....)(?=.)/g, '$1 ')}`,
]

describe('card numbers in every field (F-79)', () => {
  it('sends a card number in every field of every operation', async () => {
    for (const operation of operations) {
      for (const { path: field } of fieldsOf(bodySchemaOf(operation)).filter(({ schema }) =>
        isOfType(schema, 'string'),
      )) {
        const place = `${field.at(-1)}`
        for (const write of FORMS) {
          const body = setAt(rightBody(operation), field, write(cardNumberFor(place)))
          await send(place, operation, pathOf(operation), body)
        }
      }
      if (bodySchemaOf(operation)?.properties.metadata) {
        const metadata = { card: cardNumberFor('metadata'), [cardNumberFor('metadata')]: 1 }
        await send('metadata', operation, pathOf(operation), { ...rightBody(operation), metadata })
      }
      for (const { name } of parametersOf(operation, 'query'))
        await send(`?${name}`, operation, `${pathOf(operation)}?${name}=${cardNumberFor(`?${name}`)}`)
      if (itemTemplateOf(operation)) {
        const path = operation.path.replaceAll(/\{\w+\}/g, cardNumberFor('path'))
        await send('path', operation, path, rightBody(operation))
      }
      const headers = Object.fromEntries(HEADERS.map((name) => [name, cardNumberFor(name)]))
      await send('headers', operation, pathOf(operation), rightBody(operation), headers)
    }
    assert.ok(sentIn.size > 900, `${sentIn.size} were sent`)
    const taken = answers.filter(({ answer }) => answer.http < 300)
    assert.ok(taken.length > 60, `${taken.length} of ${answers.length} were accepted`)
  })

  it('returns no card number in an error', () => {
    const refusals = answers.filter(({ answer }) => answer.http >= 400)
    for (const { place, answer, numbers } of refusals) {
      const shown = numbers.filter((number) => shows(withoutEcho(answer.text), number))
      assert.deepEqual(shown, [], `${place}: ${answer.text}`)
    }
  })

  it('stores a card number only in references and data of the merchant', async () => {
    const stored = await dumpDatabase(service.db)
    const found = new Set<string>()
    for (const [number, place] of sentIn)
      for (const column of columnsContaining(stored, number))
        if (!OWN_PLACES.has(place)) found.add(`${place} → ${column}`)
    assert.deepEqual([...found], [])
  })

  it('logs no card number', () => {
    const all = lines.join('')
    const logged = [...sentIn].filter(([number]) => shows(all, number))
    assert.deepEqual([...new Set(logged.map(([, place]) => place))], [])
  })
})

/** Free texts of the merchant: one long number in ten passes the check of card numbers. */
const OWN_PLACES = new Set(['reference', 'refundReference', 'metadata', 'idempotency-key'])

const shows = (text: string, number: string) =>
  text.includes(number) || text.includes(number.replaceAll(/(....)(?=.)/g, '$1 '))

/** The request id is echoed to the caller. */
const withoutEcho = (text: string) => text.replaceAll(/"requestId":"[^"]*"|request:[^"]*"/g, '')

describe('secrets in responses, log and database (F-79)', () => {
  it('stores and logs no secret in plain text', async () => {
    const secrets: Record<string, string> = { 'the merchant’s key': key, 'the operator’s token': ADMIN_TOKEN }
    secrets['a recurring token'] = own.recurringToken
    const made = await api.post('/api/v1/api-keys', { name: 'A', scopes: ['wallet:read'] })
    secrets['a key of the merchant’s own'] = made.body.data.apiKey
    const rotated = await api.post(`/api/v1/api-keys/${made.body.data.keyId}/rotate`, {})
    secrets['a rotated key'] = rotated.body.data.apiKey
    const endpoints = await api.get('/api/v1/webhooks/endpoints')
    const endpoint = `/api/v1/webhooks/endpoints/${endpoints.body.data[0].uuid}`
    secrets['a signing secret'] = (await api.post(`${endpoint}/rotate-secret`, {})).body.data.secret
    const payment = await api.get(`/api/v1/checkout/verify-payment?reference=${own.openReference}`)
    secrets['the code of a checkout'] = payment.body.data.accessCode
    await service.admin.send('PUT', `/admin/v1/merchants/${merchant}/gateways/paystack?check=false`, {
      body: JSON.stringify({ credentials: { secretKey: PROVIDER_KEY } }),
      headers: { 'content-type': 'application/json' },
    })
    secrets['a provider’s key'] = PROVIDER_KEY
    await sendInHeaders(Object.values(secrets))
    const stored = await dumpDatabase(service.db)
    const all = lines.join('')
    for (const [name, secret] of Object.entries(secrets)) {
      assert.ok(secret?.length > 20, name)
      // The first part of a key is its public id.
      const hidden = secret.replace(/^cowry_(?:test|live)_[^_]+_/, '')
      assert.deepEqual(columnsContaining(stored, hidden), [], `${name} in the database`)
      assert.ok(!all.includes(hidden), `${name} in the log: ${lines.find((line) => line.includes(hidden))}`)
    }
  })
})

/** Sends the secrets in every header of a few operations. Other values may be legitimate request ids. */
async function sendInHeaders(secrets: string[]): Promise<void> {
  for (const operation of operations.filter(({ method }) => method === 'GET').slice(0, 5)) {
    for (const secret of secrets) {
      const names = HEADERS.filter(
        (name) => name !== 'x-request-id' || /^(?:cowry|rtk|whsec|sk)_/.test(secret),
      )
      const headers = Object.fromEntries(names.map((name) => [name, secret]))
      await send('headers', operation, pathOf(operation), undefined, headers)
    }
  }
}

const PROVIDER_KEY = 'sk_test_0123456789abcdef0123456789abcdef01234567'
