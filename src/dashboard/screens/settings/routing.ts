// The routing rules: which gateways collect the payments of a currency. One form has all rules and room for a new one.

import { CURRENCY_CODES } from '../../../core/currency.ts'
import type { ApiError } from '../../../core/errors.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import type { SettingsChanges } from '../../../merchants/schema.ts'
import { field } from '../../frame/components.ts'
import { fieldErrors, selectField } from '../../frame/form-input.ts'
import type { Labels } from '../../frame/issues.ts'
import type { Screen, ScreenRequest, ScreenResponse } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
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
      return saveSettings(request, PATH, { settings: { routing } }, (problem) =>
        show(request, rules, problem),
      )
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
  const labels = labelsOf(request.texts, rules.length)
  const errors = fieldErrors(problem, labels)
  const fields = html`${rules.map((rule, index) => ruleFields(request, { rule, index, errors, title: t('routingRule', { number: index + 1 }) }))}
${ruleFields(request, { rule: NO_RULE, index: rules.length, errors, title: t('routingNew') })}`
  const body = html`<p>${t('routingText')}</p><p class="dim">${t('routingNames', { names })}</p>
${settingsForm(request, PATH, { fields })}`
  return settingsPage(request, { path: '/routing', body, problem, labels })
}

const apiName = (index: number, part: keyof RuleTexts) => `settings.routing.${index}.${part}`

/** Each label begins with that of its rule: the rules have the same fields. */
function labelsOf({ t }: Texts, count: number): Labels {
  const parts = [
    ['currency', t('currency')],
    ['prefer', t('routingPrefer')],
    ['exclude', t('routingExclude')],
    ['split', t('routingSplit')],
  ] as const
  const ofRule = (_: unknown, index: number) =>
    parts.map(([part, label]) => [
      apiName(index, part),
      `${t('routingRule', { number: index + 1 })} · ${label}`,
    ])
  return Object.fromEntries(Array.from({ length: count }, ofRule).flat())
}

interface RuleFields {
  rule: RuleTexts
  index: number
  title: string
  errors: Labels
}

function ruleFields({ texts: { t } }: ScreenRequest, { rule, index, title, errors }: RuleFields): Html {
  const errorOf = (part: keyof RuleTexts) => errors[apiName(index, part)]
  const currencies = CURRENCY_CODES.map((value) => ({ value, label: value }))
  return html`<fieldset class="card"><legend class="visually-hidden">${title}</legend><h2>${title}</h2>
${selectField(`currency${index}`, t('currency'), [{ value: '', label: t('routingOthers') }, ...currencies], { value: rule.currency, error: errorOf('currency') })}
${field(`prefer${index}`, t('routingPrefer'), { value: rule.prefer, hint: t('routingPreferHint'), error: errorOf('prefer') })}
${field(`split${index}`, t('routingSplit'), { value: rule.split, hint: t('routingSplitHint'), error: errorOf('split') })}
${field(`exclude${index}`, t('routingExclude'), { value: rule.exclude, error: errorOf('exclude') })}</fieldset>`
}
