// Live runs, with fakes in place of the providers: every step is made, and no secret reaches the transcript.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { GATEWAYS } from '../../../src/compose/gateways.ts'
import type { FakeProvider } from '../conformance.ts'
import { CREDENTIALS as MOMO, startFakeMomo } from '../mtn-momo/fake.ts'
import { FAKE_SECRET_KEY, startFakePaystack } from '../paystack/fake.ts'
import { checksOf } from './gateway-table.ts'
import { describeMissing, findAccount, openRun, readPlace, requireAgreement } from './open.ts'
import { redactBody, redactText, type Secrets } from './redact.ts'
import { runSteps, STEPS, type Step } from './run.ts'
import { SANDBOXES } from './sandboxes.ts'
import type { Person } from './steps.ts'
import { readRuns, renderTable, renderTranscript, transcriptName } from './transcript.ts'
import { NO_WEBHOOKS, receiveWebhooks } from './webhooks.ts'

function accountOf(name: string) {
  const account = findAccount(name)
  assert.ok(typeof account !== 'string', String(account))
  return account
}

/** Does at the fake what the person would do: pays the first checkout, and refuses the second. */
function personAt(provider: FakeProvider, decline: string, keyOf: () => string): Person {
  let asked = 0
  return {
    say: () => {},
    async ask() {
      asked += 1
      await provider.finish(keyOf(), asked === 1 ? { kind: 'pays' } : { kind: 'declines', how: decline })
      return true
    },
    sleep: async () => {},
  }
}

interface Driven {
  name: string
  env: Record<string, string>
  options: Parameters<typeof readPlace>[1]
  decline: string
  keyOf(provider: FakeProvider): string
}

async function drive(provider: FakeProvider, driven: Driven) {
  const account = accountOf(driven.name)
  const place = readPlace(account, driven.options)
  assert.ok(typeof place !== 'string', String(place))
  const person = personAt(provider, driven.decline, () => driven.keyOf(provider))
  const run = openRun(account, place, { env: driven.env, publicUrl: undefined, person, polls: 3 })
  try {
    const steps = await runSteps(run.stage, run.recorder, NO_WEBHOOKS)
    return { steps, text: renderTranscript(run.facts, steps), facts: run.facts }
  } finally {
    await run.close()
  }
}

const resultsOf = (steps: readonly Step[]) => steps.map(({ name, result }) => `${name}: ${result}`)

function tempFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cowry-live-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

async function drivePaystack(t: TestContext) {
  const provider = await startFakePaystack(t)
  return drive(provider, {
    name: 'paystack',
    env: { GATEWAY_PAYSTACK_SECRET_KEY: FAKE_SECRET_KEY, GATEWAY_PAYSTACK_BASE_URL: provider.server.url },
    options: {},
    decline: 'Declined',
    keyOf: ({ server }) => lastReference(server.requests),
  })
}

/** Our key in the last request that began a checkout. */
function lastReference(requests: readonly { method: string; path: string; text: string }[]): string {
  const begun = requests.findLast(({ path }) => path === '/transaction/initialize')
  assert.ok(begun)
  return JSON.parse(begun.text).reference
}

