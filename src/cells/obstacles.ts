// Why a database cannot be a cell, in sentences that say what to do. Messages of the network and of the server repeat parts of
// the URL, which may be the password in a wrong place, so none of them is passed on.

import { DbUnavailable, sqlStateOf } from '../kit/db/db.ts'

const NO_HOST = 'the host has no address: check its name'
const REFUSED_USER =
  'the server refuses this user or password, or does not let it in from here: check pg_hba.conf'
const NO_ANSWER = 'the host does not answer: check the address, the port and the firewall'

const ADVICE: Readonly<Record<string, string>> = {
  ENOTFOUND: NO_HOST,
  EAI_AGAIN: NO_HOST,
  ECONNREFUSED: 'no server listens on this host and port: check both, and listen_addresses',
  ETIMEDOUT: NO_ANSWER,
  EHOSTUNREACH: NO_ANSWER,
  ENETUNREACH: NO_ANSWER,
  '28000': REFUSED_USER,
  '28P01': REFUSED_USER,
  '3D000': 'the server has no database with this name',
  '53300': 'the server has no connection left: raise max_connections',
  '42501': 'the user may not connect to this database: grant connect on it',
}

/** Why no usable server was reached; and what to do if the server has no such database. */
export function describeConnection(error: unknown, ifMissing: string): string {
  const cause = error instanceof DbUnavailable ? error.cause : error
  if (!(cause instanceof Error)) return `${NO_ANSWER}.`
  if (!('code' in cause)) return /timeout/.test(cause.message) ? `${NO_ANSWER}.` : cause.message
  const code = String(cause.code)
  const advice = ADVICE[code]
  const toDo = code === '3D000' ? `: ${ifMissing}` : ''
  return `connecting failed with ${code}${advice === undefined ? '' : `, because ${advice}${toDo}`}.`
}

export const NEEDS_ROLE =
  'leads to a database whose user is not a member of the role cowry_merchant, by which merchants are isolated: as a superuser, create role cowry_merchant nologin where it is missing, and grant cowry_merchant to the user.'

export const NEEDS_OWNER =
  'leads to a database whose user does not own the tables of the cell: grant the role that owns them to the user, or make the user their owner.'

const MAKE_OWNER = 'make it the owner with alter database … owner to …'
const RIGHTS: readonly (readonly [RegExp, string])[] = [
  [/role/, NEEDS_ROLE],
  [
    /database|extension/,
    `leads to a database whose user may not create schemas and extensions: ${MAKE_OWNER}, or grant create on database … to it.`,
  ],
  [
    /./,
    `leads to a database whose user may not create tables: ${MAKE_OWNER}, or make it the owner of the schema.`,
  ],
]

// The second one: the user may use no schema of its search path.
const FORBIDDEN = ['42501', '3F000']

/** What must be granted; undefined if the error is about something else. */
export function describeRights(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { message } = cause
    if (FORBIDDEN.includes(sqlStateOf(cause) ?? '')) return RIGHTS.find(([about]) => about.test(message))?.[1]
  }
  return undefined
}
