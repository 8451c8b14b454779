import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { GATEWAYS } from './compose/gateways.ts'
import {
  ConfigError,
  publicUrlOf,
  readClientConfig,
  readConfig,
  renderEnvExample,
  weakTokens,
} from './config.ts'
import { allSettings } from './settings.ts'

const key = () => randomBytes(32).toString('base64')

const PRODUCTION = {
  COWRY_ENV: 'production',
  DATABASE_URL: 'postgres://cowry@db.example.com/cowry',
  COWRY_PUBLIC_URL: 'https://pay.example.com',
  COWRY_ADMIN_TOKEN: randomBytes(33).toString('base64'),
  COWRY_ENCRYPTION_KEYS: `k1:${key()}`,
  COWRY_KEY_PEPPER: key(),
}

function issuesOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.issues
    throw error
  }
  return []
}

function assertOneIssue(env: Record<string, string>, pattern: RegExp): void {
  const issues = issuesOf(env)
  assert.equal(issues.length, 1, issues.join('\n'))
  assert.match(issues[0] ?? '', pattern)
}

describe('the settings of a staging instance', () => {
  it('are all optional in staging, and the secrets are null until the service generates them', () => {
    const config = readConfig({})
    assert.equal(config.environment, 'staging')
    assert.equal(config.mode, 'test')
    assert.equal(config.publicUrl, 'http://127.0.0.1:8080')
    assert.equal(config.dataDir, '.cowry')
    assert.deepEqual(config.rateLimit, { perSecond: 100, burst: 500 })
    assert.equal(config.checkoutMinutes, 60)
    assert.equal(config.settlementHours, 24)
    assert.equal(config.poolSize, 16)
    assert.equal(config.gatewayTimeoutMs, 10_000)
    assert.equal(config.trustProxy, false)
    for (const secret of ['adminToken', 'encryptionKeys', 'keyPepper', 'databaseUrl', 'sandboxUrl'] as const)
      assert.equal(config[secret], null)
    assert.ok(Object.isFrozen(config))
  })

  it('allow webhooks to this machine by default, or to the addresses that the operator lists', () => {
    const { webhookAllow, webhookPorts } = readConfig({})
    assert.deepEqual(webhookAllow.names, ['localhost'])
    assert.deepEqual(webhookPorts, [443, 8443])
    const listed = readConfig({ COWRY_WEBHOOK_ALLOW: '10.0.0.0/8', COWRY_WEBHOOK_PORTS: '443, 9443' })
    assert.deepEqual(listed.webhookAllow, { ranges: ['10.0.0.0/8'], names: [] })
    assert.deepEqual(listed.webhookPorts, [443, 9443])
    assert.deepEqual(readConfig(PRODUCTION).webhookAllow, { ranges: [], names: [] })
    assertOneIssue(
      { COWRY_WEBHOOK_ALLOW: '10.0.0.0/99' },
      /^COWRY_WEBHOOK_ALLOW has "10\.0\.0\.0\/99", which is/,
    )
    assertOneIssue({ COWRY_WEBHOOK_PORTS: '443,0' }, /^COWRY_WEBHOOK_PORTS must be a whole number from 1/)
  })

  it('count as absent when the variable is empty', () => {
    assert.deepEqual(readConfig({ PORT: '', COWRY_KEY_PEPPER: ' ' }), readConfig({}))
  })

  it('have a default public URL that a browser can open', () => {
    assert.equal(readConfig({ HOST: '0.0.0.0', PORT: '81' }).publicUrl, 'http://127.0.0.1:81')
    assert.equal(publicUrlOf('::1', 80), 'http://[::1]:80')
    assert.equal(readConfig({ COWRY_PUBLIC_URL: 'https://a.example/' }).publicUrl, 'https://a.example')
  })

  it('accept a rate limit as a rate, a rate with a burst, or off', () => {
    assert.deepEqual(readConfig({ COWRY_RATE_LIMIT: '20' }).rateLimit, { perSecond: 20, burst: 100 })
    assert.deepEqual(readConfig({ COWRY_RATE_LIMIT: '20:30' }).rateLimit, { perSecond: 20, burst: 30 })
    assert.equal(readConfig({ COWRY_RATE_LIMIT: '0' }).rateLimit, null)
  })

  it('accept several encryption keys, the primary one first', () => {
    const config = readConfig({ COWRY_ENCRYPTION_KEYS: `new:${key()},old:${key()}` })
    assert.deepEqual(
      config.encryptionKeys?.map(({ id }) => id),
      ['new', 'old'],
    )
  })
})

