// The merchant's own accounts to which payers send money.

import type { Static } from 'typebox'
import { CURRENCY_CODES } from '../../../core/currency.ts'
import type { ApiError } from '../../../core/errors.ts'
import { findNetwork, NETWORKS, type Network, networksOf } from '../../../core/networks.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import { ACCOUNT_CHANNELS } from '../../../p2p-accounts/account.ts'
import type { AccountRecord } from '../../../p2p-accounts/schema.ts'
import { badge, facts, field, notice, problemNotice, written } from '../../frame/components.ts'
import { fieldErrors, orShowProblem, selectField } from '../../frame/form-input.ts'
import { listScreens } from '../../frame/list-screen.ts'
import type { Screen, ScreenRequest, ScreenResponse } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'

type Account = Static<typeof AccountRecord>

export const ACCOUNTS_PATH = '/app/p2p/accounts'

// Payers send their money there: a session that was left open must not lead it elsewhere.
const CHANGE = { method: 'POST', stepUp: true } as const

export const p2pAccountScreens: Screen[] = [
  ...listScreens<Account>({
    path: '/p2p/accounts',
    title: 'p2pAccountsTitle',
    list: 'p2pAccounts.list',
    filters: [
      { name: 'channel', label: 'method', values: ACCOUNT_CHANNELS, prefix: 'channel' },
      { name: 'currency', label: 'currency', values: CURRENCY_CODES },
    ],
    actions: ({ allows, texts: { t } }) =>
      allows('p2pAccounts.create')
        ? html`<a class="button" href="${ACCOUNTS_PATH}/new">${t('accountNew')}</a>`
        : null,
    columns: (texts) => [
      {
        label: texts.t('account'),
        isTitle: true,
        cell: ({ uuid, accountName, ...account }) =>
          html`<a class="row" href="${ACCOUNTS_PATH}/${uuid}">${written(accountName)}</a><span class="sub">${numberOf(account)}</span>`,
      },
      { label: texts.t('method'), cell: ({ channel }) => texts.word('channel', channel) },
      { label: texts.t('currency'), cell: ({ currency }) => currency },
      { label: texts.t('country'), cell: ({ country }) => country ?? texts.t('all') },
      {
        label: texts.t('status'),
        isBeside: true,
        cell: ({ isActive }) => badge(texts, isActive ? 'active' : 'inactive'),
      },
    ],
    emptyTitle: 'noAccountsTitle',
    emptyText: 'noAccountsText',
  }),
  {
    method: 'GET',
    path: '/p2p/accounts/new',
    needs: ['p2pAccounts.create'],
    handle: async (request) => showNew(request),
  },
  { ...CHANGE, path: '/p2p/accounts/new', needs: ['p2pAccounts.create'], handle: create },
  {
    method: 'GET',
    path: '/p2p/accounts/{uuid}',
    needs: ['p2pAccounts.get'],
    handle: async (request) => showOne(request, await load(request)),
  },
  { ...CHANGE, path: '/p2p/accounts/{uuid}', needs: ['p2pAccounts.update'], handle: change },
  { ...CHANGE, path: '/p2p/accounts/{uuid}/delete', needs: ['p2pAccounts.delete'], handle: remove },
]

type Destination = Pick<Account, 'bankName' | 'network' | 'accountNumber' | 'phoneNumber'>

function numberOf({ bankName, network, accountNumber, phoneNumber }: Destination): Html {
  const where = network === null ? bankName : (findNetwork(network)?.name ?? network)
  return html`${written(where)} <bdi dir="ltr">${accountNumber ?? phoneNumber}</bdi>`
}

type Values = Partial<Record<string, string>>

const labelsOf = ({ t }: Texts) => ({
  channel: t('method'),
  currency: t('currency'),
  country: t('country'),
  accountName: t('accountName'),
  bankName: t('bankName'),
  accountNumber: t('accountNumber'),
  network: t('network'),
  phoneNumber: t('phoneNumber'),
})

const BANK_FIELDS = ['accountName', 'bankName', 'accountNumber'] as const
const WALLET_FIELDS = ['accountName', 'network', 'phoneNumber'] as const

function showNew(request: ScreenRequest, problem?: ApiError): ScreenResponse {
  const { texts, form, person, postForm } = request
  const { t } = texts
  const values: Values = { currency: person.merchant.baseCurrency, ...form }
  const errors = fieldErrors(problem, labelsOf(texts))
  const channels = ACCOUNT_CHANNELS.map((value) => ({ value, label: texts.word('channel', value) }))
  const currencies = CURRENCY_CODES.map((value) => ({ value, label: value }))
  const fields = html`${selectField('channel', t('method'), channels, { value: values.channel, error: errors.channel })}
${selectField('currency', t('currency'), currencies, { value: values.currency, error: errors.currency })}
${field('country', t('country'), { value: values.country, error: errors.country, hint: t('accountCountryHint') })}
${inputs(BANK_FIELDS, texts, values, errors)}
${networkField(texts, NETWORKS, values, errors)}${inputs(['phoneNumber'], texts, values, errors)}
<button>${t('accountCreate')}</button>`
  const body = html`<div class="head"><h1>${t('accountNew')}</h1></div>${problemNotice(problem, labelsOf(texts))}<section class="card">${postForm(`${ACCOUNTS_PATH}/new`, fields)}</section>`
  return { title: t('accountNew'), body, http: problem ? 422 : 200 }
}

