// A service that files share still delivers to the endpoints of a file that has ended, and the system may have given the
// port of such an endpoint to a server of another test. That server refuses the delivery, and does not count it.

import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** The path of a server's webhooks: no other server has the same one. */
export function newHookPath(): string {
  return `/hook-${randomBytes(6).toString('hex')}`
}

/** True for a delivery to another server; it has its response then. `path` is where this server gets deliveries. */
export function refuseStray(request: IncomingMessage, response: ServerResponse, path?: string): boolean {
  if (request.headers['webhook-signature'] === undefined || request.url === path) return false
  request.resume()
  response.writeHead(410).end()
  return true
}
