// The sandbox provider as a plain request handler: mounted under a path of the service in staging, or served alone.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../../kit/clock.ts'
import type { HttpClient } from '../../../kit/http/http-client.ts'
import { errorFields, type Log } from '../../../kit/observability/log.ts'
import type { Random } from '../../../kit/random.ts'
import { createWebhookSender } from '../webhooks.ts'
import { apiRoutes } from './api.ts'
import { createFaultInjector } from './faults.ts'
import { pageRoutes } from './page-routes.ts'
import { applyDuePlans, type ProviderNeeds } from './provider.ts'
import { dispatch, send } from './router.ts'
import type { SandboxStore } from './store.ts'

/** Getters, read at each use: a port may be known only after listening. */
export interface SandboxProviderOptions {
  store: SandboxStore
  clock: Clock
  random: Random
  log: Log
  http: HttpClient
  /** The bearer token of its API. */
  readonly secret: string
  readonly webhookSecret: string
  /** The public URL of the server that mounts the provider, without the base path. */
  readonly publicUrl: string
  /** Absent: no webhooks. */
  readonly webhookUrl?: string
  /** Such as /sandbox; absent if it is served alone. */
  basePath?: string
}

export interface SandboxProvider {
  handle(req: IncomingMessage, res: ServerResponse): void
  /** Starts the periodic job that applies due plans. */
  start(): void
  stop(): Promise<void>
}

export function createSandboxProvider(options: SandboxProviderOptions): SandboxProvider {
  const { store, clock, random, log, basePath = '' } = options
  const webhookSender = createWebhookSender(options)
  const app = {
    store,
    clock,
    random,
    webhookSender,
    faults: createFaultInjector(),
    get secret() {
      return options.secret
    },
    get pagesUrl() {
      return `${options.publicUrl}${basePath}/pay`
    },
  }
  const routes = [...apiRoutes(app), ...pageRoutes(app)]
  const stopping = new AbortController()
  let sweeping: Promise<void> | undefined

  return {
    handle(req, res) {
      void dispatch(routes, basePath, req)
        .then((reply) => send(res, reply, clock))
        .catch((error: unknown) => fail(log, res, error))
    },
    start() {
      sweeping ??= sweep(app, log, stopping.signal)
    },
    async stop() {
      stopping.abort()
      webhookSender.stop()
      await sweeping
    },
  }
}

function fail(log: Log, res: ServerResponse, error: unknown): void {
  // A client that aborted needs no response, and this is not an error.
  const key = res.destroyed ? 'sandbox.client_aborted' : 'sandbox.request_failed'
  log.write(key, { gateway: 'sandbox', ...errorFields(error) })
  if (res.headersSent) res.destroy()
  else res.writeHead(500).end()
}

// Half a second is precise enough for a prompt that is approved after two seconds.
const SWEEP_MS = 500

async function sweep(app: ProviderNeeds, log: Log, stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    try {
      await applyDuePlans(app)
    } catch (error) {
      log.write('sandbox.poll_failed', { gateway: 'sandbox', ...errorFields(error) })
    }
    await app.clock.sleep(SWEEP_MS, stopped)
  }
}
