// The package as npm would publish it: packed, checked by publint, installed elsewhere beside the packed SDK, and used as
// Medusa uses it. It has no types, because Medusa loads it by its name. npm run test:rest runs it.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { ROOT, tempFolder } from '../../../test/support/process.ts'
import { testService } from '../../../test/support/service.ts'
import { findBinary, needs } from '../../sdk/test/runtimes.ts'

const run = promisify(execFile)
const tool = (name: string) => join(ROOT, 'node_modules/.bin', name)
const folder = await tempFolder({ after }, 'medusa')
const shop = join(folder, 'shop')

/** Built in a copy, because the test of the SDK builds in the repository at the same time. */
async function pack(name: string): Promise<{ tarball: string; files: string[] }> {
  const cwd = join(folder, 'packages', name)
  const skipped = ['dist', 'node_modules']
  await cp(join(ROOT, 'packages', name), cwd, {
    recursive: true,
    filter: (path) => !skipped.includes(basename(path)),
  })
  const env = { ...process.env, PATH: `${tool('')}:${process.env.PATH}` }
  await run(process.execPath, ['build.ts'], { cwd, env })
  const options = ['--json', '--ignore-scripts', '--pack-destination', folder]
  const { stdout } = await run('npm', ['pack', ...options], { cwd })
  const [packed] = JSON.parse(stdout)
  const files: { path: string }[] = packed.files
  return { tarball: join(folder, packed.filename), files: files.map(({ path }) => path) }
}

await cp(join(ROOT, 'tsconfig.json'), join(folder, 'tsconfig.json'))
const sdk = await pack('sdk')
const { tarball, files } = await pack('medusa')
await mkdir(shop)
await writeFile(join(shop, 'package.json'), '{ "private": true }')
const quietly = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund']
await run('npm', ['install', ...quietly, sdk.tarball, tarball], { cwd: shop })

const service = await testService({ after })
const env = { ...process.env, COWRY_API_KEY: service.demoKey ?? '', COWRY_URL: service.url }

const PROGRAM = `
async function program({ module, services: [Provider] }) {
  const options = { apiKey: process.env.COWRY_API_KEY, baseUrl: process.env.COWRY_URL, webhookSecret: 'whsec_x' }
  Provider.validateOptions(options)
  const provider = new Provider({}, options)
  const data = { session_id: 'payses_' + crypto.randomUUID(), email: 'amina@example.com' }
  const opened = await provider.initiatePayment({ amount: '12.5', currency_code: 'kes', data })
  const other = await provider.authorizePayment({ data: {} }).catch((error) => error.type)
  console.log(module, Provider.identifier, opened.status, other)
}
`
const PRINTED = 'payment cowry requires_more invalid_data'
await writeFile(join(shop, 'program.mjs'), `${PROGRAM}program((await import('@cowry/medusa')).default)\n`)
await writeFile(join(shop, 'program.cjs'), `${PROGRAM}program(require('@cowry/medusa').default)\n`)

describe('the packed provider of Medusa', () => {
  it('has the compiled files and no sources or tests', () => {
    for (const path of ['README.md', 'LICENSE', 'dist/index.js', 'dist/provider.js'])
      assert.ok(files.includes(path), path)
    const others = files.filter(
      (path) => !/^(?:dist\/[\w-]+\.js|README\.md|LICENSE|package\.json)$/.test(path),
    )
    assert.deepEqual(others, [])
  })

  it('passes publint', async () => {
    const { stdout } = await run(tool('publint'), ['run', tarball, '--strict'])
    assert.match(stdout, /All good!/)
  })

  for (const file of ['program.mjs', 'program.cjs']) {
    it(`opens a payment in this Node.js as ${file}`, async () => {
      const { stdout } = await run(process.execPath, [file], { cwd: shop, env })
      assert.equal(stdout.trim(), PRINTED)
    })

    for (const name of ['node20', 'node22'])
      it(`opens a payment in ${name} as ${file}`, needs(name), async () => {
        const { stdout } = await run(findBinary(name) ?? '', [file], { cwd: shop, env })
        assert.equal(stdout.trim(), PRINTED)
      })
  }
})
