// The request validation of the fake pawaPay, written from its documentation and independently of the connector. Like
// pawaPay it rejects every unknown field.

import type { FakeReply } from '../fake-server.ts'
import { FAKE_OPERATORS } from './fake-operators.ts'

export interface PageRequest {
  depositId: string
  amountDetails: { amount: string; currency: string }
  country: string
  metadata: Record<string, string>[]
  /** Why a well-formed request is rejected. */
  rejection: string | undefined
}

export interface DepositSubmission {
  depositId: string
  amount: string
  currency: string
  payer: { type: string; accountDetails: { phoneNumber: string; provider: string } }
  metadata: Record<string, string>[]
  /** The country of the operator, or why a well-formed request is rejected. */
  operator: { country: string; authType: string } | { rejection: string }
}

export interface RefundSubmission {
  refundId: string
  depositId: string
  amount: string
  currency: string
}

type Fields = Record<string, unknown>
type Rule = (value: unknown) => boolean

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const AMOUNT = /^([0]|([1-9][0-9]{0,17}))([.][0-9]{0,3}[1-9])?$/

const matches =
  (pattern: RegExp): Rule =>
  (value) =>
    typeof value === 'string' && pattern.test(value)

const AMOUNT_RULES: Record<string, Rule> = { amount: matches(AMOUNT), currency: matches(/^[A-Z]{3}$/) }

const PAGE_RULES: Record<string, Rule> = {
  depositId: matches(UUID_V4),
  returnUrl: matches(/^https?:\/\/\S+$/),
  customerMessage: matches(/^[A-Za-z0-9 ]{4,22}$/),
  amountDetails: (value) =>
    isObject(value) && findIssue(value, AMOUNT_RULES, ['amount', 'currency']) === undefined,
  phoneNumber: matches(/^[1-9]\d{5,14}$/),
  language: matches(/^(?:EN|FR)$/),
  country: matches(/^[A-Z]{3}$/),
  reason: matches(/^.{1,50}$/su),
  metadata: isMetadata,
}

const PHONE = matches(/^[1-9]\d{5,14}$/)
const PROVIDER = matches(/^[A-Z][A-Z_]+$/)

const hasOnly =
  (rules: Record<string, Rule>): Rule =>
  (value) =>
    isObject(value) && findIssue(value, rules, Object.keys(rules)) === undefined

const DEPOSIT_RULES: Record<string, Rule> = {
  depositId: matches(UUID_V4),
  ...AMOUNT_RULES,
  payer: hasOnly({
    type: (value) => value === 'MMO',
    accountDetails: hasOnly({ phoneNumber: PHONE, provider: PROVIDER }),
  }),
  customerMessage: matches(/^[A-Za-z0-9 ]{4,22}$/),
  successfulUrl: matches(/^https?:\/\/\S+$/),
  failedUrl: matches(/^https?:\/\/\S+$/),
  metadata: isMetadata,
}

const REFUND_RULES: Record<string, Rule> = {
  refundId: matches(UUID_V4),
  depositId: matches(UUID_V4),
  ...AMOUNT_RULES,
  metadata: isMetadata,
}

// Which currency is collected where, and the most decimals that any of its operators accepts.
const COLLECTED: Record<string, Record<string, number>> = {
  BEN: { XOF: 0 },
  BFA: { XOF: 0 },
  CIV: { XOF: 0 },
  CMR: { XAF: 0 },
  COD: { CDF: 2, USD: 2 },
  COG: { XAF: 0 },
  ETH: { ETB: 2 },
  GAB: { XAF: 2 },
  GHA: { GHS: 2 },
  KEN: { KES: 0 },
  LSO: { LSL: 2 },
  MOZ: { MZN: 2 },
  MWI: { MWK: 2 },
  NGA: { NGN: 2 },
  RWA: { RWF: 0 },
  SEN: { XOF: 0 },
  SLE: { SLE: 2 },
  TZA: { TZS: 2 },
  UGA: { UGX: 2 },
  ZMB: { ZMW: 2 },
}

export function validatePage(text: string): PageRequest | FakeReply {
  // A fixed amount requires a country.
  const fields = validateBody(text, PAGE_RULES, ['depositId', 'returnUrl', 'amountDetails', 'country'])
  if (isReply(fields)) return fields
  // A boundary: the rules above have checked every field.
  const page = fields as unknown as PageRequest
  return { ...page, metadata: page.metadata ?? [], rejection: rejectionOf(page) }
}

