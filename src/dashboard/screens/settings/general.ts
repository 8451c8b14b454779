// Name, logo, colour, help, language and time zone, beside a preview of the checkout.

import { type ApiError, errorFromIssues } from '../../../core/errors.ts'
import { isLanguage, LANGUAGE_CODES, LANGUAGES } from '../../../core/languages.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import { toLogoUri } from '../../../merchants/logo.ts'
import type { MerchantSettings, SettingsChanges } from '../../../merchants/schema.ts'
import { field, notice } from '../../frame/components.ts'
import { fieldErrors, selectField } from '../../frame/form-input.ts'
import type { Labels } from '../../frame/issues.ts'
import type { Screen, ScreenRequest, ScreenResponse } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
import { loadSettings, SETTINGS_PATH, saveSettings, settingsForm, settingsPage } from './frame.ts'
import { checkoutPreview } from './preview.ts'

type General = Pick<MerchantSettings, 'timeZone' | 'branding'> & { locale: string | null }

// A logo of 3 KB, also once more in base64 after a preview, and the fields.
const FORM_LIMIT = 65_536
const USUAL_COLOUR = '#0b6b57'
const ZONES = [
  ...Intl.supportedValuesOf('timeZone').filter((zone) => zone.startsWith('Africa/')),
  ...['Asia/Dhaka', 'Asia/Dubai', 'Asia/Kolkata', 'Europe/London', 'Europe/Paris', 'America/New_York', 'UTC'],
]

export const generalScreens: Screen[] = [
  {
    method: 'GET',
    path: '/settings',
    needs: ['settings.get'],
    handle: async (request) => show(request, await loadSettings(request)),
  },
  {
    method: 'POST',
    path: '/settings',
    needs: ['settings.update'],
    uploadLimitBytes: FORM_LIMIT,
    handle: submit,
  },
]

async function submit(request: ScreenRequest): Promise<ScreenResponse> {
  const entered = readForm(request)
  const { branding: stored } = await loadSettings(request)
  const shown = { ...entered, branding: { ...stored, ...entered.branding } }
  const refused = logoProblem(request)
  if (refused) return show(request, shown, { problem: refused })
  if (request.form.action === 'preview') return show(request, shown, { isPreview: true })
  // A boundary: the operation checks the language.
  const settings = entered as SettingsChanges
  return saveSettings(request, SETTINGS_PATH, { settings }, async (problem) =>
    show(request, shown, { problem }),
  )
}

function readForm(request: ScreenRequest) {
  const { form } = request
  const text = (name: string) => form[name]?.trim() || null
  const logo = chosenLogo(request)
  return {
    locale: text('locale'),
    timeZone: text('timeZone'),
    branding: {
      displayName: text('displayName'),
      accentColor: form.usualColour || form.accentColor === USUAL_COLOUR ? null : text('accentColor'),
      supportEmail: text('supportEmail'),
      supportPhone: text('supportPhone'),
      supportUrl: text('supportUrl'),
      ...(logo !== undefined && { logo }),
    },
  }
}

/** Undefined: it stays. */
function chosenLogo({ form, files: { logoFile } }: ScreenRequest): string | null | undefined {
  if (form.removeLogo) return null
  const read = logoFile && toLogoUri(logoFile.bytes)
  if (read !== undefined) return typeof read === 'string' ? undefined : read.dataUri
  return form.logo || undefined
}

function logoProblem({ files: { logoFile } }: ScreenRequest): ApiError | undefined {
  const read = logoFile && toLogoUri(logoFile.bytes)
  if (typeof read !== 'string') return undefined
  return errorFromIssues([{ field: 'settings.branding.logo', code: 'invalid_format', message: read }])
}

function show(
  request: ScreenRequest,
  general: General,
  { problem, isPreview = false }: { problem?: ApiError; isPreview?: boolean } = {},
): ScreenResponse {
  const { t } = request.texts
  const labels = labelsOf(request.texts)
  const buttons = html`<button class="plain" name="action" value="preview">${t('preview')}</button>`
  const form = settingsForm(request, SETTINGS_PATH, {
    fields: fieldsOf(request, general, fieldErrors(problem, labels)),
    ...{ buttons, hasFiles: true },
  })
  const body = html`${isPreview && notice('wait', html`<p>${t('previewUnsaved')}</p>`)}
<div class="split"><section class="card">${form}</section><div>${checkoutPreview(request, general.branding)}</div></div>`
  return settingsPage(request, { path: '', body, problem, labels })
}

const labelsOf = ({ t }: Texts) => ({
  'settings.branding.displayName': t('displayName'),
  'settings.branding.logo': t('logo'),
  'settings.branding.accentColor': t('colour'),
  'settings.branding.supportEmail': t('supportEmail'),
  'settings.branding.supportPhone': t('supportPhone'),
  'settings.branding.supportUrl': t('supportUrl'),
  'settings.locale': t('payerLanguage'),
  'settings.timeZone': t('timeZone'),
})

function fieldsOf({ texts: { t }, person, form }: ScreenRequest, general: General, errors: Labels): Html {
  const { branding, locale, timeZone } = general
  const languages = LANGUAGE_CODES.map((code) => ({ value: code, label: LANGUAGES[code].name }))
  const chosen = locale !== null && isLanguage(locale) ? locale : ''
  const errorOf = (name: string) => errors[`settings.branding.${name}`]
  const keepsLogo = form.action === 'preview' && branding.logo
  return html`${field('displayName', t('displayName'), { value: branding.displayName ?? '', hint: t('displayNameHint', { name: person.merchant.name }), error: errorOf('displayName') })}
${field('logoFile', t('logo'), { type: 'file', hint: t('logoHint'), error: errorOf('logo') })}${keepsLogo && html`<input type="hidden" name="logo" value="${keepsLogo}">`}
${branding.logo !== null && html`<label class="tick"><input type="checkbox" name="removeLogo" value="1"> <span>${t('logoRemove')}</span></label>`}
${field('accentColor', t('colour'), { type: 'color', value: branding.accentColor ?? USUAL_COLOUR, hint: t('colourHint'), error: errorOf('accentColor') })}
${branding.accentColor !== null && html`<label class="tick"><input type="checkbox" name="usualColour" value="1"> <span>${t('colourUsual')}</span></label>`}
${field('supportEmail', t('supportEmail'), { value: branding.supportEmail ?? '', type: 'email', error: errorOf('supportEmail') })}
${field('supportPhone', t('supportPhone'), { value: branding.supportPhone ?? '', type: 'tel', hint: t('supportPhoneHint'), error: errorOf('supportPhone') })}
${field('supportUrl', t('supportUrl'), { value: branding.supportUrl ?? '', type: 'url', error: errorOf('supportUrl') })}
${selectField('locale', t('payerLanguage'), [{ value: '', label: t('payerLanguageAny') }, ...languages], { value: chosen, error: errors['settings.locale'] })}
${field('timeZone', t('timeZone'), { value: timeZone ?? '', hint: t('timeZoneHint'), list: ZONES, error: errors['settings.timeZone'] })}`
}
