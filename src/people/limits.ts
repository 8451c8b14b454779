// Limits on guessing, shared by all processes. An attempt is counted before the password is checked, so that parallel guesses
// do not pass together. Each pair of account and address waits for itself: who guesses from elsewhere cannot keep the owner
// out. While an account is attacked from many addresses, a new address waits before its first attempt, and a browser in
// which the person has signed in before does not. Whether the account exists makes no difference.

import { addMs } from '../kit/clock.ts'
import { deriveUuid } from '../kit/crypto.ts'
import { type Origin, type PeopleApp, runAsUser } from './app.ts'
import { PeopleError } from './errors.ts'
import {
  clearLimits,
  findLimits,
  type LimitKind,
  type LimitRow,
  lockLimits,
  saveLimits,
} from './limit-queries.ts'

type LimitsApp = Pick<PeopleApp, 'peopleDb' | 'clock' | 'peopleKey'>

interface Policy {
  /** Failures without a wait. */
  free: number
  /** The longest wait after one more. */
  maxWaitMs: number
  /** The failures begin again after this time without one. */
  windowMs: number
}

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const POLICIES: Readonly<Record<LimitKind, Policy>> = {
  pair: { free: 5, maxWaitMs: HOUR_MS, windowMs: DAY_MS },
  device: { free: 5, maxWaitMs: 15 * MINUTE_MS, windowMs: DAY_MS },
  // Beyond the free failures new addresses wait; see slowWaitOf.
  account: { free: 50, maxWaitMs: 15 * MINUTE_MS, windowMs: DAY_MS },
  // Many people share one address of a mobile network, so it waits briefly.
  address: { free: 50, maxWaitMs: 30 * SECOND_MS, windowMs: HOUR_MS },
}

/** The longest window: a row that is older means nothing. */
export const LIMIT_WINDOW_MS = DAY_MS

export interface Attempt {
  /** What is guessed. */
  factor: 'password' | 'second_factor' | 'step_up' | 'reset' | 'identity_provider' | 'passkey'
  /** The e-mail address or the id of the user. */
  account: string
  /** Of the person if the account exists, for the audit log. */
  userId: string | undefined
  /** A known device, or a session; null for a browser that we do not know. */
  device: string | null
  origin: Origin
}

/** An attempt that may be made. */
export interface Admitted {
  /** Call it after a success: failures are counted without it. */
  clear(): Promise<void>
}

/** Counts an attempt, or throws too_many_attempts without counting it. */
export async function admitAttempt(app: LimitsApp, attempt: Attempt): Promise<Admitted> {
  const now = app.clock.now()
  const fresh = freshRows(app, attempt, now)
  const ids = fresh.map(({ id }) => id)
  // Most guesses of an attack end here, after one read.
  const seen = decide(withStored(fresh, await findLimits(app.peopleDb, ids)), now)
  if (seen.waitUntil && !seen.rows) throw refusal(seen.waitUntil, now)
  const actor = { id: attempt.userId ?? accountIdOf(app, attempt) }
  const decided = await runAsUser(app, actor, attempt.origin, 'sign_in.limit', () =>
    app.peopleDb.transaction(async (tx) => {
      const decision = decide(withStored(fresh, await lockLimits(tx, fresh)), now)
      if (decision.rows) await saveLimits(tx, decision.rows)
      return decision
    }),
  )
  if (decided.waitUntil) throw refusal(decided.waitUntil, now)
  return { clear: () => clearLimits(app.peopleDb, ids) }
}

function refusal(until: Date, now: Date): PeopleError {
  return new PeopleError(
    'too_many_attempts',
    Math.max(1, Math.ceil((until.getTime() - now.getTime()) / 1_000)),
  )
}

const accountIdOf = ({ peopleKey }: LimitsApp, { factor, account }: Attempt) =>
  deriveUuid(peopleKey, `account|${factor}|${account}`)

function freshRows(app: LimitsApp, attempt: Attempt, now: Date): LimitRow[] {
  const { factor, account, device, origin } = attempt
  const row = (kind: LimitKind, id: string): LimitRow => ({
    id,
    kind,
    failures: 0,
    level: 0,
    nextAt: null,
    failedAt: now,
  })
  const idOf = (kind: LimitKind, text: string) => deriveUuid(app.peopleKey, `${kind}|${factor}|${text}`)
  if (device !== null) return [row('device', idOf('device', JSON.stringify([account, device])))]
  const ofAddress = row('address', idOf('address', origin.visitor))
  // There is nothing to guess; only the calls to the provider, and the challenges, are limited.
  if (factor === 'identity_provider' || factor === 'passkey') return [ofAddress]
  return [
    row('pair', idOf('pair', JSON.stringify([account, origin.visitor]))),
    row('account', accountIdOf(app, attempt)),
    ofAddress,
  ]
}

const withStored = (fresh: readonly LimitRow[], stored: readonly LimitRow[]) =>
  fresh.map((row) => stored.find(({ id }) => id === row.id) ?? row)

interface Decision {
  /** The attempt is refused until then; undefined if it may be made. */
  waitUntil?: Date
  /** What must be saved; absent if nothing changes. */
  rows?: LimitRow[]
}

/** Decides about one attempt from the counts of the failures before it. */
export function decide(stored: readonly LimitRow[], now: Date): Decision {
  const rows = stored.map((row) => renewed(row, now))
  const blocked = rows.filter(({ kind }) => kind !== 'account').map(({ nextAt }) => nextAt?.getTime() ?? 0)
  const until = new Date(Math.max(...blocked))
  if (until > now) return { waitUntil: until }
  const account = rows.find(({ kind }) => kind === 'account')
  const slowMs = account ? slowWaitOf(account) : 0
  const pair = rows.find(({ kind }) => kind === 'pair')
  if (pair && slowMs > 0 && pair.nextAt === null) {
    const nextAt = addMs(now, slowMs)
    return { waitUntil: nextAt, rows: [{ ...pair, nextAt, failedAt: now }] }
  }
  return { rows: rows.map((row) => counted(row, now, row.kind === 'pair' ? slowMs : 0)) }
}

function renewed(row: LimitRow, now: Date): LimitRow {
  const isOver = row.failedAt < addMs(now, -POLICIES[row.kind].windowMs)
  return isOver ? { ...row, failures: 0, level: 0, nextAt: null } : row
}

/** The row after one more failure, which an attempt is until it has succeeded. */
function counted(row: LimitRow, now: Date, leastWaitMs: number): LimitRow {
  const { free, maxWaitMs } = POLICIES[row.kind]
  const failures = row.failures + 1
  const beyond = failures - free
  // The exponent is limited, because a large one would overflow.
  const waitMs = beyond < 0 ? 0 : Math.min(maxWaitMs, SECOND_MS * 2 ** Math.min(beyond, 20))
  const level = beyond < 0 ? 0 : 1 + Math.floor(Math.log2(failures / free))
  const nextAt =
    row.kind === 'account' || Math.max(waitMs, leastWaitMs) === 0
      ? null
      : addMs(now, Math.max(waitMs, leastWaitMs))
  return { ...row, failures, level: Math.max(level, row.level), nextAt, failedAt: now }
}

const SLOW_WAIT_MS = 30 * SECOND_MS

/** How long an address waits before each attempt while the account is attacked; 0 if it is not. */
function slowWaitOf({ kind, failures }: LimitRow): number {
  const { free, maxWaitMs } = POLICIES[kind]
  if (failures < free) return 0
  return Math.min(maxWaitMs, SLOW_WAIT_MS * 2 ** Math.floor(Math.log2(failures / free)))
}
