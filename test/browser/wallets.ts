// The providers of mobile money and transfers on our page, with their fakes: what a payer does, and how each provider can
// end a payment.

import type { TestContext } from 'node:test'
import type { Currency } from '../../src/core/currency.ts'
import type { FailureCode } from '../../src/core/failures.ts'
import type { FakeProvider } from '../gateways/conformance.ts'
import * as daraja from '../gateways/daraja/fake.ts'
import * as flutterwave from '../gateways/flutterwave/fake.ts'
import * as momo from '../gateways/mtn-momo/fake.ts'
import { PROVIDERS } from '../support/providers.ts'

export interface Wallet {
  /** The name of the gateway. */
  gateway: string
  credentials: Record<string, string>
  start(t: TestContext): Promise<FakeProvider>
  terms: { amount: number; currency: Currency; country: string }
  channel: 'mobile_money' | 'bank_transfer'
  /** What the payer waits for: a prompt on the phone, an account to pay into, or the page of the wallet. */
  step: 'prompt' | 'transfer' | 'page'
  network?: string
  /** The start of a number of this country, and how many digits follow. */
  phone?: readonly [start: string, digits: number]
  /** The request that prompts the phone, or opens the account or the page. */
  submission: RegExp
  /** The provider's own names of the ways in which a payment ends, and what our page says. */
  declines: Readonly<Record<string, FailureCode>>
}

const { paystack, pawapay, wave } = PROVIDERS

const PAYSTACK_DECLINES: Wallet['declines'] = {
  'Insufficient Funds': 'insufficient_funds',
  'Incorrect PIN': 'authentication_failed',
  'Transaction cancelled by customer': 'customer_cancelled',
  'DS timeout user cannot be reached': 'customer_timeout',
}

/** By what a payer would say. The first decline of each runs in the quick form. */
export const WALLETS: Readonly<Record<string, Wallet>> = {
  'M-Pesa by Daraja': {
    gateway: 'daraja',
    credentials: daraja.CREDENTIALS,
    start: daraja.startFakeDaraja,
    terms: { amount: 1_500, currency: 'KES', country: 'KE' },
    channel: 'mobile_money',
    step: 'prompt',
    phone: ['07', 8],
    submission: /^POST \/mpesa\/stkpush\/v1/,
    declines: {
      '2001': 'authentication_failed',
      '1': 'insufficient_funds',
      '1032': 'customer_cancelled',
      '1037': 'customer_timeout',
      '1001': 'provider_unavailable',
    },
  },
  'MTN MoMo': {
    gateway: 'mtn_momo',
    // A test service collects in MTN's sandbox only, which has euros and Swedish numbers.
    credentials: { ...momo.CREDENTIALS, targetEnvironment: momo.SANDBOX_MARKET.environment },
    start: (t) => momo.startFakeMomo(t, momo.SANDBOX_MARKET),
    terms: { amount: 12.5, currency: 'EUR', country: 'DE' },
    channel: 'mobile_money',
    step: 'prompt',
    phone: ['+46733', 6],
    submission: /^POST \/collection\/v1_0\/requesttopay/,
    declines: {
      NOT_ENOUGH_FUNDS: 'insufficient_funds',
      APPROVAL_REJECTED: 'customer_cancelled',
      COULD_NOT_PERFORM_TRANSACTION: 'customer_timeout',
      PAYER_LIMIT_REACHED: 'limit_exceeded',
      PAYER_NOT_FOUND: 'wallet_not_found',
      INTERNAL_PROCESSING_ERROR: 'unknown',
    },
  },
  'MTN MoMo by pawaPay': {
    gateway: 'pawapay',
    credentials: pawapay.credentials,
    start: pawapay.start,
    terms: pawapay.paymentTerms,
    channel: 'mobile_money',
    step: 'prompt',
    network: 'mtn_zm',
    phone: ['076', 7],
    submission: pawapay.submission,
    declines: {
      PAYMENT_NOT_APPROVED: 'customer_cancelled',
      INSUFFICIENT_BALANCE: 'insufficient_funds',
      PAYER_LIMIT_REACHED: 'limit_exceeded',
      PAYER_NOT_FOUND: 'wallet_not_found',
      UNSPECIFIED_FAILURE: 'do_not_honor',
    },
  },
  'MTN MoMo by Paystack': {
    gateway: 'paystack',
    credentials: paystack.credentials,
    start: paystack.start,
    terms: { amount: 125.5, currency: 'GHS', country: 'GH' },
    channel: 'mobile_money',
    step: 'prompt',
    network: 'mtn_gh',
    phone: ['055', 7],
    submission: /^POST \/charge$/,
    declines: PAYSTACK_DECLINES,
  },
  'a bank transfer by Paystack': {
    gateway: 'paystack',
    credentials: paystack.credentials,
    start: paystack.start,
    terms: paystack.paymentTerms,
    channel: 'bank_transfer',
    step: 'transfer',
    submission: /^POST \/charge$/,
    declines: { 'Oooops, your payment has exceeded the time to pay.': 'customer_timeout' },
  },
  'Vodacom M-Pesa by Flutterwave': {
    gateway: 'flutterwave',
    credentials: PROVIDERS.flutterwave.credentials,
    start: flutterwave.startFakeFlutterwave,
    terms: { amount: 12_500, currency: 'TZS', country: 'TZ' },
    channel: 'mobile_money',
    step: 'prompt',
    network: 'mpesa_tz',
    phone: ['0754', 6],
    submission: /^POST \/v3\/charges$/,
    declines: {
      'Incorrect PIN': 'authentication_failed',
      'Insufficient Funds': 'insufficient_funds',
      ABORTED: 'customer_cancelled',
      'Transaction timed out': 'customer_timeout',
    },
  },
  'the page of Wave': {
    gateway: 'wave',
    credentials: wave.credentials,
    start: wave.start,
    terms: wave.paymentTerms,
    channel: 'mobile_money',
    step: 'page',
    submission: wave.submission,
    declines: {
      cancelled: 'customer_cancelled',
      expired: 'customer_timeout',
      'insufficient-funds': 'insufficient_funds',
      'payer-mobile-mismatch': 'authentication_failed',
      'blocked-account': 'do_not_honor',
    },
  },
}
