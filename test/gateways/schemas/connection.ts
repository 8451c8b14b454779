// A connector on a provider in this process: without sockets, thousands of responses can be tried.

import { money } from '../../../src/core/money.ts'
import { findNetwork } from '../../../src/core/networks.ts'
import type { Connection, GatewayDefinition } from '../../../src/gateways/definition.ts'
import type { Attempt, CheckoutChoice, Gateway } from '../../../src/gateways/gateway.ts'
import type { Clock } from '../../../src/kit/clock.ts'
import type { HttpClient } from '../../../src/kit/http/http-client.ts'
import { openMemoryTokens } from '../memory-tokens.ts'
import { callbackUrlAt } from '../webhook-request.ts'
import type { SentRequest } from './requests.ts'

export interface Answer {
  status: number
  body: unknown
}

export const NOW = new Date('2026-11-16T12:00:00.000Z')
const CLOCK: Clock = { now: () => NOW, sleep: async () => {} }

export const KEY = '3f0c8f52-6f0e-4f0b-9a55-0d9b1f1c2a77'
export const REFUND_KEY = '7d3f0c8f-6f0e-4f0b-9a55-0d9b1f1c2a78'
export const RETURN_URL = 'https://pay.example.com/c/abc/return'

type Opened = Pick<Connection, 'credentials' | 'baseUrl' | 'http' | 'clock'>

export function openGateway({ name, open }: GatewayDefinition, opened: Opened): Gateway {
  const publicUrl = 'https://pay.example.com'
  const callbackUrl = callbackUrlAt(publicUrl, name)
  const tokens = openMemoryTokens()
  return open({ ...opened, mode: 'test', tokens, publicUrl: () => publicUrl, callbackUrl })
}

/** The gateway at a provider that answers each request with what the function returns. */
export function openInProcess(
  definition: GatewayDefinition,
  credentials: Record<string, string>,
  answer: (request: SentRequest) => Answer,
): Gateway {
  const http: HttpClient = {
    async request({ method, url, body = '' }) {
      const { pathname: path, searchParams: query } = new URL(url)
      const { status, body: answered } = answer({ method, path, query, text: body.toString() })
      return { kind: 'answered', status, headers: {}, body: Buffer.from(JSON.stringify(answered)) }
    },
    close: async () => {},
  }
  return openGateway(definition, { credentials, baseUrl: 'http://provider.invalid', http, clock: CLOCK })
}

export function makeAttempt(changes: Partial<Attempt> = {}): Attempt {
  return {
    key: KEY,
    operation: 'checkout',
    paymentId: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
    merchantId: '0197a3c2-7d51-7cc3-98c4-dc0c0c073990',
    merchantName: 'Duka La Vitabu',
    reference: 'A-1042 & more',
    amount: money(125_050n, 'KES'),
    country: 'KE',
    description: 'Two books',
    customer: { email: 'amina.otieno@example.com', firstname: 'Amina', lastname: 'Otieno' },
    startedAt: NOW,
    expiresAt: new Date(NOW.getTime() + 3_600_000),
    ...changes,
  }
}

export interface Called {
  attempt: Attempt
  /** The attempt that charges a saved method; absent: with the key of the other one. */
  charge?: Attempt
  /** The provider's names of the payment, of its receipt and of a refund. */
  payment: string
  receipt?: string
  refund: string
  credential: string
}

/** Every call that the service can make of a gateway with these operations, by name. */
export function callsOf(gateway: Gateway, called: Called): Record<string, () => Promise<unknown>> {
  const calls = {
    ...paymentCalls(gateway, called),
    ...refundCalls(gateway, called),
    ...otherCalls(gateway, called),
  }
  const present = Object.entries(calls).flatMap(([name, call]) => (call ? [[name, call] as const] : []))
  return Object.fromEntries(present)
}

type Calls = Record<string, (() => Promise<unknown>) | undefined>

const PHONES: Readonly<Record<string, string>> = {
  CI: '+2250701234567',
  GH: '+233551234987',
  KE: '+254712345678',
}

/** The choice of a payer who enters a number of this network on our page. */
export function promptOn(network: string): CheckoutChoice {
  const phone = PHONES[findNetwork(network)?.country ?? '']
  if (phone === undefined) throw new Error(`there is no number for ${network}`)
  return { channel: 'mobile_money', phone, network }
}

/** The first way of the gateway to collect the payment on our page. */
function directChoice({ rails }: Gateway, { amount }: Attempt): CheckoutChoice | undefined {
  const rail = rails.find(({ currency }) => currency === amount.currency)
  const [network] = rail?.networks ?? []
  if (network !== undefined) return promptOn(network)
  return rail?.transfers ? { channel: 'bank_transfer' } : undefined
}

function paymentCalls(gateway: Gateway, { attempt, payment, credential, ...called }: Called): Calls {
  const { chargeSaved, cancel } = gateway
  const charge: Attempt = { ...(called.charge ?? attempt), operation: 'charge', expiresAt: null }
  const channel = gateway.rails[0]?.channels[0] ?? 'card'
  const direct = directChoice(gateway, attempt)
  return {
    'start a checkout': () => gateway.startCheckout(attempt, { channel }, RETURN_URL),
    'start a checkout on our page': direct && (() => gateway.startCheckout(attempt, direct, RETURN_URL)),
    'check a checkout': () => gateway.verify(attempt, payment),
    'check a paid checkout': () => gateway.verify({ ...attempt, isPaid: true }, payment),
    'check a charge': () => gateway.verify(charge, payment),
    'charge a saved method': chargeSaved && (() => chargeSaved(charge, credential)),
    'cancel a checkout': cancel && (() => cancel(attempt, payment)),
  }
}

function refundCalls({ refund, verifyRefund, listRefunds }: Gateway, called: Called): Calls {
  const { attempt, payment, receipt = null, refund: reference } = called
  const { key: attemptKey, amount } = attempt
  const request = { key: REFUND_KEY, attemptKey, attemptReference: payment, amount, isFull: true }
  const ofPayment = {
    kind: 'payment',
    ...request,
    receiptNumber: receipt,
    currency: amount.currency,
    refunded: money(0n, amount.currency),
  } as const
  return {
    refund: refund && (() => refund(request)),
    'check a refund': verifyRefund && (() => verifyRefund(request, reference)),
    'check a lost refund': verifyRefund && (() => verifyRefund(request, null)),
    'list refunds of a payment': listRefunds && (() => listRefunds(ofPayment)),
    'list refunds of a period': listRefunds && (() => listRefunds({ kind: 'period', ...PERIOD })),
  }
}

const PERIOD = { from: new Date(NOW.getTime() - 86_400_000), to: NOW }

function otherCalls(gateway: Gateway, { payment, receipt }: Called): Calls {
  const { listDisputes, findKey, probe, checkAccount } = gateway
  return {
    'list disputes': listDisputes && (() => listDisputes(PERIOD)),
    'find a key': findKey && (() => findKey(receipt ?? payment)),
    'find the key of a charge': findKey && (() => findKey('ch_1')),
    probe,
    'check the account': checkAccount,
  }
}
