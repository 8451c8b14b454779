import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { frozenClock } from '../../test/support/fake-clock.ts'
import type { GrantedScope } from '../core/merchant.ts'
import { systemRandom } from '../kit/random.ts'
import { createConfirmations } from './confirmation.ts'
import { HANDSHAKE_VERSIONS, MODERN_VERSION, transportHeaders } from './message.ts'
import { createMcpEndpoint, type McpInput } from './protocol.ts'
import { TOOLS } from './tools.ts'

const clock = frozenClock()
const confirmations = createConfirmations(Buffer.alloc(32, 7), clock, systemRandom(clock))

const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN_VERSION,
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** The replies of an endpoint whose API fails. */
function endpointOf({ allowsWrites = true, scopes = ['*'] as GrantedScope[] } = {}) {
  const endpoint = createMcpEndpoint({
    clock,
    confirmations,
    publicUrl: () => 'https://pay.example',
    isKeyUsed: async () => false,
    errorHelp: () => ({ cause: 'A cause.', fix: 'A fix.' }),
    allowsWrites,
  })
  return async (message: unknown, headers: McpInput['headers'] = {}) => {
    const call = async () => ({
      http: 503,
      body: { message: 'Busy.', error: { code: 'temporarily_unavailable', retryable: true } },
    })
    const reply = await endpoint({ message, headers, call, caller: { merchantId: 'm', keyId: 'k', scopes } })
    // biome-ignore lint/suspicious/noExplicitAny: a test reads any shape and asserts on it
    return { http: reply.http, json: reply.json as any }
  }
}

const request = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params })

describe('an MCP client that begins with initialize', () => {
  it('gets the version that it asks for, or the latest of its kind', async () => {
    const send = endpointOf()
    const versionFor = async (protocolVersion: string) =>
      (await send(request('initialize', { protocolVersion }))).json.result.protocolVersion
    for (const version of HANDSHAKE_VERSIONS) assert.equal(await versionFor(version), version)
    for (const version of ['1900-01-01', MODERN_VERSION])
      assert.equal(await versionFor(version), HANDSHAKE_VERSIONS[0])
  })

  it('gets no reply to a notification, and an error for an unknown version, method or tool', async () => {
    const send = endpointOf()
    assert.deepEqual(await send({ jsonrpc: '2.0', method: 'notifications/initialized' }), {
      http: 202,
      json: undefined,
    })
    const unknown = await send(request('tools/list'), { 'mcp-protocol-version': '1900-01-01' })
    assert.deepEqual([unknown.http, unknown.json.error.code], [400, -32_022])
    assert.equal((await send(request('resources/list'))).json.error.code, -32_601)
    assert.equal((await send(request('tools/call', { name: 'drop_tables' }))).json.error.code, -32_602)
  })
})

describe('an MCP client that names its version in each request', () => {
  const modern = (method: string, params: object = {}) => request(method, { ...params, _meta: META })

  it('discovers the versions, and gets results with their type and lifetime', async () => {
    const send = endpointOf()
    for (const method of ['server/discover', 'tools/list']) {
      const message = modern(method)
      const { http, json } = await send(message, transportHeaders(message))
      assert.equal(http, 200, JSON.stringify(json))
      assert.equal(json.result.resultType, 'complete')
      assert.equal(json.result.cacheScope, 'private')
      assert.equal(json.result._meta['io.modelcontextprotocol/serverInfo'].name, 'cowry')
    }
  })

  it('is refused with headers that differ from the body, incomplete metadata, another version or a removed method', async () => {
    const send = endpointOf()
    const codeOf = async (message: object, headers = transportHeaders(message)) => {
      const { http, json } = await send(message, headers)
      return `${http} ${json.error?.code}`
    }
    const call = modern('tools/call', { name: 'explain_error', arguments: { code: 'rate_limited' } })
    assert.equal(await codeOf(call), '200 undefined')
    assert.equal(await codeOf(call, { ...transportHeaders(call), 'mcp-name': 'other' }), '400 -32020')
    assert.equal(await codeOf(call, {}), '400 -32020')
    assert.equal(
      await codeOf(request('tools/list'), { 'mcp-protocol-version': MODERN_VERSION }),
      '400 -32602',
    )
    const future = request('tools/list', {
      _meta: { ...META, 'io.modelcontextprotocol/protocolVersion': '2100-01-01' },
    })
    assert.equal(await codeOf(future), '400 -32022')
    assert.equal(await codeOf(modern('ping')), '404 -32601')
  })
})