export function validateDeposit(text: string): DepositSubmission | FakeReply {
  const fields = validateBody(text, DEPOSIT_RULES, ['depositId', 'amount', 'currency', 'payer'])
  if (isReply(fields)) return fields
  // A boundary: the rules above have checked every field.
  const deposit = fields as unknown as DepositSubmission
  return { ...deposit, metadata: deposit.metadata ?? [], operator: operatorOf(deposit, fields) }
}

function operatorOf(
  { payer, amount, currency }: DepositSubmission,
  fields: Fields,
): DepositSubmission['operator'] {
  const { provider, phoneNumber } = payer.accountDetails
  const found = FAKE_OPERATORS.find((one) => one.provider === provider)
  if (!found) return { rejection: 'INVALID_PROVIDER' }
  if (!found.currencies.includes(currency)) return { rejection: 'INVALID_CURRENCY' }
  if (!phoneNumber.startsWith(found.prefix.slice(0, 3))) return { rejection: 'INVALID_PHONE_NUMBER' }
  const isFraction = amount.includes('.')
  if (isFraction && found.decimalsInAmount === 'NONE') return { rejection: 'INVALID_AMOUNT' }
  if (Number(amount) < Number(found.minAmount) || Number(amount) > Number(found.maxAmount))
    return { rejection: 'AMOUNT_OUT_OF_BOUNDS' }
  if (found.status === 'CLOSED') return { rejection: 'PROVIDER_TEMPORARILY_UNAVAILABLE' }
  const hasUrls = fields.successfulUrl !== undefined && fields.failedUrl !== undefined
  if (found.authType === 'PREAUTH_AUTH' || (found.authType === 'REDIRECT_AUTH' && !hasUrls))
    return { rejection: 'MISSING_PARAMETER' }
  return found
}

export function validateRefund(text: string): RefundSubmission | FakeReply {
  const fields = validateBody(text, REFUND_RULES, ['refundId', 'depositId', 'amount', 'currency'])
  // A boundary: the rules above have checked every field.
  return isReply(fields) ? fields : (fields as unknown as RefundSubmission)
}

function rejectionOf({ country, amountDetails: { amount, currency } }: PageRequest): string | undefined {
  const decimals = COLLECTED[country]?.[currency]
  if (decimals === undefined) return 'INVALID_CURRENCY'
  return (amount.split('.')[1] ?? '').length > decimals ? 'INVALID_AMOUNT' : undefined
}

function validateBody(text: string, rules: Record<string, Rule>, required: string[]): Fields | FakeReply {
  const fields = parse(text)
  if (!fields) return badRequest('INVALID_INPUT', 'We are unable to parse the body.')
  const issue = findIssue(fields, rules, required)
  return issue
    ? badRequest(issue.code, `There is something wrong with the parameter '${issue.name}'.`)
    : fields
}

function findIssue(fields: Fields, rules: Record<string, Rule>, required: string[]) {
  const missing = required.find((name) => fields[name] === undefined)
  if (missing !== undefined) return { code: 'MISSING_PARAMETER', name: missing }
  const [name, value] = Object.entries(fields).find(([one, given]) => !rules[one]?.(given)) ?? []
  if (name === undefined) return undefined
  if (!rules[name]) return { code: 'UNSUPPORTED_PARAMETER', name }
  return {
    code: name === 'metadata' && Array.isArray(value) ? 'DUPLICATE_METADATA_FIELD' : 'INVALID_PARAMETER',
    name,
  }
}

/** At most ten objects with one field each, beside the isPII flag; no field twice. */
function isMetadata(value: unknown): boolean {
  if (!Array.isArray(value) || value.length > 10) return false
  const names = value.map((one) => (isObject(one) ? Object.keys(one).filter((name) => name !== 'isPII') : []))
  return names.every(({ length }) => length === 1) && new Set(names.flat()).size === names.length
}

function parse(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    // Invalid JSON is rejected as a whole.
    return undefined
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isReply(value: Fields | FakeReply): value is FakeReply {
  return 'http' in value
}

function badRequest(failureCode: string, failureMessage: string): FakeReply {
  return { http: 400, body: { status: 'REJECTED', failureReason: { failureCode, failureMessage } } }
}
