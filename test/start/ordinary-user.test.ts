// The service as an unprivileged user. When the tests run as root, they start it as another user.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmod, chown, cp, mkdir, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { after, it } from 'node:test'
import { runtimePackages } from '../../bench/packages.ts'
import { descendantsOf } from '../../bench/processes.ts'
import { createApi } from '../support/api.ts'
import { payWith } from '../support/builders.ts'
import { awaitExit, type ProcessOptions, ROOT, startProcess, tempFolder } from '../support/process.ts'

const NOBODY = 65_534
const isRoot = process.getuid?.() === 0
const user = isRoot ? NOBODY : (process.getuid?.() ?? 0)
const who = isRoot ? { uid: NOBODY, gid: NOBODY } : {}

const dataDir = await tempFolder({ after }, 'ordinary')
if (isRoot) await chown(dataDir, NOBODY, NOBODY)
const options = await readableCheckout()

/** The checkout itself, or a copy when only root may enter its folder. */
async function readableCheckout(): Promise<ProcessOptions> {
  const isReadable = spawnSync(process.execPath, ['--version'], { ...who, cwd: ROOT }).status === 0
  if (isReadable) return who
  const root = await tempFolder({ after }, 'checkout')
  await chmod(root, 0o755)
  for (const part of ['package.json', 'src', 'migrations', ...(await runtimePackages(ROOT))]) {
    await mkdir(join(root, part, '..'), { recursive: true })
    await cp(join(ROOT, part), join(root, part), { recursive: true, verbatimSymlinks: true })
  }
  const node = relative(ROOT, process.execPath)
  const isOwn = !node.startsWith('..')
  return { ...who, root, command: [isOwn ? join(root, node) : process.execPath, 'src/main.ts'] }
}

const start = () => startProcess({ after }, ['serve'], { PORT: '0', COWRY_DATA_DIR: dataDir }, options)

it('starts the service with its own PostgreSQL as an unprivileged user, twice, and leaves no process running', async () => {
  const service = await start()
  const processes = descendantsOf(service.pid)
  assert.ok(processes.length > 1, 'there is a database process below it')
  if (process.platform === 'linux')
    for (const pid of [service.pid, ...processes]) assert.equal((await stat(`/proc/${pid}`)).uid, user)
  const { facts } = service
  const payment = await payWith(createApi(facts.url, { 'x-api-key': facts.demoKey }), 'card_success')
  assert.equal(payment.status, 'successful')
  for (const name of ['demo-key', 'admin-token', 'postgres']) {
    const { uid, mode } = await stat(join(dataDir, name))
    assert.equal(uid, user)
    assert.equal(mode & 0o077, 0, `${name} is readable by its owner only`)
  }
  assert.deepEqual(await service.kill('SIGTERM'), { code: 0, signal: null })
  await awaitExit(processes)

  const again = await start()
  const api = createApi(again.facts.url, { 'x-api-key': facts.demoKey })
  const { body } = await api.get(`/api/v1/checkout/verify-payment?uuid=${payment.uuid}`)
  assert.equal(body.data?.status, 'successful')
  assert.deepEqual(await again.kill('SIGTERM'), { code: 0, signal: null })
})
