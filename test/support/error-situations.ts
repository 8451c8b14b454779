// The situations in which the conditional examples on the page of errors fail, each with a merchant of its own.

import { setTimeout as delay } from 'node:timers/promises'
import type { ApiErrorCode } from '../../src/core/errors.ts'
import { CUSTOMER } from '../../src/docs-site/error-help/help.ts'
import { sql } from '../../src/kit/db/db.ts'
import type { Api } from './api.ts'
import { initiateBody, payWith } from './builders.ts'
import { CASES, caseCalls, dataOf } from './cases.ts'
import { fillIn, makeLink, payAt } from './links.ts'
import { createPayer } from './payer.ts'
import { ADMIN_TOKEN, type TestService } from './service.ts'

export interface Shop {
  service: TestService
  uuid: string
  key: string
  api: Api
}

/** What the reader has, and the example cannot know. */
export interface Situation {
  /** Another key than that of the shop; null: none. */
  key?: string | null
  headers?: Record<string, string>
  /** Replacements of text in the path. */
  path?: readonly [string, string]
  /** Fields with values of the reader's own records. */
  body?: Record<string, unknown>
}

const REFERENCE = 'order-1042'
const SHOWN_UUID = '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f'
const OPERATOR: Situation = { key: null, headers: { authorization: `Bearer ${ADMIN_TOKEN}` } }

/** Codes whose situation no request can bring about in this service. */
export const WITHOUT_SITUATION: readonly ApiErrorCode[] = [
  'internal_error',
  'temporarily_unavailable',
  // The payer's page returns it, as HTML.
  'phone_busy',
  // People in the dashboard get it, and keys never.
  'refund_approval_required',
  // Need a gateway of their own.
  'partial_refund_not_supported',
  'gateway_credentials_refused',
  // Staging allows private addresses.
  'webhook_url_not_allowed',
]

export const SITUATIONS: Partial<Record<ApiErrorCode, (shop: Shop) => Promise<Situation>>> = {
  idempotency_required: paid,
  api_key_in_url: async ({ key }) => ({ key: null, path: ['cowry_test_…', key] }),
  missing_api_key: async () => ({ key: null }),
  api_key_expired: async (shop) => {
    const key = await newKey(shop, { expiresAt: new Date(Date.now() + 500).toISOString() })
    await delay(600)
    return { key }
  },
  api_key_revoked: async (shop) => {
    const { apiKey, keyId } = await post(shop.api, '/api/v1/api-keys', { name: 'Old', scopes: ['*'] })
    await post(shop.api, `/api/v1/api-keys/${keyId}/revoke`)
    return { key: apiKey }
  },
  insufficient_scope: async (shop) => ({ key: await newKey(shop, { scopes: ['customers:read'] }) }),
  merchant_suspended: async ({ service, uuid }) => {
    await post(service.admin, `/admin/v1/merchants/${uuid}/suspend`)
    return {}
  },
  mode_mismatch: async ({ key }) => ({ key: key.replace('cowry_test_', 'cowry_live_') }),
  ip_not_allowed: async (shop) => ({ key: await newKey(shop, { allowedIps: ['203.0.113.0/24'] }) }),
  scope_exceeded: async (shop) => ({ key: await newKey(shop, { scopes: ['keys:write'] }) }),
  payload_too_large: async () => ({ body: { metadata: { note: 'x'.repeat(70_000) } } }),
  rate_limited: async (shop) => {
    const key = await newKey(shop, { rateLimit: { perSecond: 1, burst: 1 } })
    // A page of 100 takes five requests of the limit.
    dataOf(await shop.service.apiWith(key).get('/api/v1/customers?limit=100'))
    return { key }
  },
  payment_method_not_found: async ({ api }) => {
    const { uuid } = await post(api, '/api/v1/customers', CUSTOMER)
    return { path: ['{uuid}', uuid] }
  },
  merchant_not_found: async () => OPERATOR,
  gateway_not_found: async ({ uuid }) => ({ ...OPERATOR, path: ['{uuid}', uuid] }),
  user_not_found: async () => OPERATOR,
  invitation_not_found: async () => OPERATOR,
  reconciliation_not_found: async () => OPERATOR,
  reconciliation_break_not_found: async () => OPERATOR,
  gateway_account_not_found: async ({ uuid }) => ({ ...OPERATOR, path: ['{uuid}', uuid] }),
  duplicate_reference: initiated,
  customer_exists: async ({ api }) => {
    await post(api, '/api/v1/customers', CUSTOMER)
    return {}
  },
  payment_link_ended: async ({ api }) => {
    const link = await makeLink(api)
    const situation = await visit(api, link)
    await post(api, `/api/v1/payment-links/${link.uuid}/deactivate`)
    return situation
  },
  payment_link_busy: async ({ api }) => {
    const link = await makeLink(api, { maxPayments: 1 })
    const situation = await visit(api, link)
    await payAt({ api }, link, null, { email: 'first@example.com' })
    return situation
  },
  case_resolved: async (shop) => {
    const situation = await underpaid(shop)
    await post(shop.api, pathOf(situation), { resolution: 'return', note: 'Not enough.' })
    return situation
  },
  case_awaiting_approval: async (shop) => {
    const situation = await proposed(shop, 'return')
    return { ...situation, key: await newKey(shop) }
  },
  proof_already_used: async ({ service, api }) => {
    const caseOf = async () => {
      const payment = await payWith(api, 'card_unknown_status')
      return String((await caseCalls(service).operatorCaseOf(payment.uuid)).uuid)
    }
    const [first, second] = [await caseOf(), await caseOf()]
    // Another merchant's tests may have used the proof of the example.
    const proof = `PSK-${first}`
    await caseCalls(service).resolve(service.admin, first, 'mark_paid', { proof })
    return { ...OPERATOR, path: [SHOWN_UUID, second], body: { proof } }
  },
  approver_not_independent: async (shop) => {
    const situation = await proposed(shop, 'accept')
    const { apiKey } = await post(shop.api, '/api/v1/api-keys', { name: 'Mine', scopes: ['*'] })
    return { ...situation, key: apiKey }
  },
  invalid_state: initiated,
  idempotency_key_reused: async ({ api }) => {
    const headers = { 'idempotency-key': '5f0c2f5e-6b0c-4d5e-9a43-0d9f0e8b7a11' }
    const body = initiateBody({ reference: REFERENCE, amount: 1000 })
    dataOf(await api.post('/api/v1/checkout/initiate-payment', body, headers))
    return {}
  },
  no_route_available: async (shop) => {
    await patchSettings(shop, { routing: [{ currency: 'MWK', exclude: ['sandbox'] }] })
    return {}
  },
  recurring_token_inactive: async ({ api }) => {
    const { customer, paymentMethod } = await payWith(api, 'card_success')
    const path = `/api/v1/customers/${customer.uuid}/payment-methods/${paymentMethod.uuid}`
    dataOf(await api.send('DELETE', path))
    return { body: { recurringToken: paymentMethod.recurringToken } }
  },
  customer_mismatch: saved,
  currency_not_supported_for_token: async (shop) => {
    const situation = await saved(shop)
    await shop.service.db.query(setCurrencies, [shop.uuid, ['KES']])
    return situation
  },
  customer_blocked: async ({ api }) => {
    const { uuid } = await post(api, '/api/v1/customers', CUSTOMER)
    await post(api, `/api/v1/customers/${uuid}/block`)
    return {}
  },
  refund_exceeds_amount: paid,
  resolution_not_possible: async ({ service, api }) => {
    const payment = await payWith(api, 'card_unknown_status')
    return { path: [SHOWN_UUID, (await caseCalls(service).operatorCaseOf(payment.uuid)).uuid] }
  },
  // A transfer to the merchant's own account.
  refund_not_supported: async ({ api }) => {
    const account = {
      channel: 'bank_transfer',
      currency: 'KES',
      accountName: 'Shop',
      bankName: 'Equity Bank',
    }
    await post(api, '/api/v1/p2p/accounts', { ...account, accountNumber: '0011223344' })
    const { uuid } = await post(api, '/api/v1/p2p/payments', initiateBody({ reference: REFERENCE }))
    await post(api, `/api/v1/p2p/payments/${uuid}/confirm`, { receivedAmount: 1250.5 })
    return {}
  },
  p2p_account_required: async () => ({}),
  too_many_webhook_endpoints: async ({ api }) => {
    for (let made = 0; made < 20; made += 1)
      await post(api, '/api/v1/webhooks/endpoints', { url: `https://shop.example/${made}` })
    return {}
  },
  too_many_api_keys: async ({ api }) => {
    // With the key of the shop there are 20.
    for (let made = 1; made < 20; made += 1)
      await post(api, '/api/v1/api-keys', { name: `Key ${made}`, scopes: ['checkout:write'] })
    return {}
  },
}