describe('a token that can be guessed', () => {
  it('is accepted in staging, and named for a warning', () => {
    const config = readConfig({ COWRY_ADMIN_TOKEN: 'abc', COWRY_METRICS_TOKEN: key() })
    assert.equal(config.adminToken, 'abc')
    assert.deepEqual(weakTokens(config), ['COWRY_ADMIN_TOKEN'])
    assert.deepEqual(weakTokens(readConfig({})), [])
  })
})

describe('fees', () => {
  it('are exact, in parts per million and minor units, and * applies to the currencies not named', () => {
    const fees = { paystack: { NGN: { percent: '1.5', fixed: '100' }, '*': { percent: '3.8999' } } }
    const { fees: read } = readConfig({ COWRY_FEES: JSON.stringify(fees) })
    assert.deepEqual(read.get('paystack')?.get('NGN'), { partsPerMillion: 15_000n, fixedMinor: 10_000n })
    assert.deepEqual(read.get('paystack')?.get('XOF'), { partsPerMillion: 38_999n, fixedMinor: 0n })
    assert.equal(read.get('flutterwave'), undefined)
  })

  it('have a fixed part with the decimals of the currency', () => {
    const { fees } = readConfig({ COWRY_FEES: '{"x":{"USD":{"fixed":"0.30"},"XOF":{"fixed":"5.00"}}}' })
    assert.equal(fees.get('x')?.get('USD')?.fixedMinor, 30n)
    assert.equal(fees.get('x')?.get('XOF')?.fixedMinor, 5n)
  })

  it('are rejected instead of rounded', () => {
    assertOneIssue({ COWRY_FEES: '{"x":{"XOF":{"fixed":"0.30"}}}' }, /COWRY_FEES .* fails for XOF$/)
    assertOneIssue({ COWRY_FEES: '{"x":{"USD":{"percent":"1.40005"}}}' }, /fails for USD$/)
    assertOneIssue({ COWRY_FEES: '{"x":{"USD":{"percent":"101"}}}' }, /fails for USD$/)
    assertOneIssue({ COWRY_FEES: '{"x":{"USD":{"percent":-1}}}' }, /fails for USD$/)
    assertOneIssue({ COWRY_FEES: '{"x":{"JPY":{"percent":"1"}}}' }, /"JPY" .* no currency/)
    assertOneIssue({ COWRY_FEES: '1.4%' }, /must be JSON/)
  })
})

