// What the endpoints of cases take and return.

import { Type } from 'typebox'
import type { CaseDetails } from '../cases/case.ts'
import { CASE_KIND_NAMES } from '../cases/case-kinds.ts'
import { CaseRecord, ResolutionName } from '../cases/schema.ts'
import {
  described,
  Enum,
  NamedEnum,
  Nullable,
  namedExtension,
  namedObject,
  PAGE_QUERY,
  Timestamp,
  text,
  Uuid,
  UuidInput,
} from '../kit/http/schema.ts'

const FILTERS = {
  state: Type.Optional(
    Enum(['open', 'resolved', 'all'], {
      default: 'open',
      description: 'Only cases in this state. open includes those that await an approval.',
    }),
  ),
  kind: Type.Optional(NamedEnum('CaseKind', CASE_KIND_NAMES, { description: 'Only cases of this kind.' })),
  payment: Type.Optional(described(UuidInput, 'Only cases of the payment or charge with this uuid.')),
}

export const CasesQuery = Type.Object({ ...PAGE_QUERY, ...FILTERS })

const { page, limit, cursor } = PAGE_QUERY
export const OperatorCasesQuery = Type.Object({
  ...{ page, limit, cursor, ...FILTERS },
  owner: Type.Optional(
    NamedEnum('CaseOwner', ['merchant', 'operator'], {
      description: 'Only cases that the merchant, or the operator, decides.',
    }),
  ),
})

const PROPOSED_AT = Type.Optional(described(Timestamp, 'Fail unless this proposal stands: its `at`.'))

export const ResolveBody = namedObject('ResolveCaseRequest', {
  resolution: ResolutionName,
  note: Type.String({
    minLength: 1,
    maxLength: 500,
    pattern: '\\S',
    description: 'Why you decide so. It is kept with the case.',
  }),
  proof: Type.Optional(
    Nullable(
      Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' }),
      'The provider’s reference, if the resolution relies on its records.',
    ),
  ),
  proposedAt: PROPOSED_AT,
})

export const RejectBody = namedObject('RejectProposal', {
  note: Type.Optional(Type.String({ maxLength: 500, description: 'Why.' })),
  proposedAt: PROPOSED_AT,
})

export const OperatorCaseRecord = namedExtension(
  'OperatorCase',
  CaseRecord,
  {
    merchantUuid: described(Uuid, 'The uuid of the merchant whose payment it is.'),
    merchantName: text('The name of the merchant.', 'Duka la Mama'),
    customer: namedObject(
      'CaseCustomer',
      {
        uuid: Uuid,
        firstname: text('The first name.', 'Jane'),
        lastname: text('The last name.', 'Otieno'),
        email: text('The e-mail address.', 'jane@example.com'),
        phone: Nullable(Type.String(), 'The phone number. Null if it is not known.'),
      },
      { description: 'The customer of the payment, as it names them.' },
    ),
    isOwnProposal: Type.Boolean({
      description: 'Whether you have made the proposal: then you may withdraw but not approve it.',
    }),
  },
  {
    description:
      'A case with its merchant and customer. Operators are named: `operator:` and the name of the person.',
  },
)

export const RESOLVE_ERRORS = [
  'validation_failed',
  'invalid_uuid',
  'case_not_found',
  'case_resolved',
  'case_awaiting_approval',
  'approver_not_independent',
  'invalid_state',
  'proof_already_used',
  'resolution_not_possible',
  'refund_not_supported',
  'card_data_not_allowed',
] as const

export const REJECT_ERRORS = [
  'validation_failed',
  'invalid_uuid',
  'case_not_found',
  'invalid_state',
  'card_data_not_allowed',
] as const

export const REJECTED_MESSAGE = 'The proposal has ended; the case is open.'

export function messageOf({ closedAt, proposal }: CaseDetails['row']): string {
  if (closedAt !== null) return 'Case resolved.'
  return proposal === null
    ? 'The gateway does not know the outcome yet; the case stays open.'
    : 'Resolution proposed; the API key of another person must send the same resolution and proof to approve it.'
}
