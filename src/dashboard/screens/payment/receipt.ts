// Sends the receipt of a payment to its payer again, or shows its link to be copied.

import { type Html, html } from '../../../kit/http/html.ts'
import type { Receipt } from '../../../receipts/receipt.ts'
import { copyButton } from '../../frame/components.ts'
import type { ScreenRequest } from '../../frame/screen.ts'
import { mailReceipt } from '../../mails.ts'
import { PAYMENTS_PATH, type Payment } from '../payments.ts'

/** Undefined for a payment that has no receipt: one that is not paid, or a charge without a page. */
function linkOf({ paidAt, checkoutUrl }: Payment): string | undefined {
  return paidAt === null || checkoutUrl === null ? undefined : `${checkoutUrl}/receipt`
}

export function receiptForm(request: ScreenRequest, payment: Payment): Html | null {
  const { allows, postForm, app, texts, query } = request
  const { t } = texts
  const link = linkOf(payment)
  if (!allows('receipts.send') || link === undefined) return null
  const isShown = query.done === 'receiptLink'
  return html`<section class="card"><h2>${t('receiptTitle')}</h2>${
    isShown && html`<p><a href="${link}"><bdi dir="ltr">${link}</bdi></a></p>${copyButton(texts, link)}`
  }${postForm(
    `${PAYMENTS_PATH}/${payment.uuid}/receipt`,
    html`<p class="dim">${t('receiptLimit')}</p><button class="plain">${t(app.mailer ? 'receiptSend' : 'receiptGetLink')}</button>`,
  )}</section>`
}

/** Returns what was done: a mail was sent, or there is only the link. */
export async function sendReceipt(
  request: ScreenRequest,
  { uuid }: Payment,
): Promise<'receiptSent' | 'receiptLink'> {
  const { call, app, texts, person, submission } = request
  // A boundary: the operation returns this type.
  const { data } = await call('receipts.send', { params: { uuid }, idempotencyKey: submission })
  const receipt = data as Receipt
  const { email, link, language, isReplayed } = receipt
  if (email === null || !app.mailer) return 'receiptLink'
  if (isReplayed) return 'receiptSent'
  const mail = { email, link, language, merchantName: person.merchant.name }
  return (await mailReceipt(app, mail, texts)) ? 'receiptSent' : 'receiptLink'
}
