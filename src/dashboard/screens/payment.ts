// One payment: what it is, what happened, its attempts, and what can be done.

import type { ApiError } from '../../core/errors.ts'
import { type Html, html } from '../../kit/http/html.ts'
import { badge, facts, failureText, notice, problemNotice, table, written } from '../frame/components.ts'
import { orShowProblem } from '../frame/form-input.ts'
import { liveMark } from '../frame/live.ts'
import type { Screen, ScreenRequest, ScreenResponse } from '../frame/screen.ts'
import type { Texts } from '../frame/texts.ts'
import { paymentEvents } from './developers/payment-events.ts'
import { customerText } from './payment/customer.ts'
import { findPayment } from './payment/find.ts'
import { historyOf } from './payment/history.ts'
import { notesOf, saveNote } from './payment/notes.ts'
import { receiptForm, sendReceipt } from './payment/receipt.ts'
import { loadRequests, needsConfirmation, refund, refundPart, requestTable } from './payment/refund.ts'
import { stateOf } from './payment/state.ts'
import { loadRefunds, moneyOf } from './payment-money.ts'
import { PAYMENTS_PATH, type Payment } from './payments.ts'

export const paymentScreen: Screen[] = [
  {
    method: 'GET',
    path: '/payments/{uuid}',
    needs: ['payments.get', 'payments.history', 'charges.get', 'payments.listAll'],
    handle: async (request) => show(request, await find(request)),
  },
  {
    method: 'POST',
    path: '/payments/{uuid}/refund',
    needs: ['refundRequests.create'],
    stepUp: async (request) => needsConfirmation(request, await find(request)),
    handle: (request) => act(request, refund),
  },
  {
    method: 'POST',
    path: '/payments/{uuid}/notes',
    needs: ['paymentNotes.create'],
    handle: (request) => act(request, saveNote),
  },
  {
    method: 'POST',
    path: '/payments/{uuid}/receipt',
    needs: ['receipts.send'],
    handle: (request) => act(request, sendReceipt),
  },
]

const find = (request: ScreenRequest) => findPayment(request, request.params.uuid ?? '')

const DONE = ['refund', 'request', 'note', 'receiptSent', 'receiptLink'] as const
const isDone = (text: string | undefined): text is (typeof DONE)[number] => DONE.some((one) => one === text)

/** Of the forms for a refund and for a note. */
const labelsOf = ({ texts: { t }, allows }: ScreenRequest) => ({
  amount: t('refundAmount'),
  reason: t(allows('refunds.create') ? 'refundReason' : 'requestReason'),
  text: t('noteNew'),
})

async function show(request: ScreenRequest, payment: Payment, problem?: ApiError) {
  const { texts, query } = request
  const { t } = texts
  const amount = texts.amount(payment.sourceAmount, payment.sourceCurrency)
  const [requests, refunds] = await Promise.all([
    loadRequests(request, payment),
    loadRefunds(request, payment.uuid),
  ])
  const body = html`<div class="head"><h1>${written(payment.reference)}</h1><span data-part="status">${badge(texts, payment.status)}</span></div>${liveMark(request, payment.uuid)}
${isDone(query.done) && notice('good', html`<p>${t(`done_${query.done}`)}</p>`)}
${problemNotice(problem, labelsOf(request))}
<div data-part="state">${await stateOf(request, payment)}</div>
<div class="split"><div><section class="card" data-part="facts"><p class="big">${amount}</p>${mainFacts(request, payment)}</section>
<section class="card" data-part="timeline"><h2>${t('timeline')}</h2>${await historyOf(request, payment)}</section>
<div data-part="attempts">${payment.attempts.length > 0 && attempts(payment, texts)}</div>${await requestTable(request, requests)}${await moneyOf(request, refunds)}</div>
<div>${await refundPart(request, payment, requests, refunds)}${receiptForm(request, payment)}${await notesOf(request, payment)}<section class="card"><h2>${t('details')}</h2>${moreFacts(payment, texts)}</section>${await paymentEvents(request, payment.uuid)}</div></div>`
  return { title: payment.reference, body, http: problem ? 422 : 200 }
}

