// Reads the texts of settings: each reader returns a value, or the issues that it has with the text.

import { isRecord } from './core/canonical.ts'
import { CURRENCY_CODES, type Currency, decimalsOf, isCurrency } from './core/currency.ts'
import { type Fee, type FeeTable, readScaled } from './core/money.ts'
import { parseRateLimit, type RateLimit } from './core/rate-limit.ts'
import { isEmail } from './core/text/formats.ts'
import { isVaultKeyId, type VaultKey } from './kit/crypto.ts'
import { type Failpoints, readFailpoints } from './kit/failpoints.ts'
import { type AllowList, readAllowList } from './kit/http/public-address.ts'
import { type MailSender, type MailServer, readMailServer } from './kit/mail.ts'

/** The issues of a value. Each text completes a sentence that begins with the variable's name. */
export interface InvalidSetting {
  issues: string[]
}

export interface ListenAddress {
  host: string
  port: number
}

export function readFailpointSetting(text: string): Failpoints | InvalidSetting {
  const reading = readFailpoints(text)
  return 'issue' in reading ? invalid(reading.issue) : reading.failpoints
}

export function readAllowSetting(text: string): AllowList | InvalidSetting {
  const reading = readAllowList(text)
  return 'issue' in reading ? invalid(reading.issue) : reading
}

export const invalid = (...issues: string[]): InvalidSetting => ({ issues })

export function isInvalid(reading: unknown): reading is InvalidSetting {
  return typeof reading === 'object' && reading !== null && 'issues' in reading
}

export const printableText = (text: string): string | InvalidSetting =>
  /^[\x21-\x7e]+$/.test(text) ? text : invalid('must be one word of plain characters')

export const oneOf =
  <Value extends string>(...values: Value[]) =>
  (text: string): Value | InvalidSetting =>
    values.find((candidate) => candidate === text) ??
    invalid(`must be one of ${values.join(', ')}, not "${text}"`)

export const flag = (text: string): boolean | InvalidSetting =>
  ['true', 'false'].includes(text) ? text === 'true' : invalid(`must be true or false, not "${text}"`)

export const integer = (min: number, max: number) => (text: string) => {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  return value >= min && value <= max
    ? value
    : invalid(`must be a whole number from ${min} to ${max}, not "${text}"`)
}

/** Port numbers, separated by commas. */
export function readPorts(text: string): readonly number[] | InvalidSetting {
  const ports = text.split(',').map((part) => integer(1, 65_535)(part.trim()))
  const issues = ports.filter(isInvalid)
  return issues[0] ?? ports.filter((port) => typeof port === 'number')
}

/** Reads `N` or `N:BURST`. The default burst is five seconds; null means no rate limit. */
export function readRateLimit(text: string): RateLimit | null | InvalidSetting {
  const limit = parseRateLimit(text)
  if (!limit)
    return invalid(`must be N or N:BURST requests per second, such as 100 or 100:500, not "${text}"`)
  const { perSecond, burst } = limit
  if (perSecond === 0) return null
  return burst < perSecond ? invalid(`must allow a burst of at least ${perSecond}`) : limit
}

/** An address to listen on, such as 127.0.0.1:9464 or [::1]:9464. */
export function readListen(text: string): ListenAddress | InvalidSetting {
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([\w.-]+)):(\d{1,5})$/.exec(text)
  const port = Number(match?.[3])
  const host = match?.[1] ?? match?.[2]
  if (host === undefined || port > 65_535)
    return invalid(`must be HOST:PORT, such as 127.0.0.1:9464, not "${text}"`)
  return { host, port }
}

