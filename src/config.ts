// Reads process.env, alone in the code. It returns a frozen Config, or throws one error with all issues, so that an
// operator can correct them together. settings.ts describes each setting.

import type { Mode } from './core/merchant.ts'
import type { FeeTable } from './core/money.ts'
import type { RateLimit } from './core/rate-limit.ts'
import { nearestName } from './core/text/spelling.ts'
import type { VaultKey } from './kit/crypto.ts'
import type { Failpoints } from './kit/failpoints.ts'
import type { OidcProvider } from './kit/http/oidc.ts'
import { ALLOW_LOOPBACK, ALLOW_NOTHING, type AllowList } from './kit/http/public-address.ts'
import type { MailSender, MailServer } from './kit/mail.ts'
import type { LogLevel } from './kit/observability/log.ts'
import type { TraceTarget } from './kit/observability/trace-export.ts'
import { isInvalid, type ListenAddress } from './setting-readers.ts'
import {
  allSettings,
  CLIENT_SETTINGS,
  type ConfigurableGateway,
  envNameOf,
  gatewaySettings,
  labelledGateways,
  SETTINGS,
  type Setting,
} from './settings.ts'

/** A process serves requests (`api`), runs the background jobs (`worker`), or does both (`all`). */
export const ROLES = ['all', 'api', 'worker'] as const

export type Role = (typeof ROLES)[number]

export interface Config {
  readonly environment: 'staging' | 'production'
  /** The mode of every merchant and API key of this instance: test in staging, live in production. */
  readonly mode: Mode
  readonly host: string
  readonly port: number
  readonly publicUrl: string
  readonly databaseUrl: string | null
  /** Production without a databaseUrl needs yes. */
  readonly embeddedDatabase: 'yes' | 'no'
  readonly dataDir: string
  /** The secrets are null only in staging, where the service generates them once. */
  readonly adminToken: string | null
  readonly encryptionKeys: readonly VaultKey[] | null
  readonly keyPepper: Uint8Array | null
  /** Null: no limit. */
  readonly rateLimit: RateLimit | null
  readonly maxLoopDelayMs: number
  readonly checkoutMinutes: number
  /** 0: no limit. */
  readonly promptsPerNumber: number
  /** 0: no limit. */
  readonly promptsPerVisitor: number
  readonly settlementHours: number
  readonly fees: FeeTable
  readonly logLevel: LogLevel
  readonly poolSize: number
  /** Null: the sandbox gateway is mounted in this process. */
  readonly sandboxUrl: string | null
  readonly sandboxSecret: string | null
  readonly sandboxWays: 'all' | 'connectors' | 'configured'
  readonly trustProxy: boolean
  readonly gatewayTimeoutMs: number
  /** Private addresses that webhooks may be sent to. */
  readonly webhookAllow: AllowList
  readonly webhookPorts: readonly number[]
  readonly idempotencyRetentionDays: number
  readonly deliveryRetentionDays: number
  readonly archiveAfterMonths: number | null
  /** 0: requests are not logged for merchants. */
  readonly requestLogDays: number
  /** Null: only the operator token can read the metrics. */
  readonly metricsToken: string | null
  /** Null: the metrics have no listener of their own. */
  readonly metricsListen: ListenAddress | null
  /** 0: never. */
  readonly invariantCheckMinutes: number
  readonly preparedStatements: boolean
  /** Which tools the MCP server offers to agents. */
  readonly mcp: 'off' | 'read' | 'write'
  /** Null: no mail is sent. */
  readonly mail: { readonly server: MailServer; readonly from: MailSender } | null
  /** Null: people sign in without an identity provider. */
  readonly oidc: Readonly<Omit<OidcProvider, 'redirectUri'>> | null
  /** Null: no traces. */
  readonly traces: (TraceTarget & { readonly ratio: number }) | null
  readonly failpoints: Failpoints
  /** By the name of the account: that of the gateway, or with a label, such as paystack_ke. */
  readonly gateways: ReadonlyMap<string, GatewayConfig>
}

export interface GatewayConfig {
  /** Null: the instance has no account at this gateway. */
  readonly credentials: Readonly<Record<string, string>> | null
  readonly baseUrl: string
}

/** The settings by which the command line finds the service. It looks for null values in the data folder. */
export interface ClientConfig {
  readonly url: string | null
  /** The URL at which a service with these settings would listen; the last fallback. */
  readonly localUrl: string
  readonly adminToken: string | null
  readonly apiKey: string | null
  readonly dataDir: string
}

