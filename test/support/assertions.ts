// Assertions about API responses.

import assert from 'node:assert/strict'
import { parseApiKey } from '../../src/api-keys/key-format.ts'
import { API_ERRORS, type ApiErrorCode } from '../../src/core/errors.ts'
import { type Db, sql } from '../../src/kit/db/db.ts'
import type { ApiResponse } from './api.ts'

export const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
export const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** A well-formed uuid of no record. */
export const UNKNOWN_UUID = '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f'

/** Asserts an API error with this status and code, in the common error envelope. */
export function assertErrorCode(answer: ApiResponse, http: number, code: string): void {
  assert.equal(`${answer.http} ${answer.body?.error?.code}`, `${http} ${code}`, answer.text)
}

/** The body of an API error without the fields that differ between requests. */
export function withoutRequestId(answer: ApiResponse): unknown {
  return { ...answer.body, error: { ...answer.body.error, requestId: '' } }
}

/**
 * Asserts an API error with this code and a complete error envelope. Returns "field: code" for each validation issue.
 */
export function assertApiError(answer: ApiResponse, code: ApiErrorCode): string[] {
  const { http, type, retryable } = API_ERRORS[code]
  const { body } = answer
  assertErrorCode(answer, http, code)
  assertKeys(body, ['status', 'message', 'data', 'error'])
  assertKeys(body.error, ['code', 'type', 'retryable', 'requestId', 'docUrl', 'details'])
  assert.equal(body.status, 'error')
  assert.equal(body.data, null)
  assert.ok(body.message.length > 0)
  assert.equal(body.error.type, type)
  assert.equal(body.error.retryable, retryable)
  assert.equal(body.error.requestId, answer.headers.get('x-request-id'))
  assert.ok(body.error.docUrl.endsWith(`#${code}`), body.error.docUrl)
  return body.error.details.map((detail: { field: string; code: string }) => {
    assertKeys(detail, ['field', 'code', 'message'])
    return `${detail.field}: ${detail.code}`
  })
}

/** Asserts that two responses are equal, except for the request id. */
export function assertSameApiError(one: ApiResponse, other: ApiResponse, code: ApiErrorCode): void {
  assertApiError(one, code)
  assertApiError(other, code)
  assert.deepEqual(withoutRequestId(one), withoutRequestId(other))
}

/** Asserts that the record has exactly these fields. */
export function assertKeys(record: object, keys: readonly string[]): void {
  assert.deepEqual(Object.keys(record).sort(), [...keys].sort())
}

// Without the event of a job, which expires methods.
const countStored = sql<{ rows: number }>`
select (
  (select count(*) from payments where merchant_id = $1)
  + (select count(*) from payment_references where merchant_id = $1)
  + (select count(*) from customers where merchant_id = $1)
  + (select count(*) from idempotency_keys where merchant_id = $1)
  + (select count(*) from events where merchant_id = $1 and type <> 'payment_method.expired')
)::integer as rows`

const selectOwner = sql<{
  merchantId: string
}>`select merchant_id as "merchantId" from api_keys where key_id = $1`

/**
 * Sends the requests and asserts that none of them stored anything for the merchant of the key. Other merchants do not
 * count: files share a service, whose jobs may still work for them.
 */
export async function assertNothingStored(
  db: Db,
  key: string | null,
  requests: () => Promise<unknown>,
): Promise<void> {
  const keyId = parseApiKey(key ?? '')?.id
  const [owner] = await db.query(selectOwner, [keyId])
  assert.ok(owner, 'the key is not stored')
  const before = await db.query(countStored, [owner.merchantId])
  await requests()
  assert.deepEqual(await db.query(countStored, [owner.merchantId]), before)
}

/** Asserts that the record has every promised field, and exactly the fields of its documented schema. */
export function assertFields(
  record: object,
  promised: readonly string[],
  schema: { properties: Record<string, unknown> },
): void {
  assert.deepEqual(
    promised.filter((field) => !(field in record)),
    [],
  )
  assertKeys(record, Object.keys(schema.properties))
}