describe('a production instance', () => {
  it('accepts its five required settings', () => {
    const config = readConfig(PRODUCTION)
    assert.equal(config.mode, 'live')
    assert.equal(config.publicUrl, 'https://pay.example.com')
  })

  it('serves no agents unless it is set, and then only tools that read unless that is set too', () => {
    assert.equal(readConfig(PRODUCTION).mcp, 'off')
    assert.equal(readConfig({ ...PRODUCTION, COWRY_MCP: 'read' }).mcp, 'read')
    assert.equal(readConfig({}).mcp, 'write')
  })

  it('sends mail only with a server and a sender', () => {
    assert.equal(readConfig({}).mail, null)
    const server = { COWRY_SMTP_URL: 'smtps://u:secret-1@mail.example.com' }
    assertOneIssue(server, /^COWRY_MAIL_FROM is missing: COWRY_SMTP_URL needs it$/)
    assertOneIssue(
      { COWRY_MAIL_FROM: 'a@example.com' },
      /^COWRY_SMTP_URL is missing: COWRY_MAIL_FROM needs it$/,
    )
    const senders = { 'a@example.com': '', 'Mama Duka <a@example.com>': 'Mama Duka' }
    for (const [text, name] of Object.entries(senders))
      assert.deepEqual(readConfig({ ...server, COWRY_MAIL_FROM: text }).mail?.from, {
        name,
        address: 'a@example.com',
      })
    for (const text of ['a', '<a@example.com', 'a@example.com, b@example.com', 'A <a> <b@example.com>'])
      assertOneIssue({ ...server, COWRY_MAIL_FROM: text }, /^COWRY_MAIL_FROM must be an e-mail address/)
    const wrong = issuesOf({ COWRY_SMTP_URL: 'https://u:secret-1@h', COWRY_MAIL_FROM: 'a@example.com' })
    assert.match(wrong.join(), /^COWRY_SMTP_URL must be smtp:/)
    assert.doesNotMatch(wrong.join(), /secret-1/)
  })

  it('F-91: reports all missing settings at once', () => {
    const issues = issuesOf({ COWRY_ENV: 'production' })
    for (const name of Object.keys(PRODUCTION).filter((name) => name !== 'COWRY_ENV'))
      assert.ok(
        issues.some((issue) => issue.startsWith(`${name} is missing`)),
        name,
      )
    assert.equal(issues.length, 5)
  })

  it('uses the embedded PostgreSQL only if COWRY_EMBEDDED_DATABASE allows it, and says both ways out', () => {
    const without = { ...PRODUCTION, DATABASE_URL: '' }
    const bothWays =
      /^DATABASE_URL is missing: .*DATABASE_URL=postgres:.*, or set COWRY_EMBEDDED_DATABASE=yes/
    assertOneIssue(without, bothWays)
    assertOneIssue({ ...without, COWRY_EMBEDDED_DATABASE: 'no' }, bothWays)
    assertOneIssue({ ...without, COWRY_EMBEDDED_DATABASE: 'true' }, /must be one of yes, no/)
    assert.equal(readConfig({ ...without, COWRY_EMBEDDED_DATABASE: 'yes' }).databaseUrl, null)
    assert.equal(readConfig(PRODUCTION).embeddedDatabase, 'no')
    assert.equal(readConfig({}).databaseUrl, null, 'staging needs no allowance')
  })

  const weak: [string, string, RegExp][] = [
    ['COWRY_PUBLIC_URL', 'http://pay.example.com', /https/],
    ['COWRY_PUBLIC_URL', 'https://pay.example.com/shop', /must end after the host/],
    ['COWRY_PUBLIC_URL', 'https://user:pass@pay.example.com', /user name/],
    ['COWRY_ADMIN_TOKEN', 'short', /32 random characters/],
    ['COWRY_ADMIN_TOKEN', 'a'.repeat(40), /32 random characters/],
    ['COWRY_ADMIN_TOKEN', '12345678901234567890123456789012', /32 random characters/],
    ['COWRY_ADMIN_TOKEN', 'please-change-me-before-you-go-live-ok', /32 random characters/],
    ['COWRY_ENCRYPTION_KEYS', key(), /id:key/],
    ['COWRY_ENCRYPTION_KEYS', `k1:${randomBytes(16).toString('base64')}`, /32 bytes/],
    ['COWRY_ENCRYPTION_KEYS', `k1:${Buffer.alloc(32).toString('base64')}`, /not random/],
    ['COWRY_ENCRYPTION_KEYS', `k1:${key()},k1:${key()}`, /same key id twice/],
    ['COWRY_KEY_PEPPER', randomBytes(31).toString('base64'), /32 random bytes/],
    ['COWRY_KEY_PEPPER', Buffer.alloc(32, 7).toString('base64'), /not random/],
    ['COWRY_KEY_PEPPER', PRODUCTION.COWRY_ENCRYPTION_KEYS.slice(3), /must differ/],
    ['COWRY_SANDBOX_URL', 'https://sandbox.example.com', /must be removed/],
    ['COWRY_SANDBOX_SECRET', 'anything', /must be removed/],
    ['COWRY_FAILPOINTS', 'charge.after_call=kill', /must be removed/],
  ]
  for (const [name, value, pattern] of weak)
    it(`F-91: rejects ${name} with the issue ${pattern.source}`, () => {
      assertOneIssue({ ...PRODUCTION, [name]: value }, pattern)
    })

  it('never shows a secret in an issue', () => {
    const issues = issuesOf({
      COWRY_ENV: 'production',
      COWRY_ADMIN_TOKEN: 'canary-one',
      COWRY_KEY_PEPPER: 'canary+two',
      COWRY_ENCRYPTION_KEYS: 'canary:three',
      DATABASE_URL: 'mysql://canary@four',
    })
    assert.ok(issues.length >= 4)
    assert.ok(!issues.join().includes('canary'))
  })
})

