// A proxy in front of the service that answers its first requests as proxies do whose server is away: 502 with HTML.

import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse, request as sendRequest } from 'node:http'
import type { Cleanup } from '../support/database.ts'

const BAD_GATEWAY = '<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>'

export interface FailingProxy {
  url: string
  /** How many requests it has answered by itself. */
  failed(): number
}

export async function startFailingProxy(t: Cleanup, target: string, failures: number): Promise<FailingProxy> {
  let failed = 0
  const server = createServer((request, response) => {
    if (failed === failures) return forward(target, request, response)
    failed += 1
    request.resume()
    response.writeHead(502, { 'content-type': 'text/html' }).end(BAD_GATEWAY)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(async () => {
    server.close()
  })
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  return { url: `http://127.0.0.1:${address.port}`, failed: () => failed }
}

function forward(target: string, request: IncomingMessage, response: ServerResponse): void {
  const { method, headers, url = '/' } = request
  const outgoing = sendRequest(new URL(url, target), { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers)
    answer.pipe(response)
  })
  outgoing.on('error', () => response.destroy())
  request.pipe(outgoing)
}
