// The composition root: builds everything and registers every slice, by hand, in order.

import { join } from 'node:path'
import { authenticate, createKeyCache, isSecretGuess } from './api-keys/authenticate.ts'
import { ensureDemoMerchant } from './api-keys/demo-merchant.ts'
import { apiKeyJobs } from './api-keys/jobs.ts'
import { operatorKeyRoutes } from './api-keys/operator-routes.ts'
import { syncRateLimits } from './api-keys/rate-limits.ts'
import { apiKeyRoutes } from './api-keys/routes.ts'
import type { SelfServiceKeysApp } from './api-keys/self-service.ts'
import { catalogRoutes } from './catalog/routes.ts'
import { chargeRoutes } from './charges/routes.ts'
import { checkoutJobs } from './checkout/jobs.ts'
import { checkoutRoutes } from './checkout/routes.ts'
import { type Config, publicUrlOf } from './config.ts'
import { customerJobs } from './customers/jobs.ts'
import { customerRoutes } from './customers/routes.ts'
import { createDeliveryWriter, type DeliveriesApp } from './deliveries/app.ts'
import { deliveryJobs } from './deliveries/jobs.ts'
import { deliveryRoutes } from './deliveries/routes.ts'
import { caseRoutes } from './disputes/routes.ts'
import { gatewayWebhookJobs } from './gateway-webhooks/jobs.ts'
import { gatewayWebhookRoutes } from './gateway-webhooks/receive.ts'
import type { GatewayDefinition } from './gateways/definition.ts'
import { FLUTTERWAVE } from './gateways/flutterwave/index.ts'
import { createGatewayMeasure } from './gateways/measure.ts'
import { PAWAPAY } from './gateways/pawapay/index.ts'
import { PAYSTACK } from './gateways/paystack/index.ts'
import { createGateways } from './gateways/registry.ts'
import { gatewayRoutes } from './gateways/routes.ts'
import { createSandboxGateway } from './gateways/sandbox/index.ts'
import { openListener } from './gateways/sandbox/provider/listener.ts'
import { createPostgresStore } from './gateways/sandbox/provider/postgres-store.ts'
import { createSandboxProvider } from './gateways/sandbox/provider/server.ts'
import { STRIPE } from './gateways/stripe/index.ts'
import { createRequestMetrics, openMetricsListener } from './http/metrics.ts'
import { createHttpShell } from './http/server.ts'
import { instanceRoutes } from './instance.ts'
import { type Clock, systemClock } from './kit/clock.ts'
import { createSigner, createVault } from './kit/crypto.ts'
import { type ConnectedDb, connectDb, type Db } from './kit/db/db.ts'
import { invariantJobs } from './kit/db/invariant-checks.ts'
import { checkInvariants } from './kit/db/invariants.ts'
import { migrate } from './kit/db/migrate.ts'
import { requireUsableServer } from './kit/db/server-check.ts'
import { applyRowLevelSecurity, tenantScoped } from './kit/db/tenant-isolation.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from './kit/embedded-postgres.ts'
import { withCommitFailpoints } from './kit/failpoints.ts'
import { createHttpClient, type HttpClient } from './kit/http/http-client.ts'
import { createPublicHttp } from './kit/http/public-http.ts'
import type { Route } from './kit/http/route.ts'
import { type Job, startJobs } from './kit/jobs.ts'
import { type Counters, createCounters } from './kit/observability/counters.ts'
import { createLog, errorFields, type Log } from './kit/observability/log.ts'
import { createRecentLines, withRecentLines } from './kit/observability/recent-lines.ts'
import { type Random, systemRandom } from './kit/random.ts'
import { ledgerJobs } from './ledger/jobs.ts'
import type { LinksApp } from './links/app.ts'
import { linkJobs } from './links/jobs.ts'
import { linkRoutes } from './links/routes.ts'
import { reserveSlot } from './links/slots.ts'
import { createMerchantProfiles } from './merchants/profiles.ts'
import { operatorRoutes } from './merchants/routes.ts'
import { createRoutingRules } from './merchants/routing-rules-cache.ts'
import { requireMerchant } from './merchants/service.ts'
import { createServiceMetrics, type ServiceMetrics } from './metrics.ts'
import type { P2pApp } from './p2p/app.ts'
import { createDirectGateways } from './p2p/gateway.ts'
import { p2pJobs } from './p2p/jobs.ts'
import { p2pRoutes } from './p2p/routes.ts'
import { p2pAccountRoutes } from './p2p-accounts/routes.ts'
import { errorPage } from './pages/error-page.ts'
import { pageRoutes } from './pages/routes.ts'
import { createPaymentWriters } from './payments/app.ts'
import { findReferences } from './payments/find.ts'
import { paymentJobs } from './payments/jobs.ts'
import type { PaymentRow } from './payments/payment.ts'
import { paymentListRoutes } from './payments/routes.ts'
import { type PrimaryChannel, type ReadLines, shareLines } from './primary-channel.ts'
import { reconciliationRoutes } from './reconciliation/routes.ts'
import { wakeRefunds } from './refunds/advance.ts'
import { findGatewayRefunds } from './refunds/gateway-refund-queries.ts'
import { refundJobs } from './refunds/jobs.ts'
import type { RefundWake } from './refunds/queries.ts'
import { refundRoutes } from './refunds/routes.ts'
import { resolverJobs } from './resolver/jobs.ts'
import { sandboxApiRoutes } from './sandbox-api/routes.ts'
import type { SandboxApiApp } from './sandbox-api/service.ts'
import { ensureAdminToken, isAdminToken } from './secrets/admin-token.ts'
import { loadSecrets, requireKeyring } from './secrets/secrets.ts'
import { explainDatabase, explainListen } from './start-advice.ts'
import { startTracing, type Tracing } from './tracing.ts'
import { walletRoutes } from './wallet/routes.ts'
import { webhookEndpointJobs } from './webhook-endpoints/jobs.ts'
import { webhookEndpointRoutes } from './webhook-endpoints/routes.ts'

