// The endpoint of agents, POST /mcp (Model Context Protocol, streamable HTTP without sessions). The tools call the
// merchants' API inside this process with the caller's own key, so each call is authorized, limited, validated, audited
// and logged like any other request, under the id of the agent's request.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../core/errors.ts'
import { type CallApi, urlOf } from '../mcp/api.ts'
import { rpcError } from '../mcp/message.ts'
import type { McpEndpoint } from '../mcp/protocol.ts'
import { JSON_BODY_LIMIT, readJsonBody, requireJsonHeaders } from './input/body.ts'
import { headerTexts } from './pages/page-input.ts'
import type { RequestTracker } from './request-context.ts'
import type { Agent, Authorization } from './security/authorization.ts'

const MCP_PATH = '/mcp'

interface Needs {
  authorization: Authorization
  requestTracker: RequestTracker
  publicUrl(): string
}

export function registerMcp(app: FastifyInstance, needs: Needs, endpoint: McpEndpoint): void {
  app.register(async (scope) => {
    const agents = new WeakMap<FastifyRequest, Agent>()
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      '*',
      { parseAs: 'buffer', bodyLimit: JSON_BODY_LIMIT },
      (_request, body, done) => {
        done(null, body)
      },
    )
    scope.route({
      method: 'POST',
      url: MCP_PATH,
      bodyLimit: JSON_BODY_LIMIT,
      onRequest: async (request, reply) => {
        requireOwnOrigin(request, needs.publicUrl())
        agents.set(request, await needs.authorization.authorizeAgent(request, reply))
        requireJsonHeaders(request.headers)
      },
      handler: (request, reply) =>
        needs.requestTracker.run(request, reply, async () => {
          const agent = agents.get(request)
          if (!agent) throw new Error('an agent’s request ran without an authenticated merchant')
          const parsed = parse(request.body)
          if ('refusal' in parsed) return reply.code(400).send(parsed.refusal)
          const { http, json } = await endpoint({
            message: parsed.message,
            headers: headerTexts(request),
            caller: { merchantId: agent.merchant.id, keyId: agent.keyId, scopes: agent.scopes },
            call: callerOf(app, request, agent),
          })
          return json === undefined ? reply.code(http).send() : reply.code(http).send(json)
        }),
    })
  })
}

/** A page of another site must not use an agent's endpoint, also not by DNS rebinding. Agents send no Origin. */
function requireOwnOrigin({ headers }: FastifyRequest, publicUrl: string): void {
  if (headers.origin !== undefined && headers.origin !== new URL(publicUrl).origin)
    throw new ApiError('browser_not_allowed')
}

function parse(body: unknown): { message: unknown } | { refusal: object } {
  try {
    return { message: readJsonBody(body).value }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const name = error.code === 'malformed_json' ? 'parse_error' : 'invalid_request'
    return { refusal: rpcError(undefined, name, error.message) }
  }
}

function callerOf(app: FastifyInstance, request: FastifyRequest, { apiKey }: Agent): CallApi {
  return async ({ method, path, query, body, idempotencyKey }) => {
    const headers = {
      'x-api-key': apiKey,
      'x-request-id': request.id,
      accept: 'application/json',
      ...(body && { 'content-type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    }
    const response = await app
      .inject({
        method,
        url: urlOf({ path, query }),
        headers,
        remoteAddress: request.ip,
        ...(body && { payload: JSON.stringify(body) }),
      })
      // The server is stopping, and accepts no request any more.
      .catch((cause: unknown) => {
        throw new ApiError('temporarily_unavailable', { cause })
      })
    return { http: response.statusCode, body: response.json() }
  }
}
