// Sends the response of a page: headers, cookies and compressed body.

import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { PageResponse } from '../../kit/http/route.ts'
import type { Random } from '../../kit/random.ts'
import { sendFile } from '../json-routes.ts'
import type { HttpShellOptions } from '../options.ts'
import type { SecurityHeaders } from '../security/headers.ts'
import type { Compress } from './compression.ts'
import { cookieText } from './cookies.ts'
import { etagOf, isUnchanged } from './etag.ts'

export interface PageNeeds {
  headers: SecurityHeaders
  environment: HttpShellOptions['environment']
  compress: Compress
}

export const HTML = 'text/html; charset=utf-8'
const CACHE_CONTROL = {
  immutable: 'public, max-age=31536000, immutable',
  revalidate: 'public, no-cache',
}

export function createNonce(random: Random): string {
  return Buffer.from(random.bytes(16)).toString('base64')
}

export async function sendPage(
  needs: PageNeeds,
  reply: FastifyReply,
  response: PageResponse,
  styleNonce: string,
): Promise<FastifyReply> {
  const { type, body } = response.content ?? { type: HTML, body: response.html ?? '' }
  reply.headers(headersFor(needs.headers, response, type, styleNonce))
  if (response.cache) reply.header('cache-control', CACHE_CONTROL[response.cache])
  if (response.headers) reply.headers(response.headers)
  setCookies(needs, reply, response)
  if (response.file) return sendFile(reply, response.file, response.file.type)
  if (response.stream) return sendStream(reply, response.stream)
  if (response.redirectTo !== undefined) return reply.code(303).header('location', response.redirectTo).send()
  if (response.cache === 'revalidate') {
    const etag = etagOf(body)
    reply.header('etag', etag).header('vary', 'accept-encoding')
    if (isUnchanged(reply.request.headers['if-none-match'], etag)) return reply.code(304).send()
  }
  return reply
    .code(response.http)
    .type(type)
    .send(await compressedBody(needs, reply, type, body, response.cache))
}

/** A HEAD request gets the headers alone. */
function sendStream(
  reply: FastifyReply,
  { type, pieces }: NonNullable<PageResponse['stream']>,
): FastifyReply {
  const content = Readable.from(pieces, { objectMode: false })
  if (reply.request.method === 'HEAD') content.destroy()
  reply.request.requestContext.isStream = true
  // Proxies such as nginx would collect the parts otherwise.
  return reply
    .type(type)
    .header('x-accel-buffering', 'no')
    .send(reply.request.method === 'HEAD' ? Readable.from([]) : content)
}

/**
 * The page headers take a kilobyte, so only documents get them: a waiting payer's browser polls the status many
 * times.
 */
function headersFor(
  headers: SecurityHeaders,
  { redirectTo, file, stream, formActions, allowsPasskeys }: PageResponse,
  type: string,
  styleNonce: string,
): Readonly<Record<string, string>> {
  if (redirectTo !== undefined || file || stream) return headers.api
  if (type.startsWith('text/html')) return headers.page(styleNonce, formActions, allowsPasskeys)
  return type.startsWith('image/') ? headers.image : headers.api
}

async function compressedBody(
  needs: PageNeeds,
  reply: FastifyReply,
  type: string,
  body: string | Buffer,
  cache: PageResponse['cache'],
): Promise<string | Buffer> {
  const [acceptEncoding] = [reply.request.headers['accept-encoding']].flat()
  const isRepeated = cache !== undefined
  const { body: sent, encoding, varies } = await needs.compress({ body, type, acceptEncoding, isRepeated })
  if (encoding) reply.header('content-encoding', encoding)
  if (varies)
    reply.header(
      'vary',
      [...new Set([reply.getHeader('vary'), 'accept-encoding'])].filter(Boolean).join(', '),
    )
  return sent
}

function setCookies(needs: PageNeeds, reply: FastifyReply, { cookies = [], cache }: PageResponse): void {
  if (cookies.length === 0) return
  // A shared cache would return one payer's cookie to others.
  if (cache !== undefined) throw new Error('a cacheable response must not set a cookie')
  const isSecure = needs.environment === 'production'
  reply.header(
    'set-cookie',
    cookies.map((cookie) => cookieText(cookie, isSecure)),
  )
}
