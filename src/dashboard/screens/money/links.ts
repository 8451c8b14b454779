// Payment links: the list, and one link with its QR code, what it has collected and its payments.

import type { Static } from 'typebox'
import { CURRENCY_CODES } from '../../../core/currency.ts'
import type { ApiError } from '../../../core/errors.ts'
import { type Html, html, trustedHtml } from '../../../kit/http/html.ts'
import { LINK_STATUSES, LINK_USAGES } from '../../../links/link.ts'
import type { LinkRecord } from '../../../links/schema.ts'
import {
  badge,
  copyButton,
  empty,
  facts,
  notice,
  pager,
  problemNotice,
  table,
  written,
} from '../../frame/components.ts'
import { orShowProblem } from '../../frame/form-input.ts'
import { NO_FIELDS } from '../../frame/issues.ts'
import { listScreens } from '../../frame/list-screen.ts'
import type { Screen, ScreenRequest, ScreenResponse } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
import { type Payment, paymentColumns } from '../payments.ts'

export type Link = Static<typeof LinkRecord>

export const LINKS_PATH = '/app/links'

export const linkScreens: Screen[] = [
  ...listScreens<Link>({
    path: '/links',
    title: 'linksTitle',
    list: 'paymentLinks.list',
    filters: [
      { name: 'search', label: 'linkSearch', type: 'search' },
      { name: 'status', label: 'status', values: LINK_STATUSES, prefix: 'status' },
      { name: 'currency', label: 'currency', values: CURRENCY_CODES },
      { name: 'usage', label: 'linkUsage', values: LINK_USAGES, prefix: 'usage' },
    ],
    actions: ({ allows, texts }) =>
      allows('paymentLinks.create')
        ? html`<a class="button" href="${LINKS_PATH}/new">${texts.t('linkNew')}</a>`
        : null,
    columns: (texts) => [
      {
        label: texts.t('link'),
        isTitle: true,
        cell: ({ uuid, title, slug }) =>
          html`<a class="row" href="${LINKS_PATH}/${uuid}">${written(title)}</a><span class="sub">${slug}</span>`,
      },
      { label: texts.t('amount'), isNumber: true, isBeside: true, cell: (link) => amountOf(link, texts) },
      { label: texts.t('status'), isBeside: true, cell: ({ status }) => badge(texts, status) },
      { label: texts.t('linkPayments'), isNumber: true, cell: (link) => countOf(link, texts) },
      {
        label: texts.t('collected'),
        isNumber: true,
        cell: ({ amountCollected, currency }) => texts.amount(amountCollected, currency),
      },
      { label: texts.t('created'), cell: ({ createdAt }) => texts.time(createdAt) },
    ],
    emptyTitle: 'noLinksTitle',
    emptyText: 'noLinksText',
  }),
  { method: 'GET', path: '/links/{uuid}', needs: ['paymentLinks.get'], handle: (request) => show(request) },
  {
    method: 'POST',
    path: '/links/{uuid}/deactivate',
    needs: ['paymentLinks.deactivate'],
    handle: (request) => {
      const { call, params, submission } = request
      const deactivate = async () => {
        await call('paymentLinks.deactivate', { params, idempotencyKey: submission })
        return { redirectTo: `${LINKS_PATH}/${params.uuid}?done=off` }
      }
      return orShowProblem(deactivate, (problem) => show(request, problem))
    },
  },
]

/** The amount, or between which amounts the payer chooses. */
function amountOf({ amount, minAmount, maxAmount, currency }: Link, texts: Texts): string {
  if (amount !== null) return texts.amount(amount, currency)
  if (minAmount === null && maxAmount === null) return texts.t('linkAnyAmount', { currency })
  const bound = (decimal: string | null) => (decimal === null ? '…' : texts.amount(decimal, currency))
  return `${bound(minAmount)} – ${bound(maxAmount)}`
}

function countOf({ paymentsCount, maxPayments }: Link, { number, ratio }: Texts): Html | string {
  return maxPayments === null ? number(paymentsCount) : ratio(paymentsCount, maxPayments)
}

export async function loadLink({ call, params: { uuid = '' } }: ScreenRequest): Promise<Link> {
  // A boundary: the operation returns a record of this schema.
  return (await call('paymentLinks.get', { params: { uuid } })).data as Link
}

async function show(request: ScreenRequest, problem?: ApiError): Promise<ScreenResponse> {
  const { allows, texts, query } = request
  const { t } = texts
  const [link, payments] = await Promise.all([loadLink(request), paymentsOf(request)])
  const { uuid, title, status, url } = link
  const body = html`<div class="head"><h1>${written(title)}</h1>${badge(texts, status)}<div class="actions">
<a class="button plain" href="${url}" target="_blank" rel="noopener">${t('linkPreview')}</a>
${allows('paymentLinks.update') && html`<a class="button plain" href="${LINKS_PATH}/${uuid}/edit">${t('edit')}</a>`}</div></div>
${query.done && notice('good', html`<p>${t(query.done === 'off' ? 'done_linkOff' : 'done_saved')}</p>`)}${problemNotice(problem, NO_FIELDS)}
<div class="split"><div><section class="card">${linkFacts(link, texts)}</section></div>
<div><section class="card"><h2>${t('linkShare')}</h2><div class="qr">${trustedHtml(link.qr)}</div><p><a href="${url}"><bdi dir="ltr">${url}</bdi></a></p>${copyButton(texts, url)}</section>
${deactivateForm(request, link)}</div></div>${payments}`
  return { title, body, http: problem ? 422 : 200 }
}

function linkFacts(link: Link, texts: Texts): Html {
  const { t } = texts
  return html`<p class="big">${amountOf(link, texts)}</p>${facts([
    [t('description'), written(link.description)],
    [t('collected'), texts.amount(link.amountCollected, link.currency)],
    [t('linkPayments'), countOf(link, texts)],
    [t('linkUsage'), texts.word('usage', link.usage)],
    [t('country'), link.country],
    [t('linkExpires'), link.expiresAt && texts.time(link.expiresAt)],
    [t('linkRedirect'), link.redirectUrl && html`<bdi dir="ltr">${link.redirectUrl}</bdi>`],
    [t('created'), texts.time(link.createdAt)],
    ['UUID', html`<code>${link.uuid}</code>`],
  ])}`
}

async function paymentsOf({ call, params: { uuid = '' }, query, texts }: ScreenRequest): Promise<Html> {
  const { t } = texts
  const { data, meta } = await call('paymentLinks.listPayments', {
    params: { uuid },
    query: { cursor: query.cursor, limit: '20' },
  })
  // A boundary: the operation returns records of this schema.
  const payments = data as Payment[]
  if (payments.length === 0)
    return html`<h2>${t('paymentsTitle')}</h2>${empty(t('noPaymentsTitle'), t('noLinkPaymentsText'))}`
  return html`<h2>${t('paymentsTitle')}</h2>${table(t('paymentsTitle'), paymentColumns(texts), payments)}
${meta && pager(texts, `${LINKS_PATH}/${uuid}`, query, meta)}`
}

function deactivateForm({ allows, postForm, texts }: ScreenRequest, { uuid, status }: Link): Html | false {
  const { t } = texts
  if (!allows('paymentLinks.deactivate') || status !== 'active') return false
  const button = html`<p>${t('linkOffText')}</p><button class="danger">${t('linkOff')}</button>`
  return html`<section class="card"><details><summary>${t('linkOff')}</summary>${postForm(`${LINKS_PATH}/${uuid}/deactivate`, button)}</details></section>`
}