// With another fingerprint: a webhook about the payment may save its card once more, and would overwrite this method.
const setCurrencies = sql<unknown>`
update payment_methods
set
  fingerprint = fingerprint || '-changed',
  currencies = $2::text[]
where merchant_id = $1`

async function post(api: Api, path: string, body: unknown = {}) {
  return dataOf(await api.post(path, body))
}

/** A key that the operator creates, so that it belongs to another person. */
async function newKey({ service, uuid }: Shop, changes: object = {}): Promise<string> {
  const body = { name: 'Another', scopes: ['*'], ...changes }
  return (await post(service.admin, `/admin/v1/merchants/${uuid}/keys`, body)).apiKey
}

async function patchSettings({ service, uuid }: Shop, settings: object): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ settings })
  dataOf(await service.admin.send('PATCH', `/admin/v1/merchants/${uuid}`, { body, headers }))
}

async function initiated({ api }: Shop): Promise<Situation> {
  await post(api, '/api/v1/checkout/initiate-payment', initiateBody({ reference: REFERENCE, amount: 1000 }))
  return {}
}

async function paid({ api }: Shop): Promise<Situation> {
  await payWith(api, 'card_success', { reference: REFERENCE, amount: 1000 })
  return {}
}

async function saved({ api }: Shop): Promise<Situation> {
  const { paymentMethod } = await payWith(api, 'card_success')
  return { body: { recurringToken: paymentMethod.recurringToken } }
}

/** A payer has filled in the form of the link and has not paid. */
async function visit(api: Api, link: { url: string; uuid: string }): Promise<Situation> {
  const payer = createPayer()
  await fillIn(payer, await payer.open(link.url))
  const [newest] = dataOf(await api.get(`/api/v1/payment-links/${link.uuid}/payments?limit=1`))
  return { path: [REFERENCE, newest.reference] }
}

async function underpaid({ service, api }: Shop): Promise<Situation> {
  const payment = await payWith(api, 'transfer_underpaid')
  return { path: [SHOWN_UUID, (await caseCalls(service).caseOf(api, payment.uuid)).uuid] }
}

/** The key of the shop has proposed the resolution of a case that needs two people. */
async function proposed(shop: Shop, resolution: string): Promise<Situation> {
  await patchSettings(shop, { caseApprovals: [{ currency: 'KES', from: 1 }] })
  const situation = await underpaid(shop)
  await post(shop.api, pathOf(situation), { resolution, note: 'Proposed.' })
  return situation
}

const pathOf = ({ path }: Situation) => `${CASES}/${path?.[1]}/resolve`
