// A process of the service in the simulated world: the real code, composed as src/app.ts does, over simulated ports. It
// can be killed and restarted at any moment, or stopped for a while.

import { promptEndsAt } from '../../../src/checkout/phone-prompts.ts'
import { LOG_LINES } from '../../../src/core/log-lines.ts'
import type { Merchant } from '../../../src/core/merchant.ts'
import { gatewayWebhookJobs } from '../../../src/gateway-webhooks/jobs.ts'
import { gatewayWebhookRoutes } from '../../../src/gateway-webhooks/receive.ts'
import type { Gateway } from '../../../src/gateways/gateway.ts'
import { fixedGateways } from '../../../src/gateways/registry.ts'
import type { Clock } from '../../../src/kit/clock.ts'
import { createSigner } from '../../../src/kit/crypto.ts'
import type { Db } from '../../../src/kit/db/db.ts'
import type { GatewayWebhookRoute } from '../../../src/kit/http/route.ts'
import { type Job, startJobs } from '../../../src/kit/jobs.ts'
import { createCounters } from '../../../src/kit/observability/counters.ts'
import type { Log } from '../../../src/kit/observability/log.ts'
import { ledgerJobs } from '../../../src/ledger/jobs.ts'
import { createPaymentWriters, type PaymentsApp } from '../../../src/payments/app.ts'
import { wakeRefunds, wakeRefundWithReport } from '../../../src/refunds/advance.ts'
import { refundJobs } from '../../../src/refunds/jobs.ts'
import { resolverJobs } from '../../../src/resolver/jobs.ts'
import { isSimulatedJob, type JobTimer } from './job-timer.ts'
import type { Store } from './model/store.ts'
import { randomOf } from './prng.ts'
import { PLAINTEXT_VAULT } from './seed-data.ts'
import type { Server } from './server.ts'
import type { Host, Sim } from './sim.ts'

/** The parts of a process that a mutation replaces. */
export interface ProcessOverrides {
  gateway?: (gateway: Gateway, sim: Sim) => Gateway
  db?: (db: Db) => Db
  app?: (app: PaymentsApp) => PaymentsApp
  jobs?: (jobs: Job[], app: PaymentsApp) => Job[]
  webhookRoutes?: (hooks: GatewayWebhookRoute[], app: PaymentsApp, store: Store) => GatewayWebhookRoute[]
}

export interface Machine extends Host {
  app: PaymentsApp
  webhookRoutes: GatewayWebhookRoute[]
  start(): void
  kill(): void
}

export interface MachineOptions {
  sim: Sim
  store: Store
  server: Server
  jobTimer: JobTimer
  merchant: Merchant
  /** The gateways as this machine reaches them. */
  gateways: (host: Host) => Gateway[]
  overrides: ProcessOverrides
  /** A request waits for this machine and will get no response. */
  onCrash: (host: Host) => void
}

export const SETTINGS = {
  mode: 'test',
  publicUrl: () => 'https://cowry.example',
  checkoutMs: 180_000,
  promptsPerNumber: 0,
  promptsPerVisitor: 0,
  settlementMs: 60_000,
  gatewayTimeoutMs: 10_000,
  fees: new Map([['alpha', new Map([['KES', { partsPerMillion: 29_000n, fixedMinor: 7n }]])]]),
} satisfies PaymentsApp['settings']

const KEY = new Uint8Array(32).fill(7)

export function createMachine(options: MachineOptions, name: string): Machine {
  const { sim, server } = options
  const host = { name, epoch: 0, isUp: false, pausedUntilMs: 0 }
  const machine = Object.assign(host, {
    start() {
      machine.epoch += 1
      machine.isUp = true
      machine.pausedUntilMs = 0
      machine.app = compose(options, machine)
      const { webhookRoutes = (all) => all } = options.overrides
      machine.webhookRoutes = webhookRoutes(gatewayWebhookRoutes(machine.app), machine.app, options.store)
      startBackgroundJobs(options, machine)
    },
    kill() {
      if (!machine.isUp) return
      machine.isUp = false
      machine.epoch += 1
      server.dropConnections(machine)
      options.onCrash(machine)
      sim.scheduler.after(sim.prng.between(200, 4_000), `${name} starts`, () => machine.start())
    },
  }) as Machine
  return machine
}

function compose(
  { sim, server, gateways, overrides, merchant }: MachineOptions,
  machine: Machine,
): PaymentsApp {
  const clock = clockOf(sim, machine)
  const random = randomOf(sim.prng, clock)
  const db = overrides.db?.(server.connect(machine)) ?? server.connect(machine)
  const connected = gateways(machine).map((one) => overrides.gateway?.(one, sim) ?? one)
  const app: PaymentsApp = {
    db,
    instanceDb: db,
    clock,
    random,
    log: logOf(sim, machine),
    vault: PLAINTEXT_VAULT,
    cursors: createSigner(KEY),
    mode: 'test',
    gateways: fixedGateways(connected),
    writers: createPaymentWriters(db),
    failpoints: { hit: () => Promise.resolve() },
    counters: createCounters(),
    promptKey: KEY,
    promptEndsAt: (key) => promptEndsAt(db, key),
    isSuspended: async () => false,
    merchantProfile: async () =>
      ({ name: merchant.name, settings: {}, savedMethods: 'always_tell' }) as never,
    // No payment of the simulation has a link.
    checkCapacity: () => Promise.resolve('available'),
    wakeRefunds: (wake) => wakeRefunds({ db, clock }, wake),
    wakeRefundByKey: (refund, report) => wakeRefundWithReport({ db, clock }, refund, report),
    settings: SETTINGS,
  }
  return overrides.app?.(app) ?? app
}

function clockOf(sim: Sim, host: Host): Clock {
  const { epoch } = host
  return {
    now: () => sim.now(),
    sleep: (ms) => new Promise((resolve) => sim.runOnHost(host, epoch, ms, 'slept', resolve)),
  }
}

function startBackgroundJobs({ sim, jobTimer, overrides }: MachineOptions, machine: Machine): void {
  const { app, epoch } = machine
  const all = [...resolverJobs(app), ...gatewayWebhookJobs(app), ...refundJobs(app), ...ledgerJobs(app)]
  const jobs = overrides.jobs?.(all, app) ?? all
  for (const job of jobs.filter(({ name }) => isSimulatedJob(name, machine.name))) {
    const sleep: Clock['sleep'] = (ms) =>
      new Promise((resolve) =>
        jobTimer.sleep(job.name, ms, () => sim.runOnHost(machine, epoch, 0, `${job.name} looks`, resolve)),
      )
    // The first poll waits for due work, as every other does.
    void sleep(0).then(() => startJobs({ ...app, clock: { ...app.clock, sleep } }, [job]))
  }
}

// Errors that the service may log about its environment. Any other error is a defect of the service.
const EXPECTED_ERRORS = /^the database did not answer/

function logOf(sim: Sim, host: Host): Log {
  return {
    write(key, fields = {}) {
      if (LOG_LINES[key].level !== 'error') return
      if (fields.error === undefined || EXPECTED_ERRORS.test(String(fields.error))) return
      sim.reportViolation(`${host.name} logged ${key}: ${fields.error} ${fields.stack ?? ''}`)
    },
  }
}
