// What cowry doctor asks Stripe: whether the account may charge, whether a restricted key has its rights, and whether a
// webhook endpoint exists. A key without the right to read something leaves that check to a person.

import { Type } from 'typebox'
import { jsonReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { GatewayCheck } from '../gateway.ts'
import { checkByHand, checkFailed, checkOk } from '../reply.ts'

interface StripeAccount {
  secretKey: string
  webhookSecret: string | undefined
  webhookUrl: string
  read(path: string): Promise<HttpResult>
}

export async function checkStripeAccount(account: StripeAccount): Promise<GatewayCheck[]> {
  const checks = await Promise.all([checkCharges(account), checkRights(account), checkWebhooks(account)])
  return checks.flat()
}

const readAccount = jsonReader(Type.Object({ charges_enabled: Type.Boolean() }))

async function checkCharges({ read }: StripeAccount): Promise<GatewayCheck[]> {
  const result = await read('/v1/account')
  const account = isOk(result) ? readAccount(result.body) : undefined
  const name = 'charges'
  if (!account)
    return [checkByHand(name, 'The key cannot read the account: see in the dashboard that it is activated.')]
  if (account.charges_enabled) return [checkOk(name)]
  return [
    checkFailed(
      name,
      'Stripe does not let this account charge yet: complete its activation in the dashboard.',
    ),
  ]
}

/** The rights that a restricted key needs, by a call that only reads. */
const RIGHTS = {
  'Checkout Sessions': '/v1/checkout/sessions?limit=1',
  PaymentIntents: '/v1/payment_intents?limit=1',
  Customers: '/v1/customers?limit=1',
  Refunds: '/v1/refunds?limit=1',
  Disputes: '/v1/disputes?limit=1',
}

async function checkRights({ secretKey, read }: StripeAccount): Promise<GatewayCheck[]> {
  const name = 'rights'
  if (!secretKey.startsWith('rk_')) return [checkOk(name)]
  const results = await Promise.all(
    Object.entries(RIGHTS).map(async ([right, path]) => ({ right, result: await read(path) })),
  )
  const missing = results.filter(({ result }) => isForbidden(result)).map(({ right }) => right)
  if (missing.length > 0)
    return [
      checkFailed(
        name,
        `The restricted key lacks rights: allow ${missing.join(', ')} in the dashboard (API keys).`,
      ),
    ]
  return [
    checkByHand(
      name,
      'The restricted key can read. See in the dashboard (API keys) that it may also write Checkout Sessions, PaymentIntents, Customers and Refunds and read PaymentMethods and Charges.',
    ),
  ]
}

const readEndpoints = jsonReader(
  Type.Object({
    data: Type.Array(
      Type.Object({ url: Type.String(), status: Type.String(), enabled_events: Type.Array(Type.String()) }),
    ),
  }),
)

/** The webhooks that are needed; of each kind one event is enough. */
const EVENT_KINDS: Readonly<Record<string, RegExp>> = {
  'checkout.session.*': /^checkout\.session\./,
  'payment_intent.*': /^payment_intent\./,
  'refund.*': /^(?:refund\.|charge\.refund)/,
  'charge.dispute.*': /^charge\.dispute\./,
}

async function checkWebhooks({ webhookSecret, webhookUrl, read }: StripeAccount): Promise<GatewayCheck[]> {
  const name = 'webhooks'
  const wanted = `${webhookUrl} with the events ${Object.keys(EVENT_KINDS).join(', ')}`
  if (webhookSecret === undefined)
    return [
      checkByHand(
        name,
        `Without the signing secret webhooks are rejected, so chargebacks are not seen and payments are found by polling only. Add an endpoint for ${wanted} in the dashboard, and set GATEWAY_STRIPE_WEBHOOK_SECRET.`,
      ),
    ]
  const result = await read('/v1/webhook_endpoints?limit=100')
  const endpoints = isOk(result) ? readEndpoints(result.body) : undefined
  if (!endpoints)
    return [
      checkByHand(
        name,
        `The key cannot read webhook endpoints: see in the dashboard that there is one for ${wanted}.`,
      ),
    ]
  const own = endpoints.data.find(({ url, status }) => url === webhookUrl && status === 'enabled')
  if (!own)
    return [checkFailed(name, `Stripe has no enabled webhook endpoint for this service. Add ${wanted}.`)]
  const has = (kind: RegExp) => own.enabled_events.some((event) => event === '*' || kind.test(event))
  const missing = Object.keys(EVENT_KINDS).filter((kind) => !has(EVENT_KINDS[kind] ?? /$^/))
  if (missing.length === 0) return [checkOk(name)]
  return [checkFailed(name, `The webhook endpoint lacks events: add ${missing.join(', ')} in the dashboard.`)]
}

type Answered = Extract<HttpResult, { kind: 'answered' }>

const isOk = (result: HttpResult): result is Answered => result.kind === 'answered' && result.status === 200

const isForbidden = (result: HttpResult) =>
  result.kind === 'answered' && (result.status === 401 || result.status === 403)
