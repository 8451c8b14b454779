// The listening socket: timeouts for slow clients, a connection limit, and a response to bytes that are not HTTP.
// Node's defaults allow 300 s per request and any number of connections.

import { createServer, type RequestListener, type Server, STATUS_CODES } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { badRequest, errorResponse } from './errors.ts'
import type { HttpShellOptions } from './options.ts'
import { type ErrorPageNeeds, pageAddressMatcher, renderErrorPage } from './pages/error-pages.ts'

const SECOND_MS = 1000

export function createNodeServer(handler: RequestListener): Server {
  const server = createServer(
    {
      headersTimeout: 10 * SECOND_MS,
      requestTimeout: 30 * SECOND_MS,
      // Longer than the 60 s after which most load balancers close an idle connection, so that they close first.
      keepAliveTimeout: 65 * SECOND_MS,
      connectionsCheckingInterval: 5 * SECOND_MS,
      maxHeaderSize: 16_384,
      noDelay: true,
      // Node would answer a missing Host without our headers, so the HTTP shell does it.
      requireHostHeader: false,
    },
    handler,
  )
  server.maxConnections = 5_000
  // Node's close also cuts connections that look idle, on which the next request may be arriving. The HTTP shell
  // closes them after a grace period.
  server.close = (callback) => {
    NetServer.prototype.close.call(server, callback)
    return server
  }
  // HTTP allows a server to ignore an unknown expectation and treat the request as ordinary.
  server.on('checkExpectation', handler)
  return server
}

const STATUS_OF_ERROR: Readonly<Record<string, [http: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The request line and headers are larger than 16 KB.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time.'],
}

type Needs = Pick<HttpShellOptions, 'publicUrl' | 'pageRoutes'>

/** Responds to bytes that are not an HTTP request and closes, because the start of the next request is unknown. */
export async function respondToClientError(
  options: Needs,
  parts: ErrorPageNeeds,
  error: ClientError,
  socket: Socket,
): Promise<void> {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const requestId = parts.random.uuid()
  const [http, message] = STATUS_OF_ERROR[error.code ?? ''] ?? [400, 'The request is not well-formed HTTP.']
  const apiError = badRequest('request', message)
  // Browsers send well-formed HTTP; only their URLs and cookies may be too long.
  const url = http === 431 ? requestTargetIn(error.rawPacket) : undefined
  const response =
    url !== undefined && pageAddressMatcher(options.pageRoutes)(url)
      ? await renderErrorPage(parts, { apiError, http, url, requestId })
      : errorResponse(apiError, { requestId, accept: undefined, publicUrl: options.publicUrl() }, http)
  const lines = {
    ...parts.headers.api,
    ...response.headers,
    'x-request-id': requestId,
    'content-type': response.contentType,
    'content-length': String(Buffer.byteLength(response.body)),
    connection: 'close',
  }
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${http} ${STATUS_CODES[http]}\r\n${head.join('')}\r\n${response.body}`, () =>
    socket.destroy(),
  )
  parts.log.write('http.request', { requestId, http, reason: error.code })
}

interface ClientError {
  code?: string
  /** The last bytes read, which usually begin with the request line. The framework declares another type. */
  rawPacket?: unknown
}

/** The request target, if the bytes read so far still contain the request line. */
function requestTargetIn(bytes: unknown): string | undefined {
  return Buffer.isBuffer(bytes) ? /^[A-Z]+ (\/\S*)/.exec(bytes.toString('latin1'))?.[1] : undefined
}
