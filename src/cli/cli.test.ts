import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ENTRY_POINTS } from '../entry-points.ts'
import { runCommandLine } from './program.ts'
import { readServerFile, removeServerFile, writeServerFile } from './server-file.ts'

const COMMANDS = [
  ['serve'],
  ['sandbox'],
  ['demo'],
  ['merchants', 'create'],
  ['merchants', 'brand'],
  ['merchants', 'list'],
  ['merchants', 'suspend'],
  ['merchants', 'activate'],
  ['keys', 'create'],
  ['keys', 'list'],
  ['keys', 'rotate'],
  ['keys', 'revoke'],
  ['keys', 'reseal'],
  ['people', 'invite-owner'],
  ['people', 'invite-operator'],
  ['people', 'demo-link'],
  ['gateways', 'list'],
  ['gateways', 'show'],
  ['gateways', 'set'],
  ['gateways', 'remove'],
  ['listen'],
  ['trigger'],
  ['clock', 'show'],
  ['clock', 'advance'],
  ['events', 'list'],
  ['events', 'show'],
  ['events', 'replay'],
  ['mcp'],
  ['logs', 'tail'],
  ['doctor'],
  ['docs'],
]

async function run(argv: string[], env: Record<string, string> = {}) {
  let out = ''
  let err = ''
  const terminal = {
    out: (text: string) => {
      out += text
    },
    err: (text: string) => {
      err += text
    },
  }
  const code = await runCommandLine(argv, { entryPoints: ENTRY_POINTS, terminal, env })
  return { code, out, err }
}

async function dataFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'cowry-cli-'))
  t.after(() => rm(folder, { recursive: true }))
  return folder
}

