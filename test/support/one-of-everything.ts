// A merchant with one record of each kind, and the API path of each record. The paths come from the OpenAPI document
// and the merchant's lists, so a new operation is found without a change here.

import assert from 'node:assert/strict'
import type { Api, ApiResponse } from './api.ts'
import { CUSTOMER, chargeBody, initiateBody, newReference, payWith } from './builders.ts'
import { makeLink } from './links.ts'
import type { DocumentedOperation } from './openapi.ts'
import { p2pBody, WALLET } from './p2p.ts'

export interface OneOfEverything {
  /** The uuids of a paid payment and of an open one. */
  reference: string
  openReference: string
  recurringToken: string
  customer: typeof CUSTOMER
  /** Records that no list returns, by their path template. */
  unlistedItems: Readonly<Record<string, string>>
}

async function post(api: Api, path: string, body: unknown): Promise<ApiResponse['body']> {
  const answer = await api.post(path, body)
  assert.ok(answer.http < 300, answer.text)
  return answer.body.data
}

/** Creates the records. Names that the merchant chooses start with the prefix. */
export async function makeOneOfEverything(api: Api, prefix: string): Promise<OneOfEverything> {
  const customer = { ...CUSTOMER, firstname: prefix, email: `${prefix.toLowerCase()}@example.com` }
  const fresh = () => `${prefix}-${newReference()}`
  const paid = await payWith(api, 'card_success', { customer, reference: fresh(), description: prefix })
  const { recurringToken } = paid.paymentMethod
  await post(api, '/api/v1/charges/recurring', chargeBody(recurringToken, { customer, reference: fresh() }))
  const open = initiateBody({ customer, reference: fresh() })
  await post(api, '/api/v1/checkout/initiate-payment', open)
  const refund = { paymentReference: paid.reference, refundReference: fresh(), amount: 1, reason: prefix }
  await post(api, '/api/v1/refunds', refund)
  await payWith(api, 'transfer_underpaid', { customer, reference: fresh() })
  await makeLink(api, { title: prefix })
  await post(api, '/api/v1/p2p/accounts', { ...WALLET, accountName: prefix })
  await post(api, '/api/v1/p2p/payments', p2pBody({ customer, reference: fresh() }))
  // The port is closed, so deliveries fail at once.
  await post(api, '/api/v1/webhooks/endpoints', { url: 'http://127.0.0.1:9/hook', description: prefix })
  await post(api, '/api/v1/api-keys', { name: prefix, scopes: ['wallet:read'] })
  const never = { from: '2026-01-01T00:00:00.000Z', to: '2026-01-01T00:00:01.000Z' }
  const replay = await post(api, '/api/v1/events/replay', never)
  const unlistedItems = { '/api/v1/webhooks/replays/{uuid}': String(replay.uuid) }
  return { reference: paid.reference, openReference: open.reference, recurringToken, customer, unlistedItems }
}

/** The template of one record: the path of an operation up to its last parameter. */
export function itemTemplateOf({ path }: Pick<DocumentedOperation, 'path'>): string | undefined {
  const end = path.lastIndexOf('}')
  return end < 0 ? undefined : path.slice(0, end + 1)
}

/** The name of a record's id in paths. */
export function idOf(record: Record<string, unknown>): string | undefined {
  const id = record.uuid ?? record.keyId ?? record.id
  return typeof id === 'string' ? id : undefined
}

/** The path of one record of the merchant for each documented template. */
export async function findItemPaths(
  api: Api,
  operations: readonly DocumentedOperation[],
  { reference, unlistedItems }: Pick<OneOfEverything, 'reference' | 'unlistedItems'>,
): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  const templates = [...new Set(operations.map(itemTemplateOf))].filter((one) => one !== undefined)
  // A nested template needs its parent first.
  for (const template of templates.toSorted((one, other) => one.length - other.length)) {
    const collection = template.slice(0, template.lastIndexOf('/'))
    if (template.endsWith('{reference}')) {
      found.set(template, `${collection}/${encodeURIComponent(reference)}`)
      continue
    }
    const known = unlistedItems[template]
    if (known !== undefined) {
      found.set(template, `${collection}/${known}`)
      continue
    }
    const outer = itemTemplateOf({ path: collection })
    const path = outer ? collection.replace(outer, found.get(outer) ?? '') : collection
    const listed = await api.get(path)
    const id = idOf(listed.body?.data?.[0] ?? {})
    assert.ok(id, `no record for ${template}: ${listed.text}`)
    found.set(template, `${path}/${id}`)
  }
  return found
}

/** The URL of an operation on the record of its template. */
export function fillPath({ path }: Pick<DocumentedOperation, 'path'>, itemPath: string | undefined): string {
  const template = itemTemplateOf({ path })
  if (template === undefined) return path
  assert.ok(itemPath, `no record for ${template}`)
  return `${itemPath}${path.slice(template.length)}`
}