export class ConfigError extends Error {
  readonly issues: readonly string[]

  constructor(issues: readonly string[]) {
    super(['The settings are not usable:', ...issues.map((issue) => `  - ${issue}`)].join('\n'))
    this.name = 'ConfigError'
    this.issues = issues
  }
}

type Env = Readonly<Record<string, string | undefined>>
type Values<Table> = { [Field in keyof Table]: Table[Field] extends Setting<infer Value> ? Value : never }

/** Also reads the credentials of these gateways. */
export function readConfig(env: Env = process.env, gateways: readonly ConfigurableGateway[] = []): Config {
  const accounts = labelledGateways(gateways, Object.keys(env))
  const issues: string[] = [...unknownSettingIssues(env, accounts)]
  const values = readTable(SETTINGS, env, issues)
  const mode = isProduction(env) ? 'live' : 'test'
  const access = new Map<string, GatewayConfig>()
  for (const one of accounts) {
    const config = readGateway(one, env, mode, issues, access)
    // The variables of a label may be empty, which counts as absent.
    if (one.gateway === undefined || config.credentials !== null) access.set(one.name, config)
  }
  issues.push(...incompleteGroupIssues(env))
  if (isProduction(env)) issues.push(...productionIssues(env, values))
  if (issues.length > 0) throw new ConfigError(issues)
  return Object.freeze({
    ...values,
    traces: tracesOf(values),
    mail: mailOf(values),
    oidc: oidcOf(values),
    publicUrl: values.publicUrl ?? publicUrlOf(values.host, values.port),
    // In staging, the developer's webhook receiver usually runs on this machine.
    webhookAllow: values.webhookAllow ?? (mode === 'test' ? ALLOW_LOOPBACK : ALLOW_NOTHING),
    mcp: values.mcp ?? (mode === 'test' ? 'write' : 'off'),
    mode,
    gateways: access,
  })
}

function tracesOf(values: Values<typeof SETTINGS>): Config['traces'] {
  const { traceEndpoint: endpoint, traceHeaders: headers, traceServiceName: serviceName } = values
  return endpoint === null ? null : { endpoint, headers, serviceName, ratio: values.traceRatio }
}

function mailOf({ mailServer: server, mailFrom: from }: Values<typeof SETTINGS>): Config['mail'] {
  return server && from ? { server, from } : null
}

function oidcOf(values: Values<typeof SETTINGS>): Config['oidc'] {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret } = values
  return issuer && clientId && clientSecret ? { issuer, clientId, clientSecret } : null
}

/** Settings that are used together: all of them, or none. */
const GROUPS: readonly (readonly Setting<unknown>[])[] = [
  [SETTINGS.mailServer, SETTINGS.mailFrom],
  [SETTINGS.oidcIssuer, SETTINGS.oidcClientId, SETTINGS.oidcClientSecret],
]

function incompleteGroupIssues(env: Env): string[] {
  return GROUPS.flatMap((group) => {
    const given = group.filter((setting) => textOf(env, setting) !== null)
    const missing = given.length === 0 ? [] : group.filter((setting) => !given.includes(setting))
    return missing.map(
      ({ name }) => `${name} is missing: ${given.map((one) => one.name).join(', ')} needs it`,
    )
  })
}

function isProduction(env: Env): boolean {
  return textOf(env, SETTINGS.environment) === 'production'
}

/** A gateway without any credentials is not used. Incomplete credentials are an issue. */
function readGateway(
  gateway: ConfigurableGateway,
  env: Env,
  mode: Mode,
  issues: string[],
  others: ReadonlyMap<string, GatewayConfig>,
): GatewayConfig {
  const { credentials: table, required, baseUrl } = gatewaySettings(gateway, mode)
  const given = Object.values(table).filter((setting) => textOf(env, setting) !== null)
  const isMissing = (setting: Setting<unknown>) => given.every((one) => one !== setting)
  const needing = given.map(({ name }) => name).join(', ')
  if (given.length > 0) {
    const missing = required.filter(isMissing)
    issues.push(...missing.map(({ name }) => `${name} is missing: ${needing} needs it`))
    const choice = (gateway.requiresOneOf ?? []).flatMap((field) => table[field] ?? [])
    if (choice.length > 0 && choice.every(isMissing))
      issues.push(`${choice.map(({ name }) => name).join(' or ')} is missing: ${needing} needs one of them`)
  }
  const values = readTable({ ...table, baseUrl }, env, issues)
  const { baseUrl: address, ...texts } = values
  const credentials = Object.entries(texts).filter((entry): entry is [string, string] => entry[1] !== null)
  return {
    credentials: given.length > 0 ? Object.fromEntries(credentials) : null,
    // An account with a label uses the address of the one without.
    baseUrl: address ?? others.get(gateway.gateway ?? '')?.baseUrl ?? gateway.baseUrl[mode],
  }
}