describe('a live run', () => {
  it('makes every step at a provider with a page, and writes a transcript without secrets', async (t) => {
    const { steps, text, facts } = await drivePaystack(t)
    assert.deepEqual(
      steps.map(({ name }) => name),
      [...STEPS],
    )
    assert.deepEqual(
      resultsOf(steps).filter((one) => !one.endsWith(': seen')),
      ['webhooks: left out'],
      text,
    )
    for (const secret of [FAKE_SECRET_KEY, 'payer@example.com', 'AUTH_'])
      assert.ok(!text.includes(secret), `${secret} is in the transcript`)
    assert.match(text, /`POST \/transaction\/initialize` → 200/)

    const folder = tempFolder(t)
    assert.deepEqual(checksOf('paystack', folder), ['specified', 'schema-checked'])
    writeFileSync(join(folder, transcriptName(facts)), text)
    assert.deepEqual(checksOf('paystack', folder), ['specified', 'schema-checked', 'live'])
    assert.match(renderTable(readRuns(folder)), new RegExp(`\\[Paystack\\]\\(paystack-${facts.day}\\.md\\)`))
  })

  it('prompts the phone that was named, and hides its number', async (t) => {
    const provider = await startFakeMomo(t)
    const env = {
      ...Object.fromEntries(Object.entries(MOMO).map(([name, value]) => [envName(name), value])),
      GATEWAY_MTN_MOMO_GH_BASE_URL: provider.server.url,
    }
    const phone = '+233241234567'
    const { steps, text } = await drive(provider, {
      name: 'mtn_momo_gh',
      env,
      options: {
        currency: 'GHS',
        country: 'GH',
        channel: 'mobile_money',
        network: 'mtn_gh',
        phone,
        amount: '10',
      },
      decline: 'APPROVAL_REJECTED',
      keyOf: ({ server }) => {
        const begun = server.requests.findLast(({ path }) => path.endsWith('/requesttopay'))
        return begun?.headers['x-reference-id'] ?? ''
      },
    })
    const results = resultsOf(steps)
    for (const name of ['checkout', 'payment', 'decline']) assert.ok(results.includes(`${name}: seen`), text)
    for (const secret of [
      '233241234567',
      '241234567',
      ...Object.values(MOMO).filter((one) => one.length > 12),
    ])
      assert.ok(!text.includes(secret), `${secret} is in the transcript`)
  })

  it('is not called live if the payment was not seen', async (t) => {
    const { steps, facts } = await drivePaystack(t)
    const failed = steps.map((step) =>
      step.name === 'payment' ? { ...step, result: 'not seen' as const } : step,
    )
    const folder = tempFolder(t)
    writeFileSync(join(folder, transcriptName(facts)), renderTranscript(facts, failed))
    assert.deepEqual(checksOf('paystack', folder), ['specified', 'schema-checked'])
  })

  it('receives webhooks at the paths of the gateway alone', async (t) => {
    const webhooks = await receiveWebhooks(0, 'paystack')
    t.after(() => webhooks.close())
    const account = accountOf('paystack')
    const run = openRun(
      account,
      { amount: { minor: 1n, currency: 'NGN' }, country: 'NG', choice: { channel: 'card' } },
      {
        env: { GATEWAY_PAYSTACK_SECRET_KEY: FAKE_SECRET_KEY },
        publicUrl: undefined,
        person: { say: () => {}, ask: async () => true, sleep: async () => {} },
        polls: 1,
      },
    )
    t.after(() => run.close())
    const { gateway } = run.stage
    assert.equal(webhooks.finding(gateway).result, 'not seen')
    const url = `http://127.0.0.1:${webhooks.port}`
    await fetch(`${url}/return`)
    await fetch(`${url}/hooks/stripe`, { method: 'POST', body: '{}' })
    assert.equal(webhooks.finding(gateway).detail, 'No webhook arrived.')
    await fetch(`${url}/hooks/paystack`, { method: 'POST', body: '{}' })
    assert.deepEqual(webhooks.finding(gateway), { result: 'not seen', detail: '1 webhooks arrived: forged.' })
  })
})

const envName = (field: string) =>
  `GATEWAY_MTN_MOMO_GH_${field.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`

