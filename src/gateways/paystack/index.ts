// The connector to Paystack: prompts and transfers on our page, a hosted page for the rest, charges of saved cards, refunds.
// Both modes use one URL; the secret key selects the mode.

import { Type } from 'typebox'
import type { Mode } from '../../core/merchant.ts'
import { schemaReader } from '../../kit/exact-json.ts'
import { collectionField, collectsDirectly, onProvidersPage } from '../collection.ts'
import type { Connection, CredentialField, GatewayDefinition } from '../definition.ts'
import type {
  Attempt,
  CheckoutChoice,
  Gateway,
  GatewayBehavior,
  GatewayCheck,
  Outcome,
  StatusQuery,
} from '../gateway.ts'
import { assumeSubmitted, checkByHand, checkOk, declined } from '../reply.ts'
import { fromDirect, promptStep, toDirectBody } from './direct.ts'
import { disputesPath, withDisputes } from './disputes.ts'
import { Digits } from './json.ts'
import { RAILS } from './rails.ts'
import { type Call, createRefundOperations } from './refunds.ts'
import { isDuplicate, type Reply, readReply } from './response.ts'
import { parseSignedWebhook } from './webhooks.ts'
import { fromCharge, fromInitialize, fromVerify, isReversed, toChargeBody, toInitializeBody } from './wire.ts'

const NAME = 'paystack'
const ADDRESS = 'https://api.paystack.co'

const BEHAVIOR: GatewayBehavior = {
  // Our key is the reference, which stays unique in an account: a second submission is refused as a duplicate, never
  // executed. So this limit is ours: an attempt that has not begun within a day should not begin any more.
  keyRetentionHours: 24,
  // A refused request does not use up its reference, so a retry may succeed.
  cachesErrors: false,
  lookupByReference: true,
  paysAfterDecline: true,
  // Only the response has the URL of the page, or the account of a transfer.
  lostPageIsUnpayable: true,
  sequentialRefunds: true,
  nonIdempotentRefunds: true,
}

const KEY_PREFIX: Record<Mode, string> = { test: 'sk_test_', live: 'sk_live_' }

const SECRET_KEY: CredentialField = {
  name: 'secretKey',
  isRequired: true,
  meaning: 'The secret key of the Paystack account. It also signs the webhooks, so there is no other secret.',
  validate(text, mode) {
    const prefix = KEY_PREFIX[mode]
    const other = KEY_PREFIX[mode === 'test' ? 'live' : 'test']
    if (text.startsWith('pk_')) return `is a public key; the secret key begins with ${prefix}`
    if (text.startsWith(other))
      return `begins with ${other}, but this service runs in ${mode} mode: use the key that begins with ${prefix}`
    if (!text.startsWith(prefix)) return `must begin with ${prefix}, as Paystack's dashboard shows it`
    if (!/^sk_[a-z]+_[A-Za-z0-9]+$/.test(text)) return 'must have only letters and digits after its prefix'
    return undefined
  },
}

export const PAYSTACK: GatewayDefinition = {
  name: NAME,
  title: 'Paystack',
  rails: RAILS,
  behavior: BEHAVIOR,
  credentials: [
    SECRET_KEY,
    collectionField(
      'our page prompts the phone for mobile money, and shows the account for a transfer in NGN',
    ),
  ],
  manualChecks: [
    {
      about: 'webhook URL',
      detail:
        'Enter the webhook URL (cowry gateways list) in Settings → API Keys & Webhooks of the dashboard; test and live have each their own. Chargebacks are seen only with it.',
    },
    {
      about: 'channels',
      detail:
        'The payer sees only the channels that are enabled in the dashboard (Settings → Preferences), and international cards only if Paystack has enabled them.',
    },
  ],
  baseUrl: { test: ADDRESS, live: ADDRESS },
  open: openPaystack,
}

