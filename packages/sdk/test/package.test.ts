// The package as npm would publish it: packed, checked by publint and attw, installed elsewhere, compiled against, and used
// in every runtime that is found. npm run test:rest runs it.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { testService } from '../../../test/support/service.ts'
import { findBinary, needs, RUNTIMES } from './runtimes.ts'

const run = promisify(execFile)
const FOLDER = join(import.meta.dirname, '..')
const ROOT = join(FOLDER, '../..')
const tool = (name: string) => join(ROOT, 'node_modules/.bin', name)

const work = await mkdtemp(join(tmpdir(), 'cowry-sdk-'))
after(() => rm(work, { recursive: true, force: true }))
await run(process.execPath, ['build.ts'], {
  cwd: FOLDER,
  env: { ...process.env, PATH: `${tool('')}:${process.env.PATH}` },
})
const packed = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', work], {
  cwd: FOLDER,
})
const [{ filename, files }]: [{ filename: string; files: { path: string }[] }] = JSON.parse(packed.stdout)
const tarball = join(work, filename)
const installed = join(work, 'node_modules/@cowry/sdk')
await mkdir(installed, { recursive: true })
// Deno resolves only packages that a package.json names.
await writeFile(join(work, 'package.json'), '{ "dependencies": { "@cowry/sdk": "*" } }')
await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', installed])

const service = await testService({ after })

/** Initiates, handles an error, lists and verifies a webhook. */
const PROGRAM = `
async function program({ Cowry, CowryError, unwrap }, { createTestEvent, signTestEvent }, apiKey, baseUrl) {
  const cowry = new Cowry({ apiKey, baseUrl })
  const customer = { email: 'amina@example.com', firstname: 'Amina', lastname: 'Odhiambo' }
  const payment = await cowry.payments.initiate({ amount: 10, currency: 'KES', reference: crypto.randomUUID(), customer })
  const code = await cowry.refunds.get(payment.uuid).catch((error) => error instanceof CowryError && error.code)
  let found = 0
  for await (const one of cowry.payments.list({ limit: 1 })) if (one.uuid === payment.uuid) found += 1
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const { body, headers } = await signTestEvent(createTestEvent('payment.pending'), secret)
  const event = await unwrap(body, headers, secret)
  const forged = await unwrap(body + ' ', headers, secret).catch((error) => error.code)
  return [payment.status, code, found, event.type, forged].join(' ')
}
`
const PRINTED = 'pending refund_not_found 1 payment.pending invalid_signature'
const ESM = `
import * as sdk from '@cowry/sdk'
import * as testing from '@cowry/sdk/testing'
${PROGRAM}`
const RUN = 'program(sdk, testing, process.env.COWRY_API_KEY, process.env.COWRY_URL).then(console.log)\n'
const env = { ...process.env, COWRY_API_KEY: service.demoKey ?? '', COWRY_URL: service.url }

await writeFile(join(work, 'program.mjs'), `import process from 'node:process'\n${ESM}\n${RUN}`)
const REQUIRED = "const sdk = require('@cowry/sdk')\nconst testing = require('@cowry/sdk/testing')\n"
await writeFile(join(work, 'program.cjs'), REQUIRED + PROGRAM + RUN)

describe('the packed SDK', () => {
  it('has the compiled files and no sources or tests', () => {
    const paths = files.map(({ path }) => path)
    const expected = ['README.md', 'LICENSE', 'dist/esm/index.d.ts', 'dist/cjs/index.js']
    assert.deepEqual(
      expected.filter((path) => !paths.includes(path)),
      [],
    )
    assert.deepEqual(
      paths.filter((path) => !/^(?:dist\/|README\.md$|LICENSE$|package\.json$)/.test(path)),
      [],
    )
  })

  it('passes publint', async () => {
    const { stdout } = await run(tool('publint'), ['run', tarball, '--strict'])
    assert.match(stdout, /All good!/)
  })

  it('has types that resolve as ES modules and as CommonJS', async () => {
    // TypeScript 7 no longer has the resolution of Node 10.
    // The usual format depends on the width of the terminal.
    const { stdout } = await run(tool('attw'), [tarball, '--profile', 'node16', '--format', 'ascii'])
    assert.match(stdout, /node16 \(from CJS\): 🟢 \(CJS\)\s+node16 \(from ESM\): 🟢 \(ESM\)/)
  })

  it('has types that compile strictly, with the types of Node or of the DOM', async () => {
    await writeFile(
      join(work, 'typed.mts'),
      "import { Cowry } from '@cowry/sdk'\nimport '@cowry/sdk/testing'\nexport const cowry = new Cowry({ apiKey: 'a', baseUrl: 'b' })\n",
    )
    const strict = [
      '--ignoreConfig',
      '--noEmit',
      '--strict',
      '--exactOptionalPropertyTypes',
      '--skipLibCheck',
      'false',
    ]
    const common = [...strict, '--target', 'es2022', '--module', 'nodenext', join(work, 'typed.mts')]
    const types = join(ROOT, 'node_modules/@types')
    await run(tool('tsc'), [
      ...common,
      '--lib',
      'es2024,esnext.disposable',
      '--typeRoots',
      types,
      '--types',
      'node',
    ])
    await run(tool('tsc'), [...common, '--lib', 'es2022,dom,dom.iterable', '--types', ''])
  })

  for (const file of ['program.mjs', 'program.cjs']) {
    it(`runs in this Node.js as ${file}`, async () => {
      const { stdout } = await run(process.execPath, [join(work, file)], { env })
      assert.equal(stdout.trim(), PRINTED)
    })

    for (const [name, toArguments] of Object.entries(RUNTIMES))
      it(`runs in ${name} as ${file}`, needs(name), async () => {
        const { stdout } = await run(findBinary(name) ?? '', toArguments(join(work, file)), {
          env,
          cwd: work,
        })
        assert.equal(stdout.trim(), PRINTED)
      })
  }

  it('runs in workerd', needs('workerd'), async (t) => {
    const values = JSON.stringify([env.COWRY_API_KEY, env.COWRY_URL]).slice(1, -1)
    const handler = `export default { fetch: async () => new Response(await program(sdk, testing, ${values})) }\n`
    await writeFile(join(work, 'worker.mjs'), ESM + handler)
    const bundle = [
      '--bundle',
      '--format=esm',
      '--platform=neutral',
      '--main-fields=module',
      '--outfile=worker.js',
    ]
    await run(tool('esbuild'), ['worker.mjs', ...bundle], { cwd: work })
    await writeFile(join(work, 'config.capnp'), WORKERD_CONFIG)
    const worker = spawn(
      findBinary('workerd') ?? '',
      ['serve', 'config.capnp', '--control-fd=1', '--socket-addr', 'http=127.0.0.1:0'],
      {
        cwd: work,
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    t.after(async () => {
      worker.kill('SIGKILL')
      await once(worker, 'exit')
    })
    const [message] = await once(worker.stdout, 'data')
    const { port } = JSON.parse(String(message).split('\n')[0] ?? '')
    const answer = await fetch(`http://127.0.0.1:${port}`)
    assert.equal(await answer.text(), PRINTED)
  })
})

const WORKERD_CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js")],
      compatibilityDate = "2025-01-01",
    )),
    (name = "internet", network = (allow = ["local", "private", "public"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`
