// The npm package of the service: packed, checked, and started from a folder node_modules, where Node strips no types.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { createApi } from '../support/api.ts'
import { initiateBody } from '../support/builders.ts'
import { ROOT, startProcess, tempFolder } from '../support/process.ts'

const run = promisify(execFile)
const folder = await tempFolder({ after }, 'package')
const installed = join(folder, 'node_modules/cowry')

/** As npm does it, except that the dependencies are those of the repository. */
async function install(): Promise<{ tarball: string; files: string[] }> {
  // The repository's .npmrc forbids scripts, also our own.
  const options = ['--ignore-scripts=false', '--json', '--pack-destination', folder]
  const { stdout } = await run('npm', ['pack', ...options], { cwd: ROOT })
  const [packed] = JSON.parse(stdout.slice(stdout.indexOf('[')))
  const tarball = join(folder, packed.filename)
  await mkdir(installed, { recursive: true })
  await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'])
  await symlink(join(ROOT, 'node_modules'), join(installed, 'node_modules'))
  return { tarball, files: packed.files.map(({ path }: { path: string }) => path) }
}

const { tarball, files } = await install()

describe('the npm package', () => {
  it('has the program as JavaScript, without tests and tools', () => {
    assert.ok(files.includes('dist/main.js') && files.includes('bin/cowry.js'))
    const folders = new Set(files.filter((path) => path.includes('/')).map((path) => path.split('/')[0]))
    assert.deepEqual([...folders].toSorted(), ['bin', 'dist', 'docs', 'migrations'])
    assert.deepEqual(
      files.filter((path) => /\.ts$|\.test\./.test(path)),
      [],
    )
  })

  it('passes publint', async () => {
    const { stdout } = await run(join(ROOT, 'node_modules/.bin/publint'), ['run', tarball, '--strict'])
    assert.match(stdout, /All good!/)
  })

  it('starts in a fresh folder with its own PostgreSQL, takes a payment and serves its pages', async (t) => {
    const root = join(folder, 'fresh')
    await mkdir(root)
    const command = [process.execPath, join(installed, 'bin/cowry.js')] as const
    const { facts, kill } = await startProcess(t, ['serve'], { PORT: '0' }, { root, command })
    const api = createApi(facts.url, { 'x-api-key': facts.demoKey })
    const made = await api.post('/api/v1/checkout/initiate-payment', initiateBody())
    assert.equal(made.http, 201, made.text)
    const home = await api.get('/docs')
    const links = [...home.text.matchAll(/href="(\/docs[^"#]*)"/g)].map(([, href = '']) => href)
    assert.ok(links.length > 5, home.text)
    for (const path of ['/', ...new Set(links)]) assert.equal((await api.get(path)).http, 200, path)
    assert.deepEqual(await kill('SIGTERM'), { code: 0, signal: null })
  })
})