export type Role = 'all' | 'api' | 'worker'

export interface ServiceOptions {
  role?: Role
  /** Progress for the person who watches the start. */
  onProgress?: (line: string) => void
  /** The private PostgreSQL ended by itself: the service cannot go on. */
  onDatabaseExit?: (reason: string) => void
  clock?: Clock
  log?: Log
  /** To the process that leads this one, where several share a port. */
  primary?: PrimaryChannel
}

export interface Service {
  /** As seen from this machine. */
  url: string
  publicUrl: string
  /** Of the demo merchant, in staging only. */
  demoKey: string | null
  db: Db
  /** Of the merchants' API; a worker serves none. */
  openApi(): object
  stop(): Promise<void>
}

const SANDBOX_PATH = '/sandbox'

/** Every gateway that can be configured; beside them staging has the sandbox. */
export const GATEWAYS: readonly GatewayDefinition[] = [STRIPE, PAYSTACK, FLUTTERWAVE, PAWAPAY]

export async function startService(config: Config, options: ServiceOptions = {}): Promise<Service> {
  const role = options.role ?? 'all'
  const clock = options.clock ?? systemClock
  const random = systemRandom(clock)
  const recent = createRecentLines(clock)
  const log = withRecentLines(options.log ?? createLog(config.logLevel), recent, config.logLevel)
  const readLines = shareLines(recent, random.uuid(), options.primary)
  // What was started is stopped in the opposite order, also when the start fails half way.
  const stops: (() => Promise<unknown>)[] = []
  const stop = async () => {
    for (const step of stops.splice(0).reverse()) {
      await step().catch((error: unknown) => log.write('service.stop_failed', errorFields(error)))
    }
  }
  try {
    const db = await openDatabase(config, options, log, stops)
    const counters = createCounters()
    const measured = createServiceMetrics({ db, clock, log, counters, primary: options.primary })
    stops.push(async () => measured.stop())
    const tracing = startTracing(config, { clock, log, random, metrics: measured.metrics })
    stops.push(tracing.stop)
    const shared = { config, role, clock, log, readLines, random, db, stops, counters, measured, tracing }
    const service = await compose({ ...shared, tenantDb: await isolateTenants(db, log) })
    return { ...service, db, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** For those who bring none. */
export function startPrivatePostgres(
  { dataDir }: Config,
  { onProgress, onDatabaseExit }: ServiceOptions,
): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ dataDir: join(dataDir, 'postgres'), onProgress, onExit: onDatabaseExit })
}

