// A merchant that has one of everything, and where each of its records stands in the API. The places are read from the
// document and the merchant's own lists, so an operation that is added later is found without being named here.

import assert from 'node:assert/strict'
import type { Api, ApiResponse } from './api.ts'
import { CUSTOMER, chargeBody, initiateBody, newReference, payWith } from './builders.ts'
import { makeLink } from './links.ts'
import type { DocumentedOperation } from './openapi.ts'
import { p2pBody, WALLET } from './p2p.ts'

export interface OneOfEverything {
  /** Of a payment that was paid, and of one that is open. */
  reference: string
  openReference: string
  recurringToken: string
  customer: typeof CUSTOMER
  /** Records that no list tells of, by their place. */
  unlistedItems: Readonly<Record<string, string>>
}

async function post(api: Api, path: string, body: unknown): Promise<ApiResponse['body']> {
  const answer = await api.post(path, body)
  assert.ok(answer.http < 300, answer.text)
  return answer.body.data
}

/** Makes them. The names that the merchant chooses itself begin with the prefix. */
export async function makeOneOfEverything(api: Api, prefix: string): Promise<OneOfEverything> {
  const customer = { ...CUSTOMER, firstname: prefix, email: `${prefix.toLowerCase()}@example.com` }
  const fresh = () => `${prefix}-${newReference()}`
  const paid = await payWith(api, 'card_success', { customer, reference: fresh(), description: prefix })
  const { recurringToken } = paid.paymentMethod
  await post(api, '/api/v1/charges/recurring', chargeBody(recurringToken, { customer, reference: fresh() }))
  const open = initiateBody({ customer, reference: fresh() })
  await post(api, '/api/v1/checkout/initiate-payment', open)
  await post(api, '/api/v1/refunds', { reference: paid.reference, amount: 1, reason: prefix })
  await makeLink(api, { title: prefix })
  await post(api, '/api/v1/p2p/accounts', { ...WALLET, accountName: prefix })
  await post(api, '/api/v1/p2p/payments', p2pBody({ customer, reference: fresh() }))
  // Nobody listens there, so deliveries are refused at once.
  await post(api, '/api/v1/webhooks/endpoints', { url: 'http://127.0.0.1:9/hook', description: prefix })
  await post(api, '/api/v1/api-keys', { name: prefix, scopes: ['wallet:read'] })
  const never = { from: '2026-01-01T00:00:00.000Z', to: '2026-01-01T00:00:01.000Z' }
  const replay = await post(api, '/api/v1/events/replay', never)
  const unlistedItems = { '/api/v1/webhooks/replays/{uuid}': String(replay.uuid) }
  return { reference: paid.reference, openReference: open.reference, recurringToken, customer, unlistedItems }
}

/** The place of one record: the path of an operation up to its last parameter. */
export function itemTemplateOf({ path }: Pick<DocumentedOperation, 'path'>): string | undefined {
  const end = path.lastIndexOf('}')
  return end < 0 ? undefined : path.slice(0, end + 1)
}

/** What a record is called in paths. */
export function idOf(record: Record<string, unknown>): string | undefined {
  const id = record.uuid ?? record.keyId ?? record.id
  return typeof id === 'string' ? id : undefined
}

/** The path of one record of the merchant for each place that the document knows. */
export async function findItemPaths(
  api: Api,
  operations: readonly DocumentedOperation[],
  { reference, unlistedItems }: Pick<OneOfEverything, 'reference' | 'unlistedItems'>,
): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  const templates = [...new Set(operations.map(itemTemplateOf))].filter((one) => one !== undefined)
  // A place inside another place needs the outer one first.
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
    assert.ok(id, `there is none of ${template}: ${listed.text}`)
    found.set(template, `${path}/${id}`)
  }
  return found
}

/** The address of an operation about the record at its place. */
export function fillPath({ path }: Pick<DocumentedOperation, 'path'>, itemPath: string | undefined): string {
  const template = itemTemplateOf({ path })
  if (template === undefined) return path
  assert.ok(itemPath, `nothing stands at ${template}`)
  return `${itemPath}${path.slice(template.length)}`
}
