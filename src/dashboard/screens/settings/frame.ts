// What the screens of the settings share: their links, and the forms that some roles can only read.

import { ApiError } from '../../../core/errors.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import type { ExpectedLimits, MerchantSettings, SettingsChanges } from '../../../merchants/schema.ts'
import { notice, problemNotice, tabs } from '../../frame/components.ts'
import type { Labels } from '../../frame/issues.ts'
import type { ScreenRequest, ScreenResponse } from '../../frame/screen.ts'

export const SETTINGS_PATH = '/app/settings'

export async function loadSettings({ call }: ScreenRequest): Promise<MerchantSettings> {
  // A boundary: the operation returns this type.
  return (await call('settings.get')).data as MerchantSettings
}

interface SettingsPage {
  /** Below /app/settings; empty for the first one. */
  path: '' | '/routing' | '/gateways' | '/approvals'
  body: Html
  problem?: ApiError
  labels: Labels
}

export function settingsPage(
  { texts: { t }, query, allows }: ScreenRequest,
  { path, body, problem, labels }: SettingsPage,
): ScreenResponse {
  const links = [
    { href: SETTINGS_PATH, text: t('settingsGeneral') },
    { href: `${SETTINGS_PATH}/routing`, text: t('settingsRouting') },
    { href: `${SETTINGS_PATH}/gateways`, text: t('settingsGateways') },
    { href: `${SETTINGS_PATH}/approvals`, text: t('settingsApprovals') },
  ]
  const title = t('settingsTitle')
  return {
    title,
    http: problem ? 422 : 200,
    body: html`<div class="head"><h1>${title}</h1></div>${tabs(title, links, `${SETTINGS_PATH}${path}`)}
${query.done === 'saved' && notice('good', html`<p>${t('settingsSaved')}</p>`)}${problemNotice(problem, labels)}
${!allows('settings.update') && notice('neutral', html`<p>${t('settingsReadOnly')}</p>`)}${body}`,
  }
}

/** The form; without its button for a role that can only read the settings. */
export function settingsForm(
  { allows, postForm, uploadForm, texts: { t } }: ScreenRequest,
  action: string,
  { fields, buttons, hasFiles }: { fields: Html; buttons?: Html; hasFiles?: boolean },
): Html {
  if (!allows('settings.update')) return html`<fieldset disabled>${fields}</fieldset>`
  const all = html`${fields}<button>${t('save')}</button> ${buttons}`
  return hasFiles ? uploadForm(action, all) : postForm(action, all)
}

/** Saves the changes, or shows the screen again with what is wrong. */
export async function saveSettings(
  { call }: ScreenRequest,
  path: string,
  { settings, expected }: { settings: SettingsChanges; expected?: ExpectedLimits },
  showAgain: (problem: ApiError) => Promise<ScreenResponse>,
): Promise<ScreenResponse> {
  try {
    await call('settings.update', { body: { settings, ...(expected && { expected }) } })
    return { redirectTo: `${path}?done=saved` }
  } catch (error) {
    if (error instanceof ApiError) return showAgain(error)
    throw error
  }
}
