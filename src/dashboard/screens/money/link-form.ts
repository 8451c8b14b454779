// The form that creates or changes a payment link. What payers have seen already (amount, currency, country, usage) cannot be
// changed.

import { COUNTRY_REQUIRED_CURRENCIES, CURRENCY_CODES } from '../../../core/currency.ts'
import type { ApiError } from '../../../core/errors.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import { dayIn, endOfDay } from '../../../kit/time-zone.ts'
import { LINK_USAGES } from '../../../links/link.ts'
import { field, problemNotice } from '../../frame/components.ts'
import { fieldErrors, orShowProblem, readAmount, selectField } from '../../frame/form-input.ts'
import type { Screen, ScreenRequest, ScreenResponse } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
import { LINKS_PATH, type Link, loadLink } from './links.ts'

export const linkFormScreens: Screen[] = [
  {
    method: 'GET',
    path: '/links/new',
    needs: ['paymentLinks.create'],
    handle: async (request) => showNew(request),
  },
  { method: 'POST', path: '/links/new', needs: ['paymentLinks.create'], handle: create },
  {
    method: 'GET',
    path: '/links/{uuid}/edit',
    needs: ['paymentLinks.get', 'paymentLinks.update'],
    handle: async (request) => showEdit(request, await loadLink(request)),
  },
  {
    method: 'POST',
    path: '/links/{uuid}/edit',
    needs: ['paymentLinks.get', 'paymentLinks.update'],
    handle: change,
  },
]

type Values = Partial<Record<string, string>>

const labelsOf = ({ t }: Texts) => ({
  title: t('linkTitle'),
  description: t('description'),
  currency: t('currency'),
  amount: t('amount'),
  minAmount: t('linkMin'),
  maxAmount: t('linkMax'),
  usage: t('linkUsage'),
  maxPayments: t('linkLimit'),
  expiresAt: t('linkLastDay'),
  redirectUrl: t('linkRedirect'),
  country: t('country'),
})

function showNew(request: ScreenRequest, problem?: ApiError): ScreenResponse {
  const { texts, person, postForm } = request
  const { t } = texts
  const values: Values = { currency: person.merchant.baseCurrency, usage: 'multi', ...request.form }
  const errors = fieldErrors(problem, labelsOf(texts))
  const currencies = CURRENCY_CODES.map((value) => ({ value, label: value }))
  const usages = LINK_USAGES.map((value) => ({ value, label: texts.word('usage', value) }))
  const fields = html`${textFields(request, values, errors)}
${selectField('currency', t('currency'), currencies, { value: values.currency, error: errors.currency })}
${amountField('amount', t('amount'), values, errors, t('linkAmountHint'))}
${boundFields(request, values, errors)}
${selectField('usage', t('linkUsage'), usages, { value: values.usage, error: errors.usage })}
${limitFields(request, values, errors)}
${field('country', t('country'), { value: values.country, error: errors.country, hint: t('linkCountryHint', { currencies: COUNTRY_REQUIRED_CURRENCIES }) })}
<button>${t('linkCreate')}</button>`
  const body = html`<div class="head"><h1>${t('linkNew')}</h1></div>${problemNotice(problem, labelsOf(texts))}<section class="card">${postForm(`${LINKS_PATH}/new`, fields)}</section>`
  return { title: t('linkNew'), body, http: problem ? 422 : 200 }
}

function showEdit(request: ScreenRequest, link: Link, problem?: ApiError): ScreenResponse {
  const { texts, postForm, form } = request
  const { t } = texts
  const values = problem ? form : valuesOf(link, texts.zone)
  const errors = fieldErrors(problem, labelsOf(texts))
  const fields = html`${textFields(request, values, errors)}
${link.amount === null && boundFields(request, values, errors)}
${limitFields(request, values, errors, link)}
<button>${t('save')}</button> <a class="button plain" href="${LINKS_PATH}/${link.uuid}">${t('back')}</a>`
  const title = t('linkEdit', { title: link.title })
  const body = html`<div class="head"><h1>${title}</h1></div>${problemNotice(problem, labelsOf(texts))}
<p class="dim">${t('linkFixed')}</p><section class="card">${postForm(`${LINKS_PATH}/${link.uuid}/edit`, fields)}</section>`
  return { title, body, http: problem ? 422 : 200 }
}

