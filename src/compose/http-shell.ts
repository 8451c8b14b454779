import { authenticate, isSecretGuess } from '../api-keys/authenticate.ts'
import { syncRateLimits } from '../api-keys/rate-limits.ts'
import type { Merchant } from '../core/merchant.ts'
import type { DashboardApp, OpsApp } from '../dashboard/app.ts'
import { dashboardErrorPage } from '../dashboard/error-page.ts'
import { APP } from '../dashboard/frame/layout.ts'
import { createRunningRequests } from '../dashboard/frame/running.ts'
import { OPS } from '../dashboard/ops/area.ts'
import { opsRoutes } from '../dashboard/ops/routes.ts'
import { dashboardRoutes } from '../dashboard/routes.ts'
import { ERROR_HELP } from '../docs-site/error-help/page.ts'
import { docsErrorPage, docsRoutes } from '../docs-site/routes.ts'
import { createChangeFeed } from '../events/change-feed.ts'
import { gatewayWebhookRoutes } from '../gateway-webhooks/receive.ts'
import type { SandboxProvider } from '../gateways/sandbox/provider/server.ts'
import { logRoutes } from '../http/log-routes.ts'
import { createRequestMetrics } from '../http/metrics.ts'
import { createOperations, createOperatorOperations } from '../http/operations.ts'
import { createHttpShell } from '../http/server.ts'
import { areSeveral, inCellOf } from '../kit/cells/cells.ts'
import { findKey } from '../kit/db/idempotency.ts'
import { requireUsableServer } from '../kit/db/server-check.ts'
import { runAsMerchant } from '../kit/db/tenant-isolation.ts'
import type { OperatorRoute, Route } from '../kit/http/route.ts'
import { errorFields } from '../kit/observability/log.ts'
import { createConfirmations } from '../mcp/confirmation.ts'
import { createMcpEndpoint, type McpEndpoint } from '../mcp/protocol.ts'
import { errorPage } from '../pages/error-page.ts'
import { landingRoutes } from '../pages/landing/routes.ts'
import { pageRoutes } from '../pages/routes.ts'
import { createRequestLog } from '../request-log/write.ts'
import { ensureAdminToken, isAdminToken } from '../secrets/admin-token.ts'
import { type App, cellDbOf } from './app-object.ts'
import { routeByMerchant, routeOperators, routePages, routePagesOf } from './cell-routes.ts'
import { EVENT_DATA } from './event-data.ts'
import { SANDBOX_PATH } from './gateways.ts'
import type { Parts } from './parts.ts'
import { allOperatorRoutes, merchantRoutes, personRoutes } from './routes.ts'

interface ShellParts {
  provider: SandboxProvider | null
  /** Null in production. */
  testShop: Merchant | null
}

/** The HTTP server with the routes of every slice; it does not listen yet. */
export async function composeShell(parts: Parts, app: App, { provider, testShop }: ShellParts) {
  const { config, clock, log, readLines, random, db, measured, tracing } = parts
  const adminToken = await ensureAdminToken(config, random)
  const { metricsToken } = config
  const isTest = app.mode === 'test'
  const routes = routeByMerchant(app, merchantRoutes(app))
  const operatorRoutes = routeOperators(app, allOperatorRoutes(app, cellDbOf(parts)))
  const areas = { app: composeDashboard(parts, app, routes), ops: composeOps(parts, app, operatorRoutes) }
  return createHttpShell({
    routes,
    operatorRoutes,
    eventData: EVENT_DATA,
    pageRoutes: [
      ...routePagesOf(app, testShop?.id, landingRoutes(app, testShop)),
      ...routePages(app, pageRoutes(app)),
      ...dashboardRoutes(areas.app),
      ...opsRoutes(areas.ops),
      ...docsRoutes({ isTest, publicUrl: app.settings.publicUrl }),
    ],
    errorPage: dashboardErrorPage(areas, docsErrorPage(errorPage({ isTest }))),
    gatewayWebhookRoutes: gatewayWebhookRoutes(app),
    mcp: composeMcp(parts, app),
    mounts: provider ? { [SANDBOX_PATH]: provider.handle } : {},
    authenticate: (request) => authenticate(app, request),
    isWrongSecret: isSecretGuess,
    adminTokenMatches: (token) => isAdminToken(adminToken, token),
    metricsTokenMatches: (token) => metricsToken !== null && isAdminToken(metricsToken, token),
    readMetrics: measured.read,
    measure: createRequestMetrics(measured.metrics),
    recordRequest: openRequestLog(parts),
    tracer: tracing.tracer,
    ready: () => checkReadiness(parts, app),
    publicUrl: app.settings.publicUrl,
    environment: config.environment,
    rateLimit: config.rateLimit,
    maxLoopDelayMs: config.maxLoopDelayMs,
    syncRateLimits: (at, spendings) => syncRateLimits(db, at, spendings),
    failpoints: config.failpoints,
    trustProxy: config.trustProxy,
    clock,
    random,
    log,
    readLines,
  })
}

