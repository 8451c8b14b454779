// Every setting of the service: variable, default, meaning and reader. config.ts reads the environment with this table;
// .env.example and docs/generated/config.md are generated from it.

import { LIMIT_FIELDS } from './core/gateway-accounts/limits.ts'
import { accountTitle, isLabel } from './core/gateway-accounts/name.ts'
import type { Mode } from './core/merchant.ts'
import type { LogLevel } from './kit/observability/log.ts'
import {
  flag,
  type InvalidSetting,
  integer,
  invalid,
  oneOf,
  printableText,
  readAllowSetting,
  readCollector,
  readDatabaseUrl,
  readFailpointSetting,
  readFees,
  readHeaders,
  readIssuer,
  readKeyring,
  readListen,
  readMailFrom,
  readOrigin,
  readPepper,
  readPorts,
  readRateLimit,
  readRatio,
  readSmtpUrl,
} from './setting-readers.ts'

export interface Setting<Value> {
  name: string
  /** The default text when the variable is absent or empty; null when there is no default. */
  fallback: string | null
  meaning: string
  /** An example value for a setting without a default. */
  example?: string
  read: (text: string) => Value | InvalidSetting
}

const setting = <Value>(
  name: string,
  fallback: string,
  read: (text: string) => Value | InvalidSetting,
  meaning: string,
): Setting<Value> => ({ name, fallback, meaning, read })

const optional = <Value>(
  name: string,
  example: string,
  read: (text: string) => Value | InvalidSetting,
  meaning: string,
): Setting<Value | null> => ({ name, fallback: null, example, meaning, read })

