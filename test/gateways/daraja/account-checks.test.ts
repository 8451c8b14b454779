import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { checkDarajaAccount } from '../../../src/gateways/daraja/account-checks.ts'
import { openApi } from '../../../src/gateways/daraja/api.ts'
import { readAccount } from '../../../src/gateways/daraja/credentials.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import { createHttpClient } from '../../../src/kit/http/http-client.ts'
import { cleanUp } from '../../support/cleanups.ts'
import { PUBLIC_URL } from '../conformance.ts'
import { openMemoryTokens } from '../memory-tokens.ts'
import { CREDENTIALS, PAYOUT_CREDENTIALS } from './fake.ts'
import { type Credentials, callbackUrl, replay, startDaraja } from './rig.ts'

const byName = (checks: { name: string; result: string; detail: string }[] = []) =>
  Object.fromEntries(checks.map(({ name, result, detail }) => [name, `${result} ${detail}`]))

async function checksAt(t: TestContext, address: string) {
  const http = createHttpClient()
  cleanUp(t, () => http.close())
  const account = readAccount({ ...CREDENTIALS, pullNumber: '' })
  const connection = {
    credentials: CREDENTIALS,
    baseUrl: 'http://127.0.0.1:1',
    mode: 'test',
    http,
    tokens: openMemoryTokens(),
    clock: systemClock,
    publicUrl: () => PUBLIC_URL,
    callbackUrl,
  } as const
  return byName(await checkDarajaAccount(account, openApi(connection, account.app), address))
}

describe('the checks of an account at Daraja', () => {
  it('pass if everything is configured, and register the list of payments', async (t) => {
    const { provider, gateway } = await startDaraja(t)
    assert.deepEqual(byName(await gateway.checkAccount?.()), {
      'callback address': 'ok ',
      'list of payments': 'ok ',
      refunds: 'ok by reversal',
    })
    const { path, text } = provider.server.requests.at(-1) ?? assert.fail()
    assert.equal(path, '/pulltransactions/v1/register')
    assert.deepEqual(JSON.parse(text), {
      ShortCode: CREDENTIALS.shortcode,
      RequestType: 'Pull',
      NominatedNumber: '254722000000',
      CallBackURL: callbackUrl({ kind: 'account' }),
    })
  })

  it('say what is not configured', async (t) => {
    const { pullNumber: _list, initiator: _name, ...without } = CREDENTIALS
    const checksOf = async (credentials: Credentials) =>
      byName(await (await startDaraja(t, credentials)).gateway.checkAccount?.())
    const missing = await checksOf(without)
    assert.match(String(missing['list of payments']), /^by_hand .*GATEWAY_DARAJA_PULL_NUMBER/)
    assert.match(String(missing.refunds), /^by_hand .*GATEWAY_DARAJA_INITIATOR/)
    assert.equal((await checksOf(PAYOUT_CREDENTIALS)).refunds, 'ok by payout (B2C)')
  })

  it('fail if Daraja does not register the list of payments', async (t) => {
    const body = { errorCode: '401.002.01', errorMessage: 'Invalid API call as no apiproduct match found' }
    const { gateway } = await replay(t, { http: 401, body })
    const checks = byName(await gateway.checkAccount?.())
    assert.match(String(checks['list of payments']), /^failed .*401\.002\.01.*ask Safaricom/)
  })

  it('fail for callback addresses that Daraja refuses', async (t) => {
    for (const [address, expected] of [
      ['https://pay.example.com/hooks/daraja/instance/account/0f', /^ok/],
      ['https://mpesa.example.com/hooks/daraja/instance/account/0f', /^failed .*“mpesa”/],
      ['https://pay.example.com/hooks/daraja_sql/instance/account/0f', /^failed .*“sql”/],
      ['http://127.0.0.1:8080/hooks/daraja/instance/account/0f', /^failed .*COWRY_PUBLIC_URL/],
    ] as const)
      assert.match(String((await checksAt(t, address))['callback address']), expected, address)
  })
})
