// A listener for the provider alone. When the service mounts the provider, our connector uses this listener: at
// shutdown the service closes its public listener first, while charges are still on their way to the provider.

import { createServer, type Server } from 'node:http'
import type { SandboxProvider } from './server.ts'

export interface Listener {
  url: string
  close(): Promise<void>
}

export interface ListenAddress {
  host: string
  /** 0: any free port. */
  port: number
}

export async function openListener(
  { handle }: Pick<SandboxProvider, 'handle'>,
  address: ListenAddress,
): Promise<Listener> {
  const server = createServer(handle)
  await listen(server, address)
  return {
    url: urlOf(server, address.host),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function listen(server: Server, { host, port }: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    // Only this process: where several processes share one port, each has its own provider and must reach that one.
    server.listen({ port, host, exclusive: true }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function urlOf(server: Server, host: string): string {
  const address = server.address()
  if (!address || typeof address === 'string') throw new Error('the sandbox is not listening')
  return `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`
}
