import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeShell } from '../../test/support/fake-shell.ts'
import type { GatewayWebhookRoute } from '../kit/http/route.ts'
import { CALLBACK_PATH } from '../secrets/callback-paths.ts'

type HookInput = Parameters<GatewayWebhookRoute['handle']>[0]

function webhookShell(http = 200, json?: Record<string, unknown>) {
  const seen: HookInput[] = []
  const handle: GatewayWebhookRoute['handle'] = async (input) => {
    seen.push(input)
    return json === undefined ? { http } : { http, json }
  }
  const gatewayWebhookRoutes = ['/hooks/{gateway}', CALLBACK_PATH].map((path) => ({ path, handle }))
  return { ...fakeShell({ gatewayWebhookRoutes }), hooks: seen }
}

describe('a gateway webhook route of the HTTP shell', () => {
  it('hands the webhook body to the handler byte by byte, whatever its content type', async () => {
    const { shell, hooks } = webhookShell()
    const bytes = Buffer.from([0x7b, 0x00, 0xff, 0x0a, 0x7d])
    for (const headers of [
      { 'content-type': 'application/json' },
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-length': '5' },
      { 'content-type': 'application/json', 'content-encoding': 'gzip', 'x-signature': 'abc' },
    ] as Record<string, string>[]) {
      const response = await shell.inject({ method: 'POST', url: '/hooks/paystack', payload: bytes, headers })
      assert.equal(response.http, 200)
      assert.equal(response.body, '')
      assert.deepEqual(hooks.at(-1)?.rawBody, bytes)
      assert.equal(hooks.at(-1)?.params.gateway, 'paystack')
    }
    assert.equal(hooks.at(-1)?.headers['x-signature'], 'abc')
  })

  it('accepts a callback by PUT, and hands over its query and the parts of its path', async () => {
    const { shell, hooks } = webhookShell()
    const url = '/hooks/mtn_momo/instance/attempt-1/0f0f?hmac=ab%2Bc&empty&bad=%zz'
    assert.equal((await shell.inject({ method: 'PUT', url, payload: Buffer.from('{}') })).http, 200)
    const { method, params, query } = hooks[0] ?? {}
    assert.deepEqual([method, { ...query }], ['PUT', { hmac: 'ab+c', empty: '' }])
    assert.deepEqual(
      { ...params },
      { gateway: 'mtn_momo', scope: 'instance', subject: 'attempt-1', mac: '0f0f' },
    )
    assert.equal((await shell.inject({ method: 'PATCH', url })).http, 405)
  })

  it('answers with the JSON that the gateway wants', async () => {
    const { shell } = webhookShell(200, { ResultCode: 0, ResultDesc: 'Accepted' })
    const response = await shell.inject({ method: 'POST', url: '/hooks/x', payload: Buffer.from('{}') })
    assert.deepEqual([response.http, response.body], [200, '{"ResultCode":0,"ResultDesc":"Accepted"}'])
    assert.match(String(response.headers['content-type']), /^application\/json/)
  })

  it('never logs the secret part of a callback path', async () => {
    const { shell, lines } = webhookShell(401)
    const mac = '5ec2e7'.repeat(5)
    const url = `/hooks/x/instance/account/${mac}`
    for (const method of ['POST', 'PUT', 'GET', 'DELETE'] as const) await shell.inject({ method, url })
    for (const tail of ['/more', '?a=%zz', '/%00'])
      await shell.inject({ method: 'POST', url: `${url}${tail}` })
    assert.ok(lines.length > 0)
    assert.ok(!JSON.stringify(lines).includes(mac))
  })

  it('accepts an empty webhook body, and at most 64 KB', async () => {
    const { shell, hooks } = webhookShell(401)
    assert.equal((await shell.inject({ method: 'POST', url: '/hooks/x' })).http, 401)
    assert.equal(hooks[0]?.rawBody.length, 0)
    const inject = (bytes: number) =>
      shell.inject({
        method: 'POST',
        url: '/hooks/x',
        payload: Buffer.alloc(bytes),
        headers: { 'content-type': 'application/octet-stream' },
      })
    assert.equal((await inject(65_536)).http, 401)
    const refused = await inject(65_537)
    assert.equal(refused.http, 413)
    assert.match(refused.body, /64 KB/)
  })
})

describe('a server mounted in the HTTP shell', () => {
  it('reads the request and writes the response itself, under our request id', async () => {
    const { shell, lines } = fakeShell({
      mounts: {
        '/sandbox': (request, response) => {
          const chunks: Buffer[] = []
          request.on('data', (chunk: Buffer) => chunks.push(chunk))
          request.on('end', () => {
            response.statusCode = 202
            response.end(`${request.method} ${request.url} ${Buffer.concat(chunks).toString()}`)
          })
        },
      },
    })
    const response = await shell.inject({
      method: 'POST',
      url: '/sandbox/pay/1?x=%zz',
      payload: Buffer.from('raw'),
      headers: { 'content-type': 'anything', 'x-request-id': 'request-17' },
    })
    assert.equal(response.http, 202)
    assert.equal(response.body, 'POST /sandbox/pay/1?x=%zz raw')
    assert.equal(response.headers['x-request-id'], 'request-17')
    assert.equal((await shell.inject({ method: 'PUT', url: '/sandbox' })).http, 202)
    assert.equal((await shell.inject({ url: '/sandboxes' })).http, 404)
    assert.deepEqual(
      lines.map(({ route, http }) => `${route} ${http}`),
      ['/sandbox/* 202', '/sandbox 202', 'unknown 404'],
    )
  })

  it('does not affect other requests when it throws', async () => {
    const { shell, lines } = fakeShell({
      mounts: {
        '/sandbox': () => {
          throw new Error('broken')
        },
      },
    })
    await assert.rejects(shell.inject({ url: '/sandbox/x' }))
    assert.equal((await shell.inject({ url: '/healthz' })).http, 200)
    assert.equal(lines.filter((line) => line.level === 'error').length, 1)
  })
})