// biome-ignore format: each setting has two lines, its parser and its meaning.
export const SETTINGS = {
  environment: setting('COWRY_ENV', 'staging', oneOf('staging', 'production'),
    'staging accepts test keys and has the sandbox gateway; production accepts live keys and collects real money.'),
  host: setting('HOST', '127.0.0.1', printableText,
    'Address to listen on; 0.0.0.0 in a container.'),
  port: setting('PORT', '8080', integer(0, 65_535),
    'Port to listen on; 0 picks a free one.'),
  publicUrl: optional('COWRY_PUBLIC_URL', 'https://pay.example.com', readOrigin,
    'URL at which payers and gateways reach this service. Default: http://HOST:PORT. Required in production, with https.'),
  databaseUrl: optional('DATABASE_URL', 'postgres://cowry:password@127.0.0.1:5432/cowry', readDatabaseUrl,
    'PostgreSQL server to use. Absent: an embedded one in the data folder, started and stopped with the service.'),
  embeddedDatabase: setting('COWRY_EMBEDDED_DATABASE', 'no', oneOf('yes', 'no'),
    'Whether production without DATABASE_URL may use the embedded PostgreSQL: one machine, no standby, no continuous backup.'),
  dataDir: setting('COWRY_DATA_DIR', '.cowry', (text) => text,
    'Folder for the embedded PostgreSQL, the generated operator token and the demo key.'),
  adminToken: optional('COWRY_ADMIN_TOKEN', '$(openssl rand -base64 33)', printableText,
    'Token that operators send as Authorization: Bearer. Absent in staging: generated into the data folder.'),
  encryptionKeys: optional('COWRY_ENCRYPTION_KEYS', 'k1:$(openssl rand -base64 32)', readKeyring,
    'Keys for fields that are encrypted at rest, as id:key[,id2:key2]; the first encrypts, all decrypt.'),
  keyPepper: optional('COWRY_KEY_PEPPER', '$(openssl rand -base64 32)', readPepper,
    'Pepper for the hashes of API keys. Changing it makes every API key invalid.'),
  rateLimit: setting('COWRY_RATE_LIMIT', '100', readRateLimit,
    'Rate limit per API key, and per person at the dashboard, in requests per second, as N or N:BURST; the default burst is 5 times N. 0 is no limit.'),
  maxLoopDelayMs: setting('COWRY_MAX_LOOP_DELAY_MS', '200', integer(0, 60_000),
    'Average delay of the event loop in milliseconds, over a few tenths of a second, above which requests to /api/ get 503 with Retry-After: 1. 0 is no limit.'),
  checkoutMinutes: setting('COWRY_CHECKOUT_MINUTES', '60', integer(5, 1_440),
    'Minutes until an open checkout expires.'),
  promptsPerNumber: setting('COWRY_PROMPTS_PER_NUMBER', '5', integer(0, 1_000),
    'Approval prompts sent to one phone number in 15 minutes, over all merchants. 0 is no limit, also of prompts that are open at once (otherwise one).'),
  promptsPerVisitor: setting('COWRY_PROMPTS_PER_VISITOR', '30', integer(0, 10_000),
    'Phone numbers that one address can prompt through one payment link in 15 minutes, besides those that have paid; per process. 0 is no limit.'),
  settlementHours: setting('COWRY_SETTLEMENT_HOURS', '24', integer(0, 8_760),
    'Hours until collected money settles: pending becomes available.'),
  fees: setting('COWRY_FEES', '{}', readFees,
    'Fees per gateway and currency (or *), as {"paystack":{"NGN":{"percent":"1.5","fixed":"100"}}}; fixed in major units. Without an entry the fee is the one that the provider reports.'),
  logLevel: setting('COWRY_LOG_LEVEL', 'info', oneOf<LogLevel>('debug', 'info', 'warn', 'error', 'silent'),
    'Lowest level that is logged.'),
  poolSize: setting('COWRY_POOL_SIZE', '16', integer(1, 500),
    'Connections to PostgreSQL per process.'),
  sandboxUrl: optional('COWRY_SANDBOX_URL', 'http://127.0.0.1:8090', readOrigin,
    'URL of a separate sandbox gateway. Absent: it runs in this process. Staging only.'),
  sandboxSecret: optional('COWRY_SANDBOX_SECRET', '$(openssl rand -base64 33)', printableText,
    'Secret shared with a separate sandbox gateway. Staging only.'),
  sandboxWays: setting('COWRY_SANDBOX_WAYS', 'all', oneOf('all', 'connectors', 'configured'),
    'Ways to pay that the sandbox offers: all, connectors (only what a gateway of this version collects in that place), or configured (only what the configured gateways collect, in the amounts that they take). Staging only.'),
  trustProxy: setting('COWRY_TRUST_PROXY', 'false', flag,
    'Whether to trust X-Forwarded-For and X-Forwarded-Proto; only behind a proxy that sets them.'),
  gatewayTimeoutMs: setting('COWRY_GATEWAY_TIMEOUT_MS', '10000', integer(100, 120_000),
    'Timeout of a gateway request in milliseconds.'),
  webhookAllow: optional('COWRY_WEBHOOK_ALLOW', '10.0.0.0/8,hooks.intranet', readAllowSetting,
    'Private ranges and hosts that webhooks may be sent to, also over http and to any port. Absent or "none": no private address; absent in staging: localhost.'),
  webhookPorts: setting('COWRY_WEBHOOK_PORTS', '443,8443', readPorts,
    'Ports that webhooks may be sent to at public addresses.'),
  metricsToken: optional('COWRY_METRICS_TOKEN', '$(openssl rand -base64 33)', printableText,
    'Token that Prometheus sends as Authorization: Bearer to /metrics. Absent: only the operator token is accepted.'),
  metricsListen: optional('COWRY_METRICS_LISTEN', '127.0.0.1:9464', readListen,
    'Second address for /metrics, as HOST:PORT, without a token: use one that only Prometheus can reach.'),
  invariantCheckMinutes: setting('COWRY_INVARIANT_CHECK_MINUTES', '60', integer(0, 10_080),
    'Minutes between invariant checks for the metrics. A check reads all financial records. 0 is never.'),
  preparedStatements: setting('COWRY_PREPARED_STATEMENTS', 'true', flag,
    'Whether to use prepared statements; false behind a pooler that does not support them, such as pgbouncer before 1.21.'),
  idempotencyRetentionDays: setting('COWRY_IDEMPOTENCY_RETENTION_DAYS', '7', integer(1, 400),
    'Days to keep idempotency keys. A week covers a queue that was stopped over a long weekend.'),
  deliveryRetentionDays: setting('COWRY_DELIVERY_RETENTION_DAYS', '30', integer(30, 400),
    'Days to keep delivery records. Attempt logs are dropped by month.'),
  archiveAfterMonths: optional('COWRY_ARCHIVE_AFTER_MONTHS', '24', integer(13, 240),
    'Age in months from which cowry archive run archives finished history. Absent: it archives what --before names. Refunds and disputes of the last year need no archive.'),
  requestLogDays: setting('COWRY_REQUEST_LOG_DAYS', '7', integer(0, 90),
    'Days to keep the request log that merchants read in the dashboard. 0 keeps none.'),
  mcp: optional('COWRY_MCP', 'read', oneOf('off', 'read', 'write'),
    'MCP server for agents at /mcp: off, only tools that read, or also tools that write. Absent: write in staging, off in production.'),
  mailServer: optional('COWRY_SMTP_URL', 'smtps://user:password@mail.example.com:465', readSmtpUrl,
    'Mail server for invitations, password resets, receipts and refunds to approve, as smtp:// (STARTTLS) or smtps://, with user and password. Absent: no mail is sent; people copy the links.'),
  mailFrom: optional('COWRY_MAIL_FROM', 'Cowry <pay@example.com>', readMailFrom,
    'Sender of the mails: an address, or a name and an address.'),
  oidcIssuer: optional('COWRY_OIDC_ISSUER', 'https://id.example.com', readIssuer,
    'Identity provider (OpenID Connect) with which people can sign in to the dashboard. Register the address /app/sign-in/oidc/return there. One in a private network must be in COWRY_WEBHOOK_ALLOW.'),
  oidcClientId: optional('COWRY_OIDC_CLIENT_ID', 'cowry', printableText,
    'Client ID at the identity provider.'),
  oidcClientSecret: optional('COWRY_OIDC_CLIENT_SECRET', '', printableText,
    'Client secret at the identity provider.'),
  traceEndpoint: optional('OTEL_EXPORTER_OTLP_ENDPOINT', 'http://127.0.0.1:4318', readCollector,
    'OpenTelemetry collector that receives traces as OTLP over HTTP in JSON. Absent: no traces.'),
  traceHeaders: setting('OTEL_EXPORTER_OTLP_HEADERS', '', readHeaders,
    'Headers for the collector, as name=value[,name2=value2], percent-encoded.'),
  traceServiceName: setting('OTEL_SERVICE_NAME', 'cowry', printableText,
    'Service name in traces.'),
  traceRatio: setting('OTEL_TRACES_SAMPLER_ARG', '1', readRatio,
    'Share of traces that are sampled, from 0 to 1.'),
  failpoints: setting('COWRY_FAILPOINTS', '', readFailpointSetting,
    'Failpoints at which the process dies, throws or hangs, for crash tests. Staging only.'),
}