function valuesOf(link: Link, zone: string): Values {
  return {
    title: link.title,
    description: link.description ?? '',
    minAmount: link.minAmount ?? '',
    maxAmount: link.maxAmount ?? '',
    maxPayments: link.maxPayments?.toString() ?? '',
    redirectUrl: link.redirectUrl ?? '',
    lastDay: link.expiresAt === null ? '' : dayIn(link.expiresAt, zone),
  }
}

function textFields({ texts: { t } }: ScreenRequest, values: Values, errors: Values): Html {
  return html`${field('title', t('linkTitle'), { value: values.title, error: errors.title, hint: t('linkTitleHint'), isRequired: true })}
${field('description', t('description'), { value: values.description, error: errors.description })}`
}

function amountField(name: string, label: string, values: Values, errors: Values, hint?: string): Html {
  return field(name, label, { value: values[name], error: errors[name], hint, inputmode: 'decimal' })
}

function boundFields({ texts: { t } }: ScreenRequest, values: Values, errors: Values): Html {
  return html`${amountField('minAmount', t('linkMin'), values, errors, t('linkBoundHint'))}
${amountField('maxAmount', t('linkMax'), values, errors, t('linkBoundHint'))}`
}

function limitFields({ texts }: ScreenRequest, values: Values, errors: Values, link?: Link): Html {
  const { t } = texts
  return html`${link?.usage !== 'single' && field('maxPayments', t('linkLimit'), { value: values.maxPayments, error: errors.maxPayments, hint: t('linkLimitHint'), inputmode: 'numeric' })}
${field('lastDay', t('linkLastDay'), { value: values.lastDay, error: errors.expiresAt, hint: t('linkLastDayHint', { zone: texts.zone }), type: 'date' })}
${field('redirectUrl', t('linkRedirect'), { value: values.redirectUrl, error: errors.redirectUrl, hint: t('linkRedirectHint'), type: 'url' })}`
}

/** A whole number that a person wrote. The API refuses what is none. */
const readCount = (text: string) => (/^\d+$/.test(text.trim()) ? Number(text) : text)

/** The fields of the form that both requests have; `nothing` stands for an empty field. */
function termsOf<Nothing>({ form, texts }: ScreenRequest, nothing: Nothing) {
  const filled = <Value>(text: string | undefined, read: (text: string) => Value) =>
    text ? read(text) : nothing
  return {
    title: form.title ?? '',
    description: filled(form.description, String),
    minAmount: filled(form.minAmount, readAmount),
    maxAmount: filled(form.maxAmount, readAmount),
    maxPayments: filled(form.maxPayments, readCount),
    redirectUrl: filled(form.redirectUrl, String),
    expiresAt: filled(form.lastDay, (day) => endOfDay(day, texts.zone)),
  }
}

function create(request: ScreenRequest): Promise<ScreenResponse> {
  const { call, form, submission } = request
  const { currency, country, usage, amount } = form
  const body = {
    ...termsOf(request, undefined),
    ...(amount && { amount: readAmount(amount) }),
    ...{ currency, usage, country: country || undefined },
  }
  const send = async () => {
    // A boundary: the operation returns a record of its schema.
    const made = (await call('paymentLinks.create', { body, idempotencyKey: submission })).data as Link
    return { redirectTo: `${LINKS_PATH}/${made.uuid}?done=saved` }
  }
  return orShowProblem(send, (problem) => showNew(request, problem))
}

async function change(request: ScreenRequest): Promise<ScreenResponse> {
  const { call, params, form, texts } = request
  const link = await loadLink(request)
  const { minAmount, maxAmount, maxPayments, expiresAt, ...texted } = termsOf(request, null)
  // An unchanged day keeps its moment, which the API may have got with a time.
  const isSameDay = form.lastDay === valuesOf(link, texts.zone).lastDay
  const body = {
    ...texted,
    ...(link.amount === null && { minAmount, maxAmount }),
    ...(link.usage !== 'single' && { maxPayments }),
    ...(!isSameDay && { expiresAt }),
  }
  const send = async () => {
    await call('paymentLinks.update', { params, body })
    return { redirectTo: `${LINKS_PATH}/${link.uuid}?done=saved` }
  }
  return orShowProblem(send, (problem) => showEdit(request, link, problem))
}
