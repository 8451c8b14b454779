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
import type { Ending } from '../../support/database.ts'
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

export async function startTown(t: Ending, folder: string): Promise<Town> {
  const complaints: string[] = []
  const wires: Wire[] = []
  const places: Place[] = []
  const placeEnds: (() => Promise<void>)[] = []
  let postgres = await startPostgres(folder)
  t.after(async () => {
    await Promise.all(placeEnds.map((end) => end()))
    await postgres.stop()
  })
  const lay = async (from: string, to: Wire['to'], target: number) => {
    const proxy = await startTcpProxy(t, target)
    wires.push({ from, to, proxy })
    return proxy
  }
  const settle = async (options: Omit<PlaceOptions, 'complain' | 'logFile'>) => {
    const logFile = join(folder, `${options.name}.log`)
    const ending: Ending = { after: (end) => void placeEnds.push(end) }
    const complain = (words: string) => void complaints.push(words)
    places.push(await keepRunning(ending, { ...options, logFile, complain }))
  }

  const hooks = await lay('provider', 'api', 0)
  const provider = { port: 0 }
  await settle({
    name: 'provider',
    kind: 'provider',
    args: ['sandbox', '--port', '0', '--data-dir', folder],
    env: {
      COWRY_SANDBOX_SECRET: SECRET,
      COWRY_PUBLIC_URL: `http://127.0.0.1:${hooks.port}`,
    },
    onStart({ data }) {
      provider.port = portOf(data.url)
      for (const { to, proxy } of wires) if (to === 'provider') proxy.aim(provider.port)
    },
  })

  let apiKey = ''
  const apiUrls: string[] = []
  const startService = async (name: string, role: 'api' | 'worker') => {
    const database = await lay(name, 'database', postgres.port)
    const gateway = await lay(name, 'provider', provider.port)
    const door = role === 'api' ? await lay('load', 'api', 0) : undefined
    if (door) apiUrls.push(`http://127.0.0.1:${door.port}`)
    const dataDir = join(folder, name)
    await mkdir(dataDir)
    await settle({
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
      onStart({ url, demoKey }) {
        if (!door) return
        apiKey ||= demoKey
        door.aim(portOf(url))
        // Webhooks of the provider come to whichever of the two was started last.
        hooks.aim(portOf(url))
      },
    })
  }
  // The first one migrates; the others find everything in its place.
  await startService('api-1', 'api')
  await Promise.all([
    startService('api-2', 'api'),
    startService('worker-1', 'worker'),
    startService('worker-2', 'worker'),
  ])
  const consumer = await startConsumer(t)
  await subscribe(apiUrls[0] ?? '', apiKey, consumer, await lay('workers', 'consumer', portOf(consumer.url)))

  return {
    folder,
    places,
    wires,
    apiUrls,
    apiKey,
    consumer,
    complaints,
    async restartDatabase(mode) {
      if (mode === 'immediate') quitPostgres(folder)
      await postgres.stop()
      postgres = await startPostgres(folder)
      for (const { to, proxy } of wires) if (to === 'database') proxy.aim(postgres.port)
    },
    openDb: () => connectDb({ url: postgres.url, poolSize: 4, applicationName: 'cowry-chaos' }),
    providerLog: join(folder, 'sandbox.jsonl'),
  }
}

function startPostgres(folder: string): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ dataDir: join(folder, 'postgres') })
}

/** PostgreSQL's immediate shutdown: as if it had crashed. */
function quitPostgres(folder: string): void {
  const file = readPostmasterFile(locateCluster(join(folder, 'postgres')))
  if (file) process.kill(file.pid, 'SIGQUIT')
}

async function subscribe(url: string, apiKey: string, consumer: Consumer, proxy: TcpProxy): Promise<void> {
  const api = createApi(url, { 'x-api-key': apiKey })
  const answer = await api.post('/api/v1/webhooks/endpoints', {
    url: `http://127.0.0.1:${proxy.port}/hook`,
    events: ['*'],
  })
  if (answer.http !== 201) throw new Error(`the endpoint was not taken: ${answer.text}`)
  consumer.trust(answer.body.data.secret)
}

function portOf(url: string): number {
  return Number(new URL(url).port)
}

function withPort(url: string, port: number): string {
  const changed = new URL(url)
  changed.port = String(port)
  return changed.href
}