/** Additional settings by which the command line finds the service. */
export const CLIENT_SETTINGS = {
  url: optional(
    'COWRY_URL',
    'http://127.0.0.1:8080',
    readOrigin,
    'URL of the service that the command line calls. Absent: the service of the data folder.',
  ),
  apiKey: optional(
    'COWRY_API_KEY',
    'cowry_test_…',
    printableText,
    'API key of the merchant whose events the command line forwards, triggers and lists. Absent: the demo merchant of the data folder.',
  ),
}

/** The part of a gateway's definition from which its settings follow. */
export interface ConfigurableGateway {
  readonly name: string
  readonly title: string
  readonly credentials: readonly {
    readonly name: string
    readonly isRequired: boolean
    readonly meaning: string
    validate(text: string, mode: Mode): string | undefined
  }[]
  /** The names of optional credentials of which at least one must be set. */
  readonly requiresOneOf?: readonly string[]
  readonly baseUrl: Readonly<Record<Mode, string>>
  /** For an account with a label: the gateway's own name. */
  readonly gateway?: string
}

export interface GatewaySettings {
  /** By the name of the credential. */
  credentials: Readonly<Record<string, Setting<string | null>>>
  required: readonly Setting<string | null>[]
  baseUrl: Setting<string | null>
}

/** The variables of a gateway, such as GATEWAY_STRIPE_SECRET_KEY. */
export function gatewaySettings(gateway: ConfigurableGateway, mode: Mode): GatewaySettings {
  const { name, title, credentials, baseUrl } = gateway
  const fields = [...credentials, ...LIMIT_FIELDS]
  const settings = fields.map(({ name: field, isRequired, meaning, validate }) => {
    const read = (text: string) => {
      const issue = validate(text, mode)
      return issue === undefined ? text : invalid(issue)
    }
    return { field, isRequired, setting: optional(envNameOf(name, field), '', read, meaning) }
  })
  const { test, live } = baseUrl
  const usual = test === live ? live : `${live}, in staging ${test}`
  return {
    credentials: Object.fromEntries(settings.map(({ field, setting }) => [field, setting])),
    required: settings.filter(({ isRequired }) => isRequired).map(({ setting }) => setting),
    baseUrl: optional(
      envNameOf(name, 'baseUrl'),
      baseUrl[mode],
      (text) => readBaseUrl(text, mode),
      `Base URL of the API of ${title}. Default: ${usual}.`,
    ),
  }
}

