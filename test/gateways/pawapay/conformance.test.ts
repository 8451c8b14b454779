import { money } from '../../../src/core/money.ts'
import { PAWAPAY } from '../../../src/gateways/pawapay/index.ts'
import { type Subject, testConformance } from '../conformance.ts'
import { API_TOKEN, startFakePawapay } from './fake.ts'
import { OTHER_KEYS, PAWAPAY_KEYS } from './fake-callbacks.ts'

const SUBJECT: Subject = {
  name: PAWAPAY.name,
  credentials: { apiToken: API_TOKEN, publicKey: PAWAPAY_KEYS.publicKey },
  otherCredentials: {
    apiToken: 'eyJraWQiOiIxIiwiYWxnIjoiRVMyNTYifQ.of-another-account.c2lnbmF0dXJl',
    publicKey: OTHER_KEYS.publicKey,
  },
  amount: money(125_050n, 'ZMW'),
  country: 'ZM',
  choice: { channel: 'mobile_money', phone: '+260763456789', network: 'mtn_zm' },
  declines: [
    { how: 'PAYMENT_NOT_APPROVED', code: 'customer_cancelled', on: 'checkout' },
    { how: 'INSUFFICIENT_BALANCE', code: 'insufficient_funds', on: 'checkout' },
    { how: 'PAYER_NOT_FOUND', code: 'wallet_not_found', on: 'checkout' },
    { how: 'PAYER_LIMIT_REACHED', code: 'limit_exceeded', on: 'checkout' },
    { how: 'WALLET_LIMIT_REACHED', code: 'limit_exceeded', on: 'checkout' },
    { how: 'AMOUNT_OUT_OF_BOUNDS', code: 'limit_exceeded', on: 'checkout' },
    { how: 'INVALID_PHONE_NUMBER', code: 'wallet_not_found', on: 'checkout' },
    { how: 'PAYMENT_IN_PROGRESS', code: 'provider_unavailable', on: 'checkout' },
    { how: 'TRANSACTION_ALREADY_IN_PROCESS', code: 'provider_unavailable', on: 'checkout' },
    { how: 'PROVIDER_TEMPORARILY_UNAVAILABLE', code: 'provider_unavailable', on: 'checkout' },
    { how: 'UNSPECIFIED_FAILURE', code: 'do_not_honor', on: 'checkout' },
    // Not in pawaPay's list: read by their meaning, or unknown.
    { how: 'BALANCE_INSUFFICIENT', code: 'insufficient_funds', on: 'checkout' },
    { how: 'PAYER_ACCOUNT_BLOCKED', code: 'do_not_honor', on: 'checkout' },
    { how: 'PAYMENT_REQUEST_EXPIRED', code: 'customer_timeout', on: 'checkout' },
    { how: 'INVALID_PIN', code: 'authentication_failed', on: 'checkout' },
    { how: 'SOMETHING_NEW', code: 'unknown', on: 'checkout' },
  ],
  start: startFakePawapay,
  open: PAWAPAY.open,
}

testConformance(SUBJECT)
testConformance({
  ...SUBJECT,
  variant: 'on the page of the provider',
  choice: { channel: 'mobile_money' },
  open: (connection) =>
    PAWAPAY.open({ ...connection, credentials: { ...connection.credentials, collection: 'page' } }),
})
testConformance({
  ...SUBJECT,
  variant: 'with an operator that has its own page',
  amount: money(12_500n, 'XOF'),
  country: 'SN',
  choice: { channel: 'mobile_money', phone: '+221701234567', network: 'wave_sn' },
})
