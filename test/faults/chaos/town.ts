// Everything that takes part, each a process of its own on the loopback: two API and two worker processes, PostgreSQL, the
// sandbox provider with its durable log, and the merchant's server for webhooks. Between each pair is a proxy.

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { connectDb, type Db } from '../../../src/kit/db.ts'
import { locateCluster } from '../../../src/kit/embedded-postgres/cluster.ts'
import { readPostmasterFile } from '../../../src/kit/embedded-postgres/orphan.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../../src/kit/embedded-postgres.ts'
import { createApi } from '../../support/api.ts'
import { type Consumer, startConsumer } from '../../support/consumer.ts'
import type { Cleanup } from '../../support/database.ts'
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { keepRunning, type Place, type PlaceOptions } from './place.ts'

const SECRET = 'the-secret-of-the-sandbox-in-the-chaos'

// Short, so that a lease ends, and somebody else takes over, while the chaos lasts.
const GATEWAY_TIMEOUT_MS = 1_500

export interface Wire {
  /** Who speaks through it, and to whom. */
  from: string
  to: 'api' | 'database' | 'provider' | 'consumer'
  proxy: TcpProxy
}

export interface Town {
  folder: string
  places: Place[]
  wires: Wire[]
  /** Where the load finds the two API processes, each behind its proxy. */
  apiUrls: string[]
  apiKey: string
  consumer: Consumer
  /** What processes did by themselves that they should not have. */
  complaints: string[]
  /** Resolves when it answers again. */
  restartDatabase(mode: 'fast' | 'immediate'): Promise<void>
  /** Past all proxies. */
  openDb(): Db
  providerLog: string
}

export async function startTown(t: Cleanup, folder: string): Promise<Town> {
  const placeEnds: (() => Promise<void>)[] = []
  let postgres = await startPostgres(folder)
  t.after(async () => {
    await Promise.all(placeEnds.map((end) => end()))
    await postgres.stop()
  })
  const ground = createGround(t, { after: (end) => void placeEnds.push(end) }, folder)
  const { places, wires, complaints } = ground
  const hooks = await ground.lay('provider', 'api', 0)
  const sites = { postgres, hooks, provider: await startProvider(ground, hooks) }
  // The first one migrates; the others find everything in its place.
  const first = await startApi(ground, 'api-1', sites)
  const [second] = await Promise.all([
    startApi(ground, 'api-2', sites),
    startService(ground, 'worker-1', 'worker', sites, () => undefined),
    startService(ground, 'worker-2', 'worker', sites, () => undefined),
  ])
  const consumer = await startConsumer(t)
  await subscribe(first, consumer, await ground.lay('workers', 'consumer', portOf(consumer.url)))
  return {
    folder,
    places,
    wires,
    apiUrls: [first.url, second.url],
    apiKey: first.apiKey,
    consumer,
    complaints,
    async restartDatabase(mode) {
      if (mode === 'immediate') quitPostgres(folder)
      await postgres.stop()
      postgres = await startPostgres(folder)
      ground.aim('database', postgres.port)
    },
    openDb: () => connectDb({ url: postgres.url, poolSize: 4, applicationName: 'cowry-chaos' }),
    providerLog: join(folder, 'sandbox.jsonl'),
  }
}

/** What processes and wires are put on. */
interface Ground extends Pick<Town, 'folder' | 'places' | 'wires' | 'complaints'> {
  lay(from: string, to: Wire['to'], target: number): Promise<TcpProxy>
  /** Where all wires to it lead from now on. */
  aim(to: Wire['to'], port: number): void
  settle(options: Omit<PlaceOptions, 'complain' | 'logFile'>): Promise<void>
}

function createGround(t: Cleanup, ofPlaces: Cleanup, folder: string): Ground {
  const wires: Wire[] = []
  const places: Place[] = []
  const complaints: string[] = []
  return {
    folder,
    wires,
    places,
    complaints,
    async lay(from, to, target) {
      const proxy = await startTcpProxy(t, target)
      wires.push({ from, to, proxy })
      return proxy
    },
    aim(to, port) {
      for (const wire of wires) if (wire.to === to) wire.proxy.retarget(port)
    },
    async settle(options) {
      const logFile = join(folder, `${options.name}.log`)
      const complain = (words: string) => void complaints.push(words)
      places.push(await keepRunning(ofPlaces, { ...options, logFile, complain }))
    },
  }
}

/** What every process is told about the others. */
interface Sites {
  postgres: EmbeddedPostgres
  /** Where the provider listens, which its next start changes. */
  provider: { port: number }
  /** The wire on which the provider's webhooks come in. */
  hooks: TcpProxy
}

async function startProvider(ground: Ground, hooks: TcpProxy): Promise<Sites['provider']> {
  const provider = { port: 0 }
  await ground.settle({
    name: 'provider',
    kind: 'provider',
    args: ['sandbox', '--port', '0', '--data-dir', ground.folder],
    env: { COWRY_SANDBOX_SECRET: SECRET, COWRY_PUBLIC_URL: `http://127.0.0.1:${hooks.port}` },
    onStart({ data }) {
      provider.port = portOf(data.url)
      ground.aim('provider', provider.port)
    },
  })
  return provider
}

interface Api {
  /** Where the load finds it, behind its proxy. */
  url: string
  apiKey: string
}

async function startApi(ground: Ground, name: string, sites: Sites): Promise<Api> {
  const door = await ground.lay('load', 'api', 0)
  let apiKey = ''
  await startService(ground, name, 'api', sites, ({ url, demoKey }) => {
    apiKey = demoKey
    door.retarget(portOf(url))
    // Webhooks of the provider come to whichever of the two was started last.
    sites.hooks.retarget(portOf(url))
  })
  return { url: `http://127.0.0.1:${door.port}`, apiKey }
}

async function startService(
  ground: Ground,
  name: string,
  role: 'api' | 'worker',
  { postgres, provider }: Sites,
  onStart: PlaceOptions['onStart'],
): Promise<void> {
  const database = await ground.lay(name, 'database', postgres.port)
  const gateway = await ground.lay(name, 'provider', provider.port)
  const dataDir = join(ground.folder, name)
  await mkdir(dataDir)
  await ground.settle({
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
      COWRY_GATEWAY_TIMEOUT_MS: String(GATEWAY_TIMEOUT_MS),
    },
    onStart,
  })
}

function startPostgres(folder: string): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ dataDir: join(folder, 'postgres') })
}

/** PostgreSQL's immediate shutdown: as if it had crashed. */
function quitPostgres(folder: string): void {
  const file = readPostmasterFile(locateCluster(join(folder, 'postgres')))
  if (file) process.kill(file.pid, 'SIGQUIT')
}

async function subscribe({ url, apiKey }: Api, consumer: Consumer, proxy: TcpProxy): Promise<void> {
  const api = createApi(url, { 'x-api-key': apiKey })
  const answer = await api.post('/api/v1/webhooks/endpoints', {
    url: `http://127.0.0.1:${proxy.port}/hook`,
    events: ['*'],
  })
  if (answer.http !== 201) throw new Error(`the endpoint was not taken: ${answer.text}`)
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
