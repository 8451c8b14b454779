import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import { frozenClock } from '../../test/support/fake-clock.ts'
import { dataUriOf, imageOf, SVG } from '../../test/support/images.ts'
import { ApiError } from '../core/errors.ts'
import { systemClock } from '../kit/clock.ts'
import { type Db, sql } from '../kit/db/db.ts'
import { systemRandom } from '../kit/random.ts'
import { createMerchantProfiles, type MerchantProfile } from './profiles.ts'
import { createMerchant, requireMerchant, updateMerchant } from './service.ts'

const random = systemRandom(systemClock)

async function createAdminApp(t: TestContext) {
  const db = await testDatabase(t)
  const clock = frozenClock()
  const queries: string[] = []
  const counted: Db = {
    ...db,
    query: (statement, values) => {
      queries.push(statement.text)
      return db.query(statement, values)
    },
  }
  const app = { instanceDb: db, clock, random, mode: 'test' as const, keyPepper: random.bytes(32) }
  return { app, clock, queries, profileOf: createMerchantProfiles({ instanceDb: counted, clock }) }
}

const writeSettings = sql<unknown>`
update merchants
set settings = $2::jsonb
where id = $1`

const readStored = sql<{ settings: unknown }>`
select settings
from merchants
where id = $1`

const PLAIN: Omit<MerchantProfile, 'id' | 'name'> = {
  locale: null,
  savedMethods: 'always_tell',
  timeZone: 'UTC',
  redirectOrigins: [],
  logo: null,
  support: { email: null, phone: null, url: null },
  accentColor: null,
}

describe('the profile of a merchant', () => {
  it('contains only the name when the merchant has no settings', async (t) => {
    const { app, profileOf } = await createAdminApp(t)
    const { id } = await createMerchant(app, { name: 'Corner Shop' })
    assert.deepEqual(await profileOf(id), { ...PLAIN, id, name: 'Corner Shop' })
  })

  it('contains the settings of the merchant', async (t) => {
    const { app, profileOf } = await createAdminApp(t)
    const { id } = await createMerchant(app, {
      name: 'Corner Shop Ltd',
      settings: {
        locale: 'sw',
        redirectOrigins: ['https://shop.example', 'http://localhost:3000', 'https://shop.example'],
        branding: {
          displayName: 'Duka la Vitabu',
          logo: dataUriOf(SVG),
          supportEmail: 'help@shop.example',
          supportPhone: '+254700123456',
          supportUrl: 'https://shop.example/help',
          accentColor: '#FF8800',
        },
      },
    })
    const { logo, ...profile } = await profileOf(id)
    assert.deepEqual(profile, {
      id,
      name: 'Duka la Vitabu',
      locale: 'sw',
      savedMethods: 'always_tell',
      timeZone: 'UTC',
      redirectOrigins: ['https://shop.example', 'http://localhost:3000'],
      support: { email: 'help@shop.example', phone: '+254700123456', url: 'https://shop.example/help' },
      accentColor: '#ff8800',
    })
    assert.equal(logo?.bytes.toString(), SVG)
    assert.equal(logo?.type, 'image/svg+xml')
    assert.match(logo?.digest ?? '', /^[0-9a-f]{16}$/)
  })

  it('is cached for 30 s and read once for concurrent callers', async (t) => {
    const { app, clock, queries, profileOf } = await createAdminApp(t)
    const { id } = await createMerchant(app, { name: 'Before' })
    await Promise.all(Array.from({ length: 20 }, () => profileOf(id)))
    await updateMerchant(app, id, { name: 'After' })
    clock.advance(29_999)
    assert.equal((await profileOf(id)).name, 'Before')
    assert.equal(queries.length, 1)
    clock.advance(1)
    assert.equal((await profileOf(id)).name, 'After')
    assert.equal(queries.length, 2)
    clock.advance(-60_000)
    await profileOf(id)
    assert.equal(queries.length, 3)
  })

  it('is not cached when the merchant does not exist', async (t) => {
    const { queries, profileOf } = await createAdminApp(t)
    const unknownId = random.uuid()
    for (const times of [1, 2]) {
      await assert.rejects(
        profileOf(unknownId),
        (error: unknown) => error instanceof ApiError && error.code === 'merchant_not_found',
      )
      assert.equal(queries.length, times)
    }
  })

  it('ignores invalid fields of free-form settings', async (t) => {
    const { app, profileOf } = await createAdminApp(t)
    const old = {
      theme: 'dark',
      locale: 'tlh',
      redirectOrigins: [7, 'nonsense'],
      branding: {
        displayName: '  ',
        logo: 'https://cdn.example/logo.png',
        supportEmail: 'no address',
        supportPhone: 254700123456,
        supportUrl: 'javascript:alert(1)',
        accentColor: 'red;}',
        slogan: 'Cheap',
      },
    }
    const { id } = await createMerchant(app, { name: 'Old Shop' })
    await app.instanceDb.query(writeSettings, [id, JSON.stringify(old)])
    // The list is not empty, because an empty list would allow every origin.
    assert.deepEqual(await profileOf(id), {
      ...PLAIN,
      id,
      name: 'Old Shop',
      redirectOrigins: ['7', 'nonsense'],
    })

    await updateMerchant(app, id, { settings: { branding: { accentColor: '#112233' } } })
    const [row] = await app.instanceDb.query(readStored, [id])
    const branding = { ...old.branding, accentColor: '#112233' }
    assert.deepEqual(row?.settings, { ...old, branding }, 'what has no meaning here is left where it is')
  })

  it('can be read from settings of any shape', async (t) => {
    const { app } = await createAdminApp(t)
    const { id, settings } = await createMerchant(app, { name: 'Old Shop' })
    for (const branding of [null, 'text', 7, [], ['a'], true]) {
      await app.instanceDb.query(writeSettings, [id, JSON.stringify({ branding, redirectOrigins: branding })])
      assert.deepEqual((await requireMerchant(app, id)).settings.branding, settings.branding)
      const changed = await updateMerchant(app, id, { settings: { branding: { accentColor: '#112233' } } })
      assert.deepEqual(changed.settings.branding, { ...settings.branding, accentColor: '#112233' })
    }
  })
})

describe('a change of merchant settings', () => {
  it('does not overwrite a concurrent change of other settings', async (t) => {
    const { app } = await createAdminApp(t)
    const { id } = await createMerchant(app, { name: 'Corner Shop' })
    const logo = imageOf('image/png')
    await Promise.all([
      updateMerchant(app, id, { settings: { branding: { accentColor: '#112233' } } }),
      updateMerchant(app, id, { settings: { branding: { logo } } }),
      updateMerchant(app, id, { settings: { branding: { supportEmail: 'help@shop.example' } } }),
      updateMerchant(app, id, { settings: { locale: 'fr' } }),
      updateMerchant(app, id, { settings: { redirectOrigins: ['https://shop.example'] } }),
    ])
    const { settings } = await requireMerchant(app, id)
    assert.deepEqual(settings, {
      locale: 'fr',
      savedMethods: 'always_tell',
      timeZone: null,
      redirectOrigins: ['https://shop.example'],
      routing: [],
      country: null,
      caseApprovals: [],
      refundApprovals: [],
      refundConfirmations: [],
      branding: {
        ...settings.branding,
        logo,
        accentColor: '#112233',
        supportEmail: 'help@shop.example',
      },
    })
  })
})
