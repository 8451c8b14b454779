// From which amounts a second person must approve the decision of a case.

import { CURRENCY_CODES } from '../../../core/currency.ts'
import type { ApiError } from '../../../core/errors.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import type { SettingsChanges } from '../../../merchants/schema.ts'
import { field, select } from '../../frame/components.ts'
import type { Screen, ScreenRequest, ScreenResponse } from '../../frame/screen.ts'
import { loadSettings, SETTINGS_PATH, saveSettings, settingsForm, settingsPage } from './frame.ts'

const PATH = `${SETTINGS_PATH}/approvals`

interface LimitTexts {
  currency: string
  from: string
}

export const approvalScreens: Screen[] = [
  {
    method: 'GET',
    path: '/settings/approvals',
    needs: ['settings.get'],
    handle: async (request) => {
      const { caseApprovals } = await loadSettings(request)
      return show(
        request,
        caseApprovals.map(({ currency, from }) => ({ currency, from: String(from) })),
      )
    },
  },
  {
    method: 'POST',
    path: '/settings/approvals',
    needs: ['settings.update'],
    stepUp: true,
    handle: (request) => {
      const limits = readForm(request)
      // A boundary: the operation checks the currency. A text that is no number becomes null, which it refuses.
      const caseApprovals = limits.map(({ currency, from }) => ({
        currency,
        from: Number(from),
      })) as SettingsChanges['caseApprovals']
      return saveSettings(request, PATH, { caseApprovals }, async (problem) => show(request, limits, problem))
    },
  },
]

/** A limit without an amount is left out. */
function readForm({ form }: ScreenRequest): LimitTexts[] {
  return Object.keys(form)
    .filter((name) => /^from\d+$/.test(name))
    .map((name) => ({
      currency: form[name.replace('from', 'currency')] ?? '',
      from: (form[name] ?? '').trim(),
    }))
    .filter(({ from }) => from !== '')
}

function show(request: ScreenRequest, limits: readonly LimitTexts[], problem?: ApiError): ScreenResponse {
  const { t } = request.texts
  const { baseCurrency } = request.person.merchant
  const fields = html`${limits.map((limit, index) => limitFields(request, limit, index))}
<h2>${t('approvalNew')}</h2>${limitFields(request, { currency: baseCurrency, from: '' }, limits.length)}`
  const body = html`<p>${t('approvalsText')}</p><section class="card">${settingsForm(request, PATH, { fields })}</section>`
  return settingsPage(request, { path: '/approvals', body, problem })
}

function limitFields({ texts: { t } }: ScreenRequest, { currency, from }: LimitTexts, index: number): Html {
  const currencies = CURRENCY_CODES.map((value) => ({ value, label: value }))
  return html`<div class="filters">${select(`currency${index}`, t('currency'), currency, currencies)}
${field(`from${index}`, t('approvalFrom'), { value: from, inputmode: 'decimal' })}</div>`
}