const HINTS = {
  accountName: 'accountNameHint',
  bankName: 'bankOnlyHint',
  accountNumber: 'bankOnlyHint',
  phoneNumber: 'walletOnlyHint',
} as const

function inputs(
  names: readonly (keyof typeof HINTS)[],
  { t }: Texts,
  values: Values,
  errors: Values,
): Html[] {
  return names.map((name) =>
    field(name, t(name), { value: values[name], error: errors[name], hint: t(HINTS[name]) }),
  )
}

function networkField({ t }: Texts, networks: readonly Network[], values: Values, errors: Values): Html {
  const choices = networks.map(({ code, country, name }) => ({ value: code, label: `${country} · ${name}` }))
  const options = { value: values.network, error: errors.network, hint: t('walletOnlyHint') }
  return selectField('network', t('network'), [{ value: '', label: '' }, ...choices], options)
}

async function load({ call, params: { uuid = '' } }: ScreenRequest): Promise<Account> {
  // A boundary: the operation returns a record of this schema.
  return (await call('p2pAccounts.get', { params: { uuid } })).data as Account
}

function showOne(request: ScreenRequest, account: Account, problem?: ApiError): ScreenResponse {
  const { texts, query } = request
  const { t } = texts
  const body = html`<div class="head"><h1>${written(account.accountName)}</h1>${badge(texts, account.isActive ? 'active' : 'inactive')}</div>
${query.done && notice('good', html`<p>${t('done_saved')}</p>`)}${problemNotice(problem, labelsOf(texts))}
<div class="split"><div><section class="card">${facts([
    [t('account'), numberOf(account)],
    [t('method'), texts.word('channel', account.channel)],
    [t('currency'), account.currency],
    [t('country'), account.country],
    [t('created'), texts.time(account.createdAt)],
  ])}</section>${changeForm(request, account, problem)}</div><div>${deleteForm(request, account)}</div></div>`
  return { title: account.accountName, body, http: problem ? 422 : 200 }
}

function changeForm({ allows, texts, form, postForm }: ScreenRequest, account: Account, problem?: ApiError) {
  if (!allows('p2pAccounts.update')) return null
  const { t } = texts
  const errors = fieldErrors(problem, labelsOf(texts))
  const stored = Object.fromEntries(
    [...BANK_FIELDS, ...WALLET_FIELDS].map((name) => [name, account[name] ?? '']),
  )
  const values: Values = problem ? form : stored
  const isOn = problem ? form.isActive === 'yes' : account.isActive
  const own =
    account.channel === 'bank_transfer'
      ? inputs(BANK_FIELDS, texts, values, errors)
      : html`${inputs(['accountName'], texts, values, errors)}${networkField(texts, networksOf(account.country), values, errors)}${inputs(['phoneNumber'], texts, values, errors)}`
  const fields = html`${own}<label class="tick"><input type="checkbox" name="isActive" value="yes"${isOn && html` checked`}> <span>${t('accountActive')}</span></label><button>${t('save')}</button>`
  return html`<section class="card"><h2>${t('edit')}</h2>${postForm(`${ACCOUNTS_PATH}/${account.uuid}`, fields)}</section>`
}

function deleteForm({ allows, texts: { t }, postForm }: ScreenRequest, { uuid }: Account): Html | null {
  if (!allows('p2pAccounts.delete')) return null
  const button = html`<p>${t('accountDeleteText')}</p><button class="danger">${t('accountDelete')}</button>`
  return html`<section class="card"><details><summary>${t('accountDelete')}</summary>${postForm(`${ACCOUNTS_PATH}/${uuid}/delete`, button)}</details></section>`
}

/** The fields that the person filled in. */
function filled(form: ScreenRequest['form'], names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (form[name] ? [[name, form[name]]] : [])))
}

/** Only the fields of the channel: the form has those of both. */
function bodyOf(form: ScreenRequest['form'], channel: string | undefined): Record<string, string> {
  return filled(form, channel === 'mobile_money' ? WALLET_FIELDS : BANK_FIELDS)
}

function create(request: ScreenRequest): Promise<ScreenResponse> {
  const { call, form, submission } = request
  const body = { ...filled(form, ['channel', 'currency', 'country']), ...bodyOf(form, form.channel) }
  const send = async () => {
    await call('p2pAccounts.create', { body, idempotencyKey: submission })
    return { redirectTo: ACCOUNTS_PATH }
  }
  return orShowProblem(send, (problem) => showNew(request, problem))
}

async function change(request: ScreenRequest): Promise<ScreenResponse> {
  const { call, params, form } = request
  const account = await load(request)
  const body = { ...bodyOf(form, account.channel), isActive: form.isActive === 'yes' }
  const send = async () => {
    await call('p2pAccounts.update', { params, body })
    return { redirectTo: `${ACCOUNTS_PATH}/${account.uuid}?done=saved` }
  }
  return orShowProblem(send, (problem) => showOne(request, account, problem))
}

async function remove({ call, params }: ScreenRequest): Promise<ScreenResponse> {
  await call('p2pAccounts.delete', { params })
  return { redirectTo: ACCOUNTS_PATH }
}
