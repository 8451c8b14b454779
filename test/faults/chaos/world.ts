// All processes of a run on the loopback: two API and two worker processes, PostgreSQL, the sandbox provider with its
// durable log, and the merchant's webhook server. Each pair has a proxy between them.

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { connectDb, type Db } from '../../../src/kit/db/db.ts'
import { locateCluster } from '../../../src/kit/embedded-postgres/cluster.ts'
import { readPostmasterFile } from '../../../src/kit/embedded-postgres/orphan.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../../src/kit/embedded-postgres.ts'
import { createApi } from '../../support/api.ts'
import { type Consumer, startConsumer } from '../../support/consumer.ts'
import type { Cleanup } from '../../support/database.ts'
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import {
  type SupervisedProcess,
  type SupervisedProcessOptions,
  superviseProcess,
} from './supervised-process.ts'

const SECRET = 'the-secret-of-the-sandbox-in-the-chaos'

// Short, so that leases expire and other processes take over during the run.
const GATEWAY_TIMEOUT_MS = 1_500

export interface NetworkLink {
  /** The client and the server of the link. */
  from: string
  to: 'api' | 'database' | 'provider' | 'consumer'
  proxy: TcpProxy
}

export interface World {
  folder: string
  processes: SupervisedProcess[]
  links: NetworkLink[]
  /** The URLs of the two API processes, each behind its proxy. */
  apiUrls: string[]
  apiKey: string
  consumer: Consumer
  /** Unexpected ends of processes. */
  errors: string[]
  /** Resolves when it accepts connections again. */
  restartDatabase(mode: 'fast' | 'immediate'): Promise<void>
  /** A direct connection that bypasses the proxies. */
  openDb(): Db
  providerLog: string
}

export async function startWorld(t: Cleanup, folder: string): Promise<World> {
  const processCleanups: (() => Promise<void>)[] = []
  let postgres = await startPostgres(folder)
  t.after(async () => {
    await Promise.all(processCleanups.map((end) => end()))
    await postgres.stop()
  })
  const topology = createTopology(t, { after: (end) => void processCleanups.push(end) }, folder)
  const { processes, links, errors } = topology
  const webhookProxy = await topology.addProxy('provider', 'api', 0)
  const addresses = { postgres, webhookProxy, provider: await startProvider(topology, webhookProxy) }
  // The first process migrates; the others find the schema complete.
  const first = await startApi(topology, 'api-1', addresses)
  const [second] = await Promise.all([
    startApi(topology, 'api-2', addresses),
    startService(topology, 'worker-1', 'worker', addresses, () => undefined),
    startService(topology, 'worker-2', 'worker', addresses, () => undefined),
  ])
  const consumer = await startConsumer(t)
  await subscribe(first, consumer, await topology.addProxy('workers', 'consumer', portOf(consumer.url)))
  return {
    folder,
    processes,
    links,
    apiUrls: [first.url, second.url],
    apiKey: first.apiKey,
    consumer,
    errors,
    async restartDatabase(mode) {
      if (mode === 'immediate') quitPostgres(folder)
      await postgres.stop()
      postgres = await startPostgres(folder)
      topology.retargetAll('database', postgres.port)
    },
    openDb: () => connectDb({ url: postgres.url, poolSize: 4, applicationName: 'cowry-chaos' }),
    providerLog: join(folder, 'sandbox.jsonl'),
  }
}

/** The folder, processes and links that the parts of the world are added to. */
interface Topology extends Pick<World, 'folder' | 'processes' | 'links' | 'errors'> {
  addProxy(from: string, to: NetworkLink['to'], target: number): Promise<TcpProxy>
  /** Sets the target of all links to it. */
  retargetAll(to: NetworkLink['to'], port: number): void
  addProcess(options: Omit<SupervisedProcessOptions, 'reportError' | 'logFile'>): Promise<void>
}

