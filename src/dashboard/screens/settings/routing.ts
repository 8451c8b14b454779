// The routing rules: which gateways collect the payments of a currency. One form has all rules and room for a new one.

import { CURRENCY_CODES } from '../../../core/currency.ts'
import type { ApiError } from '../../../core/errors.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import type { SettingsChanges } from '../../../merchants/schema.ts'
import { field, select } from '../../frame/components.ts'
import type { Screen, ScreenRequest, ScreenResponse } from '../../frame/screen.ts'
import { loadSettings, SETTINGS_PATH, saveSettings, settingsForm, settingsPage } from './frame.ts'

const PATH = `${SETTINGS_PATH}/routing`

/** A rule as the texts of its fields. */
interface RuleTexts {
  currency: string
  prefer: string
  exclude: string
  split: string
}

const NO_RULE: RuleTexts = { currency: '', prefer: '', exclude: '', split: '' }

export const routingScreens: Screen[] = [
  {
    method: 'GET',
    path: '/settings/routing',
    needs: ['settings.get', 'ownGateways.list'],
    handle: async (request) => {
      const { routing } = await loadSettings(request)
      const rules = routing.map(({ currency, prefer, exclude, split }) => ({
        currency: currency ?? '',
        prefer: prefer.join(', '),
        exclude: exclude.join(', '),
        split: split.map(({ gateway, percent }) => `${gateway}:${percent}`).join(', '),
      }))
      return show(request, rules)
    },
  },
  {
    method: 'POST',
    path: '/settings/routing',
    needs: ['settings.update', 'ownGateways.list'],
    handle: (request) => {
      const rules = readForm(request)
      // A boundary: the operation checks the names and the currency.
      const routing = rules.map(toRule) as SettingsChanges['routing']
      return saveSettings(request, PATH, { routing }, (problem) => show(request, rules, problem))
    },
  },
]

/** A rule without gateways is left out. */
function readForm({ form }: ScreenRequest): RuleTexts[] {
  return Object.keys(form)
    .filter((name) => /^prefer\d+$/.test(name))
    .map((name) => name.slice('prefer'.length))
    .map((number) => ({
      currency: form[`currency${number}`] ?? '',
      prefer: form[`prefer${number}`] ?? '',
      exclude: form[`exclude${number}`] ?? '',
      split: form[`split${number}`] ?? '',
    }))
    .filter(({ prefer, exclude, split }) => `${prefer}${exclude}${split}`.trim() !== '')
}

const toRule = ({ currency, prefer, exclude, split }: RuleTexts) => ({
  currency: currency || null,
  prefer: wordsOf(prefer),
  exclude: wordsOf(exclude),
  split: wordsOf(split).map((share) => {
    const [gateway = '', percent = ''] = share.split(':')
    return { gateway, percent: Number(percent || Number.NaN) }
  }),
})

const wordsOf = (text: string) => text.split(/[\s,]+/).filter((word) => word !== '')

async function show(request: ScreenRequest, rules: RuleTexts[], problem?: ApiError): Promise<ScreenResponse> {
  const { t } = request.texts
  // A boundary: the operation returns gateways with names.
  const gateways = (await request.call('ownGateways.list')).data as { gateway: string }[]
  const names = gateways.map(({ gateway }) => gateway).join(', ')
  const fields = html`${rules.map((rule, index) => ruleFields(request, rule, index, t('routingRule', { number: index + 1 })))}
${ruleFields(request, NO_RULE, rules.length, t('routingNew'))}`
  const body = html`<p>${t('routingText')}</p><p class="dim">${t('routingNames', { names })}</p>
${settingsForm(request, PATH, { fields })}`
  return settingsPage(request, { path: '/routing', body, problem })
}

function ruleFields({ texts: { t } }: ScreenRequest, rule: RuleTexts, index: number, title: string): Html {
  const currencies = CURRENCY_CODES.map((value) => ({ value, label: value }))
  return html`<fieldset class="card"><legend class="visually-hidden">${title}</legend><h2>${title}</h2>
<div class="field">${select(`currency${index}`, t('currency'), rule.currency, [{ value: '', label: t('routingOthers') }, ...currencies])}</div>
${field(`prefer${index}`, t('routingPrefer'), { value: rule.prefer, hint: t('routingPreferHint') })}
${field(`split${index}`, t('routingSplit'), { value: rule.split, hint: t('routingSplitHint') })}
${field(`exclude${index}`, t('routingExclude'), { value: rule.exclude })}</fieldset>`
}
