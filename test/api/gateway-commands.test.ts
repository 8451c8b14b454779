// cowry gateways, against a running service.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runCommandLine } from '../../src/cli/program.ts'
import { FAKE_SECRET_KEY, startFakePaystack } from '../gateways/paystack/fake.ts'
import { fileContext } from '../support/gateways.ts'
import { tempFolder } from '../support/process.ts'
import { ADMIN_TOKEN, testService } from '../support/service.ts'

const paystack = await startFakePaystack(fileContext({ after }))
const service = await testService({ after }, { env: { GATEWAY_PAYSTACK_BASE_URL: paystack.server.url } })
const folder = await tempFolder({ after }, 'commands')
const { uuid: merchant } = await service.newMerchant()

async function run(...argv: string[]) {
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
  const env = { COWRY_URL: service.url, COWRY_ADMIN_TOKEN: ADMIN_TOKEN }
  const code = await runCommandLine(['gateways', ...argv], { terminal, env })
  return { code, out, err }
}

async function fileWith(text: string): Promise<string> {
  const file = join(folder, 'credentials.json')
  await writeFile(file, text)
  return file
}

const UNKNOWN_KEY = `sk_test_${'f'.repeat(40)}`

describe('cowry gateways', () => {
  it('lists the gateways and their variables from the command line', async () => {
    const { code, out } = await run('list')
    assert.equal(code, 0)
    assert.match(
      out,
      /^paystack +Paystack +not configured +\S+\/hooks\/paystack +GATEWAY_PAYSTACK_SECRET_KEY \[GATEWAY_PAYSTACK_COLLECTION\]$/m,
    )
    assert.match(out, /GATEWAY_STRIPE_SECRET_KEY \[GATEWAY_STRIPE_WEBHOOK_SECRET\]$/m)
  })

  it('adds, shows without its secret and removes a merchant’s account from the command line', async () => {
    const file = await fileWith(JSON.stringify({ secretKey: FAKE_SECRET_KEY }))
    const set = await run('set', 'paystack', '--merchant', merchant, '--file', file)
    assert.deepEqual([set.code, set.err], [0, ''])
    assert.match(set.out, /^Gateway account saved\.$/m)
    assert.match(set.out, new RegExp(`secretKey \\(set, ends with ${FAKE_SECRET_KEY.slice(-4)}\\)`))
    const show = await run('show', 'paystack', '--merchant', merchant)
    assert.match(show.out, /^status +active$/m)
    const list = await run('list', '--merchant', merchant)
    assert.match(list.out, new RegExp(`^paystack +Paystack +merchant +\\S+/hooks/paystack/${merchant} `, 'm'))
    const remove = await run('remove', 'paystack', '--merchant', merchant)
    assert.match(remove.out, /^status +revoked$/m)
    for (const { out } of [set, show, list, remove]) assert.ok(!out.includes(FAKE_SECRET_KEY.slice(8, -4)))
    assert.equal((await run('show', 'paystack', '--merchant', merchant)).code, 1)
  })

  it('sets an account with a label and limits, and shows both', async () => {
    const file = await fileWith(
      JSON.stringify({ secretKey: FAKE_SECRET_KEY, countries: 'KE', amounts: 'KES:10-' }),
    )
    const set = await run('set', 'paystack_ke', '--merchant', merchant, '--file', file)
    assert.deepEqual([set.code, set.err], [0, ''])
    assert.match(set.out, /^limits +countries KE, amounts KES:10-$/m)
    const list = await run('list', '--merchant', merchant)
    assert.match(list.out, /^paystack_ke +Paystack \(KE\) +merchant +\S+\/hooks\/paystack_ke\//m)
    assert.equal((await run('remove', 'paystack_ke', '--merchant', merchant)).code, 0)
  })

  it('reports invalid input and the gateway’s rejection on the command line, without echoing a secret', async () => {
    const wrong = await fileWith('{"secretKey": "sk_test_canary"}')
    const refused = await run('set', 'paystack', '--merchant', merchant, '--file', wrong)
    assert.deepEqual([refused.code, refused.out], [1, ''])
    assert.match(refused.err, /Paystack refused these credentials/)
    for (const text of ['canary', '["canary"]', '{"secretKey": 5}', '{"other": "canary"}']) {
      const { code, err } = await run(
        'set',
        'paystack',
        '--merchant',
        merchant,
        '--file',
        await fileWith(text),
      )
      assert.equal(code, 1)
      assert.ok(!err.includes('canary'))
    }
    const missing = await run('set', 'paystack', '--merchant', merchant, '--file', join(folder, 'nothing'))
    assert.match(missing.err, /nothing cannot be read/)
  })

  it('saves unchecked on request, and warns when the gateway is unreachable', async () => {
    const file = await fileWith(JSON.stringify({ secretKey: UNKNOWN_KEY }))
    const unchecked = await run('set', 'paystack', '--merchant', merchant, '--file', file, '--no-probe')
    assert.match(unchecked.out, /^probe +unchecked$/m)
    // A job may look for refunds with the accounts of other tests meanwhile.
    assert.deepEqual(
      paystack.server.requests.filter(({ headers }) => headers.authorization === `Bearer ${UNKNOWN_KEY}`),
      [],
    )
    paystack.server.injectFault('cut_off')
    const warned = await run('set', 'paystack', '--merchant', merchant, '--file', file)
    assert.match(warned.out, /^Paystack could not be reached/m)
  })
})
