// Runs every sample of docs/guides as a reader would, against a service in staging, and compares what it prints with what the
// guide shows.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { basename, join } from 'node:path'
import { after, describe, it } from 'node:test'
import type { Cleanup } from '../support/database.ts'
import { ROOT, tempFolder } from '../support/process.ts'
import { LARGER_FORM_ONLY } from '../support/scale.ts'
import { type TestService, testService } from '../support/service.ts'
import { startFailingProxy } from './failing-proxy.ts'
import { LANGUAGES, type Language, readSteps } from './page.ts'
import { followGuide, prepareFolder, type Reader, saveFile } from './track.ts'

const GUIDES = join(ROOT, 'docs/guides')
const QUICKSTART = join(GUIDES, 'quickstart.md')
const PAGES = globSync('*.md', { cwd: GUIDES }).toSorted()
const NAMES = { bash: 'curl', ts: 'TypeScript', python: 'Python', php: 'PHP' }
// test:rest runs the others; the SDK, which the samples in TypeScript use, has tests of its own in packages/sdk.
const QUICK = ['bash']
// What must work on this machine, or the test is skipped.
const PROGRAMS = {
  bash: ['curl --version'],
  ts: [],
  python: ['python3 --version'],
  php: ['php --version'],
}
// These pages install a generator from the network, and are read in one language.
const GENERATORS: Partial<Record<string, { language: Language; needs: string[] }>> = {
  'typescript-client.md': { language: 'ts', needs: ['npm view openapi-typescript@7.13.0 version'] },
  'python-client.md': {
    language: 'python',
    needs: [
      'python3 -m venv --help',
      'python3 -m pip install --dry-run --no-deps openapi-python-client==0.29.1',
    ],
  },
  'php-client.md': {
    language: 'php',
    needs: [
      'java -version',
      'composer --version',
      'curl -fsSI https://repo1.maven.org/maven2/',
      'curl -fsSI https://repo.packagist.org/',
    ],
  },
}

// The strictest settings that readers use.
const TYPE_CHECK = {
  strict: true,
  noEmit: true,
  target: 'es2024',
  module: 'nodenext',
  moduleDetection: 'force',
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  types: ['node'],
  typeRoots: [join(ROOT, 'node_modules/@types')],
  paths: { '@cowry/sdk': [join(ROOT, 'packages/sdk/src/index.ts')] },
}

const service = await testService({ after })

describe('the samples of the guides', () => {
  for (const page of PAGES) {
    const steps = readSteps(join(GUIDES, page))
    const languages = LANGUAGES.filter((one) => steps.some(({ samples }) => one in samples))
    const generator = GENERATORS[page]
    for (const language of generator ? [generator.language] : languages) {
      const isQuick = page === 'quickstart.md' && QUICK.includes(language)
      it(
        `${basename(page, '.md')} works in ${NAMES[language]}`,
        isQuick ? {} : LARGER_FORM_ONLY,
        async (t) => {
          const missing = [...PROGRAMS[language], ...(generator?.needs ?? [])].find((one) => !canRun(one))
          if (missing !== undefined) return t.skip(`this does not work here: ${missing}`)
          await followGuide(t, await newReader(t, service, language), steps)
        },
      )
    }
  }

  it('work on the quickstart in TypeScript without the SDK', LARGER_FORM_ONLY, async (t) => {
    const client = clientWithoutSdk()
    const reader = await newReader(t, service, 'ts')
    rmSync(join(reader.folder, 'node_modules'), { recursive: true })
    const steps = readSteps(QUICKSTART).map((step) =>
      step.files.ts === 'cowry.ts' ? { ...step, samples: { ts: client } } : step,
    )
    await followGuide(t, reader, steps)
  })

  for (const language of ['ts', 'python', 'php'] as const) {
    it(`send again after a 502 of a proxy in ${NAMES[language]}`, LARGER_FORM_ONLY, async (t) => {
      const missing = PROGRAMS[language].find((one) => !canRun(one))
      if (missing !== undefined) return t.skip(`this does not work here: ${missing}`)
      const proxy = await startFailingProxy(t, service.url, 1)
      const reader = { ...(await newReader(t, service, language)), url: proxy.url }
      const steps = readSteps(join(GUIDES, 'idempotency.md'))
      await followGuide(
        t,
        reader,
        steps.filter(({ samples }) => samples.python?.includes('with_retries')),
      )
      assert.equal(proxy.failed(), 1)
    })
  }

  it('report a 502 of a proxy as retryable in TypeScript without the SDK', LARGER_FORM_ONLY, async (t) => {
    const proxy = await startFailingProxy(t, service.url, 1)
    const reader = { ...(await newReader(t, service, 'ts')), url: proxy.url }
    writeFileSync(join(reader.folder, 'cowry.ts'), clientWithoutSdk())
    const code = `import { cowry } from './cowry.ts'
const show = (error) => console.log(error.message, error.retryable)
await cowry.payments.verify({ reference: 'order-none' }).catch(show)
await cowry.payments.verify({ reference: 'order-none' }).catch(show)
`
    const shown = 'HTTP 502 without JSON true\npayment_not_found: … false'
    await followGuide(t, reader, [
      { line: 1, samples: { ts: code }, files: {}, json: undefined, text: shown, receiver: undefined },
    ])
  })

  it('have correct types in TypeScript', LARGER_FORM_ONLY, async (t) => {
    const folder = await tempFolder(t, 'guide-types')
    // A page about a generator checks the types itself, when it has generated them.
    for (const page of PAGES.filter((one) => !GENERATORS[one])) {
      for (const { line, samples, files } of readSteps(join(GUIDES, page))) {
        const name = files.ts ?? `${basename(page, '.md')}-${line}.ts`
        if (samples.ts !== undefined) writeFileSync(join(folder, name), samples.ts)
      }
    }
    writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: TYPE_CHECK }))
    const { stdout } = spawnSync(process.execPath, [
      join(ROOT, 'node_modules/typescript/bin/tsc'),
      '-p',
      folder,
    ])
    assert.equal(String(stdout), '')
  })
})

function clientWithoutSdk(): string {
  const client = /^```js\n(\/\/ cowry\.ts\n[\s\S]*?)^```$/m.exec(readFileSync(QUICKSTART, 'utf8'))?.[1]
  assert.ok(client !== undefined, 'the quickstart has no client without the SDK')
  return client
}

const known = new Map<string, boolean>()

function canRun(command: string): boolean {
  const isKnown = known.get(command) ?? spawnSync('bash', ['-c', command]).status === 0
  known.set(command, isKnown)
  return isKnown
}

/** A reader with a merchant of its own, who has saved the files of the quickstart. */
async function newReader(t: Cleanup, service: TestService, language: Language): Promise<Reader> {
  const { key } = await service.newMerchant()
  const folder = await tempFolder(t, `guide-${language}`)
  const reader = { language, folder, url: service.url, key, port: await findFreePort() }
  prepareFolder(reader)
  for (const step of readSteps(QUICKSTART)) saveFile(reader, step)
  return reader
}

async function findFreePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, resolve))
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  await new Promise((resolve) => server.close(resolve))
  return address.port
}
