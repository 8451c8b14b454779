// The public profile of a merchant, cached because every page and gateway call needs it.

import type { SavedMethodMode } from '../consents/consent.ts'
import { ApiError } from '../core/errors.ts'
import { createCache } from '../kit/cache.ts'
import type { Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db/db.ts'
import { type Logo, readLogo } from './logo.ts'
import type { MerchantRow } from './merchant.ts'
import { findMerchant } from './queries.ts'
import { readSettings } from './settings.ts'

export interface MerchantProfile {
  readonly id: string
  /** The name that payers see. */
  readonly name: string
  readonly locale: string | null
  /** How payers consent to a saved card. */
  readonly savedMethods: SavedMethodMode
  /** Of exports and reports. */
  readonly timeZone: string
  /** The origins that payers may be redirected to. Empty: any origin. */
  readonly redirectOrigins: readonly string[]
  readonly logo: Logo | null
  readonly support: {
    readonly email: string | null
    readonly phone: string | null
    readonly url: string | null
  }
  readonly accentColor: string | null
}

const PROFILE_TTL_MS = 30_000
// A profile takes up to about 8 KB, with its logo.
const MAX_PROFILES = 2_000

export function createMerchantProfiles(app: {
  instanceDb: Db
  clock: Clock
}): (merchantId: string) => Promise<MerchantProfile> {
  const profiles = createCache({
    clock: app.clock,
    ttlMs: PROFILE_TTL_MS,
    maxEntries: MAX_PROFILES,
    load: (merchantId) => readProfile(app.instanceDb, merchantId),
  })
  return profiles.get
}

async function readProfile(db: Db, merchantId: string): Promise<MerchantProfile> {
  const row = await findMerchant(db, merchantId)
  if (!row) throw new ApiError('merchant_not_found')
  return toProfile(row)
}

function toProfile(row: MerchantRow): MerchantProfile {
  const { locale, savedMethods, timeZone, redirectOrigins, branding } = readSettings(row.settings, row.mode)
  const logo = branding.logo === null ? null : readLogo(branding.logo)
  return {
    id: row.id,
    name: branding.displayName ?? row.name,
    locale,
    savedMethods,
    timeZone: timeZone ?? 'UTC',
    redirectOrigins,
    logo: typeof logo === 'string' ? null : logo,
    support: { email: branding.supportEmail, phone: branding.supportPhone, url: branding.supportUrl },
    accentColor: branding.accentColor,
  }
}