/** The gateways, each followed by its accounts that these variables give a label: GATEWAY_PAYSTACK_KE_SECRET_KEY. */
export function labelledGateways(
  gateways: readonly ConfigurableGateway[],
  variables: readonly string[],
): ConfigurableGateway[] {
  const known = new Set(allSettings(gateways).map(({ name }) => name))
  const accounts = variables.filter((name) => !known.has(name)).map((name) => readAccount(gateways, name))
  return gateways.flatMap((gateway) => {
    const labels = accounts.flatMap((one) => (one?.gateway === gateway ? [one.label] : []))
    return [gateway, ...[...new Set(labels)].toSorted().map((label) => labelGateway(gateway, label))]
  })
}

function labelGateway(gateway: ConfigurableGateway, label: string): ConfigurableGateway {
  const { name, title } = gateway
  return { ...gateway, name: `${name}_${label}`, title: accountTitle(title, label), gateway: name }
}

/** The account of a variable with a label. The longest name of a gateway decides, then the longest field. */
function readAccount(gateways: readonly ConfigurableGateway[], variable: string) {
  const found = gateways.flatMap((gateway) => {
    const start = envNameOf(gateway.name, '')
    const fields = [...gateway.credentials, ...LIMIT_FIELDS, { name: 'baseUrl' }]
    const ends = fields.map(({ name }) => envNameOf(gateway.name, name).slice(start.length - 1))
    return ends
      .filter((end) => variable.startsWith(start) && variable.endsWith(end))
      .map((end) => ({ gateway, text: variable.slice(start.length, -end.length) }))
      .filter(({ text }) => text === text.toUpperCase() && isLabel(text.toLowerCase()))
      .map(({ text }) => ({ gateway, label: text.toLowerCase() }))
  })
  return found.toSorted(
    (one, other) =>
      other.gateway.name.length - one.gateway.name.length || one.label.length - other.label.length,
  )[0]
}

export function envNameOf(gateway: string, field: string): string {
  const snakeCase = field.replaceAll(/[A-Z]/g, (letter) => `_${letter}`)
  return `GATEWAY_${gateway}_${snakeCase}`.toUpperCase()
}

/** We send credentials to this URL, so it needs TLS in production; only a loopback address for tests may use http. */
function readBaseUrl(text: string, mode: Mode): string | InvalidSetting {
  const url = URL.parse(text)
  if (!url || !['http:', 'https:'].includes(url.protocol)) return invalid('must be an http or https address')
  if (url.username || url.password) return invalid('must not carry a user name or password')
  if (url.search || url.hash) return invalid('must end after the path')
  if (url.protocol === 'http:' && mode === 'live' && !isLoopback(url.hostname))
    return invalid('must begin with https in production')
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(?:\.\d+){3}$/.test(host)
}

export function allSettings(gateways: readonly ConfigurableGateway[]): Setting<unknown>[] {
  const ofGateways = gateways.flatMap((gateway) => {
    const { credentials, baseUrl } = gatewaySettings(gateway, 'live')
    return [...Object.values(credentials), baseUrl]
  })
  return [...Object.values(SETTINGS), ...Object.values(CLIENT_SETTINGS), ...ofGateways]
}
