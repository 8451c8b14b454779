// The slice of people on a database of its own, with a clock that rises by its readings, cheap hashes and a count of them.

import { createHash } from 'node:crypto'
import { createVault, type VaultKey } from '../../src/kit/crypto.ts'
import { runAudited } from '../../src/kit/db/audit-context.ts'
import { type ConnectedDb, sql } from '../../src/kit/db/db.ts'
import { requestScoped, runAsMerchant } from '../../src/kit/db/tenant-isolation.ts'
import { systemRandom } from '../../src/kit/random.ts'
import { createMerchant } from '../../src/merchants/service.ts'
import type { Origin, PeopleApp } from '../../src/people/app.ts'
import { PeopleError, type PeopleErrorCode } from '../../src/people/errors.ts'
import { acceptWithNewAccount } from '../../src/people/invitations.ts'
import { createPasswordHasher } from '../../src/people/passwords.ts'
import type { Role } from '../../src/people/roles.ts'
import { auditOf, type Principal, principalOf } from '../../src/people/sessions.ts'
import { inviteOwner } from '../../src/people/team.ts'
import { type Cleanup, testDatabase } from './database.ts'
import { type FakeClock, frozenClock } from './fake-clock.ts'

export const SITE = 'https://pay.example.com'
export const PASSWORD = 'correct horse battery staple'

const setRoleStatement = sql<unknown>`update memberships set role = $3 where merchant_id = $1 and user_id = $2`

export interface PeopleRig {
  app: PeopleApp
  raw: ConnectedDb
  clock: FakeClock
  /** The key that encrypts. */
  vaultKey: VaultKey
  /** The keys of the log lines. */
  lines: readonly string[]
  /** How often a password was hashed. */
  hashes(): number
  newMerchant(): Promise<string>
  /** A person with an account, signed in to this merchant. */
  newMember(merchantId: string, role: Role): Promise<SignedInMember>
  /** Runs an action as the dashboard does: scoped to the merchant, and audited. */
  as<Result>(principal: Principal, work: () => Promise<Result>): Promise<Result>
}

export interface SignedInMember {
  email: string
  token: string
  deviceToken: string
  principal: Principal
}

let addresses = 0

/** A browser at an address of its own. */
export function newOrigin(more: Partial<Origin> = {}): Origin {
  addresses += 1
  const address = `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`
  return { address, visitor: address, userAgent: 'Browser', requestId: 'request', ...more }
}

export async function peopleRig(t: Cleanup): Promise<PeopleRig> {
  const raw = await testDatabase(t)
  const clock = risingClock()
  const random = systemRandom(clock)
  const vaultKey = { id: 'test', key: random.bytes(32) }
  let hashes = 0
  const lines: string[] = []
  const passwords = createPasswordHasher(random, { logN: 1, r: 1, p: 1 }, async (password, salt) => {
    hashes += 1
    return createHash('sha256').update(salt).update(password).digest()
  })
  const app: PeopleApp = {
    instanceDb: requestScoped(raw, { isTenantScoped: true }),
    peopleDb: requestScoped(raw, { isTenantScoped: false }),
    vault: createVault([vaultKey], random),
    ...{ clock, random, mode: 'test', passwords, peopleKey: random.bytes(32) },
    log: { write: (key) => void lines.push(key) },
    settings: { publicUrl: () => SITE },
  }
  const as: PeopleRig['as'] = (principal, work) => {
    const context = { operation: 'POST /app/test', target: null, at: clock.now() }
    const audited = () => runAudited(auditOf(principal, newOrigin(), context), work)
    return principal.merchant ? runAsMerchant(principal.merchant.id, audited) : audited()
  }
  const newMember: PeopleRig['newMember'] = async (merchantId, role) => {
    const email = `person-${random.uuid()}@example.com`
    const invitation = await inviteOwner(app, { email, merchantId })
    const input = { name: 'Wanjiru', password: PASSWORD, language: null }
    const { token, deviceToken } = await acceptWithNewAccount(app, invitation.token, input, newOrigin())
    const { user } = await requirePrincipal(app, token)
    await raw.query(setRoleStatement, [merchantId, user.id, role])
    return { email, token, deviceToken, principal: await requirePrincipal(app, token) }
  }
  const newMerchant = async () => (await createMerchant({ ...app, instanceDb: raw }, { name: 'Shop' })).id
  return { app, raw, clock, vaultKey, hashes: () => hashes, lines, newMerchant, newMember, as }
}

/** A millisecond later at each reading, so that no two steps of a request have the same time. */
function risingClock(): FakeClock {
  const clock = frozenClock()
  return {
    ...clock,
    now() {
      clock.advance(1)
      return clock.now()
    },
  }
}

export async function requirePrincipal(app: PeopleApp, token: string): Promise<Principal> {
  const principal = await principalOf(app, token)
  if (!principal) throw new Error('the session has ended')
  return principal
}

/** For assert.rejects. */
export function refusedWith(code: PeopleErrorCode): (error: unknown) => boolean {
  return (error) => {
    if (error instanceof PeopleError && error.code === code) return true
    throw error
  }
}