export function readClientConfig(env: Env = process.env): ClientConfig {
  const issues: string[] = []
  const { adminToken, dataDir, host, port } = SETTINGS
  const values = readTable({ ...CLIENT_SETTINGS, adminToken, dataDir, host, port }, env, issues)
  if (issues.length > 0) throw new ConfigError(issues)
  return Object.freeze({
    url: values.url,
    localUrl: publicUrlOf(values.host, values.port),
    adminToken: values.adminToken,
    apiKey: values.apiKey,
    dataDir: values.dataDir,
  })
}

// What decides where a service listens, and which data it has and can read.
const LOCATION_SETTINGS = [
  SETTINGS.databaseUrl,
  SETTINGS.encryptionKeys,
  SETTINGS.keyPepper,
  SETTINGS.dataDir,
  SETTINGS.host,
  SETTINGS.port,
  SETTINGS.publicUrl,
] as const
const SECRET_SETTINGS: readonly unknown[] = [
  SETTINGS.databaseUrl,
  SETTINGS.encryptionKeys,
  SETTINGS.keyPepper,
]

/**
 * The settings by which another command finds the same data and address, as far as the environment has them. A secret is null;
 * the address of a database may have a password.
 */
export function listLocationSettings(env: Env = process.env): { name: string; value: string | null }[] {
  return LOCATION_SETTINGS.flatMap((setting) => {
    const value = env[setting.name]?.trim()
    if (!value) return []
    return { name: setting.name, value: SECRET_SETTINGS.includes(setting) ? null : value }
  })
}

