// What tests of cases ask for and decide, over HTTP.

import assert from 'node:assert/strict'
import type { Api, ApiResponse } from './api.ts'
import { payWith } from './builders.ts'

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

/** From this amount in KES on two people must decide. */
export async function requireTwoPeople(admin: Api, merchant: string, from = 1): Promise<void> {
  const body = JSON.stringify({ settings: { caseApprovals: [{ currency: 'KES', from }] } })
  const headers = { 'content-type': 'application/json' }
  dataOf(await admin.send('PATCH', `/admin/v1/merchants/${merchant}`, { body, headers }))
}

/** The uuid of a new case of the merchant with a proposal. */
export async function newProposal(api: Api, amount = 1250.5): Promise<string> {
  const { uuid: payment } = await payWith(api, 'transfer_underpaid', { amount })
  const [{ uuid }] = dataOf(await api.get(`${CASES}?payment=${payment}`))
  const body = { resolution: 'accept', note: 'Enough.' }
  assert.equal(dataOf(await api.post(`${CASES}/${uuid}/resolve`, body)).state, 'awaiting_approval')
  return uuid
}