function createTopology(t: Cleanup, processCleanup: Cleanup, folder: string): Topology {
  const links: NetworkLink[] = []
  const processes: SupervisedProcess[] = []
  const errors: string[] = []
  return {
    folder,
    links,
    processes,
    errors,
    async addProxy(from, to, target) {
      const proxy = await startTcpProxy(t, target)
      links.push({ from, to, proxy })
      return proxy
    },
    retargetAll(to, port) {
      for (const link of links) if (link.to === to) link.proxy.retarget(port)
    },
    async addProcess(options) {
      const logFile = join(folder, `${options.name}.log`)
      const reportError = (message: string) => void errors.push(message)
      processes.push(await superviseProcess(processCleanup, { ...options, logFile, reportError }))
    },
  }
}

/** The addresses that every process needs. */
interface Addresses {
  postgres: EmbeddedPostgres
  /** The provider's port, which changes with every start. */
  provider: { port: number }
  /** The link for the provider's webhooks. */
  webhookProxy: TcpProxy
}

async function startProvider(topology: Topology, webhookProxy: TcpProxy): Promise<Addresses['provider']> {
  const provider = { port: 0 }
  await topology.addProcess({
    name: 'provider',
    kind: 'provider',
    args: ['sandbox', '--port', '0', '--data-dir', topology.folder],
    env: { COWRY_SANDBOX_SECRET: SECRET, COWRY_PUBLIC_URL: `http://127.0.0.1:${webhookProxy.port}` },
    onStart({ data }) {
      provider.port = portOf(data.url)
      topology.retargetAll('provider', provider.port)
    },
  })
  return provider
}

interface Api {
  /** Its URL for the load, behind its proxy. */
  url: string
  apiKey: string
}

async function startApi(topology: Topology, name: string, addresses: Addresses): Promise<Api> {
  const apiProxy = await topology.addProxy('load', 'api', 0)
  let apiKey = ''
  await startService(topology, name, 'api', addresses, ({ url, demoKey }) => {
    apiKey = demoKey
    apiProxy.retarget(portOf(url))
    // The provider's webhooks go to the API process that was started last.
    addresses.webhookProxy.retarget(portOf(url))
  })
  return { url: `http://127.0.0.1:${apiProxy.port}`, apiKey }
}

async function startService(
  topology: Topology,
  name: string,
  role: 'api' | 'worker',
  { postgres, provider }: Addresses,
  onStart: SupervisedProcessOptions['onStart'],
): Promise<void> {
  const database = await topology.addProxy(name, 'database', postgres.port)
  const gateway = await topology.addProxy(name, 'provider', provider.port)
  const dataDir = join(topology.folder, name)
  await mkdir(dataDir)
  await topology.addProcess({
    name,
    kind: role,
    args: ['serve', '--role', role],
    env: {
      PORT: '0',
      DATABASE_URL: withPort(postgres.url, database.port),
      COWRY_DATA_DIR: dataDir,
      COWRY_SANDBOX_URL: `http://127.0.0.1:${gateway.port}`,
      COWRY_SANDBOX_SECRET: SECRET,
      COWRY_RATE_LIMIT: '0',
      COWRY_POOL_SIZE: '8',
      COWRY_PROMPTS_PER_NUMBER: '0',
      COWRY_PROMPTS_PER_VISITOR: '0',
      COWRY_GATEWAY_TIMEOUT_MS: String(GATEWAY_TIMEOUT_MS),
    },
    onStart,
  })
}

function startPostgres(folder: string): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ dataDir: join(folder, 'postgres') })
}

/** PostgreSQL's immediate shutdown, which acts like a crash. */
function quitPostgres(folder: string): void {
  const file = readPostmasterFile(locateCluster(join(folder, 'postgres')))
  if (file) process.kill(file.pid, 'SIGQUIT')
}

async function subscribe({ url, apiKey }: Api, consumer: Consumer, proxy: TcpProxy): Promise<void> {
  const api = createApi(url, { 'x-api-key': apiKey })
  const answer = await api.post('/api/v1/webhooks/endpoints', {
    url: `http://127.0.0.1:${proxy.port}${new URL(consumer.url).pathname}`,
    events: ['*'],
  })
  if (answer.http !== 201) throw new Error(`the endpoint was rejected: ${answer.text}`)
  consumer.setSecret(answer.body.data.secret)
}

function portOf(url: string): number {
  return Number(new URL(url).port)
}

function withPort(url: string, port: number): string {
  const changed = new URL(url)
  changed.port = String(port)
  return changed.href
}
