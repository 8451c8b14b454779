// A merchant's settings: reads the stored document, validates a change, and turns it into a patch.

import type { Static, TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { isRecord } from '../core/canonical.ts'
import { isCountry } from '../core/countries.ts'
import type { Issue } from '../core/errors.ts'
import type { Mode } from '../core/merchant.ts'
import { isLocalhost, readWebAddress } from '../core/web-address.ts'
import { isTimeZone } from '../kit/time-zone.ts'
import { readLogo } from './logo.ts'
import { completeRules, readRules, routingIssues } from './routing.ts'
import {
  BRANDING,
  Country,
  LIMITS,
  type LimitSetting,
  Locale,
  type MerchantSettings,
  SavedMethods,
  type SettingsChanges,
  TimeZone,
} from './schema.ts'

/**
 * A stored document may contain anything, because settings were free-form once. An invalid field reads as not set, and an
 * unknown field is dropped.
 */
export function readSettings(stored: Readonly<Record<string, unknown>>, mode: Mode): MerchantSettings {
  const branding = isRecord(stored.branding) ? stored.branding : {}
  const { redirectOrigins } = stored
  const field = (name: keyof typeof BRANDING) => validOrNull(BRANDING[name], branding[name])
  const limits = (name: LimitSetting) => validOrNull(LIMITS[name], stored[name]) ?? []
  const logo = field('logo')
  const supportUrl = field('supportUrl')
  return {
    locale: validOrNull(Locale, stored.locale),
    savedMethods: validOrNull(SavedMethods, stored.savedMethods) ?? 'always_tell',
    country: knownCountry(validOrNull(Country, stored.country)),
    timeZone: knownTimeZone(validOrNull(TimeZone, stored.timeZone)),
    // Invalid entries stay: they match no origin. Dropping them could empty the list, and an empty list allows every origin.
    redirectOrigins: Array.isArray(redirectOrigins) ? redirectOrigins.map(String) : [],
    routing: readRules(stored.routing),
    caseApprovals: limits('caseApprovals'),
    refundApprovals: limits('refundApprovals'),
    refundConfirmations: limits('refundConfirmations'),
    branding: {
      displayName: field('displayName'),
      logo: logo !== null && typeof readLogo(logo) !== 'string' ? logo : null,
      supportEmail: field('supportEmail'),
      supportPhone: field('supportPhone'),
      supportUrl: supportUrl !== null && isAllowedUrl(readWebAddress(supportUrl), mode) ? supportUrl : null,
      accentColor: field('accentColor'),
    },
  }
}

function validOrNull<Schema extends TSchema>(schema: Schema, value: unknown): Static<Schema> | null {
  return Value.Check(schema, value) ? value : null
}

function knownTimeZone(name: string | null): string | null {
  return name !== null && isTimeZone(name) ? name : null
}

export function knownCountry(code: string | null): string | null {
  return code !== null && isCountry(code) ? code : null
}

/** Validates what the schema cannot. */
export function settingsIssues(
  changes: SettingsChanges | null | undefined,
  mode: Mode,
  gatewayNames?: readonly string[],
): Issue[] {
  const issues = routingIssues(changes?.routing ?? [], gatewayNames)
  const addIssue = (field: string, message: string) =>
    issues.push({
      field: `settings.${field}`,
      code: 'invalid_format',
      message: `settings.${field} ${message}`,
    })
  for (const [index, text] of (changes?.redirectOrigins ?? []).entries()) {
    const message = originIssue(text, mode)
    if (message) addIssue(`redirectOrigins.${index}`, message)
  }
  const { timeZone, country } = changes ?? {}
  if (typeof country === 'string' && !isCountry(country))
    addIssue('country', 'must be an ISO 3166-1 alpha-2 code, such as KE, or null.')
  if (typeof timeZone === 'string' && !isTimeZone(timeZone))
    addIssue('timeZone', 'must be the name of a time zone, such as Africa/Nairobi; null is UTC.')
  for (const name of LIMIT_SETTINGS)
    for (const index of repeatedLimits(changes?.[name] ?? []))
      addIssue(`${name}.${index}.currency`, 'must be another currency: each has one limit.')
  const { logo, supportUrl } = changes?.branding ?? {}
  const read = typeof logo === 'string' ? readLogo(logo) : undefined
  if (typeof read === 'string') addIssue('branding.logo', read)
  if (typeof supportUrl === 'string' && !isAllowedUrl(readWebAddress(supportUrl), mode))
    addIssue('branding.supportUrl', `must be ${URL_REQUIREMENT[mode]}, such as https://shop.example/help.`)
  return issues
}

// Object.keys returns string[]; the keys of this constant are exactly those of its type.
const LIMIT_SETTINGS = Object.keys(LIMITS) as LimitSetting[]

/** The places of limits whose currency has one before. */
function repeatedLimits(limits: readonly { currency: string }[]): number[] {
  const currencies = limits.map(({ currency }) => currency)
  return [...currencies.keys()].filter((index) => currencies.indexOf(currencies[index] ?? '') < index)
}

const URL_REQUIREMENT: Record<Mode, string> = {
  live: 'an https address',
  test: 'an https address, or an http address of localhost',
}

/** The fields that a change writes. Null clears a field. */
export interface SettingsPatch {
  fields: Record<string, unknown>
  branding: Record<string, unknown>
}

/** Absent fields stay, null clears a field, and null for a group clears the whole group. */
export function patchOf(changes: SettingsChanges | null): SettingsPatch {
  const { branding, ...fields } = changes ?? { ...CLEARED, branding: null }
  const { redirectOrigins, routing } = fields
  const { accentColor } = branding ?? {}
  return {
    fields: {
      ...fields,
      ...(redirectOrigins && { redirectOrigins: [...new Set(redirectOrigins)] }),
      ...(routing && { routing: completeRules(routing) }),
    },
    branding: {
      ...(branding === null ? CLEARED_BRANDING : branding),
      ...(accentColor && { accentColor: accentColor.toLowerCase() }),
    },
  }
}

const CLEARED = {
  locale: null,
  savedMethods: null,
  country: null,
  timeZone: null,
  redirectOrigins: null,
  routing: null,
  caseApprovals: null,
  refundApprovals: null,
  refundConfirmations: null,
}
const CLEARED_BRANDING = Object.fromEntries(Object.keys(BRANDING).map((name) => [name, null]))

function originIssue(text: string, mode: Mode): string | undefined {
  if (text.includes('*')) return 'must be one origin; there are no wildcards, so name each that you use.'
  const url = readWebAddress(text)
  if (!url || !isAllowedUrl(url, mode))
    return `must be the origin of ${URL_REQUIREMENT[mode]}, such as https://shop.example.`
  return url.origin === text ? undefined : `must be the origin alone: write ${url.origin}.`
}

function isAllowedUrl(url: URL | undefined, mode: Mode): boolean {
  if (!url) return false
  return url.protocol === 'https:' || (mode === 'test' && isLocalhost(url))
}
