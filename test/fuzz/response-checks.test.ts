// Tests of the fuzzer's own checks: they find each kind of wrong response.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ApiError, type ApiErrorCode } from '../../src/core/errors.ts'
import { envelopeOf } from '../../src/http/errors.ts'
import { createResponseValidator, operationsOf, responseExampleOf } from '../support/openapi.ts'
import { ROOT } from '../support/process.ts'
import type { SentRequest, TimedResponse } from './client.ts'
import type { Plan } from './plan.ts'
import { planOf } from './requests.ts'
import { createResponseChecks } from './response-checks.ts'

const document = JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8'))
const operations = operationsOf(document)
const { findProblem } = createResponseChecks(createResponseValidator(document), 'Foreigner')
const operation = operations.find(({ name }) => name === 'GET /api/v1/wallet/balance')
assert.ok(operation)
const SENT: SentRequest = { method: 'GET', address: '/', headers: {}, body: undefined, bytes: undefined }
const HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-request-id': 'request-1',
}
const BALANCE = responseExampleOf(operation)

const plan = (changes: Partial<Plan> = {}): Plan => ({
  ...(fc.sample(planOf(operation), 1)[0] as Plan),
  ...{ kind: 'valid', method: 'GET', bytes: undefined, expects: 'a documented answer' },
  ...changes,
})

function answer(http: number, body: unknown, headers: Record<string, string> = {}): TimedResponse {
  const shown = Object.entries({ ...HEADERS, ...headers }).filter(([, value]) => value !== '')
  return { http, headers: new Headers(shown), text: JSON.stringify(body), body, tookMs: 1 }
}

const refusal = (code: ApiErrorCode, requestId = 'request-1') =>
  envelopeOf(new ApiError(code), { requestId, publicUrl: 'http://localhost' })

describe('the response checks of the fuzzer', () => {
  it('reports nothing about a correct response', () => {
    assert.equal(findProblem(plan(), SENT, answer(200, BALANCE)), undefined)
    assert.equal(findProblem(plan(), SENT, answer(401, refusal('missing_api_key'))), undefined)
    const spoiled = plan({ expects: 'a refusal' })
    assert.equal(findProblem(spoiled, SENT, answer(405, refusal('method_not_allowed'))), undefined)
  })

  it('reports each kind of wrong response', () => {
    const requestId = { ...SENT, headers: { 'x-request-id': 'chosen-by-us' } }
    const cases: [string, Plan, SentRequest, TimedResponse][] = [
      ['a 5xx', plan(), SENT, answer(500, refusal('internal_error'))],
      ['a field too many', plan(), SENT, answer(200, { ...BALANCE, more: 1 })],
      ['an undocumented status', plan(), SENT, answer(409, refusal('invalid_state'))],
      ['an undocumented code', plan(), SENT, answer(404, refusal('payment_not_found'))],
      ['a foreign record', plan(), SENT, answer(200, { ...BALANCE, message: 'Foreigner' })],
      ['a missing header', plan(), SENT, answer(200, BALANCE, { 'cache-control': '' })],
      ['a header that tells too much', plan(), SENT, answer(200, BALANCE, { 'x-powered-by': 'x' })],
      ['no request id', plan(), SENT, answer(200, BALANCE, { 'x-request-id': '' })],
      ['another request id in the body', plan(), SENT, answer(401, refusal('missing_api_key', 'other'))],
      ['another request id than asked', plan(), requestId, answer(200, BALANCE)],
      ['a success of what was spoiled', plan({ expects: 'a refusal' }), SENT, answer(200, BALANCE)],
      ['no envelope', plan({ expects: 'any answer' }), SENT, answer(400, { oops: 1 })],
      [
        'a code with the wrong status',
        plan({ expects: 'any answer' }),
        SENT,
        answer(404, refusal('rate_limited')),
      ],
    ]
    for (const [words, made, sent, answered] of cases)
      assert.ok(findProblem(made, sent, answered) !== undefined, words)
  })
})

describe('the generated requests of the fuzzer', () => {
  it('generates valid, nearly valid and hostile requests for every operation', () => {
    for (const one of operations) {
      const kinds = new Set(fc.sample(planOf(one), { numRuns: 60, seed: 1 }).map(({ kind }) => kind))
      assert.equal(kinds.size, 3, one.name)
    }
  })

  it('generates the same requests for the same seed', () => {
    const made = () =>
      fc.sample(planOf(operation), { numRuns: 50, seed: 5 }).map(({ mutations, query }) => [mutations, query])
    assert.deepEqual(made(), made())
  })
})