describe('the command for live runs', () => {
  it('says what to get and where, without credentials and with live ones', () => {
    for (const { name, title, credentials, requiresOneOf = [] } of GATEWAYS) {
      assert.ok(SANDBOXES[name], `sandboxes.ts has no row for ${name}`)
      const text = describeMissing(accountOf(name), {}) ?? ''
      assert.ok(text.includes(title) && text.includes('https://'), text)
      const required = credentials.filter(
        ({ name, isRequired }) => isRequired || requiresOneOf.includes(name),
      )
      assert.equal(text.split('\n').filter((line) => line.startsWith('  GATEWAY_')).length, required.length)
    }
    const env = { GATEWAY_PAYSTACK_SECRET_KEY: FAKE_SECRET_KEY }
    assert.equal(describeMissing(accountOf('paystack'), env), undefined)
    const live = describeMissing(accountOf('paystack'), { GATEWAY_PAYSTACK_SECRET_KEY: 'sk_live_0a1b2c' })
    assert.match(live ?? '', /GATEWAY_PAYSTACK_SECRET_KEY {2}begins with sk_live_/)
  })

  it('takes live credentials of a provider without a sandbox, if the person agrees to move real money', () => {
    const wave = accountOf('wave')
    const env = { GATEWAY_WAVE_API_KEY: 'wave_sn_prod_0123456789' }
    assert.equal(describeMissing(wave, env), undefined)
    assert.match(describeMissing(wave, {}) ?? '', /live credentials[\s\S]*--real-money/)
    assert.doesNotMatch(describeMissing(accountOf('paystack'), {}) ?? '', /--real-money/)
    assert.match(requireAgreement(wave, false) ?? '', /--real-money/)
    assert.deepEqual(
      [requireAgreement(wave, true), requireAgreement(accountOf('paystack'), false)],
      [undefined, undefined],
    )
    const place = readPlace(wave, {})
    assert.ok(typeof place === 'object' && place.amount.minor === 100n, 'a small amount')
  })

  it('rejects an unknown gateway, currency, channel, amount and phone', () => {
    assert.match(String(findAccount('nothing')), /There is no gateway named nothing/)
    const account = accountOf('paystack')
    assert.match(String(readPlace(account, { currency: 'XXX' })), /--currency/)
    assert.match(String(readPlace(account, { channel: 'cash' })), /--channel/)
    assert.match(String(readPlace(account, { amount: '-1' })), /--amount/)
    assert.match(String(readPlace(account, { channel: 'mobile_money', phone: '0712' })), /--phone/)
  })
})

describe('the redaction of a transcript', () => {
  const secrets: Secrets = {
    credentials: { secretKey: 'sk_test_abcdef', hash: 'abc' },
    phone: '+256772123456',
    publicUrl: 'https://tunnel.example.net',
  }

  it('hides credentials, tokens, people and callback addresses in JSON, forms and texts', () => {
    const body = {
      access_token: 'eyJhbGciOi',
      msisdn: 256772123456,
      note: 'call 0772123456, sk_test_abcdef, amina@example.com',
      nested: [{ customer: { first_name: 'Amina' }, number: 256772123456, card: '4242 4242 4242 4242' }],
      callback: 'https://tunnel.example.net/hooks/daraja/instance/attempt-1/0a1b2c',
    }
    const text = JSON.stringify(redactBody(JSON.stringify(body), secrets))
    for (const hidden of ['eyJ', '772123456', 'sk_test', 'amina', 'Amina', '4242', 'tunnel', '0a1b2c'])
      assert.ok(!text.includes(hidden), `${hidden}: ${text}`)
    assert.match(text, /https:\/\/pay\.example\.com\/hooks\/daraja\/<secret>/)
    const form = JSON.stringify(redactBody('msisdn=256772123456&amount=100', secrets))
    assert.equal(form, '{"msisdn":"<personal>","amount":"100"}')
    assert.equal(redactText('id 42, key sk_test_abcdef', secrets), 'id 42, key <secretKey>')
    assert.equal(redactBody('<html>256772123456</html>', secrets), '<html><phone></html>')
  })

  it('keeps what the comparison needs', () => {
    const body = {
      status: true,
      amount: 125_050,
      currency: 'NGN',
      reference: 'a-1',
      paid_at: null,
      bank_name: 'Bank',
    }
    assert.deepEqual(redactBody(JSON.stringify(body), secrets), body)
  })
})
