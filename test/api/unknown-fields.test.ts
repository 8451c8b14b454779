// Every operation refuses a field and a query parameter that it does not know, and names the one that was meant. The
// operations come from the OpenAPI document and, for operators, from the routes themselves.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { App } from '../../src/compose/app-object.ts'
import { allOperatorRoutes } from '../../src/compose/routes.ts'
import type { Api } from '../support/api.ts'
import { assertApiError, assertNothingStored, UNKNOWN_UUID } from '../support/assertions.ts'
import { CUSTOMER, initiateBody } from '../support/builders.ts'
import { bodySchemaOf, exampleOf, fieldsOf, setAt } from '../support/fields.ts'
import { operationsOf } from '../support/openapi.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { api, admin } = service
const operations = operationsOf(service.openApi())

// Building the routes only reads the settings; their handlers, which need the rest, are not called.
const operatorRoutes = allOperatorRoutes({ settings: {} } as App, service.db)

const UNKNOWN = 'zzNeverKnown'

/** Input is checked before any record is read, so the record need not exist. */
function filled(path: string): string {
  const names: Record<string, string> = { keyId: '0'.repeat(12), gateway: 'sandbox', reference: 'nothing' }
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name] ?? UNKNOWN_UUID)
}

function sendJson(client: Api, method: string, path: string, body: unknown) {
  const headers = { 'content-type': 'application/json' }
  return client.send(method, path, { body: JSON.stringify(body), headers })
}

const emptyBody = (method: string) => (method === 'GET' ? undefined : {})

/** The messages of a response by the field that they are about. */
async function messagesOf(client: Api, method: string, path: string, body?: unknown) {
  const answer = await (body === undefined ? client.send(method, path) : sendJson(client, method, path, body))
  assertApiError(answer, 'unknown_field')
  const details: { field: string; message: string }[] = answer.body.error.details
  return Object.fromEntries(details.map(({ field, message }) => [field, message]))
}

describe('unknown fields and query parameters', () => {
  it('are refused in the body of every operation of a merchant, at every level', async () => {
    const withBody = operations.filter(({ method }) => method !== 'GET')
    assert.ok(withBody.length > 30)
    for (const operation of withBody) {
      const objects = fieldsOf(bodySchemaOf(operation)).filter(
        ({ schema }) => schema.additionalProperties === false,
      )
      for (const path of [[], ...objects.map((field) => field.path)]) {
        const body = setAt(exampleOf(operation) ?? {}, [...path, UNKNOWN], 1)
        const messages = await messagesOf(api, operation.method, filled(operation.path), body)
        const field = [...path, UNKNOWN].join('.')
        assert.match(messages[field] ?? '', / is not a field of this request; /, operation.name)
      }
    }
  })

  it('are refused in the query of every operation of a merchant', async () => {
    for (const { name, method, path } of operations) {
      const messages = await messagesOf(api, method, `${filled(path)}?${UNKNOWN}=1`, emptyBody(method))
      assert.match(messages[UNKNOWN] ?? '', / is not a query parameter of this operation; /, name)
    }
  })

  it('are refused in every operation of an operator', async () => {
    assert.ok(operatorRoutes.length > 20)
    for (const { method, path } of operatorRoutes) {
      const inQuery = await messagesOf(admin, method, `${filled(path)}?${UNKNOWN}=1`, emptyBody(method))
      assert.ok(inQuery[UNKNOWN], `${method} ${path}`)
      if (method === 'GET') continue
      const inBody = await messagesOf(admin, method, filled(path), { [UNKNOWN]: 1 })
      assert.ok(inBody[UNKNOWN], `${method} ${path}`)
    }
  })

  it('leave metadata free', async () => {
    const metadata = { amont: 1, customer: { firstName: 'Ama' }, [UNKNOWN]: null }
    const answer = await api.post('/api/v1/checkout/initiate-payment', initiateBody({ metadata }))
    assert.equal(answer.http, 201, answer.text)
    assert.deepEqual(answer.body.data.metadata, metadata)
  })
})

