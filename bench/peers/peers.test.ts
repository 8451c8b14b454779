import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { drive } from './drive.ts'
import { readTarget, requestOf, type Target } from './target.ts'

const received: string[] = []
const server = createServer((request, response) => {
  request.setEncoding('utf8').on('data', (text: string) => void received.push(`${request.url} ${text}`))
  request.on('end', () => {
    response.statusCode = request.url === '/refused' ? 409 : 201
    response.end('{}')
  })
})
after(() => server.close())
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const address = server.address()
const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`

const folder = await mkdtemp(join(tmpdir(), 'cowry-peers-'))
after(() => rm(folder, { recursive: true, force: true }))

const target: Target = {
  ...{ name: 'a service', url, path: '/accounts/{{account}}', headers: {}, expectedStatus: 201 },
  body: { reference: '{{uuid}}', account: '{{account}}' },
  rows: [{ account: 'a' }, { account: 'b' }],
}

describe('a target of the peers’ benchmark', () => {
  it('has another reference in each request, and the values of one row', () => {
    const requests = Array.from({ length: 20 }, () => requestOf(target))
    assert.equal(new Set(requests.map(({ body }) => JSON.parse(body).reference)).size, 20)
    for (const { path, body } of requests) assert.equal(path, `/accounts/${JSON.parse(body).account}`)
  })

  it('refuses a name without a value', () => {
    assert.throws(() => requestOf({ ...target, rows: [] }), /a service has no value for \{\{account\}\}/)
  })

  it('reads the files of this folder, whose secrets come from the environment', async () => {
    const files = (await readdir(import.meta.dirname)).filter((name) => name.endsWith('.json'))
    assert.ok(files.length >= 3)
    const env = new Proxy({}, { get: () => 'from-the-environment' })
    for (const file of files) {
      const read = await readTarget(join(import.meta.dirname, file), env)
      assert.doesNotMatch(JSON.stringify(requestOf(read)), /\{\{/, file)
    }
  })

  it('says which variable or field is missing', async () => {
    const file = join(folder, 'target.json')
    await writeFile(file, '{"name":"{{SOME_KEY}}"}')
    await assert.rejects(readTarget(file, {}), /needs the environment variable SOME_KEY/)
    await assert.rejects(
      readTarget(file, { SOME_KEY: 'x' }),
      /has no url, path, headers, body, expectedStatus/,
    )
  })
})

describe('the driver of the peers’ benchmark', () => {
  it('counts every response, and nothing else', async () => {
    const { perSecond, p50Ms, connections } = await drive(target, 3, 0.2)
    assert.equal(connections, 3)
    assert.ok(received.length >= 3)
    assert.ok(perSecond > 0 && perSecond <= received.length / 0.2, `${perSecond} of ${received.length}`)
    assert.ok(p50Ms > 0)
  })

  it('ends at a response that is no success', async () => {
    await assert.rejects(drive({ ...target, path: '/refused' }, 1, 5), /a service answered HTTP 409/)
  })
})
