// The accounts of people as operators see them.

import { Type } from 'typebox'
import { described, NamedEnum, Nullable, namedObject, Timestamp, text, Uuid } from '../../kit/http/schema.ts'
import { ListQuery } from '../../merchants/operator-list.ts'
import type { UserKind } from '../user-queries.ts'

const Kind = (description: string) => NamedEnum<UserKind>('UserKind', ['member', 'operator'], { description })

export const UsersQuery = Type.Object({
  ...ListQuery.properties,
  kind: Type.Optional(Kind('Only members of merchants, or only operators.')),
  email: Type.Optional(text('Only the account with this e-mail address.', 'wanjiru@example.com')),
})

export const UserRecord = namedObject(
  'User',
  {
    uuid: Uuid,
    email: text('The e-mail address, in lower case.', 'wanjiru@example.com'),
    name: text('The name that the person chose.', 'Wanjiru Kamau'),
    kind: Kind('A member works for merchants at /app, an operator for this instance at /ops.'),
    merchants: Type.Array(Uuid, { description: 'The merchants of a member.' }),
    hasSecondFactor: Type.Boolean({
      description: 'Whether the password alone is not enough: an authenticator app is set up.',
    }),
    createdAt: described(Timestamp, 'When the person joined.'),
    disabledAt: Nullable(Timestamp, 'When the account was disabled. Null: the person can sign in.'),
  },
  { description: 'The account of a person.' },
)
