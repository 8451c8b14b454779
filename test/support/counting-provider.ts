// The sandbox provider on its own port, with a proxy that counts requests. It sends no webhooks, so only status checks
// find outcomes.

import { createServer } from 'node:http'
import { serveSandbox } from '../../src/gateways/sandbox/provider/serve.ts'
import type { Clock } from '../../src/kit/clock.ts'
import { createLog } from '../../src/kit/observability/log.ts'
import { systemRandom } from '../../src/kit/random.ts'
import type { Cleanup } from './database.ts'
import { tempFolder } from './process.ts'

const SECRET = 'the-secret-of-a-provider-of-the-tests'

export interface CountingProvider {
  /** The settings for a service that uses it. */
  env: Record<string, string>
  /** The number of status checks. */
  statusChecks(): number
  addFault(fault: { kind: string; on: string; times: number; ms?: number }): Promise<void>
  /** Closes its port. */
  close(): Promise<void>
}

export async function startCountingProvider(t: Cleanup, clock: Clock): Promise<CountingProvider> {
  const sandbox = await serveSandbox({
    host: '127.0.0.1',
    port: 0,
    dataDir: await tempFolder(t, 'provider'),
    secret: SECRET,
    webhookSecret: SECRET,
    clock,
    random: systemRandom(clock),
    log: createLog('silent'),
  })
  let statusChecks = 0
  const front = createServer(async (request, response) => {
    if (request.method === 'GET' && request.url?.startsWith('/v1/payments/')) statusChecks += 1
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    try {
      const answer = await fetch(`${sandbox.url}${request.url}`, {
        method: request.method,
        headers: request.headers as Record<string, string>,
        body: chunks.length > 0 ? Buffer.concat(chunks) : undefined,
      })
      response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
      response.end(await answer.text())
    } catch {
      // The provider closed the connection, so the proxy closes its own.
      request.socket.destroy()
    }
  })
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
  const address = front.address()
  if (!address || typeof address === 'string') throw new Error('the provider does not listen')
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= new Promise<void>((resolve) => {
      front.close(() => resolve())
      front.closeAllConnections()
    })
    return closing
  }
  t.after(async () => {
    await close()
    await sandbox.close()
  })
  return {
    env: { COWRY_SANDBOX_URL: `http://127.0.0.1:${address.port}`, COWRY_SANDBOX_SECRET: SECRET },
    statusChecks: () => statusChecks,
    async addFault(fault) {
      const headers = { authorization: `Bearer ${SECRET}` }
      await fetch(`${sandbox.url}/v1/faults`, { method: 'POST', headers, body: JSON.stringify(fault) })
    },
    close,
  }
}
