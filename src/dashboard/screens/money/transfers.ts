// Transfers to accounts of the merchant: the queue of those that wait for a confirmation, and one transfer with what can be
// done.

import type { Static } from 'typebox'
import { CURRENCY_CODES } from '../../../core/currency.ts'
import type { ApiError } from '../../../core/errors.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import type { OperationId } from '../../../kit/http/route.ts'
import type { P2pPaymentRecord } from '../../../p2p/schema.ts'
import { TRANSFER_STATUSES, type TransferStatus } from '../../../p2p/states.ts'
import { addressWith, badge, facts, field, notice, problemNotice, written } from '../../frame/components.ts'
import { fieldErrors, orShowProblem, readAmount } from '../../frame/form-input.ts'
import { listScreens } from '../../frame/list-screen.ts'
import type { Screen, ScreenRequest, ScreenResponse } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
import { PAYMENTS_PATH } from '../payments.ts'
import { ACCOUNTS_PATH } from './p2p-accounts.ts'

type Transfer = Static<typeof P2pPaymentRecord>

const PATH = '/app/p2p'

type Action = 'confirm' | 'mark-paid' | 'reject' | 'cancel'

const OPERATIONS: Readonly<Record<Action, OperationId>> = {
  confirm: 'p2pPayments.confirm',
  'mark-paid': 'p2pPayments.markPaid',
  reject: 'p2pPayments.reject',
  cancel: 'p2pPayments.cancel',
}

/** What can be done with a transfer, by its status. */
const ACTIONS: Readonly<Record<TransferStatus, readonly Action[]>> = {
  awaiting_payment: ['confirm', 'mark-paid', 'cancel'],
  marked_paid: ['confirm', 'reject'],
  underpaid: ['confirm', 'reject'],
  expired: ['confirm'],
  confirmed: [],
  overpaid: [],
  rejected: [],
  cancelled: [],
}

export const transferScreens: Screen[] = [
  ...listScreens<Transfer>({
    path: '/p2p',
    title: 'p2pTitle',
    list: 'p2pPayments.list',
    filters: [
      {
        name: 'transferStatus',
        label: 'status',
        values: TRANSFER_STATUSES,
        prefix: 'status',
        initial: 'marked_paid',
      },
      { name: 'narration', label: 'narration', type: 'search' },
      { name: 'currency', label: 'currency', values: CURRENCY_CODES },
    ],
    actions: ({ texts }) =>
      html`<a class="button plain" href="${ACCOUNTS_PATH}">${texts.t('p2pAccountsTitle')}</a>`,
    intro: async (request) => queues(request),
    columns: (texts) => [
      {
        label: texts.t('narration'),
        isTitle: true,
        cell: ({ uuid, instructions: { narration } }) =>
          html`<a class="row" href="${PATH}/${uuid}"><bdi dir="ltr">${narration}</bdi></a>`,
      },
      {
        label: texts.t('expected'),
        isNumber: true,
        isBeside: true,
        cell: ({ amountExpected, sourceCurrency }) => texts.amount(amountExpected, sourceCurrency),
      },
      {
        label: texts.t('received'),
        isNumber: true,
        cell: ({ amountReceived, sourceCurrency }) => texts.amount(amountReceived, sourceCurrency),
      },
      {
        label: texts.t('status'),
        isBeside: true,
        cell: ({ transferStatus }) => badge(texts, transferStatus),
      },
      {
        label: texts.t('customer'),
        cell: ({ customer: { firstname, lastname, email } }) =>
          html`<span>${written(`${firstname} ${lastname}`)}<span class="sub">${written(email)}</span></span>`,
      },
      { label: texts.t('payment'), cell: ({ reference }) => written(reference) },
      { label: texts.t('created'), cell: ({ createdAt }) => texts.time(createdAt) },
    ],
    emptyTitle: 'noTransfersTitle',
    emptyText: 'noTransfersText',
  }),
  {
    method: 'GET',
    path: '/p2p/{uuid}',
    needs: ['p2pPayments.get'],
    handle: async (request) => show(request, await load(request)),
  },
  actionScreen('confirm', ({ receivedAmount }) => ({ receivedAmount: readAmount(receivedAmount) })),
  actionScreen('reject', ({ reason }) => (reason ? { reason } : {})),
  actionScreen('mark-paid'),
  actionScreen('cancel'),
]

/** The statuses that a person works through, and all. */
const QUEUES = ['marked_paid', 'underpaid', 'awaiting_payment', 'all'] as const

function queues({ query, texts }: ScreenRequest): Html {
  const chosen = query.transferStatus ?? QUEUES[0]
  const links = QUEUES.map(
    (status) =>
      html`<li><a href="${addressWith(PATH, {}, { transferStatus: status })}"${status === chosen && html` aria-current="true"`}>${texts.word('status', status)}</a></li>`,
  )
  return html`<ul class="tabs">${links}</ul>`
}

