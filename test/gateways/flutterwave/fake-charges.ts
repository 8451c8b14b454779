// The direct charges of the fake Flutterwave: what each type accepts, and how it answers.

import type { FakeReply } from '../fake-server.ts'
import { type Json, readFixture } from './fixture.ts'

interface FakeType {
  currencies: readonly string[]
  /** By country of the number. */
  phone: RegExp
  networks: readonly string[]
  answer: 'charge-callback' | 'charge-redirect' | 'charge-transfer'
  required?: readonly string[]
}

const COMMON = 'tx_ref amount currency email fullname meta client_ip device_fingerprint redirect_url'
const WALLET = `${COMMON} phone_number network country order_id voucher`

const TYPES: Readonly<Record<string, FakeType>> = {
  mobile_money_ghana: {
    currencies: ['GHS'],
    phone: /^233\d{9}$/,
    networks: ['MTN', 'VODAFONE', 'AIRTELTIGO'],
    answer: 'charge-redirect',
    required: ['network'],
  },
  mobile_money_uganda: {
    currencies: ['UGX'],
    phone: /^256\d{9}$/,
    networks: ['MTN', 'AIRTEL'],
    answer: 'charge-redirect',
  },
  mobile_money_rwanda: {
    currencies: ['RWF'],
    phone: /^250\d{9}$/,
    networks: ['MTN', 'AIRTEL'],
    answer: 'charge-redirect',
    required: ['order_id'],
  },
  mobile_money_zambia: {
    currencies: ['ZMW'],
    phone: /^260\d{9}$/,
    networks: ['MTN', 'AIRTEL', 'ZAMTEL'],
    answer: 'charge-redirect',
  },
  mobile_money_tanzania: {
    currencies: ['TZS'],
    phone: /^255\d{9}$/,
    networks: ['HALOPESA', 'AIRTEL', 'TIGO', 'VODACOM'],
    answer: 'charge-callback',
    required: ['network'],
  },
  mobile_money_franco: {
    currencies: ['XAF', 'XOF'],
    phone: /^(?:237|225|221|226)\d{8,10}$/,
    networks: ['WAVE', 'MTN', 'ORANGEMONEY'],
    answer: 'charge-callback',
    required: ['country', 'network'],
  },
  mpesa: { currencies: ['KES'], phone: /^254\d{9}$/, networks: [], answer: 'charge-callback' },
  bank_transfer: { currencies: ['NGN'], phone: /^/, networks: [], answer: 'charge-transfer' },
}

export function fieldsOf(type: string | null): readonly string[] {
  return [type === 'bank_transfer' ? `${COMMON} narration is_permanent expires` : WALLET]
}

/** Why the charge is refused, in Flutterwave's words; undefined if it is accepted. */
export function findChargeIssue(type: string | null, body: Json): string | undefined {
  const known = TYPES[type ?? '']
  if (!known) return 'type is not valid'
  const missing = ['tx_ref', 'amount', 'currency', 'email', ...(known.required ?? [])].find(
    (name) => body[name] === undefined,
  )
  if (missing) return `${missing} is required`
  if (!known.currencies.includes(String(body.currency))) return 'currency is not supported'
  if (type === 'bank_transfer') return isExpiry(body.expires) ? undefined : 'expires must be a number'
  if (!known.phone.test(String(body.phone_number))) return 'phone_number is invalid'
  const isKnownNetwork = body.network === undefined || known.networks.includes(String(body.network))
  return isKnownNetwork ? undefined : 'network is not valid'
}

const isExpiry = (value: unknown) =>
  Number.isSafeInteger(value) && Number(value) > 0 && Number(value) <= 31_536_000

/** The response to an accepted charge, whose record is pending. */
export function chargeReply(type: string | null, body: Json, record: Json, nowMs: number): FakeReply {
  const fixture = readFixture(answerOf(type, body))
  if (type === 'bank_transfer') {
    const { authorization } = fixture.meta as { authorization: Json }
    const shown = {
      ...authorization,
      transfer_amount: Number(body.amount).toFixed(2),
      account_expiration: nowMs + Number(body.expires) * 1_000,
    }
    return { http: 200, body: { ...fixture, meta: { authorization: shown } } }
  }
  return { http: 200, body: fixture.data === undefined ? fixture : { ...fixture, data: record } }
}

const answerOf = (type: string | null, { network }: Json) =>
  network === 'WAVE' ? 'charge-redirect' : (TYPES[type ?? '']?.answer ?? 'charge-callback')
