// Composes the services for `cowry demo`: a simulated clock, the sandbox inside this process, no other gateway, and one
// transaction, so that the merchant appears with its whole history or not at all. Running services do not see it before.

import { join } from 'node:path'
import { promptEndsAt } from '../checkout/phone-prompts.ts'
import { readServerFile } from '../cli/server-file.ts'
import type { DemoOptions, FilledDemo } from '../cli/shell.ts'
import { CommandError } from '../cli/terminal.ts'
import { type Config, publicUrlOf } from '../config.ts'
import { createDeliveryWriter } from '../deliveries/app.ts'
import { deliveryJobs } from '../deliveries/jobs.ts'
import type { DemoApp } from '../demo/app.ts'
import { writeHistory } from '../demo/fill.ts'
import { createDemoMerchant, lockDemo } from '../demo/merchant.ts'
import { startOf } from '../demo/orders.ts'
import { createReceiver } from '../demo/receiver.ts'
import { runAt, simulatedClock } from '../demo/simulated-time.ts'
import { createGateways } from '../gateways/registry.ts'
import { systemClock } from '../kit/clock.ts'
import { createSigner, createVault } from '../kit/crypto.ts'
import type { Db, Tx } from '../kit/db/db.ts'
import { applyRowLevelSecurity } from '../kit/db/tenant-isolation.ts'
import { dbWithin, type TransactionDb } from '../kit/db/within-transaction.ts'
import { findRunningPostgres } from '../kit/embedded-postgres.ts'
import { NO_FAILPOINTS } from '../kit/failpoints.ts'
import { createCounters } from '../kit/observability/counters.ts'
import { createLog, type Log } from '../kit/observability/log.ts'
import { systemRandom } from '../kit/random.ts'
import { ledgerJobs } from '../ledger/jobs.ts'
import { reserveSlot } from '../links/slots.ts'
import { createMerchantProfiles } from '../merchants/profiles.ts'
import { requireMerchant } from '../merchants/service.ts'
import type { P2pGateways } from '../p2p/app.ts'
import { createP2pGateways } from '../p2p/gateway.ts'
import { createPaymentWriters } from '../payments/app.ts'
import { wakeRefunds, wakeRefundWithReport } from '../refunds/advance.ts'
import { findGatewayRefunds } from '../refunds/find.ts'
import { createCallbackPaths } from '../secrets/callback-paths.ts'
import { type FilledMerchant, listFilledMerchants, saveFilledMerchant } from '../secrets/demo-key.ts'
import { type InstanceSecrets, loadSecrets } from '../secrets/secrets.ts'
import { COMMAND, openDatabase } from './database.ts'
import { addPerson, createSignIns } from './demo-people.ts'
import { createDemoProvider } from './demo-provider.ts'
import { SANDBOX_PATH } from './gateways.ts'
import { testClockJobs } from './jobs.ts'
import type { Stops } from './parts.ts'

/** Fills the database of the settings, of a running service or of a stopped one. */
export async function fillDemo(config: Config, options: DemoOptions): Promise<FilledDemo> {
  requireStaging(config)
  const stops: Stops = []
  try {
    // The embedded PostgreSQL of a running service, or one of our own until we end.
    const databaseUrl = config.databaseUrl ?? findRunningPostgres(join(config.dataDir, 'postgres')) ?? null
    const db = await openDatabase({ ...config, databaseUrl }, COMMAND, createLog('warn'), stops)
    if ((await applyRowLevelSecurity(db)).length > 0)
      throw new CommandError(
        'no_row_level_security',
        'The demo needs row-level security; see "cowry doctor".',
      )
    const secrets = await loadSecrets(db, config, systemRandom(systemClock))
    const filled = await db.transaction((tx) => fillOnce(tx, config, secrets, options), { noTimeout: true })
    const url = await serviceUrl(config)
    const [clock, random] = [systemClock, systemRandom(systemClock)]
    const people = await createSignIns(
      { peopleDb: db, clock, random, mode: config.mode },
      filled.merchantId,
      url,
    )
    return { ...filled, url, people }
  } finally {
    for (const stop of stops.reverse()) await stop()
  }
}

function requireStaging({ environment, sandboxUrl }: Config): void {
  if (environment === 'production')
    throw new CommandError('production', 'The demo writes invented payments. It runs in staging only.')
  if (sandboxUrl !== null)
    throw new CommandError(
      'external_sandbox',
      'The demo needs the sandbox gateway of the service itself. Unset COWRY_SANDBOX_URL.',
    )
}

/** The address of the running service, or the one at which it would listen. */
async function serviceUrl({ dataDir, publicUrl, host, port }: Config): Promise<string> {
  const isDefault = publicUrl === publicUrlOf(host, port)
  return (isDefault ? (await readServerFile(dataDir))?.url : undefined) ?? publicUrl
}

async function fillOnce(
  tx: Tx,
  config: Config,
  secrets: InstanceSecrets,
  options: DemoOptions,
): Promise<Omit<FilledDemo, 'url' | 'people'>> {
  // One statement may take long at the end, when the constraints of the whole history are checked.
  await tx.script('set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0')
  if (!(await lockDemo(tx)))
    throw new CommandError('demo_in_progress', 'Another "cowry demo" is filling this database.')
  const earlier = await listFilledMerchants(tx)
  const last = earlier.at(-1)
  if (last && !options.again) return { ...last, isNew: false }
  const plan = { ...options, nowMs: systemClock.now().getTime() }
  const db = dbWithin(tx)
  const app = composeDemo(db, config, secrets, { nowMs: plan.nowMs, url: await serviceUrl(config) })
  const number = (last?.number ?? 0) + 1
  const demo = await runAt(startOf(plan), () => createDemoMerchant(app, number))
  const { merchant, key } = demo
  const filled: FilledMerchant = { number, merchantId: merchant.id, name: merchant.name, apiKey: key.apiKey }
  await saveFilledMerchant(tx, filled)
  await writeHistory(app, demo, plan, options.onProgress)
  await app.provider.storeRecords(tx)
  db.assertIntact()
  return { ...filled, isNew: true }
}

