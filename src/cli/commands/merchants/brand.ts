// cowry merchants brand …: a merchant's branding on the payment pages, and its allowed redirect origins.

import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { SAVED_METHOD_MODES } from '../../../consents/consent.ts'
import { readLogo, toLogoUri } from '../../../merchants/logo.ts'
import type { MerchantSettings } from '../../../merchants/schema.ts'
import { commaSeparated, type JsonOption, withJson } from '../../options.ts'
import type { Shell } from '../../shell.ts'
import { CommandError, renderRecord } from '../../terminal.ts'

interface Merchant {
  uuid: string
  name: string
  settings: MerchantSettings
}

interface BrandOptions extends JsonOption {
  displayName?: string
  logo?: string
  accent?: string
  supportEmail?: string
  supportPhone?: string
  supportUrl?: string
  locale?: string
  savedMethods?: string
  country?: string
  timeZone?: string
  redirectOrigins?: string[]
  clear?: string[]
}

/** The fields that can be cleared, by the names of their options. */
const BRANDING_FIELDS: Readonly<Record<string, string>> = {
  'display-name': 'displayName',
  logo: 'logo',
  accent: 'accentColor',
  'support-email': 'supportEmail',
  'support-phone': 'supportPhone',
  'support-url': 'supportUrl',
}
const OTHER_FIELDS: Readonly<Record<string, string>> = {
  locale: 'locale',
  'saved-methods': 'savedMethods',
  country: 'country',
  'time-zone': 'timeZone',
  'redirect-origins': 'redirectOrigins',
}
const CLEARABLE = Object.keys({ ...BRANDING_FIELDS, ...OTHER_FIELDS })

export function addBrandCommand(merchants: Command, shell: Shell): void {
  withJson(merchants.command('brand'))
    .description(
      'Change the branding of a merchant and its allowed redirect origins. Without options: show them. A change takes effect within 30 seconds.',
    )
    .argument('<uuid>', 'the merchant')
    .option('--display-name <name>', 'the name that payers see (default: the name of the merchant)')
    .option('--logo <file>', 'a PNG, WebP, JPEG or SVG of at most 3072 bytes')
    .option('--accent <colour>', 'the colour of buttons and links, such as #0b6b57; adjusted for contrast')
    .option('--support-email <address>', 'the support e-mail address for payers')
    .option('--support-phone <number>', 'the support phone number for payers, such as +254700123456')
    .option('--support-url <url>', 'the support page for payers, an https URL')
    .option('--locale <language>', 'the language of the pages: en, fr, pt, sw, ar, am or bn')
    .option('--country <code>', 'where payments that name no country are collected, such as KE')
    .option('--time-zone <name>', 'of the times in exports, such as Africa/Nairobi (default: UTC)')
    .option(
      '--saved-methods <mode>',
      `how payers consent to a saved card: ${SAVED_METHOD_MODES.join(', ')} (default: always_tell)`,
    )
    .option(
      '--redirect-origins <list>',
      'the origins that a redirectUrl may have, such as https://shop.example, separated by commas; if there are none, every https URL is allowed',
      commaSeparated,
    )
    .option(
      '--clear <list>',
      `the fields to clear, separated by commas: ${CLEARABLE.join(', ')}`,
      commaSeparated,
    )
    .action((uuid: string, options: BrandOptions) => brand(shell, uuid, options))
}

async function brand(shell: Shell, uuid: string, options: BrandOptions): Promise<void> {
  const path = `/admin/v1/merchants/${encodeURIComponent(uuid)}`
  const settings = await changesOf(options)
  const response = await (settings
    ? shell.callOperator('PATCH', path, { settings })
    : shell.callOperator('GET', path))
  // A boundary: the operators' API describes its records in src/merchants/schema.ts.
  shell.show(response, options, () => renderBrand(response.data as Merchant))
}

/** Undefined if there is nothing to change. */
async function changesOf(options: BrandOptions): Promise<object | undefined> {
  const { displayName, logo, accent, supportEmail, supportPhone, supportUrl } = options
  const { locale, savedMethods, country, timeZone, redirectOrigins } = options
  const clear = options.clear ?? []
  const unknown = clear.find((name) => !CLEARABLE.includes(name))
  if (unknown !== undefined)
    throw new CommandError('usage', `"${unknown}" cannot be cleared; it is one of ${CLEARABLE.join(', ')}.`)
  const branding = {
    ...cleared(clear, BRANDING_FIELDS),
    ...given({
      displayName,
      logo: logo === undefined ? undefined : await readPicture(logo),
      accentColor: accent,
      supportEmail,
      supportPhone,
      supportUrl,
    }),
  }
  const fields = {
    ...cleared(clear, OTHER_FIELDS),
    ...given({ locale, savedMethods, country, timeZone, redirectOrigins }),
  }
  const isNothing = Object.keys({ ...branding, ...fields }).length === 0
  return isNothing ? undefined : { ...fields, branding }
}

function cleared(clear: readonly string[], fields: Readonly<Record<string, string>>) {
  return Object.fromEntries(clear.flatMap((name) => (fields[name] ? [[fields[name], null]] : [])))
}

/** Omits options that are not set, because undefined must not overwrite cleared fields. */
function given(fields: Record<string, unknown>) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

async function readPicture(file: string): Promise<string> {
  const bytes = await readFile(file).catch((error: unknown) => {
    throw new CommandError(
      'unreadable_logo',
      `${file} cannot be read: ${error instanceof Error ? error.message : error}.`,
    )
  })
  const logo = toLogoUri(bytes)
  if (typeof logo === 'string') throw new CommandError('unusable_logo', `${file} ${logo}`)
  return logo.dataUri
}

function renderBrand({ uuid, name, settings }: Merchant): string {
  const { branding, locale, savedMethods, country, timeZone, redirectOrigins } = settings
  const logo = branding.logo === null ? null : readLogo(branding.logo)
  const shownLogo =
    logo === null || typeof logo === 'string' ? null : `${logo.type}, ${logo.bytes.length} bytes`
  return renderRecord({
    uuid,
    name,
    locale,
    savedMethods,
    country,
    timeZone,
    redirectOrigins,
    ...branding,
    logo: shownLogo,
  })
}