function openPaystack({ credentials, baseUrl, http, clock }: Connection): Gateway {
  const { secretKey } = credentials
  if (!secretKey) throw new Error('Paystack cannot be opened without its secretKey')

  const call: Call = (method, path, body) =>
    http.request({
      method,
      url: `${baseUrl}${path}`,
      headers: {
        authorization: `Bearer ${secretKey}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    })

  const verify = async (query: StatusQuery): Promise<Outcome> => {
    const path = `/transaction/verify/${encodeURIComponent(query.key)}`
    const reply = readReply(await call('GET', path))
    const paid = fromVerify(reply, query, clock.now())
    if (!query.isPaid || paid.kind !== 'succeeded') return paid
    const disputes = readReply(await call('GET', disputesPath(paid.gatewayReference)))
    return withDisputes(disputes, { paid, isReversed: isReversed(reply) })
  }

  const startPage = async (attempt: Attempt, choice: CheckoutChoice, returnUrl: string) => {
    const body = toInitializeBody(attempt, choice, returnUrl)
    const reply = readReply(await call('POST', '/transaction/initialize', body))
    // Paystack returns the URL of a page once, so a duplicate is answered with the status of the payment.
    return isDuplicate(reply) ? assumeSubmitted(await verify(attempt)) : fromInitialize(reply, attempt.key)
  }

  /** A duplicate was prompted before. The account of a transfer is returned once. */
  const continueDirect = async (attempt: Attempt, choice: CheckoutChoice) => {
    const outcome = assumeSubmitted(await verify(attempt))
    const next = outcome.kind === 'pending' ? promptStep(attempt, choice) : undefined
    return next ? ({ kind: 'started', gatewayReference: attempt.key, next } as const) : outcome
  }

  const isDirect = collectsDirectly(credentials)

  return {
    name: NAME,
    rails: isDirect ? RAILS : onProvidersPage(RAILS),
    behavior: BEHAVIOR,

    async startCheckout(attempt, choice, returnUrl) {
      const body = isDirect ? toDirectBody(attempt, choice, clock.now()) : undefined
      if (!body) return startPage(attempt, choice, returnUrl)
      const reply = readReply(await call('POST', '/charge', body))
      return isDuplicate(reply)
        ? continueDirect(attempt, choice)
        : fromDirect(reply, attempt, choice, clock.now())
    },

    async chargeSaved(attempt, credential) {
      const body = toChargeBody(attempt, credential)
      // Nothing was sent, so nothing has begun.
      if (!body) return UNREADABLE_CREDENTIAL
      const reply = readReply(await call('POST', '/transaction/charge_authorization', body))
      return isDuplicate(reply)
        ? assumeSubmitted(await verify(attempt))
        : fromCharge(reply, attempt, clock.now())
    },

    verify,

    parseWebhook: ({ headers, rawBody }) => parseSignedWebhook(secretKey, headers, rawBody),

    ...createRefundOperations(call, clock),

    async checkAccount() {
      const [balance, timeout] = await Promise.all([
        call('GET', '/balance'),
        call('GET', '/integration/payment_session_timeout'),
      ])
      return [checkCurrencies(readReply(balance)), checkPageTimeout(readReply(timeout))]
    },

    async probe() {
      const reply = readReply(await call('GET', '/balance'))
      if (reply.kind === 'data') return 'works'
      const isRefused = reply.kind === 'refused' && (reply.http === 401 || reply.http === 403)
      return isRefused ? 'refused' : 'unreachable'
    },
  }
}

const readBalances = schemaReader(Type.Array(Type.Object({ currency: Type.String() })))

/** An account is of one country, so an account of Kenya does not collect NGN. */
function checkCurrencies(reply: Reply): GatewayCheck {
  const name = 'currencies'
  const balances = reply.kind === 'data' ? readBalances(reply.data) : undefined
  const held = balances?.map(({ currency }) => currency).join(', ')
  if (held) return checkOk(name, `${held}; an account is of one country, and other currencies are refused`)
  return checkByHand(
    name,
    'See in the dashboard which currencies the account collects: it is of one country.',
  )
}

const readTimeout = schemaReader(Type.Object({ payment_session_timeout: Digits }))

/** Without a time limit a page that was left open can be paid after our checkout has expired. */
function checkPageTimeout(reply: Reply): GatewayCheck {
  const name = 'page timeout'
  const seconds = reply.kind === 'data' ? readTimeout(reply.data)?.payment_session_timeout : undefined
  if (seconds !== undefined && seconds !== '0') return checkOk(name, `${seconds} s`)
  return checkByHand(
    name,
    'Set how long a page of Paystack can be paid (PUT /integration/payment_session_timeout), such as an hour: {"timeout": 3600}. Without it a page can be paid long after the checkout has expired.',
  )
}

const UNREADABLE_CREDENTIAL = declined(
  null,
  'invalid_card',
  'the saved credential of the card is not one of Paystack',
)
