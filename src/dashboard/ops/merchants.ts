// The merchants of the instance: the list, and a form for a new one.

import type { Static } from 'typebox'
import type { ApiError } from '../../core/errors.ts'
import { html } from '../../kit/http/html.ts'
import type { MerchantRecord } from '../../merchants/schema.ts'
import { badge, field, notice, written } from '../frame/components.ts'
import { orShowProblem } from '../frame/form-input.ts'
import { listScreens } from '../frame/list-screen.ts'
import type { AreaRequest, Screen } from '../frame/screen.ts'
import { dataOf } from './data.ts'

export type Merchant = Static<typeof MerchantRecord>

export const MERCHANTS_PATH = '/ops/merchants'
const NEW_PATH = `${MERCHANTS_PATH}/new`

export const merchantListScreens: Screen<AreaRequest>[] = [
  ...listScreens<Merchant, AreaRequest>({
    path: '/merchants',
    title: 'opsMerchants',
    list: 'merchants.list',
    filters: [],
    columns: (texts) => [
      {
        label: texts.t('opsMerchant'),
        isTitle: true,
        cell: ({ uuid, name }) =>
          html`<a class="row" href="${MERCHANTS_PATH}/${uuid}">${written(name)}</a><span class="sub">${uuid}</span>`,
      },
      { label: texts.t('status'), isBeside: true, cell: ({ status }) => badge(texts, status) },
      { label: texts.t('currency'), cell: ({ baseCurrency }) => baseCurrency },
      { label: texts.t('created'), cell: ({ createdAt }) => texts.time(createdAt) },
    ],
    emptyTitle: 'opsNoMerchantsTitle',
    emptyText: 'opsNoMerchantsText',
    actions: ({ texts: { t } }) => html`<a class="button" href="${NEW_PATH}">${t('opsNewMerchant')}</a>`,
  }),
  {
    method: 'GET',
    path: '/merchants/new',
    needs: ['merchants.create'],
    handle: async (request) => form(request),
  },
  {
    method: 'POST',
    path: '/merchants/new',
    needs: ['merchants.create'],
    once: () => MERCHANTS_PATH,
    handle: create,
  },
]

function form({ texts: { t }, postForm, form: given }: AreaRequest, problem?: ApiError) {
  const title = t('opsNewMerchant')
  const fields = html`${field('name', t('opsName'), { value: given.name ?? '', isRequired: true })}
${field('baseCurrency', t('opsBaseCurrency'), { value: given.baseCurrency ?? '', isRequired: true, hint: t('opsBaseCurrencyHint') })}
<button>${t('opsCreate')}</button>`
  const body = html`<div class="head"><h1>${title}</h1></div>
${problem && notice('bad', html`<p>${problem.message}</p>`)}<section class="card">${postForm(NEW_PATH, fields)}</section>`
  return { title, body, http: problem ? 422 : 200 }
}

function create(request: AreaRequest) {
  const { name = '', baseCurrency = '' } = request.form
  return orShowProblem(
    async () => {
      const { uuid } = await dataOf<Merchant>(request, 'merchants.create', { body: { name, baseCurrency } })
      return { redirectTo: `${MERCHANTS_PATH}/${uuid}?done=saved` }
    },
    async (problem) => form(request, problem),
  )
}