interface Place {
  nowMs: number
  url: string
}

function composeDemo(
  db: TransactionDb,
  config: Config,
  secrets: InstanceSecrets,
  { nowMs, url }: Place,
): DemoApp {
  const clock = simulatedClock
  // Identifiers have the simulated time, and are never the same twice.
  const random = systemRandom(clock)
  const { mode } = config
  const vault = createVault(secrets.encryptionKeys, random)
  const log = failingLog()
  const pagesUrl = `${url}${SANDBOX_PATH}/pay`
  const provider = createDemoProvider({ clock, random, secret: secrets.sandboxSecret, pagesUrl })
  const p2pGateways = keepRails(createP2pGateways({ db, clock, random, mode }, db))
  // Caches are not simulated: what they hold does not change.
  const cached = { db, instanceDb: db, clock: systemClock }
  const gateways = createDemoGateways(db, config, { provider, p2pGateways, vault, log, url, secrets })
  const base = {
    ...{ db, instanceDb: db, clock, random, log, vault, mode, provider, gateways, p2pGateways },
    addPerson: (...[merchantId, person]: Parameters<DemoApp['addPerson']>) =>
      addPerson({ peopleDb: db, clock, random, mode }, merchantId, person),
    gatewayNames: [provider.gateway.name],
    findRefunds: (...wanted: Parameters<DemoApp['findRefunds']>) => findGatewayRefunds(db, ...wanted),
    sandbox: provider.gateway,
    counters: createCounters(),
    cursors: createSigner(secrets.cursorKey),
    keyPepper: secrets.keyPepper,
    promptKey: secrets.promptKey,
    merchantProfile: createMerchantProfiles(cached),
    writers: createPaymentWriters(db),
    promptEndsAt: (key: string) => promptEndsAt(db, key),
    isSuspended: () => Promise.resolve(false),
    wakeRefunds: (wake: Parameters<DemoApp['wakeRefunds']>[0]) => wakeRefunds({ db, clock }, wake),
    wakeRefundByKey: (...[refund, report]: Parameters<DemoApp['wakeRefundByKey']>) =>
      wakeRefundWithReport({ db, clock }, refund, report),
    requireMerchant: (id: string) => requireMerchant({ instanceDb: db }, id),
    checkCapacity: (payment: Parameters<DemoApp['checkCapacity']>[0]) => reserveSlot({ db, clock }, payment),
    finishDelivery: createDeliveryWriter(db),
    publicHttp: createReceiver(clock, nowMs),
    failpoints: NO_FAILPOINTS,
    settings: {
      mode,
      publicUrl: () => url,
      checkoutMs: config.checkoutMinutes * 60_000,
      // No phone is prompted.
      promptsPerNumber: 0,
      promptsPerVisitor: 0,
      settlementMs: config.settlementHours * 3_600_000,
      gatewayTimeoutMs: config.gatewayTimeoutMs,
      fees: config.fees,
    },
  }
  const jobs = [...testClockJobs(base), ...ledgerJobs(base), ...deliveryJobs(base)]
  const named = (names: readonly string[]) =>
    names.map((name) => jobs.find((job) => job.name === name)).filter((job) => job !== undefined)
  return {
    ...base,
    dailyJobs: named(DAILY_JOBS),
    dueJobs: named([...DAILY_JOBS, ...LAST_JOBS]),
    deliveryJobs: named(['deliver-events']),
  }
}

const DAILY_JOBS = ['settle-money', 'resolve-refunds', 'expire-transfers', 'fold-balances']
// Each reads every row of the history that was ever due, because one transaction cannot clean up after itself.
const LAST_JOBS = ['resolve-attempts', 'expire-checkouts', 'refund-duplicates', 'expire-payment-methods']

/** The cache of the rails ends with the simulated time, which would load them for every payment. */
function keepRails(p2pGateways: P2pGateways): P2pGateways {
  let kept: ReturnType<P2pGateways['forMerchant']> | undefined
  return {
    ...p2pGateways,
    forMerchant(merchantId) {
      kept ??= p2pGateways.forMerchant(merchantId)
      return kept
    },
    invalidate(merchantId) {
      kept = undefined
      p2pGateways.invalidate(merchantId)
    },
  }
}

type GatewayParts = Pick<DemoApp, 'provider' | 'p2pGateways' | 'vault' | 'log'> & {
  url: string
  secrets: InstanceSecrets
}

/** The sandbox and the merchant's own accounts alone, whatever else is configured: no outside address is called. */
function createDemoGateways(
  db: Db,
  config: Config,
  { provider, p2pGateways, url, secrets, ...app }: GatewayParts,
) {
  const openTokens = () => {
    throw new Error('the gateways of the demo have no access tokens')
  }
  return createGateways(
    {
      ...{ ...app, db, clock: systemClock, openTokens },
      callbackPaths: createCallbackPaths(secrets.callbackKeys),
      routingRules: () => Promise.resolve([]),
    },
    {
      definitions: [],
      configs: new Map(),
      builtIn: [provider.gateway],
      perMerchant: [p2pGateways],
      mode: config.mode,
      timeoutMs: config.gatewayTimeoutMs,
      publicUrl: () => url,
    },
  )
}

/** The lines of a history are not of this time. An error that a service has caught must not be missed. */
function failingLog(): Log {
  return {
    write(key, fields = {}) {
      if (fields.stack !== undefined) throw new Error(`${key}: ${fields.error}`)
    },
  }
}