describe('the credentials of a gateway', () => {
  const prefixed = (text: string, mode: string) =>
    text.startsWith(`key_${mode}_`) ? undefined : `must begin with key_${mode}_`
  const GATEWAY = {
    name: 'acme',
    title: 'Acme',
    credentials: [
      { name: 'secretKey', isRequired: true, meaning: 'The key.', validate: prefixed },
      { name: 'merchantNumber', isRequired: true, meaning: 'The number.', validate: () => undefined },
      { name: 'webhookSecret', isRequired: false, meaning: 'The secret.', validate: () => undefined },
    ],
    baseUrl: { test: 'https://test.acme.example', live: 'https://acme.example' },
  }
  const KEY = { GATEWAY_ACME_SECRET_KEY: 'key_test_1' }
  const BOTH = { ...KEY, GATEWAY_ACME_MERCHANT_NUMBER: '7' }
  const acmeOf = (env: Record<string, string>) => readConfig(env, [GATEWAY]).gateways.get('acme')
  const assertAcmeIssue = (env: Record<string, string>, pattern: RegExp) => {
    assert.throws(
      () => readConfig(env, [GATEWAY]),
      (error) =>
        error instanceof ConfigError && error.issues.length === 1 && pattern.test(error.issues[0] ?? ''),
    )
  }

  it('are absent by default, and the base URL is that of the mode', () => {
    assert.deepEqual(acmeOf({}), { credentials: null, baseUrl: 'https://test.acme.example' })
    assert.deepEqual(acmeOf({ GATEWAY_ACME_SECRET_KEY: ' ' })?.credentials, null)
    const live = readConfig(PRODUCTION, [GATEWAY]).gateways.get('acme')
    assert.deepEqual(live, { credentials: null, baseUrl: 'https://acme.example' })
  })

  it('are read from variables named after their fields, optional ones if they are set', () => {
    assert.deepEqual(acmeOf(BOTH)?.credentials, { secretKey: 'key_test_1', merchantNumber: '7' })
    assert.deepEqual(acmeOf({ ...BOTH, GATEWAY_ACME_WEBHOOK_SECRET: 's' })?.credentials, {
      secretKey: 'key_test_1',
      merchantNumber: '7',
      webhookSecret: 's',
    })
  })

  it('are an issue without any of those of which one is needed', () => {
    const CHOICE = ['merchantNumber', 'webhookSecret']
    const optional = GATEWAY.credentials.map((field) => ({
      ...field,
      isRequired: field.name === 'secretKey',
    }))
    const gateway = { ...GATEWAY, credentials: optional, requiresOneOf: CHOICE }
    assert.throws(
      () => readConfig(KEY, [gateway]),
      /GATEWAY_ACME_MERCHANT_NUMBER or GATEWAY_ACME_WEBHOOK_SECRET is missing: GATEWAY_ACME_SECRET_KEY needs one of them/,
    )
    for (const env of [{}, BOTH, { ...KEY, GATEWAY_ACME_WEBHOOK_SECRET: 's' }]) readConfig(env, [gateway])
  })

  it('are an issue when they are incomplete or malformed, reported together with all others', () => {
    assertAcmeIssue(KEY, /^GATEWAY_ACME_MERCHANT_NUMBER is missing: GATEWAY_ACME_SECRET_KEY needs it/)
    assertAcmeIssue(
      { ...BOTH, GATEWAY_ACME_SECRET_KEY: 'x' },
      /^GATEWAY_ACME_SECRET_KEY must begin with key_test_$/,
    )
    assertAcmeIssue({ ...PRODUCTION, ...BOTH }, /must begin with key_live_$/)
    assert.throws(
      () => readConfig({ GATEWAY_ACME_WEBHOOK_SECRET: 's', PORT: 'x' }, [GATEWAY]),
      (error) => error instanceof ConfigError && error.issues.length === 3,
    )
  })

  it('are an issue when the name of a variable is mistyped, but not when another program uses the prefix', () => {
    assertAcmeIssue({ GATEWAY_ACME_SECRETKEY: 'x' }, /did you mean GATEWAY_ACME_SECRET_KEY\?$/)
    assertAcmeIssue({ ...PRODUCTION, GATEWAY_ACME_ELEPHANTS: 'x' }, /GATEWAY_ACME_ELEPHANTS is not a setting/)
    assert.doesNotThrow(() => readConfig({ ...PRODUCTION, GATEWAY_SERVICE_HOST: '10.0.0.1' }, [GATEWAY]))
  })

  it('are sent to a configurable base URL, which in production needs TLS or a loopback host', () => {
    const baseUrl = (url: string, env = {}) => acmeOf({ ...env, GATEWAY_ACME_BASE_URL: url })?.baseUrl
    assert.equal(baseUrl('http://acme.internal:81/v3/'), 'http://acme.internal:81/v3')
    assert.equal(baseUrl('https://acme.internal', PRODUCTION), 'https://acme.internal')
    for (const here of ['http://127.0.0.1:9', 'http://localhost:9', 'http://[::1]:9'])
      assert.equal(baseUrl(here, PRODUCTION), here)
    const refused: [string, object][] = [
      ['http://acme.internal', PRODUCTION],
      ['http://127.0.0.1.evil.example', PRODUCTION],
      ['ftp://acme.internal', {}],
      ['https://user:secret@acme.internal', {}],
      ['https://acme.internal/?a=b', {}],
    ]
    for (const [url, env] of refused)
      assertAcmeIssue({ ...env, GATEWAY_ACME_BASE_URL: url }, /^GATEWAY_ACME_BASE_URL must/)
  })

  it('may be of several accounts, each with a label in its variables', () => {
    const KE = { GATEWAY_ACME_KE_SECRET_KEY: 'key_test_2', GATEWAY_ACME_KE_MERCHANT_NUMBER: '8' }
    const { gateways } = readConfig({ ...BOTH, ...KE, GATEWAY_ACME_UG_SECRET_KEY: ' ' }, [GATEWAY])
    assert.deepEqual([...gateways.keys()], ['acme', 'acme_ke'])
    assert.deepEqual(gateways.get('acme')?.credentials, { secretKey: 'key_test_1', merchantNumber: '7' })
    assert.deepEqual(gateways.get('acme_ke')?.credentials, { secretKey: 'key_test_2', merchantNumber: '8' })
    assertAcmeIssue(
      { GATEWAY_ACME_KE_SECRET_KEY: 'key_test_2' },
      /^GATEWAY_ACME_KE_MERCHANT_NUMBER is missing: GATEWAY_ACME_KE_SECRET_KEY needs it$/,
    )
    assertAcmeIssue({ ...KE, GATEWAY_ACME_KE_SECRET_KEY: 'x' }, /^GATEWAY_ACME_KE_SECRET_KEY must begin/)
    assertAcmeIssue(
      { ...PRODUCTION, GATEWAY_ACME_K_E_SECRET_KEY: 'x' },
      /GATEWAY_ACME_K_E_SECRET_KEY is not a setting/,
    )
  })

  it('are sent, for an account with a label, to the address of the account without one, unless it has its own', () => {
    const KE = { GATEWAY_ACME_KE_SECRET_KEY: 'key_test_2', GATEWAY_ACME_KE_MERCHANT_NUMBER: '8' }
    const baseUrl = (env: Record<string, string>) =>
      readConfig({ ...KE, ...env }, [GATEWAY]).gateways.get('acme_ke')?.baseUrl
    assert.equal(baseUrl({}), 'https://test.acme.example')
    assert.equal(baseUrl({ GATEWAY_ACME_BASE_URL: 'http://here:1' }), 'http://here:1')
    const own = { GATEWAY_ACME_BASE_URL: 'http://here:1', GATEWAY_ACME_KE_BASE_URL: 'http://there:2' }
    assert.equal(baseUrl(own), 'http://there:2')
  })

  it('belong to the gateway with the longest name if a variable fits two', () => {
    const longer = { ...GATEWAY, name: 'acme_pay' }
    const env = { GATEWAY_ACME_PAY_KE_SECRET_KEY: 'key_test_2', GATEWAY_ACME_PAY_KE_MERCHANT_NUMBER: '8' }
    const { gateways } = readConfig(env, [GATEWAY, longer])
    assert.deepEqual([...gateways.keys()], ['acme', 'acme_pay', 'acme_pay_ke'])
  })

  it('may have limits, which alone are not enough', () => {
    const LIMITS = { GATEWAY_ACME_COUNTRIES: 'KE', GATEWAY_ACME_AMOUNTS: 'KES:10-250000' }
    assert.deepEqual(acmeOf({ ...BOTH, ...LIMITS })?.credentials, {
      secretKey: 'key_test_1',
      merchantNumber: '7',
      countries: 'KE',
      amounts: 'KES:10-250000',
    })
    assertAcmeIssue(
      { ...BOTH, GATEWAY_ACME_COUNTRIES: 'Kenya' },
      /^GATEWAY_ACME_COUNTRIES must be country codes/,
    )
    assert.throws(() => readConfig(LIMITS, [GATEWAY]), /GATEWAY_ACME_SECRET_KEY is missing/)
  })

  it('have the documented variable names, and no credential has the name of a limit', () => {
    const names = allSettings(GATEWAYS).map(({ name }) => name)
    assert.equal(new Set(names).size, names.length)
    for (const name of [
      'GATEWAY_STRIPE_SECRET_KEY',
      'GATEWAY_STRIPE_WEBHOOK_SECRET',
      'GATEWAY_STRIPE_COUNTRIES',
    ])
      assert.ok(names.includes(name), name)
    for (const name of [
      'GATEWAY_PAWAPAY_API_TOKEN',
      'GATEWAY_PAWAPAY_PUBLIC_KEY',
      'GATEWAY_PAWAPAY_BASE_URL',
    ])
      assert.ok(names.includes(name), name)
  })
})

