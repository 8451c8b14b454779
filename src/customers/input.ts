// The request bodies for customers, the validation that a schema cannot express, and the conversion to columns.

import { type Static, Type } from 'typebox'
import { assertNoCardNumbers } from '../core/card-number.ts'
import { isCountry } from '../core/countries.ts'
import { errorFromIssues, type Issue } from '../core/errors.ts'
import { searchTextOf } from '../core/search-text.ts'
import { metadataIssues } from '../kit/http/metadata.ts'
import type { BodyFacts } from '../kit/http/route.ts'
import { CountryInput, described, Email, Metadata, namedObject, PersonName } from '../kit/http/schema.ts'
import type { CustomerFields, CustomerRow } from './customer.ts'

// E.164 allows at most fifteen digits; with the country code no number has fewer than seven.
const PHONE_PATTERN = '\\+[1-9][0-9]{6,14}'
const PHONE_MESSAGE = 'must be in international form without spaces, such as +254712345678.'

const FirstName = described(PersonName, 'The first name. The next payment overwrites it with its own.')
const LastName = described(PersonName, 'The last name. The next payment overwrites it with its own.')

export const CreateCustomerBody = namedObject('CreateCustomerRequest', {
  email: Email,
  firstname: FirstName,
  lastname: LastName,
  country: Type.Optional(described(CountryInput, 'Where the customer is, an ISO 3166-1 alpha-2 code.')),
  phone: Type.Optional(
    Type.String({
      pattern: `^${PHONE_PATTERN}$`,
      'x-message': PHONE_MESSAGE,
      description: 'The phone number in E.164.',
      examples: ['+254712345678'],
    }),
  ),
  metadata: Type.Optional(Metadata),
})

export const UpdateCustomerBody = namedObject('UpdateCustomerRequest', {
  email: Type.Optional(
    Type.Unsafe<string>({
      ...Email,
      description:
        'The identity of the customer: it must not be another customer’s. Saved methods stay with the customer and are charged under the new e-mail; a payment with the old one makes a new customer.',
    }),
  ),
  firstname: Type.Optional(FirstName),
  lastname: Type.Optional(LastName),
  country: Type.Optional(
    Type.String({
      pattern: '^(?:[A-Za-z]{2})?$',
      'x-message': 'must be an ISO 3166-1 alpha-2 code, or empty to remove it.',
      description: 'Where the customer is, an ISO 3166-1 alpha-2 code. An empty text removes it.',
    }),
  ),
  phone: Type.Optional(
    Type.String({
      pattern: `^(?:${PHONE_PATTERN})?$`,
      'x-message': PHONE_MESSAGE,
      description: 'The phone number in E.164. An empty text removes it.',
      examples: ['+254712345678'],
    }),
  ),
  metadata: Type.Optional(
    Type.Unsafe<Record<string, unknown>>({
      ...Metadata,
      description:
        'Merged by its keys: a key that is given replaces what was there, whole; one that is null is removed; the others stay.',
    }),
  ),
})

export const BlockCustomerBody = namedObject('BlockCustomerRequest', {
  reason: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '\\S',
      'x-multiline': true,
      description: 'Why you block the customer, who never sees it.',
    }),
  ),
})

export function customerIssues(body: Record<string, unknown>, facts: BodyFacts): Issue[] {
  const { country } = body
  const isInvalid = typeof country === 'string' && /^[a-z]{2}$/i.test(country) && !isCountry(country)
  const message = 'country must be an ISO 3166-1 alpha-2 code.'
  return [
    ...(isInvalid ? [{ field: 'country', code: 'invalid_format', message }] : []),
    ...metadataIssues(body.metadata, facts),
  ]
}

export function toNewCustomer(body: Static<typeof CreateCustomerBody>): CustomerFields {
  return withDerivedFields({
    email: body.email,
    firstname: body.firstname,
    lastname: body.lastname,
    country: body.country?.toUpperCase() ?? null,
    phone: body.phone ?? null,
    metadata: body.metadata ?? {},
  })
}

export type CustomerChanges = Static<typeof UpdateCustomerBody>

export function applyCustomerChanges(row: CustomerRow, changes: CustomerChanges): CustomerFields {
  return withDerivedFields({
    email: changes.email ?? row.email,
    firstname: changes.firstname ?? row.firstname,
    lastname: changes.lastname ?? row.lastname,
    country: changes.country === undefined ? row.country : changes.country.toUpperCase() || null,
    phone: changes.phone === undefined ? row.phone : changes.phone || null,
    metadata: changes.metadata === undefined ? row.metadata : mergeMetadata(row.metadata, changes.metadata),
  })
}

function withDerivedFields(fields: Omit<CustomerFields, 'emailKey' | 'searchText'>): CustomerFields {
  const { email, firstname, lastname } = fields
  assertNoCardNumbers({ email, firstname, lastname })
  return { ...fields, emailKey: email.toLowerCase(), searchText: searchTextOf(fields) }
}

function mergeMetadata(
  existing: Record<string, unknown>,
  changes: Record<string, unknown>,
): Record<string, unknown> {
  const entries = Object.entries({ ...existing, ...changes }).filter(
    ([key]) => !Object.hasOwn(changes, key) || changes[key] !== null,
  )
  const metadata = Object.fromEntries(entries)
  // The changes alone may be within the limits and the merged metadata beyond them.
  const issues = metadataIssues(metadata, { lossyNumbers: new Set() })
  if (issues.length > 0) throw errorFromIssues(issues)
  return metadata
}