function mainFacts(request: ScreenRequest, payment: Payment): Html {
  const { texts } = request
  const { t } = texts
  const { sourceCurrency: currency, amountReceived: received } = payment
  const isOther = received !== null && received !== payment.sourceAmount
  return facts([
    [t('customer'), customerText(request, payment)],
    [t('askedAmount'), isOther && texts.amount(payment.sourceAmount, currency)],
    [t('received'), isOther && texts.amount(received, currency)],
    [t('method'), texts.word('channel', payment.channel)],
    [t('gateway'), payment.paymentGateway],
    [t('reason'), payment.failure && failureText(texts, payment.failure)],
    [t('paid'), payment.paidAt && texts.time(payment.paidAt)],
    [t('fee'), feeText(payment, texts)],
    [t('net'), payment.netAmount !== null && texts.amount(payment.netAmount, currency)],
    [t('refunded'), Number(payment.refundedAmount) > 0 && texts.amount(payment.refundedAmount, currency)],
    [t('receipt'), payment.receiptCode && html`<code>${payment.receiptCode}</code>`],
    [t('providerCode'), providerCode(payment)],
  ])
}

/** A payment that is not paid has no fee yet. */
function feeText({ fee, paidAt, sourceCurrency }: Payment, texts: Texts): string | null {
  if (fee !== null) return texts.amount(fee, sourceCurrency)
  return paidAt && texts.t('feeUnknown')
}

/** The word and the value of the payer's receipt. */
function providerCode({
  receiptNumber,
  gatewayReference,
}: Pick<Payment, 'receiptNumber' | 'gatewayReference'>): Html | null {
  const code = receiptNumber ?? gatewayReference
  return code === null ? null : html`<code>${code}</code>`
}

function moreFacts(payment: Payment, texts: Texts): Html {
  const { t } = texts
  const metadata = Object.entries(payment.metadata ?? {})
  return html`${facts([
    [t('created'), texts.time(payment.createdAt)],
    [t('description'), written(payment.description)],
    [
      t('gatewayReference'),
      // Without a code of the provider its reference stands in place of it, as on the receipt.
      payment.receiptNumber && payment.gatewayReference && html`<code>${payment.gatewayReference}</code>`,
    ],
    ['UUID', html`<code>${payment.uuid}</code>`],
  ])}${metadata.length > 0 && html`<h3>${t('metadata')}</h3>${facts(metadata.map(([name, value]) => [name, written(String(value))]))}`}`
}

function attempts({ attempts: list }: Payment, texts: Texts): Html {
  const { t } = texts
  return html`<h2>${t('attempts')}</h2>${table(
    t('attempts'),
    [
      {
        label: t('attempt'),
        isTitle: true,
        cell: ({ channel, paymentGateway }) =>
          html`${texts.word('channel', channel)} <span class="sub">${paymentGateway}</span>`,
      },
      { label: t('status'), isBeside: true, cell: ({ status }) => badge(texts, status) },
      { label: t('reason'), cell: ({ failureCode }) => texts.word('failure', failureCode) },
      { label: t('providerCode'), cell: (one) => providerCode(one) },
      { label: t('started'), cell: ({ startedAt }) => texts.time(startedAt) },
    ],
    list,
  )}`
}

/** Does what a form of the screen asks for, which returns what was done; if the API refuses it, the screen says why. */
async function act(
  request: ScreenRequest,
  work: (request: ScreenRequest, payment: Payment) => Promise<string>,
): Promise<ScreenResponse> {
  const payment = await find(request)
  return orShowProblem(
    async () => ({
      redirectTo: `${PAYMENTS_PATH}/${payment.uuid}?done=${await work(request, payment)}`,
    }),
    (problem) => show(request, payment, problem),
  )
}
