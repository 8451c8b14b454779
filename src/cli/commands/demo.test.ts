import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { ENTRY_POINTS } from '../../entry-points.ts'
import { runCommandLine } from '../program.ts'
import type { Env, FilledDemo } from '../shell.ts'

const FILLED: FilledDemo = {
  isNew: true,
  merchantId: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
  name: 'Demo',
  apiKey: 'cowry_test_key',
  url: 'http://127.0.0.1:8080',
  people: [],
}

/** The printed command that starts the service. */
async function startCommand(env: Env): Promise<string> {
  let out = ''
  const write = (text: string) => {
    out += text
  }
  const terminal = { out: write, err: () => undefined }
  const entryPoints = { ...ENTRY_POINTS, fillDemo: async () => FILLED }
  assert.equal(await runCommandLine(['demo'], { entryPoints, terminal, env }), 0)
  return /^ {2}(.*npm start)$/m.exec(out)?.[1] ?? out
}

describe('the command that cowry demo prints to start the service', () => {
  it('is npm start alone without settings, or with empty ones', async () => {
    assert.equal(await startCommand({}), 'npm start')
    assert.equal(await startCommand({ PORT: '', COWRY_LOG_LEVEL: 'warn', LANG: 'C' }), 'npm start')
  })

  it('repeats the address and the data folder that were set', async () => {
    const command = await startCommand({ PORT: '8090', COWRY_DATA_DIR: '/tmp/cowry-2', HOST: '0.0.0.0' })
    assert.equal(command, 'COWRY_DATA_DIR=/tmp/cowry-2 HOST=0.0.0.0 PORT=8090 npm start')
  })

  it('gives a shell the same values, whatever their characters', async () => {
    for (const folder of ['/tmp/my data', `it's $HOME`, '~/cowry', 'a;b&c', '`id`']) {
      const command = await startCommand({ COWRY_DATA_DIR: folder, PORT: '8090' })
      const reading = command.replace(/npm start$/, 'printenv COWRY_DATA_DIR PORT')
      const { stdout } = await promisify(execFile)('sh', ['-c', reading])
      assert.equal(stdout, `${folder}\n8090\n`)
    }
  })

  it('names the database and the secrets without their values', async () => {
    const secrets = { DATABASE_URL: 'postgres://cowry:secret@db/cowry', COWRY_ENCRYPTION_KEYS: 'k1:secret' }
    const command = await startCommand({ ...secrets, COWRY_KEY_PEPPER: 'secret', PORT: '8090' })
    assert.equal(command, 'DATABASE_URL=… COWRY_ENCRYPTION_KEYS=… COWRY_KEY_PEPPER=… PORT=8090 npm start')
  })
})