/** The raw handle: the log is written outside requests, and a failpoint must not fire there. */
function openRequestLog({ config, stops, ...parts }: Parts) {
  if (config.requestLogDays === 0) return undefined
  const requests = createRequestLog({ ...parts, db: cellDbOf(parts) })
  stops.push(requests.stop)
  return requests.record
}

function composeDashboard(parts: Parts, app: App, routes: Route[]): DashboardApp {
  const { clock, cells, log } = parts
  const { rateLimit } = parts.config
  return {
    ...app,
    area: APP,
    running: createRunningRequests(clock),
    changes: createChangeFeed({ db: cellDbOf(parts), cells, clock, log }),
    operations: createOperations([...routes, ...routeByMerchant(app, personRoutes(app))], {
      clock,
      rateLimit,
    }),
    publicUrl: app.settings.publicUrl,
    timeZoneOf: async (merchantId) => (await app.merchantProfile(merchantId)).timeZone,
  }
}

function composeOps({ clock, readLines }: Parts, app: App, routes: OperatorRoute[]): OpsApp {
  return {
    ...app,
    area: OPS,
    running: createRunningRequests(clock),
    operations: createOperatorOperations([...routes, ...logRoutes({ readLines })], clock),
    publicUrl: app.settings.publicUrl,
  }
}

function composeMcp({ config, clock, random }: Parts, app: App): McpEndpoint | undefined {
  if (config.mcp === 'off') return undefined
  return createMcpEndpoint({
    clock,
    confirmations: createConfirmations(app.confirmationKey, clock, random),
    publicUrl: app.settings.publicUrl,
    isKeyUsed: (merchantId, key) =>
      inCellOf(app.cells, merchantId, () =>
        runAsMerchant(merchantId, async () => (await findKey(app.db, merchantId, key)) !== undefined),
      ),
    errorHelp: (code) => ERROR_HELP[code],
    allowsWrites: config.mcp === 'write',
  })
}

async function findLostCells({ cells, probeCell }: App): Promise<string[]> {
  if (!areSeveral(cells)) return []
  const probes = cells.numbers.map(async (cell) =>
    (await probeCell(cell)) ? [] : [`The cell ${cells.nameOf(cell)} does not take statements.`],
  )
  return (await Promise.all(probes)).flat()
}

/** The route needs no key, so its reason is a fixed text; the database's own error goes to the log. */
async function checkReadiness({ db, log }: Parts, app: App): Promise<{ ready: boolean; reasons: string[] }> {
  try {
    await requireUsableServer(db, false)
    // A cell that is down does not make the process unready: the merchants of the others are served.
    return { ready: true, reasons: await findLostCells(app) }
  } catch (error) {
    log.write('service.not_ready', errorFields(error))
    return { ready: false, reasons: ['The database does not answer.'] }
  }
}
