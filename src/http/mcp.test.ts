import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeShell, read } from '../../test/support/fake-shell.ts'
import type { McpInput } from '../mcp/protocol.ts'

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' }

describe('the endpoint of agents', () => {
  it('does not exist if the service offers no tools', async () => {
    const response = await fakeShell().post('/mcp', PING)
    assert.equal(response.http, 404)
    assert.equal(read(response).error.code, 'route_not_found')
  })

  it('names its own limit in the response to a larger body', async () => {
    const { post } = fakeShell({ mcp: async () => ({ http: 200, json: {} }) })
    const response = await post('/mcp', { ...PING, params: 'x'.repeat(65_536) })
    assert.equal(response.http, 413)
    assert.equal(read(response).message, 'The body is larger than 64 KB.')
  })

  it('sends the requests of a tool with the key, the address and the request id of the agent', async () => {
    const asked: unknown[] = []
    const authenticate = async (input: { apiKey: string | undefined; ip: string }) => {
      asked.push(input)
      const merchant = { id: 'merchant-1', name: 'Ama', mode: 'test', baseCurrency: 'USD' } as const
      return { merchant, keyId: 'key-1', scopes: ['*'] as const, rateLimit: null }
    }
    const mcp = async ({ call }: McpInput) => {
      const { http, body } = await call({ method: 'POST', path: '/api/v1/things', body: { name: 'One' } })
      return { http: 200, json: { http, body: Object(body) } }
    }
    const { shell, lines } = fakeShell({ authenticate, mcp, trustProxy: true })
    const headers = {
      authorization: 'Bearer right',
      'content-type': 'application/json',
      'x-forwarded-for': '203.0.113.9',
      'x-request-id': 'request-of-an-agent',
    }
    const response = await shell.inject({ method: 'POST', url: '/mcp', payload: PING, headers })
    assert.equal(JSON.parse(response.body).http, 201, response.body)
    const caller = { apiKey: 'right', ip: '203.0.113.9' }
    assert.deepEqual(asked, [caller, caller])
    const requests = lines
      .filter(({ key }) => key === 'http.request')
      .map(({ route, requestId }) => [route, requestId])
    assert.deepEqual(requests.toSorted(), [
      ['/api/v1/things', 'request-of-an-agent'],
      ['/mcp', 'request-of-an-agent'],
    ])
  })
})
