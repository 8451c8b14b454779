// A listening socket for the provider alone. Where it is mounted in the service, our own connector comes in here: the
// service closes its front listener first when it stops, while charges are still on their way to the provider.

import { createServer, type Server } from 'node:http'
import type { SandboxProvider } from './server.ts'

export interface Listener {
  url: string
  close(): Promise<void>
}

export interface ListenAddress {
  host: string
  /** 0: any free one. */
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
    // Of this process alone: where several serve one port, each has the provider inside, and reaches its own.
    server.listen({ port, host, exclusive: true }, () => {
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
