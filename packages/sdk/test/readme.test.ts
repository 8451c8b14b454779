// Every TypeScript sample of the README compiles, and runs against a service.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { testService } from '../../../test/support/service.ts'
import { createTestEvent, signTestEvent } from '../src/testing.ts'

const run = promisify(execFile)
const FOLDER = join(import.meta.dirname, '..')
const ROOT = join(FOLDER, '../..')
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
/** The port in the sample of a webhook server. */
const SAMPLE_PORT = '18301'

const ENTRIES = { '': 'index', '/core': 'core', '/resources': 'generated/resources', '/testing': 'testing' }

/** The samples under their headings, with the sources instead of the installed package. */
async function readSamples(port: string): Promise<{ name: string; code: string }[]> {
  const text = await readFile(join(FOLDER, 'README.md'), 'utf8')
  const sections = text.split(/^## /m).slice(1)
  return sections.flatMap((section) =>
    [...section.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = '']) => ({
      name: `${section.split('\n')[0]?.toLowerCase().replaceAll(/\W+/g, '-')}.ts`,
      code: Object.entries(ENTRIES)
        .reduce(
          (read, [path, file]) => read.replaceAll(`'@cowry/sdk${path}'`, `'${FOLDER}/src/${file}.ts'`),
          code,
        )
        .replace(SAMPLE_PORT, port),
    })),
  )
}

async function findFreePort(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return String(typeof address === 'object' ? address?.port : address)
}

/**
 * Runs the samples one after another, breaks off a request to the server of one of them, sends it webhooks, and prints its
 * answers.
 */
const RUNNER = `
import { connect } from 'node:net'
const { samples, port, body, headers } = JSON.parse(process.argv[2])
for (const sample of samples) {
  console.log('#', sample)
  await import('./' + sample)
}
await new Promise((resolve) => {
  const socket = connect(port, '127.0.0.1')
  socket.on('close', resolve).resume().end('POST / HTTP/1.1\\r\\nhost: a\\r\\ncontent-length: 9\\r\\n\\r\\n{')
})
console.log('broken off')
for (const text of [body, body + ' ']) {
  const answer = await fetch('http://127.0.0.1:' + port, { method: 'POST', body: text, headers })
  console.log('answered', answer.status)
}
process.exit(0)
`

const work = await mkdtemp(join(tmpdir(), 'cowry-samples-'))
after(() => rm(work, { recursive: true, force: true }))
const port = await findFreePort()
const samples = await readSamples(port)
for (const { name, code } of samples) await writeFile(join(work, name), code)
await writeFile(join(work, 'runner.mjs'), RUNNER)
await writeFile(join(work, 'package.json'), '{ "type": "module" }')

const service = await testService({ after })

describe('the samples of the README of the SDK', () => {
  it('compiles every sample', async () => {
    assert.equal(samples.length, 7)
    const config = {
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: { incremental: false, typeRoots: [join(ROOT, 'node_modules/@types')] },
      include: ['*.ts'],
    }
    await writeFile(join(work, 'tsconfig.json'), JSON.stringify(config))
    await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', work]).catch(({ stdout }) => assert.fail(stdout))
  })

  it('runs every sample against a service', async () => {
    const event = createTestEvent('payment.successful', { reference: 'order-7' })
    const input = { samples: samples.map(({ name }) => name), port, ...(await signTestEvent(event, SECRET)) }
    const env = { COWRY_API_KEY: service.demoKey ?? '', COWRY_URL: service.url, WEBHOOK_SECRET: SECRET }
    const { stdout } = await run(process.execPath, [join(work, 'runner.mjs'), JSON.stringify(input)], {
      env: { ...process.env, ...env },
    })
    const printed = [
      /# accept-a-payment\.ts\nsend the customer to http\S+\npending\n/,
      /# errors\.ts\ncustomer_not_found not_found_error 404 false \S+ \[\]\n/,
      /# lists\.ts\nkofi@example\.com\n0 0 null\nuuid,/,
      /# tests-of-your-integration\.ts\nsuccessful \d+\n[a-z_]+\.[a-z_]+\n/,
      /# small-bundles\.ts\n0\n/,
      /broken off\npaid: order-7\nanswered 204\nanswered 400\n/,
    ]
    for (const pattern of printed) assert.match(stdout, pattern)
  })
})