describe('the tools of the MCP endpoint', () => {
  it('tools that write are neither listed nor called where writes are off', async () => {
    const send = endpointOf({ allowsWrites: false })
    const { tools } = (await send(request('tools/list'))).json.result
    assert.deepEqual(
      tools.map(({ name }: { name: string }) => name),
      TOOLS.filter(({ isWrite }) => !isWrite).map(({ name }) => name),
    )
    const { result } = (await send(request('tools/call', { name: 'replay_event' }))).json
    assert.deepEqual([result.isError, result.structuredContent.error.code], [true, 'writes_off'])
  })

  it('have schemas that validators accept, a description of every argument, and hints', async () => {
    const { tools } = (await endpointOf()(request('tools/list'))).json.result
    const ajv = new Ajv2020({ strict: false })
    for (const { name, inputSchema, annotations, description } of tools) {
      ajv.compile(inputSchema)
      assert.equal(inputSchema.additionalProperties, false, name)
      for (const [argument, schema] of Object.entries<{ description?: string }>(inputSchema.properties))
        assert.ok(schema.description, `${name}: ${argument}`)
      assert.equal(annotations.readOnlyHint, !/two calls/i.test(description), name)
    }
  })

  it('refuse arguments that do not fit, and name them', async () => {
    const given = { limit: 500, bogus: 1 }
    const { result } = (
      await endpointOf()(request('tools/call', { name: 'find_payments', arguments: given }))
    ).json
    assert.equal(result.isError, true)
    assert.match(result.content[0].text, /limit/)
    assert.match(JSON.stringify(result.structuredContent), /bogus/)
  })

  it('report an error of the API as their result, and whether a retry helps', async () => {
    const { result } = (await endpointOf()(request('tools/call', { name: 'wallet_balance' }))).json
    assert.equal(result.isError, true)
    assert.deepEqual(result.structuredContent.error, {
      code: 'temporarily_unavailable',
      message: 'Busy.',
      http: 503,
      retryable: true,
    })
  })
})

describe('a confirmation token', () => {
  const subject = {
    merchantId: 'm',
    keyId: 'k',
    tool: 'refund_payment',
    arguments: { payment: 'p', amount: '1' },
  }

  it('is redeemed for the same idempotency key each time, whatever the order of the arguments', () => {
    const { token } = confirmations.issue(subject)
    const keyOf = (given: typeof subject, ofToken = token) =>
      confirmations.redeem(given, ofToken).idempotencyKey
    const key = keyOf(subject)
    assert.match(key, /^mcp-[\w-]{12}-\w+$/)
    assert.equal(keyOf({ ...subject, arguments: { amount: '1', payment: 'p' } }), key)
    assert.notEqual(keyOf(subject, confirmations.issue(subject).token), key)
  })

  it('is refused for another merchant, key, tool or argument, and has expired after ten minutes', () => {
    const { token } = confirmations.issue(subject)
    for (const change of [{ merchantId: 'n' }, { keyId: 'l' }, { tool: 'cancel_payment' }, { arguments: {} }])
      assert.throws(() => confirmations.redeem({ ...subject, ...change }, token), {
        code: 'confirmation_mismatch',
      })
    // The last character of a MAC of 16 bytes has four unused bits.
    const unusedBits = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_']
      .map((last) => `${token.slice(0, -1)}${last}`)
      .filter((changed) => changed !== token)
    for (const wrong of ['', 'x', `${token}x`, token.toUpperCase(), ...unusedBits])
      assert.throws(() => confirmations.redeem(subject, wrong), { code: 'confirmation_mismatch' })
    assert.equal(confirmations.redeem(subject, token).isExpired, false)
    clock.advance(10 * 60_000)
    assert.equal(confirmations.redeem(subject, token).isExpired, true)
  })
})