/** A server that speaks HTTP but is not Cowry. */
async function answering(t: TestContext, status: number, body: string) {
  const seen: IncomingHttpHeaders[] = []
  const server = createServer((request, response) => {
    seen.push(request.headers)
    response.writeHead(status).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => void server.close())
  const address = server.address()
  assert.ok(address && typeof address === 'object')
  return { port: address.port, url: `http://127.0.0.1:${address.port}`, seen }
}

describe('the command line', () => {
  for (const command of COMMANDS)
    it(`has help and --json for "${command.join(' ')}"`, async () => {
      const { code, out } = await run([...command, '--help'])
      assert.equal(code, 0)
      assert.match(out, /--json/)
      assert.match(out, new RegExp(`Usage: cowry ${command.join(' ')}`))
    })

  it('exits with 1 and explains a wrong command', async () => {
    for (const argv of [
      ['keys', 'create'],
      ['merchants', 'suspend'],
      ['nonsense'],
      ['keys', 'rotate', 'x'],
    ]) {
      const { code, out, err } = await run(argv)
      assert.equal(code, 1, argv.join(' '))
      assert.equal(out, '')
      assert.match(err, /error: /)
    }
  })

  it('prints one JSON document with --json, for errors too', async () => {
    const { code, out, err } = await run(['keys', 'create', '--json'])
    assert.equal(code, 1)
    assert.equal(err, '')
    const { status, error } = JSON.parse(out)
    assert.deepEqual({ status, error }, { status: 'error', error: { code: 'usage' } })
  })

  it('names the event type that was meant, and commands that production does not have', async (t) => {
    const { code, err } = await run(['trigger', 'case.resolvd'])
    assert.equal(code, 1)
    assert.match(err, /It is not an event type\. Did you mean case\.resolved\?/)
    const { url } = await answering(t, 200, '{}')
    const env = { COWRY_URL: url, COWRY_DATA_DIR: await dataFolder(t) }
    const clock = await run(['clock', 'advance', '1d'], env)
    assert.equal(clock.code, 1)
    assert.match(clock.err, /The test clock exists in staging only\. There is no readable demo key/)
    assert.match((await run(['trigger', 'payment.pending'], env)).err, /can be triggered in staging only\./)
  })

  it('F-91: reports all invalid settings of "serve" at once', async () => {
    const { code, err } = await run(['serve'], { COWRY_ENV: 'production', PORT: 'x' })
    assert.equal(code, 1)
    for (const name of [
      'COWRY_PUBLIC_URL',
      'COWRY_ADMIN_TOKEN',
      'COWRY_ENCRYPTION_KEYS',
      'COWRY_KEY_PEPPER',
      'DATABASE_URL',
      'PORT',
    ])
      assert.match(err, new RegExp(name))
  })
})

describe('finding the service from the command line', () => {
  it('explains what to do if no service was ever started', async (t) => {
    const env = { COWRY_DATA_DIR: await dataFolder(t) }
    const { code, err } = await run(['merchants', 'list'], env)
    assert.equal(code, 1)
    assert.match(err, /npm start.*COWRY_DATA_DIR.*COWRY_URL/)
    const { out } = await run(['merchants', 'list', '--json'], env)
    assert.equal(JSON.parse(out).error.code, 'no_admin_token')
  })

  it('explains what to do if the service has stopped', async (t) => {
    const env = { COWRY_DATA_DIR: await dataFolder(t), COWRY_ADMIN_TOKEN: 'token' }
    await writeServerFile(env.COWRY_DATA_DIR, { url: 'http://127.0.0.1:1', pid: 1 })
    const here = await run(['doctor'], env)
    assert.equal(here.code, 1)
    assert.match(here.err, /No service responds at http:\/\/127.0.0.1:1 .*npm start/)
    const there = await run(['doctor', '--json'], { ...env, COWRY_URL: 'http://127.0.0.1:2' })
    assert.match(JSON.parse(there.out).message, /Check COWRY_URL/)
    assert.equal(JSON.parse(there.out).error.code, 'service_unreachable')
  })

  it('reads address and token from the data folder', async (t) => {
    const service = await answering(t, 200, '{"status":"success","message":"Merchants.","data":[]}')
    const dataDir = await dataFolder(t)
    await writeServerFile(dataDir, { url: service.url, pid: process.pid })
    await writeFile(join(dataDir, 'admin-token'), 'a-token-from-the-folder\n')
    assert.equal((await run(['merchants', 'list'], { COWRY_DATA_DIR: dataDir })).code, 0)
    assert.equal(service.seen[0]?.authorization, 'Bearer a-token-from-the-folder')
  })

  it('never sends the token of the data folder to another machine', async (t) => {
    const dataDir = await dataFolder(t)
    await writeFile(join(dataDir, 'admin-token'), 'a-token-from-the-folder\n')
    const env = { COWRY_DATA_DIR: dataDir, COWRY_URL: 'https://pay.example.com' }
    const { code, err } = await run(['merchants', 'list'], env)
    assert.equal(code, 1)
    assert.match(err, /Set COWRY_ADMIN_TOKEN to the operator token of https:\/\/pay.example.com/)
  })

  it('reports a server that is not Cowry', async (t) => {
    const otherServer = await answering(t, 200, '<h1>It works!</h1>')
    const env = { COWRY_URL: otherServer.url, COWRY_ADMIN_TOKEN: 'token' }
    const { code, err } = await run(['merchants', 'list'], env)
    assert.equal(code, 1)
    assert.match(err, /is not a Cowry service/)
  })
})

describe('the server file of the running service', () => {
  it('is written atomically, read back, and removed by its own process only', async (t) => {
    const dataDir = join(await dataFolder(t), 'new')
    assert.equal(await readServerFile(dataDir), undefined)
    await writeServerFile(dataDir, { url: 'http://127.0.0.1:8080', pid: 7 })
    assert.deepEqual(await readServerFile(dataDir), { url: 'http://127.0.0.1:8080', pid: 7 })
    await removeServerFile(dataDir, 8)
    assert.deepEqual(await readdir(dataDir), ['server.json'])
    await removeServerFile(dataDir, 7)
    assert.deepEqual(await readdir(dataDir), [])
  })

  it('is ignored if it cannot be read', async (t) => {
    const dataDir = await dataFolder(t)
    for (const text of ['', '{', '{}', '{"url":"x","pid":1}', '{"url":"http://x"}']) {
      await writeFile(join(dataDir, 'server.json'), text)
      assert.equal(await readServerFile(dataDir), undefined)
    }
  })
})

describe('bin/cowry.js', () => {
  const bin = fileURLToPath(new URL('../../bin/cowry.js', import.meta.url))

  it('exits without an error if its output is closed', async () => {
    const child = spawn(process.execPath, [bin, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] })
    const errorOutput = child.stderr.setEncoding('utf8').toArray()
    child.stdout.destroy()
    assert.deepEqual(await once(child, 'exit'), [0, null])
    assert.deepEqual(await errorOutput, [])
  })

  it('runs the program', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [bin, '--version'])
    assert.match(stdout, /^\d+\.\d+\.\d+\n$/)
  })
})