/** The URL of a service on this address for clients on the same machine. With PORT 0, app.ts calls it after listening. */
export function publicUrlOf(host: string, port: number): string {
  const reachable = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

/** The text of a setting. An empty variable counts as absent, because Compose files pass unset variables as empty. */
function textOf(env: Env, setting: Setting<unknown>): string | null {
  return env[setting.name]?.trim() || setting.fallback
}

function readTable<Table extends Record<string, Setting<unknown>>>(
  table: Table,
  env: Env,
  issues: string[],
): Values<Table> {
  const values: Record<string, unknown> = {}
  for (const [field, setting] of Object.entries(table)) {
    const text = textOf(env, setting)
    const reading = text === null ? null : setting.read(text)
    if (isInvalid(reading)) issues.push(...reading.issues.map((issue) => `${setting.name} ${issue}`))
    else values[field] = reading
  }
  // A boundary: each field was read by the setting of that name. After an issue some fields are absent; then the caller
  // throws, and before that only productionIssues reads them, as Partial.
  return values as Values<Table>
}

const REQUIRED_IN_PRODUCTION = [
  SETTINGS.publicUrl,
  SETTINGS.adminToken,
  SETTINGS.encryptionKeys,
  SETTINGS.keyPepper,
] as const
const REFUSED_IN_PRODUCTION = [
  SETTINGS.sandboxUrl,
  SETTINGS.sandboxSecret,
  SETTINGS.sandboxWays,
  SETTINGS.failpoints,
] as const

function productionIssues(env: Env, values: Partial<Values<typeof SETTINGS>>): string[] {
  const isSet = ({ name }: Setting<unknown>) => Boolean(env[name]?.trim())
  const missing = REQUIRED_IN_PRODUCTION.filter((setting) => !isSet(setting))
  const unwanted = REFUSED_IN_PRODUCTION.filter(isSet)
  return [
    ...missing.map(
      ({ name, example }) => `${name} is missing: production needs it, such as ${name}=${example}`,
    ),
    ...unwanted.map(({ name }) => `${name} must be removed: it is for staging only`),
    ...(isSet(SETTINGS.databaseUrl) ? [] : embeddedDatabaseIssues(values)),
    ...weakSecretIssues(values),
  ]
}

/** Payments of production must not be in the embedded PostgreSQL by accident: it has no standby and no backup. */
function embeddedDatabaseIssues({ embeddedDatabase }: Partial<Values<typeof SETTINGS>>): string[] {
  if (embeddedDatabase !== 'no') return []
  const { databaseUrl, embeddedDatabase: allowance } = SETTINGS
  const server = `set it to your PostgreSQL server, such as ${databaseUrl.name}=${databaseUrl.example}`
  const embedded = `set ${allowance.name}=yes to keep the payments in the embedded PostgreSQL, on this machine only`
  return [`${databaseUrl.name} is missing: ${server}, or ${embedded}`]
}

const MIN_TOKEN_LENGTH = 32

function weakSecretIssues({
  publicUrl,
  oidcIssuer,
  adminToken,
  metricsToken,
  keyPepper,
  encryptionKeys,
}: Partial<Values<typeof SETTINGS>>) {
  const issues: string[] = []
  if (publicUrl && !publicUrl.startsWith('https:'))
    issues.push(`COWRY_PUBLIC_URL must begin with https in production, not ${publicUrl}`)
  if (oidcIssuer && !oidcIssuer.startsWith('https:'))
    issues.push('COWRY_OIDC_ISSUER must begin with https in production')
  for (const name of weakTokens({ adminToken, metricsToken }))
    issues.push(`${name} must be at least ${MIN_TOKEN_LENGTH} random characters (openssl rand -base64 33)`)
  if (keyPepper && encryptionKeys?.some(({ key }) => Buffer.compare(key, keyPepper) === 0))
    issues.push('COWRY_KEY_PEPPER must differ from every key of COWRY_ENCRYPTION_KEYS')
  return issues
}

/** The names of the settings whose tokens can be guessed. Production refuses them; staging logs a warning. */
export function weakTokens({
  adminToken,
  metricsToken,
}: Partial<Pick<Config, 'adminToken' | 'metricsToken'>>): string[] {
  const tokens = { COWRY_ADMIN_TOKEN: adminToken, COWRY_METRICS_TOKEN: metricsToken }
  return Object.entries(tokens).flatMap(([name, token]) => (token && isWeakToken(token) ? [name] : []))
}

function isWeakToken(token: string): boolean {
  const isRepeated = /^(.{1,16}?)\1+.{0,15}$/.test(token)
  const isPlaceholder = /change.?me|password|example|replace|openssl/i.test(token)
  return token.length < MIN_TOKEN_LENGTH || new Set(token).size < 8 || isRepeated || isPlaceholder
}

/**
 * Without this check, a mistyped name would silently leave its setting at the default. A name that resembles no setting
 * is an issue only in production: elsewhere it may belong to another program.
 */
function unknownSettingIssues(env: Env, gateways: readonly ConfigurableGateway[]): string[] {
  const known = allSettings(gateways).map(({ name }) => name)
  // Not every GATEWAY_ variable is ours: orchestrators set such names for the addresses of other services.
  const ours = ['COWRY_', ...gateways.map(({ name }) => envNameOf(name, ''))]
  return (
    Object.keys(env)
      // The test runner passes COWRY_TEST_ variables to the tests.
      .filter((name) => /^(?:COWRY_(?!TEST_)|GATEWAY_)/.test(name) && !known.includes(name))
      .map((name) => ({ name, closest: nearestName(name, known) }))
      .filter(({ name, closest }) => closest !== undefined || (isProduction(env) && isOurs(name, ours)))
      .map(
        ({ name, closest }) =>
          `${name} is not a setting${closest ? `; did you mean ${closest}?` : ': remove it'}`,
      )
  )
}

function isOurs(name: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => name.startsWith(prefix))
}

/** The text of .env.example: every setting with its meaning, commented out at its default. */
export function renderEnvExample(gateways: readonly ConfigurableGateway[]): string {
  const blocks = allSettings(gateways).map(
    ({ name, fallback, example, meaning }) => `# ${meaning}\n# ${name}=${fallback ?? example}\n`,
  )
  const head = [
    '# Every setting of Cowry, written from src/settings.ts by "npm run docs". Staging needs none of them.',
    '# Where a value is $(…), run the command and write its output. Settings are read only from the environment:',
    '# copy this file to .env and load it with "set -a; . ./.env; set +a" before npm start.',
    '',
  ].join('\n')
  return [head, ...blocks].join('\n')
}
