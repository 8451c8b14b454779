// The money of one payment: its refunds, and the lines of the ledger that it caused.

import { type Html, html } from '../../kit/http/html.ts'
import { addressWith, table } from '../frame/components.ts'
import type { ScreenRequest } from '../frame/screen.ts'
import { type Refund, refundColumns } from './refunds.ts'
import { type Transaction, transactionColumns, WALLET_PATH } from './wallet.ts'

// More than a payment has, unless it is refunded very often; the lists show all.
const MAX_ROWS = '50'

export async function moneyOf({ call, allows, texts, params: { uuid = '' } }: ScreenRequest): Promise<Html> {
  const { t } = texts
  const query = { payment: uuid, limit: MAX_ROWS }
  const [refunds, lines] = await Promise.all([
    allows('refunds.list') ? call('refunds.list', { query }) : { data: [] },
    allows('wallet.listTransactions') ? call('wallet.listTransactions', { query }) : { data: [] },
  ])
  // A boundary: the operations return records of these schemas.
  const [refundRows, lineRows] = [refunds.data as Refund[], lines.data as Transaction[]]
  return html`${refundRows.length > 0 && html`<h2>${t('refundsTitle')}</h2>${table(t('refundsTitle'), refundColumns(texts), refundRows)}`}
${lineRows.length > 0 && html`<h2>${t('ledgerTitle')}</h2><p><a href="${addressWith(WALLET_PATH, {}, { payment: uuid })}">${t('inStatement')}</a></p>${table(t('ledgerTitle'), transactionColumns(texts), lineRows)}`}`
}
