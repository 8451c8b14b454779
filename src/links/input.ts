// The requests that create or change a link: their schemas, and the validation that a schema cannot express.

import { type Static, Type } from 'typebox'
import { redirectIssues } from '../checkout/input.ts'
import { assertNoCardNumbers } from '../core/card-number.ts'
import {
  COUNTRY_REQUIRED_CURRENCIES,
  type Currency,
  DEFAULT_CURRENCY,
  defaultCountry,
} from '../core/currency.ts'
import { errorFromIssues, type Issue } from '../core/errors.ts'
import { parseAmount } from '../core/money.ts'
import { metadataIssues } from '../kit/http/metadata.ts'
import type { BodyFacts } from '../kit/http/route.ts'
import {
  CurrencyInput,
  described,
  Metadata,
  NamedEnum,
  Nullable,
  namedObject,
  VISIBLE_TEXT,
} from '../kit/http/schema.ts'
import { amountIssues, countryIssues } from '../payments/input.ts'
import { LINK_USAGES, type LinkRow, type LinkTerms, type LinkUsage, type NewLink } from './link.ts'

const Title = Type.String({
  ...VISIBLE_TEXT,
  maxLength: 100,
  description: 'What is paid for. Payers see it.',
  examples: ['Ticket for the coffee tasting'],
})
const Description = Type.String({
  maxLength: 255,
  'x-multiline': true,
  description: 'More about it, which payers see too.',
})
const RedirectUrl = Type.String({
  maxLength: 2048,
  description: 'Where payers are sent after paying, as for initiate-payment.',
})
const ExpiresAt = Type.String({
  format: 'date-time',
  description: 'Until when the link can be paid, a time in the future. Absent: it does not expire.',
  examples: ['2026-04-01T09:00:00.000Z'],
})

// More payments than any link gets, and few enough to count quickly.
const MaxPayments = Type.Integer({
  minimum: 1,
  maximum: 1_000_000,
  description: 'How many payments the link takes. Absent: any number, or one if usage is single.',
})

const MinAmount = Type.Number({
  description: 'The smallest amount that the payer may choose, in major units. Only without amount.',
})
const MaxAmount = Type.Number({
  description: 'The largest amount that the payer may choose, in major units. Only without amount.',
})

export const CreateLinkBody = namedObject('CreatePaymentLinkRequest', {
  title: Title,
  description: Type.Optional(Description),
  amount: Type.Optional(
    Type.Number({
      description: 'The amount of each payment, in major units. Absent: the payer chooses it.',
      examples: [1250.5],
    }),
  ),
  minAmount: Type.Optional(MinAmount),
  maxAmount: Type.Optional(MaxAmount),
  currency: Type.Optional(CurrencyInput),
  country: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z]{2}$',
      'x-code': 'invalid_country',
      'x-message': 'must be an ISO 3166-1 alpha-2 code of a country that uses the currency.',
      description: `Selects the rails of the currency. Required for ${COUNTRY_REQUIRED_CURRENCIES}.`,
      examples: ['KE'],
    }),
  ),
  usage: Type.Optional(
    NamedEnum('PaymentLinkUsage', LINK_USAGES, {
      default: 'multi',
      description: 'single: it takes one payment. multi: it takes many.',
    }),
  ),
  maxPayments: Type.Optional(MaxPayments),
  redirectUrl: Type.Optional(RedirectUrl),
  metadata: Type.Optional(Metadata),
  expiresAt: Type.Optional(ExpiresAt),
})

export const ChangeLinkBody = namedObject('UpdatePaymentLinkRequest', {
  title: Type.Optional(Title),
  description: Type.Optional(Nullable(Description, 'More about it, which payers see too. Null removes it.')),
  minAmount: Type.Optional(
    Nullable(Type.Number(), 'The smallest amount that the payer may choose, in major units. Null: no limit.'),
  ),
  maxAmount: Type.Optional(
    Nullable(Type.Number(), 'The largest amount that the payer may choose, in major units. Null: no limit.'),
  ),
  maxPayments: Type.Optional(Nullable(MaxPayments, 'How many payments the link takes. Null: any number.')),
  redirectUrl: Type.Optional(
    Nullable(RedirectUrl, 'Where payers are sent after paying. Null: they stay on our receipt.'),
  ),
  metadata: Type.Optional(
    described(Metadata, 'Your own keys and values. They replace all those that the link has.'),
  ),
  expiresAt: Type.Optional(
    Nullable(ExpiresAt, 'Until when the link can be paid, a time in the future. Null: it does not expire.'),
  ),
})

export type CreateLink = Static<typeof CreateLinkBody>
export type ChangeLink = Static<typeof ChangeLinkBody>

const AMOUNT_FIELDS = ['amount', 'minAmount', 'maxAmount'] as const

export function createLinkIssues(allowHttp: boolean) {
  return (body: Record<string, unknown>, facts: BodyFacts): Issue[] => [
    ...AMOUNT_FIELDS.flatMap((field) => amountIssues(body, facts, field)),
    ...countryIssues(body),
    ...boundIssues({ amount: body.amount, minAmount: body.minAmount, maxAmount: body.maxAmount }),
    ...usageIssues(body.usage, body.maxPayments),
    ...metadataIssues(body.metadata, facts),
    ...redirectIssues(body.redirectUrl, allowHttp),
  ]
}