async function openDatabase(
  config: Config,
  options: ServiceOptions,
  log: Log,
  stops: (() => Promise<unknown>)[],
): Promise<ConnectedDb> {
  let url = config.databaseUrl
  if (url === null) {
    const postgres = await startPrivatePostgres(config, options)
    stops.push(() => postgres.stop())
    url = postgres.url
  }
  const onError = (error: Error) => log.write('database.connection_lost', errorFields(error))
  const db = connectDb({
    url,
    poolSize: config.poolSize,
    preparedStatements: config.preparedStatements,
    onError,
  })
  stops.push(() => db.close())
  await requireUsableServer(db, config.environment === 'production').catch(explainDatabase(config))
  const { applied } = await migrate(db)
  if (applied.length > 0) log.write('database.migrated', { count: applied.length })
  return db
}

/** The second wall between merchants. Where it cannot stand the first one has to do, and the operator is told. */
async function isolateTenants(db: ConnectedDb, log: Log): Promise<Db> {
  const gaps = await applyRowLevelSecurity(db)
  if (gaps.length === 0) return tenantScoped(db)
  const reason = gaps.map(({ what, why }) => `${what} ${why}`).join('; ')
  log.write('database.tenant_isolation_off', { reason })
  return db
}

interface Parts {
  config: Config
  role: Role
  clock: Clock
  log: Log
  readLines: ReadLines
  random: Random
  /** Of every merchant: for operators, and for what serves several merchants at once. */
  db: Db
  /** For requests: of the merchant that asks, and of every one where none does. */
  tenantDb: Db
  stops: (() => Promise<unknown>)[]
  counters: Counters
  measured: ServiceMetrics
  tracing: Tracing
}

async function compose(parts: Parts) {
  const { config, role, stops } = parts
  // The port is known once we listen; until then nobody asks for an address.
  let port = config.port
  const localUrl = () => publicUrlOf(config.host, port)
  const isDefaultUrl = config.publicUrl === publicUrlOf(config.host, config.port)
  const publicUrl = () => (isDefaultUrl ? localUrl() : config.publicUrl)

  const { app, provider } = await composeApp(parts, { localUrl, publicUrl })
  // A start is not what a failpoint is about.
  const demo = app.mode === 'test' ? await ensureDemoMerchant({ ...app, db: parts.db }, config.dataDir) : null
  const shell = role === 'worker' ? null : await composeShell(parts, app, provider)
  let isShellOpen = false
  const stopShell = async () => {
    if (!isShellOpen) return
    isShellOpen = false
    await shell?.stop()
  }
  if (shell) {
    ;({ port } = await shell.listen(config.host, config.port).catch(explainListen(config)))
    isShellOpen = true
    stops.push(stopShell)
  }
  if (config.metricsListen) {
    const scrapes = await openMetricsListener(config.metricsListen, parts.measured.read)
    stops.push(() => scrapes.close())
  }
  if (provider) {
    provider.start()
    stops.push(() => provider.stop())
  }
  if (role !== 'api') {
    const jobs = startJobs(app, backgroundJobs(app, config))
    // Callers are turned away at once, not only when the last delivery has had its time.
    stops.push(async () => void (await Promise.all([stopShell(), jobs.stop()])))
  }
  const openApi = () => {
    if (!shell) throw new Error('a worker serves no document')
    return shell.openApi()
  }
  return { url: localUrl(), publicUrl: publicUrl(), demoKey: demo?.apiKey ?? null, openApi }
}

interface Addresses {
  localUrl(): string
  publicUrl(): string
}

