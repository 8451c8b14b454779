// The listening socket: how long a slow caller may take, how many may come, and an answer for those whose bytes are
// not HTTP. The defaults of Node are lax: 300 s for a request, no bound on connections.

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
      // Longer than the 60 s after which most balancers drop an idle connection, so that they close first.
      keepAliveTimeout: 65 * SECOND_MS,
      connectionsCheckingInterval: 5 * SECOND_MS,
      maxHeaderSize: 16_384,
      noDelay: true,
      // Node would answer a missing Host by itself, without our headers; the shell does it instead.
      requireHostHeader: false,
    },
    handler,
  )
  server.maxConnections = 5_000
  // Node's own close also cuts every connection that looks idle, on which the next request may be arriving already. The
  // shell closes them when their callers have had a moment.
  server.close = (callback) => {
    NetServer.prototype.close.call(server, callback)
    return server
  }
  // An expectation that we do not know may be ignored, and is then an ordinary request.
  server.on('checkExpectation', handler)
  return server
}

const STATUS_OF_ERROR: Readonly<Record<string, [http: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The request line and headers are larger than 16 KB.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time.'],
}

type Needs = Pick<HttpShellOptions, 'publicUrl' | 'pageRoutes'>

/** Answers bytes that are no request and closes: where the next one would begin, nobody knows. */
export async function answerClientError(
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
  // Browsers write good HTTP; only their addresses and cookies may be too long.
  const url = http === 431 ? requestTargetIn(error.rawPacket) : undefined
  const answer =
    url !== undefined && pageAddressMatcher(options.pageRoutes)(url)
      ? await renderErrorPage(parts, { apiError, http, url, requestId })
      : errorResponse(apiError, { requestId, accept: undefined, publicUrl: options.publicUrl() }, http)
  const lines = {
    ...parts.headers.api,
    ...answer.headers,
    'x-request-id': requestId,
    'content-type': answer.contentType,
    'content-length': String(Buffer.byteLength(answer.body)),
    connection: 'close',
  }
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${http} ${STATUS_CODES[http]}\r\n${head.join('')}\r\n${answer.body}`, () =>
    socket.destroy(),
  )
  parts.log.write('http.request', { requestId, http, reason: error.code })
}

interface ClientError {
  code?: string
  /** The bytes that were read last, which usually begin with the request. The framework gives them another type. */
  rawPacket?: unknown
}

/** The address in a request that could not be read to its end, if the bytes still hold its beginning. */
function requestTargetIn(bytes: unknown): string | undefined {
  return Buffer.isBuffer(bytes) ? /^[A-Z]+ (\/\S*)/.exec(bytes.toString('latin1'))?.[1] : undefined
}
