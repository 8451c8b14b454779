// The money of one payment: its refunds, and the lines of the ledger that it caused.

import { type Html, html } from '../../kit/http/html.ts'
import { addressWith, table } from '../frame/components.ts'
import type { ScreenRequest } from '../frame/screen.ts'
import { type Refund, refundColumns } from './refunds.ts'
import { type Transaction, transactionColumns, WALLET_PATH } from './wallet.ts'

// More than a payment has, unless it is refunded very often; the lists show all.
const MAX_ROWS = '50'

/** The refunds of a payment, newest first. */
export async function loadRefunds({ call, allows }: ScreenRequest, uuid: string): Promise<Refund[]> {
  if (!allows('refunds.list')) return []
  // A boundary: the operation returns records of this schema.
  return (await call('refunds.list', { query: { payment: uuid, limit: MAX_ROWS } })).data as Refund[]
}

export async function moneyOf(
  { call, allows, texts, params: { uuid = '' } }: ScreenRequest,
  refunds: readonly Refund[],
): Promise<Html> {
  const { t } = texts
  const query = { payment: uuid, limit: MAX_ROWS }
  const found = allows('wallet.listTransactions')
    ? await call('wallet.listTransactions', { query })
    : { data: [] }
  // A boundary: the operation returns records of this schema.
  const lines = found.data as Transaction[]
  return html`${refunds.length > 0 && html`<h2>${t('refundsTitle')}</h2>${table(t('refundsTitle'), refundColumns(texts), refunds)}`}
${lines.length > 0 && html`<h2>${t('ledgerTitle')}</h2><p><a href="${addressWith(WALLET_PATH, {}, { payment: uuid })}">${t('inStatement')}</a></p>${table(t('ledgerTitle'), transactionColumns(texts), lines)}`}`
}
