// From which amounts a second person must approve, and from which a person must confirm who they are.

import { createHash } from 'node:crypto'
import { CURRENCY_CODES } from '../../../core/currency.ts'
import { ApiError } from '../../../core/errors.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import type { LimitSetting, MerchantSettings, SettingsChanges } from '../../../merchants/schema.ts'
import { field, select } from '../../frame/components.ts'
import { fieldErrors, readAmount } from '../../frame/form-input.ts'
import type { Labels } from '../../frame/issues.ts'
import type { Screen, ScreenRequest, ScreenResponse } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
import type { TextId } from '../../locales/en.ts'
import { loadSettings, SETTINGS_PATH, saveSettings, settingsForm, settingsPage } from './frame.ts'

const PATH = `${SETTINGS_PATH}/approvals`

interface LimitTexts {
  currency: string
  from: string
}
type Limits = Readonly<Record<LimitSetting, readonly LimitTexts[]>>

const GROUPS: readonly { setting: LimitSetting; title: TextId; text: TextId }[] = [
  { setting: 'refundApprovals', title: 'limitRefundApprovals', text: 'limitRefundApprovalsText' },
  { setting: 'refundConfirmations', title: 'limitRefundConfirmations', text: 'limitRefundConfirmationsText' },
  { setting: 'caseApprovals', title: 'limitCaseApprovals', text: 'limitCaseApprovalsText' },
]

export const approvalScreens: Screen[] = [
  {
    method: 'GET',
    path: '/settings/approvals',
    needs: ['settings.get'],
    handle: (request) => showSaved(request),
  },
  {
    method: 'POST',
    path: '/settings/approvals',
    needs: ['settings.update'],
    stepUp: true,
    handle: save,
  },
]

async function showSaved(request: ScreenRequest, problem?: ApiError): Promise<ScreenResponse> {
  const limits = textsOf(await loadSettings(request))
  return show(request, limits, versionOf(limits), problem)
}

/** The form has every limit, so an older one would remove those that another person has added meanwhile. */
async function save(request: ScreenRequest): Promise<ScreenResponse> {
  const seen = await loadSettings(request)
  const version = versionOf(textsOf(seen))
  const changed = new ApiError('invalid_state', { message: request.texts.t('limitsChanged') })
  if (request.form.version !== version) return showSaved(request, changed)
  const limits = eachGroup((setting) => readGroup(request, setting))
  // A boundary: the operation checks the currency, and refuses a text that is no number.
  const settings = eachGroup((setting) =>
    limits[setting].map(({ currency, from }) => ({ currency, from: readAmount(from) })),
  ) as SettingsChanges
  const expected = eachGroup((setting) => seen[setting])
  return saveSettings(request, PATH, { settings, expected }, (problem) =>
    // Another person has saved after this request has read the limits.
    problem.code === changed.code
      ? showSaved(request, changed)
      : Promise.resolve(show(request, limits, version, problem)),
  )
}

function textsOf(settings: MerchantSettings): Limits {
  return eachGroup((setting) =>
    settings[setting].map(({ currency, from }) => ({ currency, from: String(from) })),
  )
}

const versionOf = (limits: Limits) =>
  createHash('sha256').update(JSON.stringify(limits)).digest('base64url').slice(0, 16)

function eachGroup<Value>(read: (setting: LimitSetting) => Value): Record<LimitSetting, Value> {
  return {
    refundApprovals: read('refundApprovals'),
    refundConfirmations: read('refundConfirmations'),
    caseApprovals: read('caseApprovals'),
  }
}

const nameOf = (setting: LimitSetting, part: 'currency' | 'from', index: number | string) =>
  `${setting}-${part}-${index}`

const apiName = (setting: LimitSetting, index: number, part: keyof LimitTexts) =>
  `settings.${setting}.${index}.${part}`

/** Each label begins with that of its setting: they have the same fields. An issue may be about the whole list. */
function labelsOf({ t }: Texts, limits: Limits): Labels {
  const pairs = GROUPS.flatMap(({ setting, title }) => [
    [`settings.${setting}`, t(title)],
    ...limits[setting].flatMap((_, index) => [
      [apiName(setting, index, 'currency'), `${t(title)} · ${t('currency')}`],
      [apiName(setting, index, 'from'), `${t(title)} · ${t('approvalFrom')}`],
    ]),
  ])
  return Object.fromEntries(pairs)
}

/** A limit without an amount is left out. */
function readGroup({ form }: ScreenRequest, setting: LimitSetting): LimitTexts[] {
  const start = nameOf(setting, 'from', '')
  return Object.keys(form)
    .filter((name) => name.startsWith(start))
    .map((name) => ({
      currency: form[nameOf(setting, 'currency', name.slice(start.length))] ?? '',
      from: (form[name] ?? '').trim(),
    }))
    .filter(({ from }) => from !== '')
}

function show(request: ScreenRequest, limits: Limits, version: string, problem?: ApiError): ScreenResponse {
  const { t } = request.texts
  const labels = labelsOf(request.texts, limits)
  const errors = fieldErrors(problem, labels)
  const fields = html`<input type="hidden" name="version" value="${version}">${GROUPS.map(
    ({ setting, title, text }) =>
      html`<fieldset><legend>${t(title)}</legend><p class="dim">${t(text)}</p>${groupFields(request, setting, limits[setting], errors)}</fieldset>`,
  )}`
  const body = html`<p>${t('approvalsText')}</p><section class="card">${settingsForm(request, PATH, { fields })}</section>`
  return settingsPage(request, { path: '/approvals', body, problem, labels })
}

/** The limits of one setting, and an empty one for a new limit. */
function groupFields(
  { texts: { t }, person }: ScreenRequest,
  setting: LimitSetting,
  limits: readonly LimitTexts[],
  errors: Labels,
): Html[] {
  const currencies = CURRENCY_CODES.map((value) => ({ value, label: value }))
  const all = [...limits, { currency: person.merchant.baseCurrency, from: '' }]
  return all.map(
    ({ currency, from }, index) =>
      html`<div class="filters">${select(nameOf(setting, 'currency', index), t('currency'), currency, currencies)}
${field(nameOf(setting, 'from', index), t('approvalFrom'), { value: from, inputmode: 'decimal', error: errors[apiName(setting, index, 'from')] })}</div>`,
  )
}