/** The one object that fits what every slice asks for. */
async function composeApp(parts: Parts, { localUrl, publicUrl }: Addresses) {
  const { config, clock, log, random, stops, counters, measured, tracing } = parts
  const db = tracing.db(withCommitFailpoints(parts.tenantDb, config.failpoints))
  // For shared commits, and for what is remembered for whoever asks next.
  const unscopedDb = tracing.db(withCommitFailpoints(parts.db, config.failpoints))
  const { mode } = config
  const secrets = await loadSecrets(db, config, random)
  const vault = createVault(secrets.encryptionKeys, random)
  await requireKeyring(db, vault)
  const http = tracing.http(createHttpClient({ totalTimeoutMs: config.gatewayTimeoutMs }))
  stops.push(() => http.close())
  const { webhookAllow: allow, webhookPorts: ports } = config
  const publicHttp = tracing.publicHttp(createPublicHttp({ allow, ports }))
  stops.push(() => publicHttp.close())

  const { provider, sandbox } = await composeSandbox(parts, { http, secrets, localUrl, publicUrl })
  const measure = createGatewayMeasure(measured.metrics)
  const builtIn = mode === 'test' ? [measure(sandbox)] : []
  const stopped = new AbortController()
  stops.push(async () => stopped.abort())
  const refreshUntil = stopped.signal
  const direct = createDirectGateways({ db, clock, random, mode }, unscopedDb, refreshUntil)
  const routingRules = createRoutingRules({ db: unscopedDb, clock }, refreshUntil)
  const gateways = createGateways(
    { db: unscopedDb, clock, vault, log, routingRules },
    {
      definitions: GATEWAYS,
      configs: config.gateways,
      builtIn,
      perMerchant: [direct],
      refreshUntil,
      mode,
      timeoutMs: config.gatewayTimeoutMs,
      publicUrl,
      measure,
      wrap: tracing.http,
    },
  )
  stops.push(() => gateways.close())

  const app = {
    db,
    clock,
    random,
    log,
    vault,
    cursors: createSigner(secrets.cursorKey),
    gateways,
    sandbox,
    mode,
    direct,
    gatewayNames: [...GATEWAYS, ...builtIn, direct].map(({ name }) => name),
    keyPepper: secrets.keyPepper,
    keyCache: createKeyCache({ db: unscopedDb, clock }, { refreshUntil }),
    cappedLists: new Set<string>(),
    merchantProfile: createMerchantProfiles({ db: unscopedDb, clock }),
    writers: createPaymentWriters(unscopedDb, clock),
    wakeRefunds: (wake: RefundWake) => wakeRefunds({ db, clock }, wake),
    requireMerchant: (id: string) => requireMerchant({ db }, id),
    checkCapacity: (payment: PaymentRow) => reserveSlot({ db, clock }, payment),
    publicHttp,
    finishDelivery: createDeliveryWriter(unscopedDb),
    failpoints: config.failpoints,
    counters,
    promptKey: secrets.promptKey,
    settings: {
      mode,
      publicUrl,
      checkoutMs: config.checkoutMinutes * 60_000,
      promptsPerNumber: config.promptsPerNumber,
      settlementMs: config.settlementHours * 3_600_000,
      gatewayTimeoutMs: config.gatewayTimeoutMs,
      fees: config.fees,
    },
  }
  return { app, provider }
}

type App = Awaited<ReturnType<typeof composeApp>>['app']
type Provider = Awaited<ReturnType<typeof composeSandbox>>['provider']

interface SandboxNeeds extends Addresses {
  http: HttpClient
  secrets: Awaited<ReturnType<typeof loadSecrets>>
}

/** Our own test provider, in this process unless it runs alone; in production nobody offers it. */
async function composeSandbox(
  { config, role, clock, log, random, db, stops }: Parts,
  { http, secrets, localUrl, publicUrl }: SandboxNeeds,
) {
  const { sandboxSecret: secret, sandboxWebhookSecret: webhookSecret } = secrets
  const provider =
    config.mode === 'test' && config.sandboxUrl === null
      ? createSandboxProvider({
          store: createPostgresStore(db),
          clock,
          random,
          log,
          http,
          secret,
          webhookSecret,
          basePath: SANDBOX_PATH,
          get publicUrl() {
            return publicUrl()
          },
          get webhookUrl() {
            return role === 'worker' ? undefined : `${localUrl()}/hooks/sandbox`
          },
        })
      : null
  const listener = provider && (await openListener(provider, { host: '127.0.0.1', port: 0 }))
  if (listener) stops.push(() => listener.close())
  const baseUrl = config.sandboxUrl ?? (listener ? `${listener.url}${SANDBOX_PATH}` : '')
  return { provider, sandbox: createSandboxGateway({ http, clock, secret, webhookSecret, baseUrl }) }
}

