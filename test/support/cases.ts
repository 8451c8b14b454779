// What tests of cases ask for and decide, over HTTP.

import assert from 'node:assert/strict'
import type { Api, ApiResponse } from './api.ts'

export const CASES = '/api/v1/cases'
export const OPERATOR_CASES = '/admin/v1/cases'

/** The data of a successful response. */
export function dataOf(answer: ApiResponse) {
  assert.equal(answer.http < 300, true, answer.text)
  return answer.body.data
}

export const isReplay = (answer: ApiResponse) => answer.headers.get('idempotent-replayed') === 'true'

export function caseCalls({ admin }: { admin: Api }) {
  return {
    caseOf: async (api: Api, payment: string) =>
      dataOf(await api.get(`${CASES}?state=all&payment=${payment}`))[0],
    operatorCaseOf: async (payment: string) =>
      dataOf(await admin.get(`${OPERATOR_CASES}?state=all&payment=${payment}`))[0],
    resolve: (by: Api, uuid: string, resolution: string, more: object = {}) =>
      by.post(`${by === admin ? OPERATOR_CASES : CASES}/${uuid}/resolve`, {
        resolution,
        note: 'Decided.',
        ...more,
      }),
  }
}
