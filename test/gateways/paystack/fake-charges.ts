// The Charge API of the fake Paystack: mobile money and bank transfers without its page.

import type { FakeReply } from '../fake-server.ts'
import {
  type Check,
  errorReply,
  type FakePayment,
  fixtureReply,
  isObject,
  isText,
  type Json,
  validationError,
} from './fake-replies.ts'

export const DIRECT_FIELDS: Record<string, Check> = {
  mobile_money: (value) =>
    isObject(value) && !validationError(Object(value), MOBILE_MONEY, ['phone', 'provider']),
  bank_transfer: (value) =>
    isObject(value) && !validationError(Object(value), TRANSFER, ['account_expires_at']),
  metadata: isObject,
}

const MOBILE_MONEY: Record<string, Check> = { phone: isText, provider: isText }
const TRANSFER: Record<string, Check> = {
  account_expires_at: (value) => !Number.isNaN(Date.parse(String(value))),
}

/** The providers of each currency, and its numbers. */
const MARKETS: Readonly<Record<string, { providers: readonly string[]; phone: RegExp }>> = {
  GHS: { providers: ['mtn', 'atl', 'vod'], phone: /^0[25]\d{8}$/ },
  KES: { providers: ['mpesa', 'atl'], phone: /^\+254[17]\d{8}$/ },
  XOF: { providers: ['mtn', 'orange', 'wave'], phone: /^\+225\d{10}$/ },
}

const MINUTE_MS = 60_000

/** Why a charge with these fields cannot begin. */
export function directError({ currency, mobile_money, bank_transfer }: Json): FakeReply | undefined {
  if ((mobile_money === undefined) === (bank_transfer === undefined))
    return errorReply(400, 'Please pass one payment channel', { type: 'validation_error' })
  return mobile_money === undefined
    ? transferError(String(currency), Object(bank_transfer))
    : walletError(String(currency), Object(mobile_money))
}

function walletError(currency: string, { provider, phone }: Json): FakeReply | undefined {
  const market = MARKETS[currency]
  if (!market?.providers.includes(String(provider)))
    return errorReply(400, 'Mobile money provider is not supported', { type: 'validation_error' })
  return market.phone.test(String(phone))
    ? undefined
    : errorReply(400, 'Invalid phone number', { type: 'validation_error' })
}

function transferError(currency: string, { account_expires_at }: Json): FakeReply | undefined {
  if (currency !== 'NGN') return errorReply(400, 'Channel is not supported', { type: 'validation_error' })
  const minutes = (Date.parse(String(account_expires_at)) - Date.now()) / MINUTE_MS
  return minutes >= 15 && minutes <= 480
    ? undefined
    : errorReply(400, 'account_expires_at must be from 15 minutes to 8 hours', { type: 'validation_error' })
}

/** The response to an accepted charge, which waits for the payer. */
export function directReply(record: FakePayment, { mobile_money, bank_transfer }: Json): FakeReply {
  const { reference } = record
  record.status = 'ongoing'
  record.direct = { channel: bank_transfer === undefined ? 'mobile_money' : 'bank_transfer', reusable: false }
  if (bank_transfer !== undefined) {
    const { account_expires_at } = Object(bank_transfer)
    return fixtureReply('charge-transfer', { reference, account_expires_at })
  }
  switch (Object(mobile_money).provider) {
    case 'vod':
      return fixtureReply('charge-otp', { reference })
    case 'wave':
      return fixtureReply('charge-offline', {
        reference,
        status: 'open_url',
        url: `https://pay.wave.com/c/${reference}`,
      })
    default:
      return fixtureReply('charge-offline', { reference })
  }
}
