import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { runCommandLine } from '../../src/cli/program.ts'
import { assertApiError, assertNothingStored } from '../support/assertions.ts'
import { initiateBody } from '../support/builders.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { dataUriOf, imageOf, SVG } from '../support/images.ts'
import { type TestService, testService } from '../support/service.ts'

const clock = tickingClock()
const staging = await testService({ after }, { clock })
const secret = () => randomBytes(32).toString('base64')
const production = await testService(
  { after },
  {
    env: {
      COWRY_ENV: 'production',
      COWRY_PUBLIC_URL: 'https://pay.example.com',
      COWRY_ENCRYPTION_KEYS: `k1:${secret()}`,
      COWRY_KEY_PEPPER: secret(),
    },
  },
)
const INITIATE = '/api/v1/checkout/initiate-payment'
/** TTL of a merchant's profile in the cache of a process. */
const CACHE_TTL_MS = 30_000

const EMPTY = {
  locale: null,
  savedMethods: 'always_tell',
  timeZone: null,
  country: null,
  caseApprovals: [],
  refundApprovals: [],
  refundConfirmations: [],
  redirectOrigins: [],
  routing: [],
  branding: {
    displayName: null,
    logo: null,
    supportEmail: null,
    supportPhone: null,
    supportUrl: null,
    accentColor: null,
  },
}

const FULL = {
  locale: 'am',
  savedMethods: 'ask_with_checkbox',
  timeZone: 'Africa/Addis_Ababa',
  country: null,
  caseApprovals: [],
  refundApprovals: [],
  refundConfirmations: [],
  redirectOrigins: ['https://shop.example', 'https://pay.shop.example:8443'],
  routing: [{ currency: 'KES', prefer: ['sandbox'], exclude: ['paystack'], split: [] }],
  branding: {
    displayName: 'የመጻሕፍት ቤት',
    logo: dataUriOf(SVG),
    supportEmail: 'help@shop.example',
    supportPhone: '+251911123456',
    supportUrl: 'https://shop.example/help?from=pay#top',
    accentColor: '#7a1f5c',
  },
}

const change = (service: TestService, uuid: string, settings: unknown) =>
  service.admin.send('PATCH', `/admin/v1/merchants/${uuid}`, {
    body: JSON.stringify({ settings }),
    headers: { 'content-type': 'application/json' },
  })

async function changed(uuid: string, settings: unknown) {
  const answer = await change(staging, uuid, settings)
  assert.equal(answer.http, 200, answer.text)
  return answer.body.data.settings
}

async function merchantWithBranding(settings: unknown, service = staging) {
  const shop = await service.newMerchant()
  const answer = await change(service, shop.uuid, settings)
  assert.equal(answer.http, 200, answer.text)
  return shop
}

