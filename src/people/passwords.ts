// Passwords: scrypt with its parameters in the stored text, a few runs at a time, and the same work for an account that
// does not exist.

import { scrypt } from 'node:crypto'
import { ApiError } from '../core/errors.ts'
import { constantTimeEquals } from '../kit/crypto.ts'
import type { Random } from '../kit/random.ts'
import { PeopleError } from './errors.ts'

export interface ScryptCost {
  /** The exponent of N. */
  logN: number
  r: number
  p: number
}

// 32 MB and about 140 ms for each run.
export const SCRYPT_COST: ScryptCost = { logN: 15, r: 8, p: 1 }

// Two of the four threads that Node has for such work: files and names are still read meanwhile.
const PARALLEL_RUNS = 2
// About two seconds of waiting; more callers get 503.
const MAX_WAITING = 30

export interface PasswordHasher {
  hash(password: string): Promise<string>
  /** With null, for an account that does not exist or has no password: the same work, and never a match. */
  verify(password: string, stored: string | null): Promise<boolean>
  /** Whether the stored text has other parameters than new ones. */
  isOutdated(stored: string): boolean
}

const SALT_BYTES = 16
const HASH_BYTES = 32
const STORED = /^scrypt\$(\d{1,2})\$(\d{1,2})\$(\d{1,2})\$([\w-]{22})\$([\w-]{43})$/

type Derive = (password: string, salt: Uint8Array, cost: ScryptCost) => Promise<Buffer>

export function createPasswordHasher(
  random: Random,
  cost: ScryptCost,
  derive: Derive = runScrypt,
): PasswordHasher {
  const limited = limitParallel(PARALLEL_RUNS, MAX_WAITING)
  const run = (password: string, salt: Uint8Array, used: ScryptCost) =>
    limited(() => derive(password.normalize('NFKC'), salt, used))
  const prefix = `scrypt$${cost.logN}$${cost.r}$${cost.p}$`
  const dummy = { cost, salt: Buffer.alloc(SALT_BYTES), hash: Buffer.alloc(HASH_BYTES) }
  return {
    async hash(password) {
      const salt = Buffer.from(random.bytes(SALT_BYTES))
      const hash = await run(password, salt, cost)
      return `${prefix}${salt.toString('base64url')}$${hash.toString('base64url')}`
    },
    async verify(password, stored) {
      const expected = stored === null ? dummy : readStored(stored)
      const isEqual = constantTimeEquals(await run(password, expected.salt, expected.cost), expected.hash)
      return isEqual && stored !== null
    },
    isOutdated: (stored) => !stored.startsWith(prefix),
  }
}

function readStored(stored: string) {
  const [, logN, r, p, salt, hash] = STORED.exec(stored) ?? []
  if (salt === undefined || hash === undefined) throw new Error('a stored password hash is malformed')
  return {
    cost: { logN: Number(logN), r: Number(r), p: Number(p) },
    salt: Buffer.from(salt, 'base64url'),
    hash: Buffer.from(hash, 'base64url'),
  }
}

function runScrypt(password: string, salt: Uint8Array, { logN, r, p }: ScryptCost): Promise<Buffer> {
  const N = 2 ** logN
  return new Promise((resolve, reject) => {
    scrypt(password, salt, HASH_BYTES, { N, r, p, maxmem: 256 * N * r + 1_048_576 }, (error, hash) =>
      error ? reject(error) : resolve(hash),
    )
  })
}

/** Runs a few pieces of work at a time, in the order of their arrival. When too many wait, the next one is refused. */
function limitParallel(parallel: number, maxWaiting: number) {
  const waiting: (() => void)[] = []
  let running = 0
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (running >= parallel) {
      if (waiting.length >= maxWaiting) throw new ApiError('temporarily_unavailable')
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else running += 1
    try {
      return await work()
    } finally {
      // The next one takes over the slot.
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
}

const MIN_LENGTH = 12
const MAX_LENGTH = 128

// The most common passwords that are long enough, without their digits and punctuation.
const COMMON = new Set(
  `password passwordpassword qwerty qwertyuiop qwertyqwerty qazwsxedc qazwsx asdfghjkl asdfasdf
  zxcvbnm letmein iloveyou welcome welcomewelcome admin administrator adminadmin superman batman football liverpool chelsea
  arsenal manchester barcelona monkey dragon princess sunshine changeme changemenow secret trustno baseball master abc
  abcd abcdef abcdefgh abcdefghijkl abcabc test testtest testing cowry cowrycowry payment payments jesus jesuschrist
  blessing nigeria kenya ghana mpesa safaricom`.split(/\s+/),
)

/** Throws if the password is too short, too long or easy to guess. */
export function assertGoodPassword(password: string, email: string): void {
  const normalized = password.normalize('NFKC')
  const { length } = [...normalized]
  if (length < MIN_LENGTH || length > MAX_LENGTH) throw new PeopleError('password_length')
  const lower = normalized.toLowerCase()
  const isEmail = lower === email || lower === email.split('@')[0]
  const hasFewCharacters = new Set(lower).size < 4
  const isCommon = [lower, lower.replaceAll('@', 'a').replaceAll('0', 'o')].some((text) =>
    COMMON.has(coreOf(text)),
  )
  if (isEmail || hasFewCharacters || isCommon || isSequence(lower)) throw new PeopleError('password_common')
}

const coreOf = (text: string) => text.replaceAll(/[\d\s\p{P}\p{S}]+/gu, '')

/** Only digits that count up or down, such as 123456789012. */
function isSequence(text: string): boolean {
  if (!/^\d+$/.test(text)) return false
  const steps = new Set(
    [...text].slice(1).map((digit, index) => (Number(digit) - Number(text[index]) + 10) % 10),
  )
  return steps.size === 1
}