async function composeShell(
  { config, clock, log, readLines, random, db, measured, tracing }: Parts,
  app: App,
  provider: Provider,
) {
  const adminToken = await ensureAdminToken(config, random)
  const { metricsToken } = config
  const { publicUrl } = app.settings
  return createHttpShell({
    routes: merchantRoutes(app),
    operatorRoutes: [
      ...operatorKeyRoutes(app),
      ...operatorRoutes(app, { checkInvariants: () => checkInvariants(db) }),
      ...gatewayRoutes({ ...app, publicUrl }),
      ...caseRoutes(app),
      ...instanceRoutes(app),
      ...reconciliationRoutes({ ...app, findRefunds: (...wanted) => findGatewayRefunds(db, ...wanted) }),
    ],
    pageRoutes: pageRoutes(app),
    errorPage: errorPage({ isTest: app.mode === 'test' }),
    gatewayWebhookRoutes: gatewayWebhookRoutes(app),
    mounts: provider ? { [SANDBOX_PATH]: provider.handle } : {},
    authenticate: (request) => authenticate(app, request),
    isWrongSecret: isSecretGuess,
    adminTokenMatches: (token) => isAdminToken(adminToken, token),
    metricsTokenMatches: (token) => metricsToken !== null && isAdminToken(metricsToken, token),
    readMetrics: measured.read,
    measure: createRequestMetrics(measured.metrics),
    tracer: tracing.tracer,
    ready: () => checkReadiness(db, log),
    publicUrl,
    environment: config.environment,
    rateLimit: config.rateLimit,
    syncRateLimits: (at, spendings) => syncRateLimits(db, at, spendings),
    failpoints: config.failpoints,
    trustProxy: config.trustProxy,
    clock,
    random,
    log,
    readLines,
  })
}

/** What goes on by itself; any number of processes share it. */
function backgroundJobs(
  app: App,
  { invariantCheckMinutes, idempotencyRetentionDays, deliveryRetentionDays }: Config,
): Job[] {
  return [
    ...apiKeyJobs(app),
    ...paymentJobs(app, idempotencyRetentionDays),
    ...checkoutJobs(app),
    ...resolverJobs(app),
    ...gatewayWebhookJobs(app),
    ...refundJobs(app),
    ...linkJobs(app),
    ...p2pJobs(app),
    ...customerJobs(app),
    ...ledgerJobs(app),
    ...webhookEndpointJobs(app),
    ...deliveryJobs(app, deliveryRetentionDays),
    ...invariantJobs(app, invariantCheckMinutes * 60_000),
  ]
}

/** Every operation of the merchants' API, in the order of its document. */
export function merchantRoutes(
  app: SandboxApiApp & LinksApp & SelfServiceKeysApp & P2pApp & DeliveriesApp,
): Route[] {
  return [
    ...checkoutRoutes(app),
    ...chargeRoutes(app),
    ...paymentListRoutes(app),
    ...refundRoutes(app),
    ...linkRoutes(app),
    ...p2pAccountRoutes(app),
    ...p2pRoutes(app),
    ...customerRoutes(app),
    ...walletRoutes({ ...app, referencesOf: (merchantId, ids) => findReferences(app.db, merchantId, ids) }),
    ...catalogRoutes(app),
    ...webhookEndpointRoutes(app),
    ...deliveryRoutes(app),
    ...apiKeyRoutes(app),
    ...(app.settings.mode === 'test' ? sandboxApiRoutes(app) : []),
  ]
}

/** Anybody may ask, so the reason is in fixed words; the log has the database's own. */
async function checkReadiness(db: Db, log: Log): Promise<{ ready: boolean; reasons: string[] }> {
  try {
    await requireUsableServer(db, false)
    return { ready: true, reasons: [] }
  } catch (error) {
    log.write('service.not_ready', errorFields(error))
    return { ready: false, reasons: ['The database does not answer.'] }
  }
}