describe('the branding settings of a merchant', () => {
  it('stores the settings given at the creation of a merchant, and returns them unchanged', async () => {
    const answer = await staging.admin.post('/admin/v1/merchants', { name: 'Book House', settings: FULL })
    assert.equal(answer.http, 201, answer.text)
    assert.deepEqual(answer.body.data.settings, FULL)
    const read = await staging.admin.get(`/admin/v1/merchants/${answer.body.data.uuid}`)
    assert.deepEqual(read.body.data.settings, FULL)
  })

  it('merges a change of settings: absent fields stay, null clears a field', async () => {
    const { uuid } = await staging.newMerchant()
    assert.deepEqual(await changed(uuid, {}), EMPTY)
    assert.deepEqual(await changed(uuid, FULL), FULL)
    assert.deepEqual(await changed(uuid, { locale: 'fr' }), { ...FULL, locale: 'fr' })
    const branding = { ...FULL.branding, supportPhone: null, accentColor: '#00aaff' }
    assert.deepEqual(await changed(uuid, { branding: { supportPhone: null, accentColor: '#00AAFF' } }), {
      ...FULL,
      locale: 'fr',
      branding,
    })
    assert.deepEqual(
      await changed(uuid, {
        locale: null,
        savedMethods: null,
        timeZone: null,
        redirectOrigins: null,
        routing: null,
      }),
      {
        ...EMPTY,
        branding,
      },
    )
    assert.deepEqual(await changed(uuid, { branding: null }), EMPTY)
    await changed(uuid, FULL)
    assert.deepEqual(await changed(uuid, { redirectOrigins: [] }), { ...FULL, redirectOrigins: [] })
    assert.deepEqual(await changed(uuid, null), EMPTY)
  })

  it('keeps the settings when the merchant is renamed or suspended', async () => {
    const { uuid } = await merchantWithBranding(FULL)
    await staging.admin.send('POST', `/admin/v1/merchants/${uuid}/suspend`)
    const renamed = await staging.admin.send('PATCH', `/admin/v1/merchants/${uuid}`, {
      body: '{"name": "Renamed"}',
      headers: { 'content-type': 'application/json' },
    })
    assert.deepEqual([renamed.body.data.name, renamed.body.data.settings], ['Renamed', FULL])
  })

  it('rejects unknown fields of settings', async () => {
    const { uuid } = await staging.newMerchant()
    const answer = await change(staging, uuid, { theme: 'dark', branding: { acentColor: '#112233' } })
    assert.deepEqual(assertApiError(answer, 'unknown_field'), [
      'settings.theme: unknown_field',
      'settings.branding.acentColor: unknown_field',
    ])
    assert.match(answer.text, /did you mean settings\.branding\.accentColor\?/)
  })

  it('rejects each invalid setting with a message that says what to do', async () => {
    const wrong: [unknown, string, RegExp][] = [
      [[], 'settings: invalid_type', /object/],
      [{ locale: 'de' }, 'settings.locale: not_allowed', /one of en, fr, pt, sw, ar, am, bn/],
      [
        { redirectOrigins: 'https://shop.example' },
        'settings.redirectOrigins: invalid_type',
        /a list of at most 20/,
      ],
      [{ branding: 'blue' }, 'settings.branding: invalid_type', /object/],
      [{ branding: { displayName: '' } }, 'settings.branding.displayName: too_short', /1 to 100/],
      [{ branding: { displayName: ' ' } }, 'settings.branding.displayName: invalid_format', /only spaces/],
      [{ branding: { displayName: 'x'.repeat(101) } }, 'settings.branding.displayName: too_long', /1 to 100/],
      [{ branding: { displayName: 'a\nb' } }, 'settings.branding.displayName: invalid_characters', /U\+000A/],
      [{ branding: { logo: '' } }, 'settings.branding.logo: invalid_format', /data: URI/],
      [
        { branding: { logo: 'https://a.example/a.png' } },
        'settings.branding.logo: invalid_format',
        /data: URI/,
      ],
      [{ branding: { logo: 'x'.repeat(50_000) } }, 'settings.branding.logo: too_long', /data: URI/],
      [{ branding: { supportEmail: 'help' } }, 'settings.branding.supportEmail: invalid_format', /e-mail/],
      [
        { branding: { supportPhone: '0700123456' } },
        'settings.branding.supportPhone: invalid_format',
        /\+254/,
      ],
      [
        { branding: { supportPhone: '+254 700 1' } },
        'settings.branding.supportPhone: invalid_format',
        /digits/,
      ],
      [{ branding: { supportUrl: '' } }, 'settings.branding.supportUrl: invalid_format', /https/],
      [{ branding: { supportUrl: 'javascript:1' } }, 'settings.branding.supportUrl: invalid_format', /https/],
      [
        { branding: { supportUrl: 'http://a.example/' } },
        'settings.branding.supportUrl: invalid_format',
        /localhost/,
      ],
      [{ branding: { accentColor: 'red' } }, 'settings.branding.accentColor: invalid_format', /#0b6b57/],
      [{ branding: { accentColor: '#fff' } }, 'settings.branding.accentColor: invalid_format', /six/],
    ]
    const { uuid } = await merchantWithBranding(FULL)
    for (const [settings, issue, pattern] of wrong) {
      const answer = await change(staging, uuid, settings)
      assert.deepEqual(assertApiError(answer, 'validation_failed'), [issue], answer.text)
      const { field, message } = answer.body.error.details[0]
      assert.match(message, pattern)
      assert.ok(message.startsWith(`${field} `), message)
      const posted = await staging.admin.post('/admin/v1/merchants', { name: 'New', settings })
      assert.deepEqual(assertApiError(posted, 'validation_failed'), [issue])
    }
    assert.deepEqual((await staging.admin.get(`/admin/v1/merchants/${uuid}`)).body.data.settings, FULL)
  })

  it('rejects invalid settings with all validation issues at once', async () => {
    const { uuid } = await staging.newMerchant()
    const answer = await change(staging, uuid, {
      redirectOrigins: ['https://shop.example/', 'https://good.example', 'http://shop.example'],
      branding: { logo: imageOf('image/png').replace('png', 'jpeg'), supportUrl: 'http://shop.example' },
    })
    assert.deepEqual(assertApiError(answer, 'validation_failed'), [
      'settings.redirectOrigins.0: invalid_format',
      'settings.redirectOrigins.2: invalid_format',
      'settings.branding.logo: invalid_format',
      'settings.branding.supportUrl: invalid_format',
    ])
  })

  it('accepts http addresses of localhost in staging only', async () => {
    const local = {
      redirectOrigins: ['http://localhost:3000'],
      branding: { supportUrl: 'http://127.0.0.1:3000/' },
    }
    const { uuid } = await merchantWithBranding(local)
    assert.deepEqual(
      (await staging.admin.get(`/admin/v1/merchants/${uuid}`)).body.data.settings.redirectOrigins,
      ['http://localhost:3000'],
    )
    const live = await production.newMerchant()
    assert.deepEqual(assertApiError(await change(production, live.uuid, local), 'validation_failed'), [
      'settings.redirectOrigins.0: invalid_format',
      'settings.branding.supportUrl: invalid_format',
    ])
  })
})

describe('registered origins', () => {
  it('accepts exact origins, at most 20', async () => {
    const { uuid } = await staging.newMerchant()
    const twenty = Array.from({ length: 20 }, (_, index) => `https://shop-${index}.example`)
    assert.deepEqual((await changed(uuid, { redirectOrigins: twenty })).redirectOrigins, twenty)
    const many = await change(staging, uuid, { redirectOrigins: [...twenty, 'https://one.more.example'] })
    assert.deepEqual(assertApiError(many, 'validation_failed'), ['settings.redirectOrigins: too_long'])
    const wrong: [string, RegExp][] = [
      ['https://shop.example/', /write https:\/\/shop\.example\.$/],
      ['https://Shop.Example', /write https:\/\/shop\.example\.$/],
      ['https://shop.example:443', /write https:\/\/shop\.example\.$/],
      ['https://bücher.example', /write https:\/\/xn--bcher-kva\.example\.$/],
      ['https://shop.example/thanks', /write https:\/\/shop\.example\.$/],
      ['https://*.shop.example', /no wildcards/],
      ['shop.example', /must be the origin of an https address/],
      ['https://user@shop.example', /must be the origin of an https address/],
      ['null', /must be the origin of an https address/],
      ['*', /no wildcards/],
      ['', /must be the origin of an https address/],
    ]
    for (const [origin, pattern] of wrong) {
      const answer = await change(staging, uuid, { redirectOrigins: [origin] })
      assert.deepEqual(assertApiError(answer, 'validation_failed'), [
        'settings.redirectOrigins.0: invalid_format',
      ])
      assert.match(answer.body.error.details[0].message, pattern)
    }
  })

  it('redirects payers to registered origins only, in production and in staging', async () => {
    const registered = { redirectOrigins: ['https://shop.example'] }
    for (const service of [production, staging]) {
      const { api, key } = await merchantWithBranding(registered, service)
      for (const redirectUrl of [
        'https://evil.example/thanks',
        'https://shop.example.evil.example/',
        'https://www.shop.example/',
        'https://shop.example:8443/',
      ])
        await assertNothingStored(service.db, key, async () => {
          const answer = await api.post(INITIATE, initiateBody({ redirectUrl }))
          assert.deepEqual(assertApiError(answer, 'validation_failed'), ['redirectUrl: not_allowed'])
          assert.match(answer.body.error.details[0].message, /settings\.redirectOrigins/)
          assert.ok(answer.body.error.details[0].message.includes(new URL(redirectUrl).origin))
        })
    }
  })

  it('accepts every path of a registered origin, and a payment without redirectUrl', async () => {
    const shop = await merchantWithBranding({ redirectOrigins: ['https://shop.example'] })
    for (const redirectUrl of ['https://shop.example', 'HTTPS://SHOP.example:443/a?b=c#d', undefined, null])
      assert.equal(
        (await shop.api.post(INITIATE, initiateBody({ redirectUrl }))).http,
        201,
        String(redirectUrl),
      )
    // Production has no gateway here, so a request that passes the check fails later, at routing.
    const live = await merchantWithBranding({ redirectOrigins: ['https://shop.example'] }, production)
    const answer = await live.api.post(INITIATE, initiateBody({ redirectUrl: 'https://shop.example/a' }))
    assertApiError(answer, 'no_route_available')
  })

  it('accepts redirects to localhost in staging beside registered origins', async () => {
    const { api } = await merchantWithBranding({ redirectOrigins: ['https://shop.example'] })
    const answer = await api.post(INITIATE, initiateBody({ redirectUrl: 'http://localhost:3000/back' }))
    assert.equal(answer.http, 201, answer.text)
    const other = await api.post(INITIATE, initiateBody({ redirectUrl: 'http://shop.local/back' }))
    assert.deepEqual(assertApiError(other, 'validation_failed'), ['redirectUrl: not_allowed'])
  })

  it('restricts no redirect while no origin is registered', async () => {
    const { api } = await staging.newMerchant()
    const answer = await api.post(INITIATE, initiateBody({ redirectUrl: 'https://anywhere.example/' }))
    assert.equal(answer.http, 201, answer.text)
  })

  it('does not apply the origins of one merchant to another', async () => {
    await merchantWithBranding({ redirectOrigins: ['https://shop.example'] })
    const { api } = await merchantWithBranding({ redirectOrigins: ['https://other.example'] })
    const answer = await api.post(INITIATE, initiateBody({ redirectUrl: 'https://shop.example/' }))
    assert.deepEqual(assertApiError(answer, 'validation_failed'), ['redirectUrl: not_allowed'])
  })

  it('answers the retry of a request that was accepted before the origins changed', async () => {
    const { uuid, api } = await staging.newMerchant()
    const body = initiateBody({ redirectUrl: 'https://old.example/' })
    const first = await api.post(INITIATE, body)
    assert.equal(first.http, 201, first.text)
    await changed(uuid, { redirectOrigins: ['https://new.example'] })
    clock.advance(CACHE_TTL_MS)
    const again = await api.post(INITIATE, body)
    assert.equal(again.http, 201, again.text)
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
    assert.equal(again.body.data.uuid, first.body.data.uuid)
    const fresh = await api.post(INITIATE, initiateBody({ redirectUrl: 'https://old.example/' }))
    assert.deepEqual(assertApiError(fresh, 'validation_failed'), ['redirectUrl: not_allowed'])
  })
})

describe('the display name', () => {
  it('shows the display name to the payer, whatever characters it has', async () => {
    const { api } = await merchantWithBranding({ branding: { displayName: 'Duka <la> Vitabu' } })
    const body = initiateBody()
    const { checkoutUrl } = (await api.post(INITIATE, body)).body.data
    const page = await (await fetch(checkoutUrl)).text()
    assert.ok(page.includes('Duka &lt;la&gt; Vitabu'), page)
    assert.ok(!page.includes('Another Shop'))
  })
})

describe('cowry merchants brand', () => {
  const token = 'a-token-of-the-tests-0123456789abcdef'

  async function brand(...argv: string[]) {
    let out = ''
    const take = (text: string) => {
      out += text
    }
    const env = { COWRY_URL: staging.url, COWRY_ADMIN_TOKEN: token }
    const code = await runCommandLine(['merchants', 'brand', ...argv], {
      terminal: { out: take, err: take },
      env,
    })
    return { code, out }
  }

  async function fileWith(t: TestContext, name: string, content: string | Buffer): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'cowry-brand-'))
    t.after(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, name), content)
    return join(folder, name)
  }

  it('changes the named settings, reads the logo from a file, and clears settings from the command line', async (t) => {
    const { uuid } = await staging.newMerchant()
    const set = await brand(
      ...[uuid, '--json', '--display-name', 'Duka', '--logo', await fileWith(t, 'logo.svg', SVG)],
      ...['--accent', '#0A0B0C', '--support-email', 'help@shop.example', '--support-phone', '+254700123456'],
      ...['--support-url', 'https://shop.example/help', '--locale', 'sw', '--time-zone', 'Africa/Nairobi'],
      ...['--saved-methods', 'ask_with_checkbox'],
      ...['--redirect-origins', 'https://shop.example, http://localhost:3000'],
    )
    const settings = {
      locale: 'sw',
      savedMethods: 'ask_with_checkbox',
      timeZone: 'Africa/Nairobi',
      country: null,
      caseApprovals: [],
      refundApprovals: [],
      refundConfirmations: [],
      redirectOrigins: ['https://shop.example', 'http://localhost:3000'],
      routing: [],
      branding: {
        displayName: 'Duka',
        logo: dataUriOf(SVG),
        supportEmail: 'help@shop.example',
        supportPhone: '+254700123456',
        supportUrl: 'https://shop.example/help',
        accentColor: '#0a0b0c',
      },
    }
    assert.equal(set.code, 0, set.out)
    assert.deepEqual(JSON.parse(set.out).data.settings, settings)

    const shown = await brand(uuid)
    assert.match(shown.out, /^displayName +Duka$/m)
    assert.match(shown.out, new RegExp(`^logo +image/svg\\+xml, ${SVG.length} bytes$`, 'm'))
    assert.match(shown.out, /^redirectOrigins +https:\/\/shop\.example, http:\/\/localhost:3000$/m)

    const cleared = await brand(
      uuid,
      '--json',
      '--clear',
      'display-name,accent,redirect-origins,saved-methods,time-zone',
      '--locale',
      'fr',
    )
    assert.deepEqual(JSON.parse(cleared.out).data.settings, {
      locale: 'fr',
      savedMethods: 'always_tell',
      timeZone: null,
      country: null,
      caseApprovals: [],
      refundApprovals: [],
      refundConfirmations: [],
      redirectOrigins: [],
      routing: [],
      branding: { ...settings.branding, displayName: null, accentColor: null },
    })
  })

  it('reports what is wrong with a logo file or a value, and changes nothing', async (t) => {
    const { uuid } = await staging.newMerchant()
    const big = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(3065)])
    const wrong: [string[], RegExp][] = [
      [['--logo', await fileWith(t, 'logo.txt', 'hello')], /logo\.txt does not hold a PNG/],
      [['--logo', await fileWith(t, 'empty.png', '')], /empty\.png does not hold a PNG/],
      [['--logo', await fileWith(t, 'big.png', big)], /big\.png has 3073 bytes/],
      [['--logo', join(tmpdir(), 'no-such-logo.png')], /cannot be read/],
      [['--clear', 'everything'], /"everything" cannot be cleared; it is one of display-name/],
      [
        ['--accent', 'red', '--locale', 'de'],
        /accentColor must be[\s\S]*locale must be|locale must be[\s\S]*accent/,
      ],
    ]
    for (const [argv, pattern] of wrong) {
      const { code, out } = await brand(uuid, ...argv)
      assert.equal(code, 1, out)
      assert.match(out, pattern)
    }
    const read = await staging.admin.get(`/admin/v1/merchants/${uuid}`)
    assert.deepEqual(read.body.data.settings, EMPTY)
  })
})
