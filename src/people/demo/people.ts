// The people of the demo merchants of staging: they have no password, and sign in by a link that works once.

import type { Origin, PeopleApp } from '../app.ts'
import { PeopleError } from '../errors.ts'
import type { Role } from '../roles.ts'
import { type StartedSession, startSession } from '../sessions.ts'
import { DEMO_DOMAIN } from '../sign-in.ts'
import { addMembership } from '../team-queries.ts'
import { createLink, hashToken } from '../tokens.ts'
import { findLinkUser, findUserByEmail, insertUser, type UserKind, useLink } from '../user-queries.ts'

// A newcomer may open a printed link hours later. It works once, in staging.
const LINK_MS = 24 * 3_600_000

interface DemoPerson {
  /** Before the domain of the demo. */
  account: string
  name: string
  /** An operator has no merchant. */
  role: Role | 'operator'
}

type DemoPeopleApp = Pick<PeopleApp, 'peopleDb' | 'clock' | 'random' | 'mode'>

/** Makes the account and its membership, unless there are such. Returns the id of the user. */
export async function addDemoPerson(
  { peopleDb, clock, random, mode }: DemoPeopleApp,
  merchantId: string | undefined,
  { account, name, role }: DemoPerson,
): Promise<string> {
  if (mode !== 'test') throw new Error('there are no demo people outside staging')
  const createdAt = clock.now()
  const kind: UserKind = role === 'operator' ? 'operator' : 'member'
  const email = `${account}${DEMO_DOMAIN}`
  const fresh = { id: random.uuid(), email, name, kind, passwordHash: null, language: null, createdAt }
  return peopleDb.transaction(async (tx) => {
    const user = (await insertUser(tx, fresh)) ?? (await findUserByEmail(tx, email))
    if (!user) throw new Error('the account was deleted meanwhile')
    if (role !== 'operator' && merchantId !== undefined)
      await addMembership(tx, { merchantId, userId: user.id, role, createdAt })
    return user.id
  })
}

const DEMO_OWNER: DemoPerson = { account: 'owner', name: 'Demo Owner', role: 'owner' }

/** A token with which the person signs in once, within a day, also for this merchant. */
export async function createDemoSignIn(
  app: DemoPeopleApp,
  merchantId?: string,
  person = DEMO_OWNER,
): Promise<string> {
  const userId = await addDemoPerson(app, merchantId, person)
  return createLink(app, app.peopleDb, 'demo_sign_in', userId, LINK_MS)
}

export async function signInByDemoLink(
  app: PeopleApp,
  { token, kind }: { token: string; kind: UserKind },
  origin: Origin,
): Promise<StartedSession> {
  const hash = hashToken(token)
  const user = hash && (await findLinkUser(app.peopleDb, hash, 'demo_sign_in', app.clock.now()))
  if (!user || user.kind !== kind || app.mode !== 'test') throw new PeopleError('link_not_valid')
  return startSession(app, user, origin, 'sign_in.demo_link', {
    passwordHash: null,
    consume: async (tx) => {
      const userId = await useLink(tx, hash, 'demo_sign_in', app.clock.now())
      if (userId === undefined) throw new PeopleError('link_not_valid')
    },
  })
}