export function readCollector(text: string): string | InvalidSetting {
  const url = URL.parse(text)
  if (!url || !['http:', 'https:'].includes(url.protocol)) return invalid('must be an http or https address')
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

// An issue never contains the value, because it usually is a token.
export function readHeaders(text: string): Readonly<Record<string, string>> | InvalidSetting {
  const pairs = text.split(',').filter((part) => part.trim() !== '')
  const headers = pairs.map((part) =>
    /^\s*([!#$%&'*+.^_`|~\w-]+)=((?:[\x21-\x24\x26-\x7e]|%[2-7][\da-fA-F])*)\s*$/.exec(part),
  )
  if (headers.some((match) => match === null)) return invalid('must be name=value[,name2=value2]')
  return Object.fromEntries(headers.map((match) => [match?.[1] ?? '', decodeURIComponent(match?.[2] ?? '')]))
}

export function readRatio(text: string): number | InvalidSetting {
  const ratio = /^(?:0|1|0?\.\d{1,9}|1\.0+)$/.test(text) ? Number(text) : Number.NaN
  return ratio >= 0 && ratio <= 1 ? ratio : invalid(`must be a number from 0 to 1, not "${text}"`)
}

/** Accepts only an origin, because the pages have fixed paths below it. */
export function readOrigin(text: string): string | InvalidSetting {
  const url = URL.parse(text)
  if (!url || !['http:', 'https:'].includes(url.protocol)) return invalid('must be an http or https address')
  if (url.username || url.password) return invalid('must not carry a user name or password')
  if (url.pathname !== '/' || url.search || url.hash)
    return invalid(`must end after the host and port: ${url.origin}`)
  return url.origin
}

// An issue never contains the value, because it usually contains a password.
export function readDatabaseUrl(text: string): string | InvalidSetting {
  const url = URL.parse(text)
  return url && ['postgres:', 'postgresql:'].includes(url.protocol)
    ? text
    : invalid('must be postgres://user:password@host:port/database')
}

// An issue never contains the value, because it usually contains a password.
export function readSmtpUrl(text: string): MailServer | InvalidSetting {
  return readMailServer(text) ?? invalid('must be smtp://user:password@host:port or smtps://…')
}

/** `pay@example.com` or `Name <pay@example.com>`. */
export function readMailFrom(text: string): MailSender | InvalidSetting {
  const match = /^(?:([^<>"\p{Cc}]{1,100}?)\s*<([^<>]+)>|([^<>]+))$/u.exec(text)
  const address = match?.[2] ?? match?.[3] ?? ''
  if (!isEmail(address)) return invalid('must be an e-mail address, such as Cowry <pay@example.com>')
  return { name: match?.[1] ?? '', address }
}

/** The text is kept as it is, because the provider's documents name the issuer in the same way. */
export function readIssuer(text: string): string | InvalidSetting {
  const url = URL.parse(text)
  if (!url || url.username || url.password || url.search || url.hash)
    return invalid('must be an https address without a query')
  const isLoopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname)
  const isSecure = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback)
  return isSecure ? text : invalid('must begin with https')
}

const KEY_BYTES = 32

function readBase64(text: string): Buffer | undefined {
  return /^[A-Za-z0-9+/_-]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined
}

/** `id:base64[,id2:base64]`, the primary key first. */
export function readKeyring(text: string): readonly VaultKey[] | InvalidSetting {
  const issues: string[] = []
  const keys = text.split(',').map((part): VaultKey => {
    const [id = '', encoded = '', ...rest] = part.trim().split(':')
    const key = readBase64(encoded)
    if (!isVaultKeyId(id) || rest.length > 0 || key?.length !== KEY_BYTES)
      issues.push('must be id:key[,id2:key2], each key the base64 of 32 bytes (openssl rand -base64 32)')
    else if (isLowEntropy(key))
      issues.push(`holds a key "${id}" that is not random (openssl rand -base64 32)`)
    return { id, key: key ?? Buffer.alloc(0) }
  })
  if (new Set(keys.map(({ id }) => id)).size < keys.length) issues.push('names the same key id twice')
  return issues.length > 0 ? invalid(...new Set(issues)) : keys
}

export function readPepper(text: string): Buffer | InvalidSetting {
  const bytes = readBase64(text)
  if (!bytes || bytes.length < KEY_BYTES)
    return invalid('must be the base64 of at least 32 random bytes (openssl rand -base64 32)')
  return isLowEntropy(bytes) ? invalid('is not random (openssl rand -base64 32)') : bytes
}

// 32 random bytes have about 30 different values; fewer than 16 do not occur by chance.
function isLowEntropy(bytes: Uint8Array): boolean {
  return new Set(bytes).size < 16
}

export function readFees(text: string): FeeTable | InvalidSetting {
  const table = parseObject(text)
  if (!table) return invalid('must be JSON such as {"paystack":{"NGN":{"percent":"1.5","fixed":"100"}}}')
  const issues: string[] = []
  const fees = new Map<string, ReadonlyMap<Currency, Fee>>()
  for (const [gateway, rates] of Object.entries(table))
    fees.set(gateway, readGatewayFees(gateway, rates, issues))
  return issues.length > 0 ? invalid(...issues) : fees
}

function readGatewayFees(gateway: string, rates: unknown, issues: string[]): Map<Currency, Fee> {
  const fees = new Map<Currency, Fee>()
  const named: Record<string, unknown> = isRecord(rates) ? rates : {}
  if (!isRecord(rates)) issues.push(`must hold an object of currencies for "${gateway}"`)
  for (const code of Object.keys(named))
    if (code !== '*' && !isCurrency(code))
      issues.push(`names "${code}" for "${gateway}", which is no currency`)
  const refused: Currency[] = []
  for (const currency of CURRENCY_CODES) {
    const rate = named[currency] ?? named['*']
    if (rate === undefined) continue
    const fee = readFee(rate, currency)
    if (fee) fees.set(currency, fee)
    else refused.push(currency)
  }
  if (refused.length > 0)
    issues.push(
      `must give "${gateway}" a percent from 0 to 100 with at most 4 decimals and a fixed part with at most the` +
        ` currency's own decimals, which fails for ${refused.join(', ')}`,
    )
  return fees
}

// A percent with four decimals is a whole number of parts per million.
const PERCENT_DECIMALS = 4
const PARTS_PER_WHOLE = 1_000_000n

function readFee(rate: unknown, currency: Currency): Fee | undefined {
  if (!isRecord(rate)) return undefined
  const partsPerMillion = readScaled(String(rate.percent ?? '0'), PERCENT_DECIMALS)
  const fixedMinor = readScaled(String(rate.fixed ?? '0'), decimalsOf(currency))
  if (partsPerMillion === undefined || fixedMinor === undefined) return undefined
  if (partsPerMillion < 0n || partsPerMillion > PARTS_PER_WHOLE || fixedMinor < 0n) return undefined
  return { partsPerMillion, fixedMinor }
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}
