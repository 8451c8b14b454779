// The composition root: creates the parts of the service and starts them in this order. The steps are in src/compose/.

import { ensureStagingMerchants } from './api-keys/demo-merchant.ts'
import { composeApp } from './compose/app-object.ts'
import { openCells, probeCell } from './compose/cells.ts'
import { areTenantsIsolated, type DatabaseOptions, openDatabase } from './compose/database.ts'
import { composeShell } from './compose/http-shell.ts'
import { startBackgroundJobs } from './compose/jobs.ts'
import type { Parts, Stops } from './compose/parts.ts'
import { type Config, publicUrlOf, type Role, weakTokens } from './config.ts'
import { openMetricsListener } from './http/metrics.ts'
import type { Cells } from './kit/cells/cells.ts'
import { type Clock, systemClock } from './kit/clock.ts'
import type { Db } from './kit/db/db.ts'
import { createCounters } from './kit/observability/counters.ts'
import { createLog, errorFields, type Log } from './kit/observability/log.ts'
import { createRecentLines, withRecentLines } from './kit/observability/recent-lines.ts'
import { systemRandom } from './kit/random.ts'
import { createServiceMetrics } from './metrics.ts'
import { createDemoSignIn } from './people/demo/people.ts'
import { SCRYPT_COST, type ScryptCost } from './people/passwords.ts'
import { type PrimaryChannel, shareLines } from './primary-channel.ts'
import { explainListen } from './start-advice.ts'
import { startTracing } from './tracing.ts'

export interface ServiceOptions extends DatabaseOptions {
  role?: Role
  clock?: Clock
  log?: Log
  /** What the hash of a password costs; lower in tests. */
  passwordCost?: ScryptCost
  /** The channel to the cluster's primary, in a worker of a cluster. */
  primary?: PrimaryChannel
}

export interface Service {
  /** The URL on this machine. */
  url: string
  publicUrl: string
  /** The API key of the demo merchant; staging only. */
  demoKey: string | null
  /** Signs the owner of the demo merchant in to the dashboard, once; staging only. */
  signInUrl: string | null
  db: Db
  cells: Cells
  /** The OpenAPI document of the merchants' API. Throws in the role `worker`. */
  openApi(): object
  stop(): Promise<void>
}

export async function startService(config: Config, options: ServiceOptions = {}): Promise<Service> {
  const role = options.role ?? 'all'
  const clock = options.clock ?? systemClock
  const random = systemRandom(clock)
  const recent = createRecentLines(clock)
  const log = withRecentLines(options.log ?? createLog(config.logLevel), recent, config.logLevel)
  const readLines = shareLines(recent, random.uuid(), options.primary)
  const stops: Stops = []
  const stop = async () => {
    for (const step of stops.splice(0).reverse()) {
      await step().catch((error: unknown) => log.write('service.stop_failed', errorFields(error)))
    }
  }
  try {
    const db = await openDatabase(config, options, log, stops)
    const counters = createCounters()
    const cells = await openCells({ config, clock, log, random, db, stops }, options)
    const measured = createServiceMetrics({
      ...{ db, cells, clock, log, counters, primary: options.primary },
      probeCell: (cell) => probeCell(cells, cell, clock.now()),
    })
    stops.push(async () => measured.stop())
    const tracing = startTracing(config, { clock, log, random, metrics: measured.metrics })
    stops.push(tracing.stop)
    const shared = { config, role, clock, log, readLines, random, db, stops, counters, measured, tracing }
    const { passwordCost = SCRYPT_COST } = options
    const isIsolated = await areTenantsIsolated(db, log)
    const service = await compose({ ...shared, cells, isIsolated, passwordCost })
    return { ...service, db, cells, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function compose(parts: Parts) {
  const { config, role, stops } = parts
  let port = config.port
  const localUrl = () => publicUrlOf(config.host, port)
  const isDefaultUrl = config.publicUrl === publicUrlOf(config.host, config.port)
  const publicUrl = () => (isDefaultUrl ? localUrl() : config.publicUrl)

  const { app, provider } = await composeApp(parts, { localUrl, publicUrl })
  // The raw handle: failpoints must not fire during the start.
  const staging =
    app.mode === 'test'
      ? await ensureStagingMerchants({ ...app, instanceDb: parts.db }, config.dataDir)
      : null
  for (const reason of weakTokens(config)) parts.log.write('settings.weak_token', { reason })
  if (app.mode === 'live' && !app.gateways.supported.some(({ isConfigured }) => isConfigured))
    parts.log.write('gateway.none_configured')
  const shell =
    role === 'worker'
      ? null
      : await composeShell(parts, app, { provider, testShop: staging?.testShop ?? null })
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
    const jobs = startBackgroundJobs(parts, app)
    // The server stops accepting requests at once, not only after the last job has finished.
    stops.push(async () => void (await Promise.all([stopShell(), jobs.stop()])))
  }
  const openApi = () => {
    if (!shell) throw new Error('the role worker serves no API document')
    return shell.openApi()
  }
  const signInUrl =
    staging && role !== 'worker'
      ? `${publicUrl()}/app/enter/${await createDemoSignIn(app, staging.demo.merchant.id)}`
      : null
  const demoKey = staging?.demo.apiKey ?? null
  return { url: localUrl(), publicUrl: publicUrl(), demoKey, signInUrl, openApi }
}