function actionScreen(
  action: Action,
  bodyOf?: (form: ScreenRequest['form']) => Record<string, unknown>,
): Screen {
  return {
    method: 'POST',
    path: `/p2p/{uuid}/${action}`,
    needs: [OPERATIONS[action]],
    handle: (request) => {
      const { call, params, form, submission } = request
      const send = async () => {
        await call(OPERATIONS[action], { params, body: bodyOf?.(form), idempotencyKey: submission })
        return { redirectTo: `${PATH}/${params.uuid}?done=${action}` }
      }
      return orShowProblem(send, async (problem) => show(request, await load(request), problem))
    },
  }
}

const labelsOf = ({ t }: Texts) => ({ receivedAmount: t('confirmAmount'), reason: t('rejectReason') })

async function load({ call, params: { uuid = '' } }: ScreenRequest): Promise<Transfer> {
  // A boundary: the operation returns a record of this schema.
  return (await call('p2pPayments.get', { params: { uuid } })).data as Transfer
}

function show(request: ScreenRequest, transfer: Transfer, problem?: ApiError): ScreenResponse {
  const { texts, query, allows } = request
  const { t } = texts
  const { narration } = transfer.instructions
  const actions = ACTIONS[transfer.transferStatus].filter((action) => allows(OPERATIONS[action]))
  const title = t('transferTitle', { narration })
  const body = html`<div class="head"><h1>${title}</h1>${badge(texts, transfer.transferStatus)}</div>
${query.done && notice('good', html`<p>${t('done_saved')}</p>`)}${problemNotice(problem, labelsOf(texts))}
<div class="split"><div><section class="card"><p class="big">${texts.amount(transfer.amountExpected, transfer.sourceCurrency)}</p>${transferFacts(transfer, texts)}</section></div>
<div>${actions.map((action) => actionForm(request, action, transfer, problem))}</div></div>`
  return { title, body, http: problem ? 422 : 200 }
}

function transferFacts(transfer: Transfer, texts: Texts): Html {
  const { t } = texts
  const { instructions, customer, sourceCurrency } = transfer
  const amount = (decimal: string) => Number(decimal) > 0 && texts.amount(decimal, sourceCurrency)
  return facts([
    [t('narration'), html`<code>${instructions.narration}</code>`],
    [
      t('received'),
      transfer.amountReceived !== null && texts.amount(transfer.amountReceived, sourceCurrency),
    ],
    [t('missing'), amount(transfer.amountMissing)],
    [t('excess'), amount(transfer.amountExcess)],
    [t('toAccount'), destination(instructions)],
    [
      t('customer'),
      html`${written(`${customer.firstname} ${customer.lastname}`)} <span class="sub">${written(customer.email)}</span>`,
    ],
    [t('payment'), html`<a href="${PAYMENTS_PATH}/${transfer.uuid}">${written(transfer.reference)}</a>`],
    [t('reason'), written(transfer.rejectionReason)],
    [t('created'), texts.time(transfer.createdAt)],
  ])
}

function destination({
  bankName,
  network,
  accountNumber,
  phoneNumber,
  accountName,
}: Transfer['instructions']): Html {
  return html`${written(bankName ?? network)} <bdi dir="ltr">${accountNumber ?? phoneNumber}</bdi> <span class="sub">${written(accountName)}</span>`
}

function actionForm(
  { texts, form, postForm }: ScreenRequest,
  action: Action,
  { uuid, amountExpected }: Transfer,
  problem: ApiError | undefined,
): Html {
  const { t } = texts
  const error = fieldErrors(problem, labelsOf(texts))
  const post = (fields: Html) => postForm(`${PATH}/${uuid}/${action}`, fields)
  if (action === 'confirm')
    return html`<section class="card"><h2>${t('confirmTitle')}</h2>${post(html`${field('receivedAmount', t('confirmAmount'), { value: form.receivedAmount ?? amountExpected, hint: t('confirmHint'), error: error.receivedAmount, isRequired: true, inputmode: 'decimal' })}<button>${t('confirmTransfer')}</button>`)}</section>`
  if (action === 'mark-paid')
    return html`<section class="card">${post(html`<p>${t('markPaidText')}</p><button class="plain">${t('markPaid')}</button>`)}</section>`
  const fields =
    action === 'reject'
      ? html`<p>${t('rejectText')}</p>${field('reason', t('rejectReason'), { value: form.reason, error: error.reason })}<button class="danger">${t('reject')}</button>`
      : html`<p>${t('cancelText')}</p><button class="danger">${t('cancelTransfer')}</button>`
  return html`<section class="card"><details${form.reason !== undefined && html` open`}><summary>${t(action === 'reject' ? 'reject' : 'cancelTransfer')}</summary>${post(fields)}</details></section>`
}