describe('an invalid value of a setting', () => {
  const wrong: [string, string][] = [
    ['PORT', '65536'],
    ['PORT', '80a'],
    ['COWRY_ENV', 'prod'],
    ['COWRY_CHECKOUT_MINUTES', '4'],
    ['COWRY_CHECKOUT_MINUTES', '1441'],
    ['COWRY_RATE_LIMIT', '-1'],
    ['COWRY_RATE_LIMIT', '100:50'],
    ['COWRY_LOG_LEVEL', 'loud'],
    ['COWRY_POOL_SIZE', '0'],
    ['COWRY_TRUST_PROXY', 'yes'],
    ['COWRY_SANDBOX_URL', 'ftp://x'],
    ['DATABASE_URL', 'localhost'],
  ]
  for (const [name, value] of wrong)
    it(`is rejected: ${name}=${value}`, () => assertOneIssue({ [name]: value }, new RegExp(`^${name} must`)))

  it('is reported together with all other invalid values', () => {
    assert.equal(issuesOf({ PORT: 'x', COWRY_LOG_LEVEL: 'x', COWRY_POOL_SIZE: 'x' }).length, 3)
  })

  it('is also reported for a mistyped name, with the closest setting', () => {
    assertOneIssue({ COWRY_POOLSIZE: '4' }, /not a setting; did you mean COWRY_POOL_SIZE\?/)
    assert.deepEqual(issuesOf({ COWRY_ELEPHANTS: '4' }), [])
    const inProduction = issuesOf({ COWRY_ENV: 'production', COWRY_ELEPHANTS: '4' })
    assert.ok(inProduction.some((issue) => /COWRY_ELEPHANTS is not a setting/.test(issue)))
    assert.deepEqual(
      issuesOf({ COWRY_URL: 'http://127.0.0.1:8080', PATH: '/bin', COWRY_TEST_TEMPLATE: 'x' }),
      [],
    )
  })
})

describe('the settings of the command line', () => {
  it('name the service, and absent ones are left to the data folder', () => {
    const localUrl = 'http://127.0.0.1:8080'
    assert.deepEqual(readClientConfig({}), {
      url: null,
      localUrl,
      adminToken: null,
      apiKey: null,
      dataDir: '.cowry',
    })
    const env = { COWRY_URL: 'https://pay.example.com/', COWRY_ADMIN_TOKEN: 't', COWRY_DATA_DIR: '/x' }
    assert.deepEqual(readClientConfig({ ...env, COWRY_API_KEY: 'k' }), {
      url: 'https://pay.example.com',
      localUrl,
      adminToken: 't',
      apiKey: 'k',
      dataDir: '/x',
    })
    assert.throws(() => readClientConfig({ COWRY_URL: 'pay' }), ConfigError)
  })
})

describe('.env.example', () => {
  it('is generated from the table and contains every setting', () => {
    const text = renderEnvExample(GATEWAYS)
    for (const { name } of allSettings(GATEWAYS)) assert.match(text, new RegExp(`^# ${name}=`, 'm'))
    assert.equal(readFileSync(new URL('../.env.example', import.meta.url), 'utf8'), text, 'run npm run docs')
  })
})