/** What a newcomer sends, and the name that the answer suggests. */
const SUGGESTIONS: Record<string, [send: string, suggested: Record<string, string>]> = {
  'typing errors': [
    'POST /api/v1/checkout/initiate-payment',
    {
      amont: 'amount',
      amuont: 'amount',
      refrence: 'reference',
      custmer: 'customer',
      curency: 'currency',
      contry: 'country',
      descripton: 'description',
      metdata: 'metadata',
      redirctUrl: 'redirectUrl',
      isRecuring: 'isRecurring',
    },
  ],
  'names of other providers': [
    'POST /api/v1/checkout/initiate-payment',
    {
      redirect_url: 'redirectUrl',
      callback_url: 'redirectUrl',
      return_url: 'redirectUrl',
      tx_ref: 'reference',
      order_id: 'reference',
      amount_minor: 'amount',
      Amount: 'amount',
      email: 'customer.email',
      email_address: 'customer.email',
      customerEmail: 'customer.email',
      firstName: 'customer.firstname',
      last_name: 'customer.lastname',
      meta: 'metadata',
      narration: 'description',
      currency_code: 'currency',
      save_card: 'isRecurring',
    },
  ],
  'refunds of other providers': [
    'POST /api/v1/refunds',
    { amont: 'amount', amount_in_minor: 'amount', metaData: 'metadata', comment: 'reason' },
  ],
  'charges of other providers': [
    'POST /api/v1/charges/recurring',
    { authorization_code: 'recurringToken', token: 'recurringToken', recurring_token: 'recurringToken' },
  ],
  'webhook endpoints of other providers': [
    'POST /api/v1/webhooks/endpoints',
    { webhook_url: 'url', callback_url: 'url', enabled_events: 'events' },
  ],
  'lists of other providers': [
    'GET /api/v1/customers',
    {
      per_page: 'limit',
      pageSize: 'limit',
      offset: 'page',
      starting_after: 'cursor',
      q: 'search',
      from: 'createdFrom',
      to: 'createdTo',
      start_date: 'createdFrom',
      created_to: 'createdTo',
      order_by: 'sort',
    },
  ],
  'fields of the record that a list does not filter by': [
    'GET /api/v1/customers',
    { email: 'search', firstname: 'search', name: 'search' },
  ],
  'the reference, which a list searches for': [
    'GET /api/v1/payments',
    { reference: 'search', order_id: 'search' },
  ],
  'verify of other providers': [
    'GET /api/v1/checkout/verify-payment',
    { tx_ref: 'reference', ref: 'reference', id: 'uuid', transaction_id: 'uuid' },
  ],
}

describe('the suggestion for an unknown name', () => {
  for (const [label, [operation, suggested]] of Object.entries(SUGGESTIONS)) {
    it(`is the field that was meant by ${label}`, async () => {
      const [method = '', path = ''] = operation.split(' ')
      const names = Object.fromEntries(Object.keys(suggested).map((name) => [name, '1']))
      const messages =
        method === 'GET'
          ? await messagesOf(api, method, `${path}?${new URLSearchParams(names)}`)
          : await messagesOf(api, method, path, names)
      for (const [name, meant] of Object.entries(suggested))
        assert.match(messages[name] ?? '', new RegExp(`^${name} .*did you mean ${meant}\\?`), name)
    })
  }

  it('is found inside a nested object too', async () => {
    const { firstname: firstName, lastname: surname, email: emial } = CUSTOMER
    const body = initiateBody({ customer: { firstName, surname, emial } })
    const messages = await messagesOf(api, 'POST', '/api/v1/checkout/initiate-payment', body)
    assert.match(messages['customer.firstName'] ?? '', /did you mean customer\.firstname\?$/)
    assert.match(messages['customer.surname'] ?? '', /did you mean customer\.lastname\?$/)
    assert.match(messages['customer.emial'] ?? '', /did you mean customer\.email\?$/)
    assert.equal(messages['customer.email'], 'customer.email is required.')
  })

  it('says where a key, an idempotency key and card data belong', async () => {
    const body = {
      ...initiateBody(),
      apiKey: 'x',
      idempotency_key: 'x',
      card_number: '4242',
      amount_minor: 1,
    }
    const messages = await messagesOf(api, 'POST', '/api/v1/checkout/initiate-payment', body)
    assert.match(messages.apiKey ?? '', /Send your API key in the x-api-key header\.$/)
    assert.match(messages.idempotency_key ?? '', /Send it as the Idempotency-Key header\.$/)
    assert.match(messages.card_number ?? '', /Never send card data/)
    for (const name of ['apiKey', 'card_number']) assert.doesNotMatch(messages[name] ?? '', /; [A-Z]/)
    assert.match(messages.amount_minor ?? '', /did you mean amount\? Amounts are in major units/)
  })

  it('comes before anything is stored', async () => {
    await assertNothingStored(service.db, service.demoKey, async () => {
      await messagesOf(api, 'POST', '/api/v1/checkout/initiate-payment', initiateBody({ amont: 5 }))
    })
  })
})
