// Merchants with receiving accounts, and their actions on transfers.

import assert from 'node:assert/strict'
import type { Api, ApiResponse } from './api.ts'
import { CUSTOMER, newReference } from './builders.ts'
import type { TestService } from './service.ts'

export const ACCOUNTS = '/api/v1/p2p/accounts'
export const PAYMENTS = '/api/v1/p2p/payments'

export const WALLET = {
  channel: 'mobile_money',
  currency: 'SSP',
  country: 'SS',
  accountName: 'Juba Books',
  network: 'mgurush_ss',
  phoneNumber: '0912 345 678',
}

export const BANK = {
  channel: 'bank_transfer',
  currency: 'SSP',
  accountName: 'Juba Books Ltd',
  accountNumber: '0011-2233-4455',
  bankName: 'Equity Bank South Sudan',
}

export const p2pBody = (changes: Record<string, unknown> = {}) => ({
  amount: 5000,
  currency: 'SSP',
  reference: newReference(),
  customer: CUSTOMER,
  ...changes,
})

/** The record that a request created or changed. */
// biome-ignore lint/suspicious/noExplicitAny: a test reads any shape and asserts on it
export async function dataOf(answer: Promise<ApiResponse>): Promise<any> {
  const { http, body, text } = await answer
  assert.ok(http === 200 || http === 201, text)
  return body.data
}

/** A merchant with these accounts. */
export async function p2pMerchant(service: Pick<TestService, 'newMerchant'>, ...accounts: object[]) {
  const merchant = await service.newMerchant()
  for (const account of accounts) await dataOf(merchant.api.post(ACCOUNTS, account))
  return { ...merchant, ...p2pActions(merchant.api) }
}

/** A merchant's requests about transfers. */
export function p2pActions(api: Api) {
  const act = (uuid: string, action: string, body: unknown = {}) =>
    api.post(`${PAYMENTS}/${uuid}/${action}`, body)
  return {
    act,
    requestTransfer: (changes?: Record<string, unknown>) => dataOf(api.post(PAYMENTS, p2pBody(changes))),
    confirm: (uuid: string, receivedAmount: unknown) => act(uuid, 'confirm', { receivedAmount }),
    read: (uuid: string) => dataOf(api.get(`${PAYMENTS}/${uuid}`)),
  }
}