/** Validates what does not depend on the link; toChangedTerms checks against its currency, amount and usage. */
export function changeLinkIssues(allowHttp: boolean) {
  return (body: Record<string, unknown>, facts: BodyFacts): Issue[] => [
    ...metadataIssues(body.metadata, facts),
    ...redirectIssues(body.redirectUrl, allowHttp),
    ...['minAmount', 'maxAmount']
      .filter((field) => facts.lossyNumbers.has(field))
      .map((field) => ({
        field,
        code: 'amount_precision',
        message: `${field} has more digits than a JSON number can carry exactly.`,
      })),
  ]
}

interface Bounds {
  amount: unknown
  minAmount: unknown
  maxAmount: unknown
}

function boundIssues({ amount, minAmount, maxAmount }: Bounds): Issue[] {
  if (isGiven(amount)) {
    return Object.entries({ minAmount, maxAmount })
      .filter(([, bound]) => isGiven(bound))
      .map(([field]) => ({
        field,
        code: 'not_allowed',
        message: `${field} is for links whose amount the payer chooses; this one has an amount.`,
      }))
  }
  if (!isGiven(minAmount) || !isGiven(maxAmount) || minAmount <= maxAmount) return []
  return [{ field: 'maxAmount', code: 'out_of_range', message: 'maxAmount must not be below minAmount.' }]
}

const isGiven = (value: unknown): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint'

function usageIssues(usage: unknown, maxPayments: unknown): Issue[] {
  if (usage !== 'single' || maxPayments === undefined || maxPayments === 1) return []
  const message = 'A link for single use takes one payment; leave maxPayments out.'
  return [{ field: 'maxPayments', code: 'not_allowed', message }]
}

export function toNewLink(body: CreateLink): Omit<NewLink, 'merchantId' | 'id' | 'slug' | 'createdAt'> {
  assertNoCardNumbers({ title: body.title, description: body.description })
  const currency = body.currency ?? DEFAULT_CURRENCY
  const usage: LinkUsage = body.usage ?? 'multi'
  const toMinor = (amount: number) => minorOf(amount, currency)
  return {
    title: body.title,
    description: body.description ?? null,
    amountMinor: mapped(body.amount, toMinor) ?? null,
    minAmountMinor: mapped(body.minAmount, toMinor) ?? null,
    maxAmountMinor: mapped(body.maxAmount, toMinor) ?? null,
    currency,
    country: body.country?.toUpperCase() ?? defaultCountry(currency),
    usage,
    maxPayments: usage === 'single' ? 1 : (body.maxPayments ?? null),
    redirectUrl: body.redirectUrl ?? null,
    metadata: body.metadata ?? {},
    expiresAt: body.expiresAt === undefined ? null : new Date(body.expiresAt),
  }
}

/** The terms of a link after the change: absent fields stay, and null clears a field. */
export function toChangedTerms(link: LinkRow, change: ChangeLink): LinkTerms {
  assertNoCardNumbers({ title: change.title, description: change.description })
  throwIssues(changedTermsIssues(link, change))
  const toMinor = (amount: number) => minorOf(amount, link.currency)
  const terms: LinkTerms = {
    title: change.title ?? link.title,
    description: changed(change.description, link.description),
    minAmountMinor: changed(mapped(change.minAmount, toMinor), link.minAmountMinor),
    maxAmountMinor: changed(mapped(change.maxAmount, toMinor), link.maxAmountMinor),
    maxPayments: link.usage === 'single' ? 1 : changed(change.maxPayments, link.maxPayments),
    redirectUrl: changed(change.redirectUrl, link.redirectUrl),
    metadata: change.metadata ?? link.metadata,
    expiresAt: changed(
      mapped(change.expiresAt, (text) => new Date(text)),
      link.expiresAt,
    ),
  }
  const { minAmountMinor: minAmount, maxAmountMinor: maxAmount } = terms
  throwIssues(boundIssues({ amount: link.amountMinor, minAmount, maxAmount }))
  return terms
}

function changed<Value>(requested: Value | null | undefined, current: Value | null): Value | null {
  return requested === undefined ? current : requested
}

function mapped<From, To>(value: From | null | undefined, to: (value: From) => To): To | null | undefined {
  if (value === undefined) return undefined
  return value === null ? null : to(value)
}

function throwIssues(issues: Issue[]): void {
  if (issues.length > 0) throw errorFromIssues(issues)
}

const NO_FACTS: BodyFacts = { lossyNumbers: new Set() }

function changedTermsIssues({ currency, usage }: LinkRow, change: ChangeLink): Issue[] {
  return [
    ...['minAmount', 'maxAmount'].flatMap((field) => amountIssues({ ...change, currency }, NO_FACTS, field)),
    ...usageIssues(usage, change.maxPayments ?? undefined),
  ]
}

function minorOf(amount: number, currency: Currency): bigint {
  const parsed = parseAmount(amount, currency)
  if (typeof parsed === 'string') throw new Error('an amount passed validation and cannot be parsed')
  return parsed.minor
}
