// The wallet: balances by currency, why they are what they are, and the statement down to each payment.

import { CURRENCY_CODES } from '../../core/currency.ts'
import { type Html, html } from '../../kit/http/html.ts'
import { LINE_KIND_NAMES } from '../../ledger/statement.ts'
import { addressWith, type Column, written } from '../frame/components.ts'
import { listScreens } from '../frame/list-screen.ts'
import type { ScreenRequest } from '../frame/screen.ts'
import type { Texts } from '../frame/texts.ts'
import { explainBalance } from './money/wallet-change.ts'
import { PAYMENTS_PATH } from './payments.ts'

interface Balance {
  currency: string
  availableBalance: string
  pendingBalance: string
}

export interface Transaction extends Balance {
  number: number
  type: string
  balance: string
  amount: string
  payment: { uuid: string; reference: string } | null
  createdAt: string
}

export const walletScreens = listScreens<Transaction>({
  path: '/wallet',
  title: 'walletTitle',
  list: 'wallet.listTransactions',
  exports: 'wallet.exportTransactions',
  filters: [
    { name: 'currency', label: 'currency', values: CURRENCY_CODES },
    { name: 'type', label: 'entry', values: LINE_KIND_NAMES, prefix: 'entry' },
    { name: 'createdFrom', label: 'from', type: 'date' },
    { name: 'createdTo', label: 'to', type: 'date' },
    { name: 'payment', label: 'paymentId' },
  ],
  intro: async (request) =>
    html`${await showBalances(request)}<p class="dim">${request.texts.t('walletOwnAccounts')}</p>${await explainBalance(request, WALLET_PATH)}`,
  columns: (texts) => [
    ...transactionColumns(texts),
    {
      label: texts.t('payment'),
      cell: ({ payment }) =>
        payment &&
        html`<a class="row" href="${PAYMENTS_PATH}/${payment.uuid}">${written(payment.reference)}</a>`,
    },
  ],
  emptyTitle: 'noEntriesTitle',
  emptyText: 'noEntriesText',
})

/** What the line changed, without its payment. */
export function transactionColumns(texts: Texts): Column<Transaction>[] {
  return [
    {
      label: texts.t('entry'),
      isTitle: true,
      cell: ({ type, number, balance }) =>
        html`<b>${texts.word('entry', type)}</b><span class="sub">${texts.number(number)} · ${texts.word('balance', balance)}</span>`,
    },
    {
      label: texts.t('amount'),
      isNumber: true,
      isBeside: true,
      cell: ({ amount, currency }) => texts.amount(amount, currency),
    },
    {
      label: texts.t('available'),
      isNumber: true,
      cell: ({ availableBalance, currency }) => texts.amount(availableBalance, currency),
    },
    {
      label: texts.t('pendingBalance'),
      isNumber: true,
      cell: ({ pendingBalance, currency }) => texts.amount(pendingBalance, currency),
    },
    { label: texts.t('created'), cell: ({ createdAt }) => texts.time(createdAt) },
  ]
}

export const WALLET_PATH = '/app/wallet'

async function showBalances({ call, query, texts }: ScreenRequest): Promise<Html> {
  const { t } = texts
  // A boundary: the operation returns a record of its schema.
  const { balances } = (await call('wallet.balance', { query: { currency: query.currency } })).data as {
    balances: Balance[]
  }
  return html`<div class="columns">${balances.map(
    ({ currency, availableBalance, pendingBalance }) =>
      html`<section class="card"><h2>${currency}</h2><p class="big">${texts.amount(availableBalance, currency)}</p><p class="dim">${t('availableNow')}</p>
<p>${t('pendingNow', { amount: texts.amount(pendingBalance, currency) })}</p><p><a href="${addressWith(WALLET_PATH, {}, { currency })}">${t('whyBalance', { currency })}</a></p></section>`,
  )}</div>`
}
