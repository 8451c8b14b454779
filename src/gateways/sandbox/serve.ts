// The provider alone, in a process of its own with a journal file as its memory: for crash and speed tests, where the
// truth about executions must survive whatever happens to the service.

import { createServer, type Server } from 'node:http'
import path from 'node:path'
import type { Clock } from '../../kit/clock.ts'
import { createHttpClient } from '../../kit/http-client.ts'
import type { Log } from '../../kit/log.ts'
import type { Random } from '../../kit/random.ts'
import { openJournalStore } from './journal-store.ts'
import { createSandboxProvider } from './server.ts'

export interface ServeSandboxOptions {
  host: string
  /** 0: any free one. */
  port: number
  dataDir: string
  secret: string
  webhookSecret: string
  hookUrl?: string
  /** Where payers reach it; absent: the address it listens on. */
  publicUrl?: string
  clock: Clock
  random: Random
  log: Log
}

export interface ServedSandbox {
  url: string
  close(): Promise<void>
}

export async function serveSandbox(options: ServeSandboxOptions): Promise<ServedSandbox> {
  const store = await openJournalStore(path.join(options.dataDir, 'sandbox.jsonl'))
  const http = createHttpClient()
  const server = createServer((req, res) => provider.handle(req, res))
  const provider = createSandboxProvider({
    ...options,
    store,
    http,
    get publicUrl() {
      return options.publicUrl ?? urlOf(server, options.host)
    },
  })
  await listen(server, options)
  provider.start()
  return {
    url: urlOf(server, options.host),
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
      await provider.stop()
      await http.close()
      await store.close()
    },
  }
}

function listen(server: Server, { host, port }: ServeSandboxOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function urlOf(server: Server, host: string): string {
  const address = server.address()
  if (!address || typeof address === 'string') throw new Error('the sandbox does not listen')
  return `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`
}
