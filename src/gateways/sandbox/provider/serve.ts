// Serves the provider in its own process with a journal file. Crash tests and benchmarks use it, because its record of
// executions must survive any failure of the service.

import path from 'node:path'
import type { Clock } from '../../../kit/clock.ts'
import { createHttpClient } from '../../../kit/http/http-client.ts'
import type { Log } from '../../../kit/observability/log.ts'
import type { Random } from '../../../kit/random.ts'
import { openJournalStore } from './journal-store.ts'
import { type ListenAddress, type Listener, openListener } from './listener.ts'
import { createSandboxProvider } from './server.ts'

export interface ServeSandboxOptions extends ListenAddress {
  dataDir: string
  secret: string
  webhookSecret: string
  webhookUrl?: string
  /** The URL for payers; absent: the address it listens on. */
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
  let listener: Listener | undefined
  const provider = createSandboxProvider({
    ...options,
    store,
    http,
    get publicUrl() {
      return options.publicUrl ?? listener?.url ?? ''
    },
  })
  const opened = await openListener(provider, options)
  listener = opened
  provider.start()
  return {
    url: opened.url,
    async close() {
      await opened.close()
      await provider.stop()
      await http.close()
      await store.close()
    },
  }
}
