// What tests say about answers, in one place.

import assert from 'node:assert/strict'
import type { ApiAnswer } from './api.ts'

/** Refused with this status and code, in the one error envelope. */
export function assertRefused(answer: ApiAnswer, http: number, code: string): void {
  assert.equal(`${answer.http} ${answer.body?.error?.code}`, `${http} ${code}`, answer.text)
}

/** The body of a refusal without what differs from request to request. */
export function withoutRequestId(answer: ApiAnswer): unknown {
  return { ...answer.body, error: { ...answer.body.error, requestId: '' } }
}
